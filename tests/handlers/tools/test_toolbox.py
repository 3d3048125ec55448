"""What is offered to whom, how arguments are checked, and that a tool may fail in any way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from handlers.tools.arguments import Arguments
from handlers.tools.shelf import OurShelves, Shelf
from handlers.tools.tool import Tool
from handlers.tools.toolbox import UNKNOWN, Toolbox
from routing.calls import ToolCall, ToolSpec
from routing.errors import BadArguments, StorageFault, ToolFailed
from routing.outcome import ToolScope, Traits
from routing.sizes import SIZES, Size
from routing.toolkits import ToolCard, Toolkit, ToolText
from routing.types import Person, Role, TierDecision

SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "count": {"type": "integer"}},
    "required": ["path"],
}
GUEST, USER = Person(1, "guest", "Gus"), Person(2, "user", "Una")


def scope(person: Person = USER) -> ToolScope:
    return ToolScope(person, 1, TierDecision("balanced", "default", "default"))


async def echo(_scope: ToolScope, path: str, count: int = 1) -> str:
    return path * count


async def breaks(_scope: ToolScope, path: str) -> str:
    raise RuntimeError("secret detail")


async def disk_full(_scope: ToolScope, path: str) -> str:
    raise StorageFault("The disk is full.")


async def missing() -> str | None:
    return "its program is missing"


def box() -> Toolbox:
    tools = (Tool("echo", echo), Tool("breaks", breaks), Tool("full", disk_full), Tool("open", echo, role="guest"))
    return Toolbox(shelf(*tools, Tool("off", echo, off=missing)))


def shelf(*tools: Tool, schema: Mapping[str, object] = SCHEMA, name: str = "kit") -> OurShelves:
    text = ToolText("…", schema)
    cards = tuple(ToolCard(tool.name, dict.fromkeys(SIZES, text)) for tool in tools)
    return OurShelves([Shelf(Toolkit(name, "A kit.", tools=cards), tools)])


async def run(name: str, arguments: str, person: Person = USER) -> str:
    return await box().run(ToolCall("1", name, arguments), scope(person))


async def test_a_role_sees_its_own_tools_and_none_that_is_off() -> None:
    assert [card.name for card in (await box().offered(USER))[0].tools] == ["echo", "breaks", "full", "open"]
    assert [card.name for card in (await box().offered(GUEST))[0].tools] == ["open"]
    assert await box().off(USER) == {"off": "its program is missing"} and await box().off(GUEST) == {}


async def test_arguments_reach_the_function_by_name() -> None:
    assert await run("echo", json.dumps({"path": "ab", "count": 2})) == "abab"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("{", "not valid JSON"),
        ("[1]", "not a JSON object"),
        ("", "'path' is a required property"),
        ('{"path": 3}', "path: 3 is not of type 'string'"),
        ('{"path": "a", "count": "two"}', "count: 'two' is not of type 'integer'"),
        ("[" * 100_000, "not valid JSON"),
    ],
)
async def test_wrong_arguments_are_explained_with_the_schema(arguments: str, reason: str) -> None:
    with pytest.raises(BadArguments) as found:
        await run("echo", arguments)
    assert reason in str(found.value) and json.dumps(SCHEMA) in str(found.value) and len(str(found.value)) < 900


async def test_an_argument_that_the_tool_does_not_know_is_explained() -> None:
    with pytest.raises(BadArguments, match="colour"):
        await run("echo", '{"path": "a", "colour": "red"}')


async def test_a_null_leaves_out_what_need_not_be_given() -> None:
    assert await run("echo", '{"path": "ab", "count": null}') == "ab"
    with pytest.raises(BadArguments, match="path: None is not of type 'string'"):
        await run("echo", '{"path": null}')
    with pytest.raises(BadArguments, match="colour"):
        await run("echo", '{"path": "a", "colour": null}')


@pytest.mark.parametrize(
    ("schema", "read"),
    [
        ({"type": "integer", "default": 3}, {}),
        ({"$ref": "#/$defs/count"}, {}),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, {}),
        ({"type": ["integer", "null"]}, {"count": None}),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, {"count": None}),
        ({"enum": [1, None]}, {"count": None}),
        ({}, {"count": None}),
        (True, {"count": None}),
    ],
)
async def test_a_null_that_the_schema_allows_is_a_value(schema: object, read: dict[str, None]) -> None:
    asked = {"type": "object", "properties": {"count": schema}, "$defs": {"count": {"type": "integer"}}}
    assert await Arguments().read(ToolCall("1", "t", '{"count": null}'), ToolSpec("t", "…", asked)) == read


@pytest.mark.parametrize(
    "schema", [{"$ref": "#/$defs/nowhere"}, {"$ref": "#/properties/list"}, {"items": [{"type": "string"}]}]
)
async def test_a_schema_that_cannot_be_followed_is_left_to_the_tool(schema: dict[str, object]) -> None:
    asked, call = {"type": "object", "properties": {"list": schema}}, ToolCall("1", "t", '{"list": ["a"]}')
    assert await Arguments().read(call, ToolSpec("t", "…", asked)) == {"list": ["a"]}


EVIL = {"q": {"type": "string", "pattern": "^(a+)+$"}}


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": EVIL},
        {"properties": {"q": {"$ref": "#/default"}}, "default": EVIL["q"]},
        {"properties": {"q": {"$schema": "http://json-schema.org/draft-07/schema#", **EVIL["q"]}}},
        {"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False},
        {"patternProperties": {"^(a+)+$": {}}, "unevaluatedProperties": False},
        {"propertyNames": {"pattern": "^(a+)+$"}},
        {"properties": {"q": {"not": {"pattern": "!$"}}}},
        {"properties": {"q": {"oneOf": [{"pattern": "^a"}, {"pattern": "!$"}]}}},
    ],
)
async def test_nobody_elses_regular_expression_is_run(schema: dict[str, object]) -> None:
    """Each of these would be refused; the time that it takes doubles with every letter."""
    slow = "a" * 18 + "!"
    given = {"q": slow, slow: 1}
    asked = ToolSpec("t", "…", {"type": "object", **schema})
    assert await Arguments().read(ToolCall("1", "t", json.dumps(given)), asked, foreign=True) == given


async def test_all_else_of_a_foreign_schema_is_checked_and_told_with_its_expressions() -> None:
    asked = ToolSpec("t", "…", {"type": "object", "properties": {**EVIL, "n": {"oneOf": [{"type": "integer"}]}}})
    for given in ('{"q": 1}', '{"n": "x"}'):
        with pytest.raises(BadArguments, match=r"is not .*\(a\+\)\+"):
            await Arguments().read(ToolCall("1", "t", given), asked, foreign=True)
    closed = ToolSpec("t", "…", {"type": "object", "additionalProperties": False})
    with pytest.raises(BadArguments, match="colour"):
        await Arguments().read(ToolCall("1", "t", '{"colour": 1}'), closed, foreign=True)
    ours = Arguments()
    assert await ours.read(ToolCall("1", "t", '{"q": "b"}'), asked, foreign=True) == {"q": "b"}
    with pytest.raises(BadArguments, match="does not match"):
        await ours.read(ToolCall("1", "t", '{"q": "b"}'), asked)


ELSEWHERE: list[dict[str, object]] = [
    {"anyOf": [{"properties": {"a": {"type": "integer"}}, "required": ["a"]}]},
    {"allOf": [{"properties": {"a": {"type": "integer"}}}]},
    {"$ref": "#/$defs/all", "$defs": {"all": {"properties": {"a": {"type": "integer"}}}}},
]


@pytest.mark.parametrize("foreign", [True, False])
@pytest.mark.parametrize("schema", ELSEWHERE)
async def test_arguments_that_stand_elsewhere_than_in_properties_are_taken(
    schema: dict[str, object], foreign: bool
) -> None:
    asked = ToolSpec("t", "…", {"type": "object", "properties": {}, **schema})
    assert await Arguments().read(ToolCall("1", "t", '{"a": 1}'), asked, foreign) == {"a": 1}
    with pytest.raises(BadArguments, match=r"'x'.* is not"):
        await Arguments().read(ToolCall("1", "t", '{"a": "x"}'), asked, foreign)


async def test_a_schema_of_an_object_alone_says_nothing_of_a_foreign_tools_arguments() -> None:
    asked, call = ToolSpec("t", "…", NOTHING), ToolCall("1", "t", '{"a": 1}')
    assert await Arguments().read(call, asked, foreign=True) == {"a": 1}
    with pytest.raises(BadArguments, match="'a' was unexpected"):
        await Arguments().read(call, asked)


async def test_two_schemas_of_one_name_are_told_apart() -> None:
    arguments, call = Arguments(), ToolCall("1", "echo", '{"path": "a", "count": 2}')
    short = {"type": "object", "properties": {"path": {"type": "string"}}}
    for _ in range(2):
        assert await arguments.read(call, ToolSpec("echo", "…", SCHEMA)) == {"path": "a", "count": 2}
        with pytest.raises(BadArguments, match="count"):
            await arguments.read(call, ToolSpec("echo", "…", short))


@pytest.mark.parametrize("name", ["nothing", "echo", ""])
async def test_there_is_no_tool_that_the_role_forbids(name: str) -> None:
    with pytest.raises(ToolFailed, match="There is no tool") as found:
        await run(name, '{"path": "a"}', GUEST)
    assert "There are: open." in str(found.value)


async def test_a_tool_that_raises_is_in_the_log_and_not_in_the_words(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ToolFailed, match=r"breaks failed inside \(RuntimeError\)") as found:
        await run("breaks", '{"path": "a"}')
    assert "secret detail" in caplog.text and "secret detail" not in str(found.value)


async def test_a_fault_of_the_storage_is_said() -> None:
    with pytest.raises(ToolFailed, match="The disk is full"):
        await run("full", '{"path": "a"}')


async def test_a_cancelled_tool_is_cancelled() -> None:
    async def waits(_scope: ToolScope) -> str:
        await asyncio.Event().wait()
        return ""

    waiting = shelf(Tool("waits", waits), schema={"type": "object"})
    work = asyncio.create_task(Toolbox(waiting).run(ToolCall("1", "waits", "{}"), scope()))
    await asyncio.sleep(0.01)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work


FEW = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


def two_sizes() -> Toolbox:
    """A tool whose second argument only the largest models are told of."""
    texts = dict.fromkeys(SIZES, ToolText("…", FEW)) | {"XL": ToolText("…", SCHEMA)}
    kit = Toolkit("kit", "A kit.", tools=(ToolCard("echo", texts),))
    return Toolbox(OurShelves([Shelf(kit, [Tool("echo", echo)])]))


@pytest.mark.parametrize("size", SIZES)
async def test_arguments_may_be_those_of_the_models_size_or_of_the_largest(size: Size) -> None:
    toolbox, asked = two_sizes(), replace(scope(), size=size)
    assert await toolbox.run(ToolCall("1", "echo", '{"path": "ab"}'), asked) == "ab"
    assert await toolbox.run(ToolCall("1", "echo", '{"path": "ab", "count": 2}'), asked) == "abab"


@pytest.mark.parametrize(("size", "schema"), [("S", FEW), ("XL", SCHEMA)])
async def test_wrong_arguments_are_explained_with_the_schema_that_the_model_was_told(
    size: Size, schema: Mapping[str, object]
) -> None:
    with pytest.raises(BadArguments, match="colour") as found:
        await two_sizes().run(ToolCall("1", "echo", '{"path": "a", "colour": 1}'), replace(scope(), size=size))
    assert json.dumps(schema) in str(found.value) and ('"count"' in str(found.value)) is (size == "XL")


def saying(name: str, said: str, role: Role = "user") -> Tool:
    async def say(_scope: ToolScope) -> str:
        return said

    return Tool(name, say, role=role)


NOTHING = {"type": "object", "properties": {}}


async def offered(toolbox: Toolbox, person: Person = USER) -> dict[str, list[str]]:
    return {kit.name: [card.name for card in kit.tools] for kit in await toolbox.offered(person)}


async def test_of_two_tools_with_one_name_the_first_is_there(caplog: pytest.LogCaptureFixture) -> None:
    first = shelf(saying("a", "first"), saying("b", "first"), schema=NOTHING, name="one")
    second = shelf(saying("b", "second", "guest"), saying("c", "second"), schema=NOTHING, name="two")
    third = shelf(saying("a", "third"), schema=NOTHING, name="three")
    toolbox = Toolbox(first, second, third)
    assert await offered(toolbox) == {"one": ["a", "b"], "two": ["c"]}
    said = [await toolbox.run(ToolCall("1", name, "{}"), scope()) for name in "abc"]
    assert said == ["first", "first", "second"] and await offered(toolbox, GUEST) == {}
    assert toolbox.left_out() == (
        "The tool b of two is left out: one has one of this name.",
        "The tool a of three is left out: one has one of this name.",
    )
    assert all(sentence in caplog.text for sentence in toolbox.left_out())


async def test_of_two_toolkits_with_one_name_the_first_is_there(caplog: pytest.LogCaptureFixture) -> None:
    first, second = shelf(saying("a", ""), schema=NOTHING), shelf(saying("b", ""), schema=NOTHING)
    toolbox = Toolbox(first, second)
    assert await offered(toolbox) == {"kit": ["a"]} and box().left_out() == ()
    assert toolbox.left_out() == ("The toolkit kit is left out: there is another of this name.",)
    assert toolbox.left_out()[0] in caplog.text
    with pytest.raises(ToolFailed, match="There is no tool b here"):
        await toolbox.run(ToolCall("1", "b", "{}"), scope())


async def test_each_role_has_its_own_part_of_every_source() -> None:
    mine = shelf(saying("a", "", "owner"), saying("b", "", "guest"), schema=NOTHING, name="mine")
    theirs = shelf(saying("c", "", "admin"), saying("d", "", "user"), schema=NOTHING, name="theirs")
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
    """A source whose shelves are put up and taken down."""

    def __init__(self) -> None:
        self.now: tuple[Shelf, ...] = ()

    def shelves(self) -> tuple[Shelf, ...]:
        return self.now


async def test_a_source_that_changes_is_seen_at_once() -> None:
    source = Changing()
    toolbox = Toolbox(shelf(saying("a", "ours"), schema=NOTHING, name="ours"), source)
    before = toolbox.toolkits()
    assert await offered(toolbox) == {"ours": ["a"]} and toolbox.toolkits() is before
    slow = Traits(parallel=False, seconds=7)
    source.now = shelf(replace(saying("b", "new"), traits=slow), schema=NOTHING, name="theirs").shelves()
    assert await toolbox.run(ToolCall("1", "b", "{}"), scope()) == "new" and toolbox.traits("b") == slow
    assert await offered(toolbox) == {"ours": ["a"], "theirs": ["b"]} and len(toolbox.toolkits()) == 2
    source.now = ()
    with pytest.raises(ToolFailed, match="There is no tool b here"):
        await toolbox.run(ToolCall("1", "b", "{}"), scope())
    assert await offered(toolbox) == {"ours": ["a"]} and toolbox.traits("b") == UNKNOWN


async def test_what_is_offered_is_the_same_as_long_as_nothing_changes() -> None:
    reasons: list[str | None] = [None]

    async def off() -> str | None:
        return reasons[-1]

    source, kit = Changing(), shelf(Tool("a", echo, off=off), Tool("b", echo, role="guest"))
    toolbox = Toolbox(kit, source)
    first = await toolbox.offered(USER)
    assert await toolbox.offered(replace(USER, id=9)) is first and await toolbox.offered(GUEST) is not first
    reasons.append("it is away")
    assert [card.name for card in (await toolbox.offered(USER))[0].tools] == ["b"]
    assert await toolbox.off(USER) == {"a": "it is away"}
    reasons.append(None)
    assert await toolbox.offered(USER) is first
    source.now = shelf(saying("c", ""), name="other").shelves()
    assert await toolbox.offered(USER) is not first and len(await toolbox.offered(USER)) == 2


async def test_a_tool_without_a_function_is_not_there() -> None:
    cards = tuple(ToolCard(name, dict.fromkeys(SIZES, ToolText("…", NOTHING))) for name in ("a", "b"))
    with_one = Shelf(Toolkit("kit", "A kit.", tools=cards), [saying("b", "")])
    without = Shelf(Toolkit("none", "None.", tools=cards[:1]), [])
    toolbox = Toolbox(OurShelves([with_one, without]))
    assert await offered(toolbox) == {"kit": ["b"]} and [kit.name for kit in toolbox.toolkits()] == ["kit"]


async def test_what_is_told_may_depend_on_the_machine() -> None:
    def described(card: ToolCard) -> ToolCard:
        return replace(card, category="here")

    toolbox = Toolbox(shelf(replace(saying("a", ""), describe=described), saying("b", "")))
    assert [card.category for card in toolbox.toolkits()[0].tools] == ["here", ""]
