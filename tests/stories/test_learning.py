"""Tools and tiers are learned from use: by each person for themselves, for messages like those they come from."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.polling import until
from tests.stories.harness import BotHarness, ask, press, running, settled
from tests.stories.test_ratings import stored
from tests.stories.toolkits import CITY, task, write
from tests.stories.vendors import facts

pytestmark = [
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed"),
    pytest.mark.usefixtures("own_clients"),
]

TOMATOES = (
    "Kindly tell me how my tomatoes are doing",
    "Tell me how my tomatoes are doing today",
    "Please tell me how all my tomatoes are doing",
)
NEAR = "Now tell me how the tomatoes are doing"
FAR = "Which year did the Berlin wall come down?"
POEMS = (
    "Write me a short poem about my grandmother's garden",
    "Write me a short poem about my grandmother's kitchen",
    "Write me a long poem about my grandmother's garden",
)
NEAR_POEM = "Write me another poem about my grandmother's garden"
SENSORS = {
    "name": "greenhouse",
    "description": "Readings of the sensors under glass.",
    "keywords": ["sensors"],
    "tasks": [task("read_sensors", "Read the sensors.", "Sensors", CITY, "21 degrees")],
}


@pytest.fixture
def tmp_path(on_disk: Path) -> Path:
    """The sandbox works here."""
    return on_disk


@pytest.fixture(autouse=True)
def greenhouse(first_toolkits: None, on: BotHarness) -> None:
    """A toolkit that no message of this file is about by its words."""
    write(on, SENSORS)
    on.env["BOT_ACCESS"] = "open"


def lessons(on: BotHarness) -> list[tuple[object, ...]]:
    return on.rows("select signal, subject from examples order by id")


async def noted(on: BotHarness, *wanted: tuple[str, str]) -> None:
    """Waits until these are the lessons."""
    await until(lambda: lessons(on) == list(wanted))


async def counted(on: BotHarness, number: int) -> None:
    """Waits until there are this many lessons."""
    await until(lambda: len(lessons(on)) == number)


async def find(on: BotHarness, text: str, *, user: str | None = None, group: str | None = None) -> None:
    """The model has to search for the tool, in a new conversation: one in use is shown anyway."""
    await ask(on, "/new", user=user, group=group)
    on.ms.call_tools([("discover_tools", {"query": "read the sensors"})])
    on.ms.call_tools([("read_sensors", {"city": "Bonn"})])
    on.ms.reply("They are fine.")
    await ask(on, text, user=user, group=group)


async def taught(on: BotHarness, *, user: str | None = None, group: str | None = None, at: str = "") -> None:
    """Three messages after which the model had to search."""
    before = len(lessons(on))
    for number, text in enumerate(TOMATOES, before + 1):
        await find(on, at + text, user=user, group=group)
        await counted(on, number)
    await ask(on, "/new", user=user, group=group)


async def is_shown(on: BotHarness, text: str, *, user: str | None = None, group: str | None = None) -> bool:
    await ask(on, text, user=user, group=group)
    return "read_sensors" in on.ms.last.reading.tool_names


async def corrected(on: BotHarness, texts: Sequence[str], tier: str = "deep") -> None:
    """After each automatic choice, the person chooses a tier by hand."""
    for text in texts:
        await ask(on, "/tier auto")
        await ask(on, text)
        assert on.rows("select source from turns order by id desc limit 1") == [("auto",)]
        await ask(on, f"/tier {tier}")
    await ask(on, "/tier auto")


async def test_a_tool_that_was_searched_for_is_shown_for_near_messages(on: BotHarness) -> None:
    async with running(on):
        assert not await is_shown(on, NEAR)
        for number, text in enumerate(TOMATOES, 1):
            await find(on, text)
            await noted(on, *[("found", "read_sensors")] * number)
            await ask(on, "/new")
            assert await is_shown(on, NEAR) == (number == 3), "three of a kind take effect"
        assert not await is_shown(on, FAR)
        assert "• greenhouse: learned 0.75" in (await ask(on, f"/tools {NEAR}")).text
        assert not await is_shown(on, NEAR, user="bob"), "nobody else gets it"
        text = (await ask(on, "/tools")).text
        assert f"Shown for messages like {TOMATOES[2]}: greenhouse (examples: 3)" in text
        assert "tomatoes" not in (await ask(on, "/tools", user="bob")).text


async def test_learned_tools_survive_a_restart_with_the_shipped_encoder(on: BotHarness) -> None:
    on.env["EMBEDDINGS"] = "static"
    async with running(on):
        await taught(on)
    async with running(on):
        assert await is_shown(on, NEAR)
        assert not await is_shown(on, FAR)
    assert [row[0] for row in on.rows("select distinct substr(encoder, 1, 7) from examples")] == ["static:"]
    assert "tomatoes" not in str(on.rows("select * from examples")), "the text is not kept"


async def test_a_tool_called_by_name_is_shown_for_near_messages(on: BotHarness) -> None:
    on.config |= {"tiers": {"balanced": {"pool": ["openai/llama-3.2-1b"]}}, "learning": {"examples": 1}}
    on.config["tools"] = {"presentation": {"S": {"maxTools": 4}}}
    async with running(on):
        on.ms.call_tools([("read_sensors", {"city": "Bonn"})])
        on.ms.call_tools([("read_sensors", {"city": "Bonn"})])
        await ask(on, TOMATOES[0])
        await noted(on, ("named", "read_sensors"))
        await ask(on, "/new")
        assert await is_shown(on, NEAR)
        assert not await is_shown(on, FAR)


async def test_a_disliked_or_switched_off_toolkit_is_hidden_for_near_messages(on: BotHarness) -> None:
    on.config["learning"] = {"examples": 2}
    loud, near = [f"{text}, by the sensors" for text in TOMATOES], f"{NEAR}, by the sensors"
    async with running(on):
        assert await is_shown(on, near)
        on.ms.call_tools([("read_sensors", {"city": "Bonn"})])
        answer = await stored(on, loud[0])
        on.tg.react(answer, "👎")
        await noted(on, ("disliked", "greenhouse"))
        on.tg.react(answer)
        await noted(on)
        await ask(on, "/rate down")
        await noted(on, ("disliked", "greenhouse"))
        await ask(on, "/new")
        await ask(on, loud[1])
        await ask(on, "/tools off greenhouse")
        await noted(on, ("disliked", "greenhouse"), ("off", "greenhouse"))
        await ask(on, "/tools on greenhouse")
        await ask(on, "/new")
        assert not await is_shown(on, near)
        assert await is_shown(on, "Which sensors did the Apollo spacecraft carry in nineteen sixty-nine?"), "not near"
        assert await is_shown(on, near, user="bob"), "nobody else loses it"
        assert "No longer shown for messages like" in (await ask(on, "/tools")).text
        await find(on, near)
        await counted(on, 3)
        await ask(on, "/new")
        assert await is_shown(on, near), "it was needed after all"


async def test_a_toolkit_that_was_not_shown_teaches_nothing_when_switched_off(on: BotHarness) -> None:
    async with running(on):
        await ask(on, FAR)
        await ask(on, "/tools off greenhouse")
        await settled(on)
        assert lessons(on) == []


async def test_a_tier_chosen_by_hand_counts_for_near_messages(on: BotHarness) -> None:
    async with running(on):
        await corrected(on, POEMS[:2])
        await ask(on, NEAR_POEM)
        assert facts(on)["tier"] == "balanced", "two are not enough"
        await ask(on, "/tier auto")
        await ask(on, POEMS[2])
        await ask(on, "/retry deep")
        assert lessons(on) == [("tier", "deep")] * 3
        await ask(on, "/settings footer on")
        answer = await ask(on, NEAR_POEM)
        assert on.rows("select tier, source from turns order by id desc limit 1") == [("deep", "auto")]
        assert "you chose it for similar messages" in answer.text
        await ask(on, FAR)
        assert facts(on)["tier"] == "balanced"
        assert f"Tier for messages like {POEMS[1]}: deep (examples: 3)" in (await ask(on, "/tools")).text
        await ask(on, "/tier auto", user="bob")
        await ask(on, NEAR_POEM, user="bob")
        assert facts(on)["tier"] == "balanced", "nobody else is moved"


async def test_a_choice_that_confirms_the_automatic_one_teaches_nothing(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "/tier smart")
        await ask(on, POEMS[0])
        await ask(on, "/tier deep")
        await corrected(on, POEMS[:1], "balanced")
        assert lessons(on) == []


async def test_disliked_automatic_answers_raise_the_tier_for_near_messages(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "/tier auto")
        for text in POEMS:
            await stored(on, text)
            await ask(on, "/rate down")
        await ask(on, NEAR_POEM)
        assert facts(on)["tier"] == "smart"
        await ask(on, FAR)
        assert facts(on)["tier"] == "balanced"
        await ask(on, "/rate up")
        assert lessons(on) == [("disliked tier", "balanced")] * 3


async def test_groups_learn_only_if_switched_on(on: BotHarness) -> None:
    on.env["BOT_ACCESS"] = "pairing"
    async with running(on):
        await ask(on, "/access here on", group="Team")
        await find(on, f"@tierbot {TOMATOES[0]}", group="Team")
        await settled(on)
        assert lessons(on) == []
        assert "this needs the role user" in (await ask(on, "/settings learning on", user="bob", group="Team")).text
        shown = (await ask(on, "/settings learning on", group="Team")).text
        assert "Learning tools and tiers in this chat: on" in shown
        await taught(on, group="Team", at="@tierbot ")
        assert await is_shown(on, f"@tierbot {NEAR}", group="Team")
        assert not await is_shown(on, f"@tierbot {NEAR}", group="Team", user="bob")
        listed = (await ask(on, "/tools", group="Team")).text
        assert "Shown for similar messages: greenhouse" in listed
        assert "tomatoes" not in listed
        await ask(on, "/settings learning off", group="Team")
        await ask(on, "/new", group="Team")
        assert not await is_shown(on, f"@tierbot {NEAR}", group="Team")
        assert "greenhouse (examples" not in (await ask(on, "/tools", group="Team")).text


async def test_a_private_chat_or_the_owner_can_switch_it_off(on: BotHarness) -> None:
    async with running(on):
        assert "in this chat: on" in (await ask(on, "/settings")).text
        assert "in this chat: off" in (await ask(on, "/settings learning off")).text
        await find(on, TOMATOES[0])
        await settled(on)
        assert lessons(on) == []
    on.config["learning"] = {"enabled": False}
    async with running(on):
        assert "The owner has switched learning off" in (await ask(on, "/settings learning on")).text
        await find(on, TOMATOES[0], user="bob")
        await settled(on)
        assert lessons(on) == []


async def test_a_person_forgets_their_own_and_the_owner_all(on: BotHarness) -> None:
    async with running(on):
        assert (await ask(on, "/tools forget")).text == "I have learned nothing from you."
        await taught(on)
        await taught(on, user="bob")
        assert "Only an owner" in (await ask(on, "/tools forget everyone", user="bob")).text
        warned = await ask(on, "/tools forget yes", user="bob")
        assert warned.text == "This deletes what I learned about tools and tiers from you (examples: 3)."
        assert len(lessons(on)) == 6
        on.tg.press("🗑 Delete it", message=warned, user="bob")
        await until(lambda: len(lessons(on)) == 3)
        assert not await is_shown(on, NEAR, user="bob")
        assert await is_shown(on, NEAR)
        await press(on, "🗑 Delete it for everyone", await ask(on, "/tools forget everyone"))
        assert lessons(on) == []
        await ask(on, "/new")
        assert not await is_shown(on, NEAR)
        assert "For this message:" in (await ask(on, "/tools forget my password, please")).text


async def test_examples_are_exported_and_deleted_with_the_person(on: BotHarness) -> None:
    async with running(on):
        await taught(on, user="bob")
        sent = await ask(on, "/access export", user="bob")
        with zipfile.ZipFile(io.BytesIO(on.tg.document(sent).data)) as archive:
            rows = json.loads(archive.read("learned.json"))
        assert [(each["signal"], each["subject"]) for each in rows] == [("found", "read_sensors")] * 3
        assert all(each["vector"] and each["at"].startswith("20") for each in rows)
        warning = await ask(on, "/access forget me", user="bob")
        on.tg.press("🗑 Delete it all", message=warning, user="bob")
        await until(lambda: lessons(on) == [])
