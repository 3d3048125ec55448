"""Sends the objections of a second model after an answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from handlers.languages import Say
from handlers.notices.notices import Send
from handlers.parsing import typed_command
from handlers.replies.retry_buttons import higher
from handlers.storage_retry import retry_storage
from routing.config.contracts import TierContract
from routing.critic.critic import Critic, Critique
from routing.ports import Ledger, PeopleStore
from routing.types.history import TurnRecord
from routing.types.messages import InboundMessage, OutboundMessage
from routing.types.tiers import Tier
from routing.types.usage import TurnCost


class CriticNotices:
    """A `handlers.post_turn.Hook`. Sends an objection as a separate message, stored with its cost in one transaction.
    The answer itself does not change."""

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

    async def after_turn(self, message: InboundMessage, record: TurnRecord) -> None:
        """Lets the critic review the answer. Sends its objection, or a notice that a required review was impossible."""
        facts = record.facts
        required = facts is not None and self._contracts()[facts.tier].requires_verifier
        wanted = required or (self._critic.enabled and facts is not None and facts.tier == "balanced")
        answer = _answer(message, record, required) if wanted else ""
        if not answer or facts is None:
            return
        cost = TurnCost(record.person_id, message.chat)
        ask = self._critic.verify if required else self._critic.check
        critique = await ask(record.question, answer, facts.model, cost)
        silent = not critique.objection if critique is not None else not required
        replies = [] if silent else [await self._notice(message, record, critique)]
        calls = tuple(cost.calls)
        if calls or replies:
            spent = TurnRecord(record.turn_id, record.conversation_id, record.person_id, "", calls=calls)
            self._send(await retry_storage(self._ledger.finish, (), replies, spent))

    async def _notice(self, message: InboundMessage, record: TurnRecord, critique: Critique | None) -> OutboundMessage:
        person = await self._people.find(message.user)
        say = Say((person.language if person else "") or message.language)
        text = say("⚠️ This answer was not verified: no model of another vendor could check it.")
        if critique is not None:
            text = say("🔍 {model} doubts this: {why}", model=f"`{critique.model}`", why=f"`{critique.objection}`")
        tier = record.facts.tier if record.facts is not None else "balanced"
        return OutboundMessage(
            chat=message.chat,
            text=text,
            reply_to=message.message_id,
            owner=record.person_id,
            apart=True,
            buttons=higher(say, tier, self._contracts(), record.turn_id),
        )


def _answer(message: InboundMessage, record: TurnRecord, required: bool) -> str:
    """The text to review. Empty for councils, unfinished answers, and questions with pictures, which the critic can't
    see. Answers to a button or a command are reviewed only if the tier requires it."""
    facts, last = record.facts, record.messages[-1] if record.messages else None
    if facts is None or facts.source == "council" or not facts.model or facts.timed_out or record.pictures:
        return ""
    if not required and (message.kind != "message" or typed_command(message) is not None):
        return ""
    return last.text.strip() if last is not None and last.role == "assistant" else ""
