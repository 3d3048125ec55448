"""What a second model doubts in an answer, said below it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from handlers.again import higher
from handlers.languages import Say
from handlers.notices import Send
from handlers.parsing import typed_command
from handlers.patience import patiently
from routing.contracts import TierContract
from routing.critic.critic import Critic, Doubt
from routing.money.bill import Bill
from routing.records import Ledger, TurnRecord
from routing.stores import PeopleStore
from routing.types import InboundMessage, OutboundMessage, Tier


class Doubts:
    """A `handlers.aftermath.Look`. A doubt is a message of its own, queued durably in one transaction with what it
    cost; the answer stays as it is."""

    def __init__(
        self,
        critic: Critic,
        people: PeopleStore,
        ledger: Ledger,
        send: Send,
        contracts: Callable[[], Mapping[Tier, TierContract]],
    ) -> None:
        self._critic = critic
        self._people = people
        self._ledger = ledger
        self._send = send
        self._contracts = contracts

    async def look(self, message: InboundMessage, record: TurnRecord) -> None:
        """Have the answer judged, and say what is doubted."""
        answer = _answer(message, record) if self._critic.enabled else ""
        if not answer or record.facts is None:
            return
        bill = Bill(record.person_id, message.chat)
        doubt = await self._critic.look(record.question, answer, record.facts.model, bill)
        replies = [await self._words(message, record, doubt)] if doubt is not None else []
        calls = tuple(bill.calls)
        if calls:
            spent = TurnRecord(record.turn_id, record.conversation_id, record.person_id, "", calls=calls)
            self._send(await patiently(self._ledger.finish, (), replies, spent))

    async def _words(self, message: InboundMessage, record: TurnRecord, doubt: Doubt) -> OutboundMessage:
        person = await self._people.find(message.user)
        say = Say((person.language if person else "") or message.language)
        return OutboundMessage(
            chat=message.chat,
            text=say("🔍 {model} doubts this: {why}", model=f"`{doubt.model}`", why=f"`{doubt.why}`"),
            reply_to=message.message_id,
            owner=record.person_id,
            buttons=higher(say, "balanced", self._contracts(), record.turn_id),
        )


def _answer(message: InboundMessage, record: TurnRecord) -> str:
    """What is to be judged; empty for what is not: another tier, an answer that is none or was not finished in time,
    a question about pictures that the judge does not see. What a button or a command began may be for one person's
    eyes, in a place where nothing but its own reply can be (Discord): it is left out, and so are councils."""
    facts, last = record.facts, record.said[-1] if record.said else None
    if facts is None or facts.tier != "balanced" or not facts.model or facts.timed_out or record.pictures:
        return ""
    if message.kind != "message" or typed_command(message) is not None:
        return ""
    return last.text.strip() if last is not None and last.role == "assistant" else ""
