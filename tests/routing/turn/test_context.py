"""Conversations that are too long: who may read a summary, its budget, and how often it is made."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import cast

import pytest

from routing.catalog.catalog import BUNDLED, Catalog
from routing.config import jsonfile
from routing.config.runtime import read_config
from routing.health.health import ModelHealth
from routing.llm.attempt import ModelCaller
from routing.policy.models import Models
from routing.ports import HistoryStore
from routing.turn.context import Context
from routing.turn.context_window import Window
from routing.turn.summariser import Summariser
from routing.types.deadline import Deadline
from routing.types.history import StoredMessage, Summary
from routing.types.llm import ChatMessage, StreamEnd, TextDelta, ToolCall, Usage
from routing.types.messages import Attachment
from routing.types.people import Person, Preferences
from routing.types.stop import Stop
from routing.types.turns import PromptFit, Question
from tests.fakes import FakeLlm, Seen, Step, says
from tests.routing.turn.samples import turn_cost

ANN, BOB = Person(1, "user", "Ann"), Person(2, "user", "Bob")
SYSTEM = ChatMessage("system", "Be brief.")


class Kept:
    """The part of `routing.ports.HistoryStore` that a context uses, in memory."""

    def __init__(self) -> None:
        self.stored: list[StoredMessage] = []
        self.summaries: list[Summary] = []

    def add(self, person: Person, *said: ChatMessage) -> None:
        for each in said:
            self.stored.append(
                StoredMessage(
                    len(self.stored) + 1,
                    each.role,
                    each.text,
                    1.0,
                    calls=each.calls,
                    call_id=each.call_id,
                    tool=each.tool,
                    person_id=person.id,
                )
            )

    async def unsummarised(
        self, conversation_id: int, limit: int, before: int | None = None
    ) -> tuple[Summary | None, tuple[StoredMessage, ...], int]:
        newest = self.summaries[-1] if self.summaries else None
        return newest, *await self.messages(conversation_id, limit, before, newest.upto if newest else 0)

    async def messages(
        self, conversation_id: int, limit: int, before: int | None = None, after: int = 0
    ) -> tuple[tuple[StoredMessage, ...], int]:
        found = [each for each in self.stored if after < each.id < (before or math.inf)]
        return tuple(found[-limit:]), len(found)

    async def summarise(self, conversation_id: int, summary: Summary) -> None:
        self.summaries.append(summary)


def read_diary(secret: str) -> tuple[ChatMessage, ...]:
    """A turn with a tool whose arguments and result are secret."""
    call = ToolCall("c", "read_file", f'{{"path": "{secret}.txt"}}')
    return (
        ChatMessage("user", "read it"),
        ChatMessage("assistant", "", calls=(call,)),
        ChatMessage("tool", f"it says {secret}", call_id="c", tool="read_file"),
        ChatMessage("assistant", "I have read it."),
    )


def models(document: str = "{}") -> Models:
    return Models(read_config(jsonfile.parse(document, "x.json"), {"openai": "k"}, {}, ()), Catalog.load(BUNDLED))


def writer(llm: FakeLlm, config: Models | None = None, kind: type[Summariser] = Summariser) -> Summariser:
    caller = ModelCaller(llm, ModelHealth(time.time), time.time)
    deadline = Deadline(time.time, math.inf)
    return kind(caller, config or models(), Preferences(tier="smart"), Seen(), Stop(), deadline, turn_cost())


async def opened(
    history: Kept, person: Person, summariser: Summariser | None = None, text: str = "", config: Models | None = None
) -> Context:
    question = Question(person, 1, text)
    made = Context(cast(HistoryStore, history), _no_picture, question, (config or models()).config, summariser)
    await made.load()
    return made


async def _no_picture(_: Attachment) -> None:
    return None


async def compacted(history: Kept, person: Person, keep: int = 1) -> str:
    """The prompt for the summary when this person compacts the conversation."""
    llm = FakeLlm(says(f"SUMMARY {len(history.summaries) + 1}"))
    summariser = writer(llm)
    assert await (await opened(history, person)).compact(keep, summariser)
    return str(llm.asked[0].messages)


async def prompt_text(history: Kept, person: Person) -> str:
    """The prompt for this person without a summariser."""
    messages, _ = await (await opened(history, person, text="and?")).prompt(SYSTEM, (), Window(100_000, 100_000), False)
    return str(messages)


async def test_a_summary_of_one_persons_messages_has_tool_results_and_is_private() -> None:
    history = Kept()
    history.add(ANN, *read_diary("swordfish"))
    assert "swordfish" in await compacted(history, ANN)
    assert "SUMMARY 1" in await prompt_text(history, ANN)
    assert "alone]" not in await prompt_text(history, ANN)
    assert "SUMMARY 1" not in await prompt_text(history, BOB)
    history.add(ANN, ChatMessage("user", "more"), ChatMessage("assistant", "yes"))
    shown = await compacted(history, ANN)
    assert "SUMMARY 1" in shown
    assert "alone]" not in shown, "it goes on from there"
    assert "SUMMARY 2" in await prompt_text(history, ANN)
    assert "SUMMARY 2" not in await prompt_text(history, BOB)


@pytest.mark.parametrize("last", ["ann", "bob"])
async def test_a_summary_of_several_people_has_no_tool_calls_or_results(last: str) -> None:
    history = Kept()
    history.add(ANN, *read_diary("swordfish"))
    if last == "ann":
        history.add(BOB, ChatMessage("user", "hi"), ChatMessage("assistant", "hello"))
    shown = await compacted(history, ANN if last == "ann" else BOB)
    assert "swordfish" not in shown
    assert "user: read it" in shown
    assert "SUMMARY 1" in await prompt_text(history, ANN)
    assert "SUMMARY 1" in await prompt_text(history, BOB)
    history.add(ANN, *read_diary("marlin"))
    shown = await compacted(history, ANN)
    assert "marlin" not in shown
    assert "SUMMARY 1" in shown, "the others are still there"


@pytest.mark.parametrize("others", ["stay", "were left out"])
async def test_other_people_count_even_outside_the_summarised_part(others: str) -> None:
    history = Kept()
    said = ChatMessage("user", "hi"), ChatMessage("assistant", "hello")
    if others == "were left out":
        history.add(BOB, *said)
        history.summaries.append(Summary(2, "", 0, "down"))
    history.add(ANN, *read_diary("swordfish"))
    if others == "stay":
        history.add(BOB, *said)
    assert "swordfish" not in await compacted(history, ANN, 2)
    assert "SUMMARY" in await prompt_text(history, BOB)


async def test_a_private_summary_is_rewritten_when_another_person_writes() -> None:
    history = Kept()
    history.add(ANN, *read_diary("swordfish"))
    await compacted(history, ANN)
    history.add(BOB, ChatMessage("user", "hi"), ChatMessage("assistant", "hello"))
    shown = await compacted(history, ANN)
    assert "swordfish" not in shown
    assert "SUMMARY 1" not in shown
    assert "I have read it." in shown
    assert "SUMMARY 2" in await prompt_text(history, BOB)


async def test_another_person_gets_a_new_summary_at_once() -> None:
    history = Kept()
    history.add(ANN, *read_diary("swordfish"))
    await compacted(history, ANN)
    llm = FakeLlm(says("FOR ALL"))
    context = await opened(history, BOB, writer(llm), "hi")
    messages, _ = await context.prompt(SYSTEM, (), Window(100_000, 100_000), False)
    assert "FOR ALL" in str(messages)
    assert "SUMMARY 1" not in str(messages)
    assert "swordfish" not in str(llm.asked[0].messages)
    assert "read it" in str(llm.asked[0].messages)
    assert "FOR ALL" in await prompt_text(history, ANN)
    assert history.summaries[-1].upto == history.summaries[0].upto


async def test_the_balanced_model_writes_summaries_with_little_reasoning() -> None:
    pools = '{"tiers": {"balanced": {"pool": ["openai/gpt-5.1"]}, "smart": {"pool": ["openai/gpt-5.2"]}}}'
    history, llm, config = Kept(), FakeLlm(says("S")), models(pools)
    history.add(ANN, *read_diary("swordfish"))
    await (await opened(history, ANN, config=config)).compact(1, writer(llm, config))
    assert [(asked.tier, asked.model, asked.reasoning) for asked in llm.asked] == [
        ("balanced", "openai/gpt-5.1", "low")
    ]


class Stopped(Summariser):
    """Stopped by its person; `asked` counts the calls."""

    asked = 0

    @property
    def stopped(self) -> bool:
        return True

    async def summary(self, earlier: str, older: Sequence[ChatMessage]) -> str:
        self.asked += 1
        return await super().summary(earlier, older)


async def prompted(context: Context, times: int = 1) -> PromptFit:
    """The prompts of a turn with a window that is too small."""
    for _ in range(times):
        _, fit = await context.prompt(SYSTEM, (), Window(8_000, 8_000), False)
    return fit


def long_talk(history: Kept) -> None:
    for number in range(20):
        history.add(ANN, ChatMessage("user", f"{number} {'x' * 3_000}"), ChatMessage("assistant", "y" * 3_000))


@pytest.mark.usefixtures("no_pause")
async def test_a_turn_requests_a_summary_only_once() -> None:
    history = Kept()
    long_talk(history)
    silent: list[Step] = []
    summariser = writer(FakeLlm(*[silent] * 4), kind=Stopped)
    assert isinstance(summariser, Stopped)
    await prompted(await opened(history, ANN, summariser, "and?"), times=2)
    assert summariser.asked == 1
    assert history.summaries == []


def chunk(cost: str) -> list[Step]:
    return [TextDelta("part"), StreamEnd("stop", Usage(1, 1, cost=Decimal(cost)))]


@pytest.mark.parametrize(
    ("turn", "made", "why"),
    [
        ('{"maxUsd": 0.5}', 2, "$0.5"),
        ('{"maxUsd": 0.1}', 1, "$0.1"),
        ('{"maxModelCalls": 4}', 3, "4 model calls"),
        ('{"maxModelCalls": 1}', 0, "1 model calls"),
        ("{}", 4, ""),
    ],
    ids=["money", "money at once", "calls", "the only call", "nothing"],
)
async def test_a_summary_keeps_to_the_turns_limits(turn: str, made: int, why: str) -> None:
    config = models(f'{{"turn": {turn}, "compaction": {{"maxContextTokens": 12000, "keepLastMessages": 4}}}}')
    history, llm = Kept(), FakeLlm(*[chunk("0.3") for _ in range(4)])
    long_talk(history)
    fit = await prompted(await opened(history, ANN, writer(llm, config), "and?", config))
    assert llm.made == made
    assert why in fit.lost
    assert bool(fit.lost) == bool(why)
    newest = history.summaries[-1]
    assert (newest.text == "", newest.covers == 0) == (bool(why), bool(why))
    assert newest.upto > 0


async def test_compact_may_use_all_calls() -> None:
    config = models('{"turn": {"maxModelCalls": 4}, "compaction": {"maxContextTokens": 12000}}')
    history, llm = Kept(), FakeLlm(*[chunk("0.3") for _ in range(4)])
    long_talk(history)
    await (await opened(history, ANN, config=config)).compact(4, writer(llm, config))
    assert llm.made == 4
    assert history.summaries[-1].reason == ""
    assert replace(history.summaries[-1], text="") == Summary(36, "", 36, reader=ANN.id)


async def test_other_peoples_messages_are_not_ones_topic() -> None:
    history = Kept()
    history.add(ANN, *read_diary("swordfish"))
    history.add(BOB, ChatMessage("user", "hello all"), ChatMessage("assistant", "Hello."))
    anns, bobs = await opened(history, ANN), await opened(history, BOB)
    assert anns.questions(2) == ("read it",)
    assert anns.called() == {"read_file"}
    assert bobs.questions(2) == ("hello all",)
    assert bobs.called() == set()
    history.stored[0] = replace(history.stored[0], person_id=0)
    assert (await opened(history, BOB)).questions(2) == ("hello all", "read it"), "from before messages had a person"
