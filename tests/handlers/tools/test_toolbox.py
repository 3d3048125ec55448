"""Which tools each role gets, and tools that fail in any way."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from handlers.metrics import Metrics
from handlers.tools.approval import Approval
from handlers.tools.authoring.tool import Tool
from handlers.tools.tool_source import BoundToolkit, BuiltinSource
from handlers.tools.toolbox import UNKNOWN, Toolbox
from routing.errors import ToolFailed
from routing.types.decisions import SIZES
from routing.types.llm import ToolCall
from routing.types.people import Person, Role
from routing.types.toolkits import ToolCard, Toolkit, ToolText
from routing.types.tools import ToolScope, Traits
from storage.confirmations import SqlActions, SqlAllowances
from storage.database import open_database
from tests.handlers.tools.toolkits import GUEST, NOTHING, USER, box, breaks, disk_full, echo, run, scope, source_of


async def test_a_role_sees_its_own_tools_and_none_that_is_off() -> None:
    assert [card.name for card in (await box().offered(USER))[0].tools] == ["echo", "breaks", "full", "open"]
    assert [card.name for card in (await box().offered(GUEST))[0].tools] == ["open"]
    assert await box().off(USER) == {"off": "its program is missing"}
    assert await box().off(GUEST) == {}


@pytest.mark.parametrize("name", ["nothing", "echo", ""])
async def test_forbidden_tools_do_not_exist(name: str) -> None:
    with pytest.raises(ToolFailed, match="There is no tool") as found:
        await run(name, '{"path": "a"}', GUEST)
    assert "There are: open." in str(found.value)


async def test_an_exception_is_logged_and_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ToolFailed, match=r"breaks failed internally \(RuntimeError\)") as found:
        await run("breaks", '{"path": "a"}')
    assert "secret detail" in caplog.text
    assert "secret detail" not in str(found.value)


async def test_a_storage_failure_is_reported() -> None:
    with pytest.raises(ToolFailed, match="The disk is full"):
        await run("full", '{"path": "a"}')


@pytest.mark.parametrize(
    ("name", "told"), [("breaks", r"failed internally \(RuntimeError\)"), ("full", "disk is full")]
)
async def test_a_question_that_fails_is_reported_like_its_tool(name: str, told: str, in_memory: Path) -> None:
    asks = {"breaks": breaks, "full": disk_full}[name]
    database = open_database(f"sqlite:///{in_memory / 'bot.db'}")
    approval = Approval(SqlActions(database, time.time), SqlAllowances(database), frozenset, time.time)
    asking = Toolbox(source_of(Tool(name, echo, asks=asks)), approval=approval)
    with pytest.raises(ToolFailed, match=told) as found:
        await asking.run(ToolCall("1", name, '{"path": "a"}'), scope())
    assert "secret detail" not in str(found.value)
    await database.close()


async def test_a_cancelled_tool_is_cancelled() -> None:
    async def waits(_scope: ToolScope) -> str:
        await asyncio.Event().wait()
        return ""

    waiting = source_of(Tool("waits", waits), schema={"type": "object"})
    work = asyncio.create_task(Toolbox(waiting).run(ToolCall("1", "waits", "{}"), scope()))
    await asyncio.sleep(0.01)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work


def saying(name: str, said: str, role: Role = "user") -> Tool:
    async def say(_scope: ToolScope) -> str:
        return said

    return Tool(name, say, role=role)


async def offered(toolbox: Toolbox, person: Person = USER) -> dict[str, list[str]]:
    return {kit.name: [card.name for card in kit.tools] for kit in await toolbox.offered(person)}


async def test_the_first_of_two_tools_with_one_name_wins(caplog: pytest.LogCaptureFixture) -> None:
    first = source_of(saying("a", "first"), saying("b", "first"), schema=NOTHING, name="one")
    second = source_of(saying("b", "second", "guest"), saying("c", "second"), schema=NOTHING, name="two")
    third = source_of(saying("a", "third"), schema=NOTHING, name="three")
    toolbox = Toolbox(first, second, third)
    assert await offered(toolbox) == {"one": ["a", "b"], "two": ["c"]}
    said = [await toolbox.run(ToolCall("1", name, "{}"), scope()) for name in "abc"]
    assert said == ["first", "first", "second"]
    assert await offered(toolbox, GUEST) == {}
    assert toolbox.left_out() == (
        "The tool b of two is left out: one has one of this name.",
        "The tool a of three is left out: one has one of this name.",
    )
    assert all(sentence in caplog.text for sentence in toolbox.left_out())


async def test_the_first_of_two_toolkits_with_one_name_wins(caplog: pytest.LogCaptureFixture) -> None:
    first, second = source_of(saying("a", ""), schema=NOTHING), source_of(saying("b", ""), schema=NOTHING)
    toolbox = Toolbox(first, second)
    assert await offered(toolbox) == {"kit": ["a"]}
    assert box().left_out() == ()
    assert toolbox.left_out() == ("The toolkit kit is left out: there is another of this name.",)
    assert toolbox.left_out()[0] in caplog.text
    with pytest.raises(ToolFailed, match="There is no tool b here"):
        await toolbox.run(ToolCall("1", "b", "{}"), scope())


async def test_sources_are_filtered_by_role() -> None:
    mine = source_of(saying("a", "", "owner"), saying("b", "", "guest"), schema=NOTHING, name="mine")
    theirs = source_of(saying("c", "", "admin"), saying("d", "", "user"), schema=NOTHING, name="theirs")
    toolbox = Toolbox(mine, theirs)
    roles: dict[Role, dict[str, list[str]]] = {
        "owner": {"mine": ["a", "b"], "theirs": ["c", "d"]},
        "admin": {"mine": ["b"], "theirs": ["c", "d"]},
        "user": {"mine": ["b"], "theirs": ["d"]},
        "guest": {"mine": ["b"]},
        "blocked": {},
    }
    for role, found in roles.items():
        assert await offered(toolbox, Person(1, role, "Ann")) == found
    assert [kit.name for kit in toolbox.toolkits()] == ["mine", "theirs"]
    with pytest.raises(ToolFailed, match=r"There is no tool c here.* There are: b, d\."):
        await toolbox.run(ToolCall("1", "c", "{}"), scope())


class Changing:
    """A source with changing toolkits."""

    def __init__(self) -> None:
        self.now: tuple[BoundToolkit, ...] = ()

    def bound_toolkits(self) -> tuple[BoundToolkit, ...]:
        return self.now


async def test_a_source_that_changes_is_seen_at_once() -> None:
    source = Changing()
    toolbox = Toolbox(source_of(saying("a", "ours"), schema=NOTHING, name="ours"), source)
    before = toolbox.toolkits()
    assert await offered(toolbox) == {"ours": ["a"]}
    assert toolbox.toolkits() is before
    slow = Traits(parallel=False, seconds=7)
    source.now = source_of(replace(saying("b", "new"), traits=slow), schema=NOTHING, name="theirs").bound_toolkits()
    assert await toolbox.run(ToolCall("1", "b", "{}"), scope()) == "new"
    assert toolbox.traits("b") == slow
    assert await offered(toolbox) == {"ours": ["a"], "theirs": ["b"]}
    assert len(toolbox.toolkits()) == 2
    source.now = ()
    with pytest.raises(ToolFailed, match="There is no tool b here"):
        await toolbox.run(ToolCall("1", "b", "{}"), scope())
    assert await offered(toolbox) == {"ours": ["a"]}
    assert toolbox.traits("b") == UNKNOWN


async def test_the_same_objects_are_returned_until_something_changes() -> None:
    reasons: list[str | None] = [None]

    async def off() -> str | None:
        return reasons[-1]

    source, kit = Changing(), source_of(Tool("a", echo, off=off), Tool("b", echo, role="guest"))
    toolbox = Toolbox(kit, source)
    first = await toolbox.offered(USER)
    assert await toolbox.offered(replace(USER, id=9)) is first
    assert await toolbox.offered(GUEST) is not first
    reasons.append("it is away")
    assert [card.name for card in (await toolbox.offered(USER))[0].tools] == ["b"]
    assert await toolbox.off(USER) == {"a": "it is away"}
    reasons.append(None)
    assert await toolbox.offered(USER) is first
    source.now = source_of(saying("c", ""), name="other").bound_toolkits()
    assert await toolbox.offered(USER) is not first
    assert len(await toolbox.offered(USER)) == 2


async def test_a_tool_without_a_function_is_not_offered() -> None:
    cards = tuple(ToolCard(name, dict.fromkeys(SIZES, ToolText("…", NOTHING))) for name in ("a", "b"))
    with_one = BoundToolkit(Toolkit("kit", "A kit.", tools=cards), [saying("b", "")])
    without = BoundToolkit(Toolkit("none", "None.", tools=cards[:1]), [])
    toolbox = Toolbox(BuiltinSource([with_one, without]))
    assert await offered(toolbox) == {"kit": ["b"]}
    assert [kit.name for kit in toolbox.toolkits()] == ["kit"]


async def test_a_function_without_a_manifest_entry_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    card = ToolCard("a", dict.fromkeys(SIZES, ToolText("…", NOTHING)))
    kit = BoundToolkit(Toolkit("kit", "A kit.", tools=(card,)), [saying("a", ""), saying("forgotten", "")])
    toolbox = Toolbox(BuiltinSource([kit]))
    assert await offered(toolbox) == {"kit": ["a"]}
    fault = "The tool forgotten of kit is left out: the toolkit's manifest does not describe it."
    assert toolbox.left_out() == (fault,)
    assert fault in caplog.text


async def test_texts_may_depend_on_the_machine() -> None:
    def described(card: ToolCard) -> ToolCard:
        return replace(card, category="here")

    toolbox = Toolbox(source_of(replace(saying("a", ""), describe=described), saying("b", "")))
    assert [card.category for card in toolbox.toolkits()[0].tools] == ["here", ""]


async def test_calls_of_existing_tools_are_counted_by_outcome() -> None:
    async def fails(_scope: ToolScope) -> str:
        raise ToolFailed("no")

    counts = Metrics()
    toolbox = Toolbox(source_of(saying("a", ""), Tool("b", fails), schema=NOTHING), metrics=counts)
    for name, arguments in (("a", "{}"), ("a", "{}"), ("a", '{"x": 1}'), ("b", "{}"), ("made_up", "{}")):
        with suppress(ToolFailed):
            await toolbox.run(ToolCall("1", name, arguments), scope())
    assert counts.tools == {("a", "ok"): 2, ("a", "refused"): 1, ("b", "failed"): 1}
