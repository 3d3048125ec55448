"""Which answers the critic checks, and what their person sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from handlers.notices.critic_notice import CriticNotices
from routing.config.contracts import DEFAULT_CONTRACTS
from routing.critic.critic import Critique
from routing.types.history import TurnFacts, TurnRecord
from routing.types.llm import ChatMessage
from routing.types.messages import (
    Attachment,
    Button,
    ChatKey,
    InboundMessage,
    OutboundMessage,
    Press,
    UserKey,
)
from routing.types.people import Person
from routing.types.queues import OutboxEntry
from routing.types.usage import CallRecord, TurnCost

ASKED = InboundMessage(UserKey("telegram", "1"), ChatKey("telegram", "-5", "7"), "bot", "1", "hi", 0.0, message_id="9")
FACTS = TurnFacts("balanced", "default", "openai/m", 1.0)
SAID = (ChatMessage("assistant", " Sydney. "),)
TURN = TurnRecord("t1", 3, 1, "What is the capital?", messages=SAID, calls=(), facts=FACTS)
DOUBT = Critique("anthropic/c", "It is Canberra.")
CALL = CallRecord("balanced", "anthropic/c", None, 1.0)


@dataclass(slots=True)
class Fakes:
    """A critic with a fixed verdict; records calls, stored and sent messages."""

    doubt: Critique | None = DOUBT
    enabled: bool = True
    costs: bool = True
    language: str = ""
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    kept: list[tuple[Sequence[OutboundMessage], TurnRecord]] = field(default_factory=list)
    sent: list[OutboxEntry] = field(default_factory=list)

    async def after_turn(self, message: InboundMessage = ASKED, record: TurnRecord = TURN) -> None:
        contracts = {tier: replace(each, pool=(f"x/{tier}",)) for tier, each in DEFAULT_CONTRACTS.items()}
        critic, fakes = cast(Any, self.Critic(self)), cast(Any, self)
        notices = CriticNotices(critic, fakes, fakes, self.sent.extend, lambda: contracts)
        await notices.after_turn(message, record)

    class Critic:
        def __init__(self, fakes: Fakes) -> None:
            self._fakes = fakes
            self.enabled = fakes.enabled

        async def check(self, question: str, answer: str, author: str, cost: TurnCost) -> Critique | None:
            self._fakes.asked.append((question, answer, author))
            assert (cost.person_id, cost.chat) == (1, ASKED.chat)
            cost.calls += [CALL] if self._fakes.costs else []
            return self._fakes.doubt

    async def find(self, user: UserKey) -> Person:
        return Person(1, "user", "Ann", self.language)

    async def finish(
        self, ids: Sequence[int], replies: Sequence[OutboundMessage], record: TurnRecord
    ) -> list[OutboxEntry]:
        assert ids == ()
        self.kept.append((replies, record))
        return [OutboxEntry(1, each, "pending", 0, 0, 0, 0.0, "", 0.0) for each in replies]


async def test_a_notice_offers_the_higher_tier() -> None:
    fakes = Fakes()
    await fakes.after_turn()
    assert fakes.asked == [("What is the capital?", "Sydney.", "openai/m")]
    (entry,) = fakes.sent
    assert entry.message.text == "🔍 `anthropic/c` doubts this: `It is Canberra.`"
    assert (entry.message.chat, entry.message.reply_to, entry.message.owner) == (ASKED.chat, "9", 1)
    assert entry.message.buttons == ((Button("🔁 Retry on smart", "/retry smart", "t1"),),)


async def test_the_critics_cost_is_recorded_without_history() -> None:
    for doubt in (DOUBT, None):
        fakes = Fakes(doubt)
        await fakes.after_turn()
        ((replies, record),) = fakes.kept
        assert record == TurnRecord("t1", 3, 1, "", calls=(CALL,))
        assert len(replies) == len(fakes.sent) == (doubt is not None)


async def test_without_a_call_there_is_no_cost() -> None:
    fakes = Fakes(None, costs=False)
    await fakes.after_turn()
    assert fakes.kept == []


@pytest.mark.parametrize(
    ("message", "record"),
    [
        *((ASKED, replace(TURN, facts=replace(FACTS, tier=tier))) for tier in ("smart", "coding", "deep")),
        (ASKED, replace(TURN, facts=replace(FACTS, model=""))),
        (ASKED, replace(TURN, facts=replace(FACTS, timed_out=True))),
        (ASKED, replace(TURN, facts=None)),
        (ASKED, replace(TURN, messages=())),
        (ASKED, replace(TURN, messages=(ChatMessage("tool", "42"),))),
        (ASKED, replace(TURN, messages=(ChatMessage("assistant", " \n"),))),
        (ASKED, replace(TURN, pictures=(Attachment("image", "a.png", "image/png", 5, "x"),))),
        (replace(ASKED, kind="press", press=Press("q", "m")), TURN),
        (replace(ASKED, text="/retry"), TURN),
    ],
)  # fmt: skip
async def test_turns_that_are_not_checked(message: InboundMessage, record: TurnRecord) -> None:
    fakes = Fakes()
    await fakes.after_turn(message, record)
    assert not fakes.asked
    assert not fakes.kept
    assert not fakes.sent


async def test_a_disabled_critic_is_not_called() -> None:
    fakes = Fakes(enabled=False)
    await fakes.after_turn()
    assert not fakes.asked
    assert not fakes.kept
