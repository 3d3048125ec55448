"""Tool selection from question to request: relevant tools are shown, others found by discovery, without delay."""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from routing.tools.presentation import ASK_FOR_CALLS
from routing.tools.selection.catalogue import Catalogue
from routing.types.toolkits import Toolkit
from tests.polling import until
from tests.stories.harness import BotHarness, ask, running, tool_results
from tests.stories.toolkits import DIARY, NOTES, WEATHER, indexed, ready, shown, task, write

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")

SMALL = "openai/llama-3.2-1b"
NOWHERE = "sentence-transformers:/nowhere/at-all"


@pytest.fixture
def tmp_path(on_disk: Path) -> Path:
    """The sandbox works here."""
    return on_disk


@pytest.fixture(autouse=True)
def kits(first_toolkits: None, on: BotHarness, caplog: pytest.LogCaptureFixture) -> None:
    """Three toolkits in the workspace, the default embeddings, and the log from the start."""
    caplog.set_level(logging.INFO)
    on.env["EMBEDDINGS"] = "static"
    for each in (WEATHER, DIARY, NOTES):
        write(on, each)


def decided(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The logged decisions."""
    lines = (record.getMessage() for record in caplog.records)
    return [line.removeprefix("[ToolRouter] ") for line in lines if line.startswith("[ToolRouter] ")]


def small(on: BotHarness) -> None:
    on.config["tiers"] = {"balanced": {"pool": [SMALL]}}


def defined(on: BotHarness, at: int = -1) -> list[str]:
    """The tool names in a request, in order."""
    return list(on.ms.calls[at].reading.tool_names)


@pytest.mark.parametrize("question", ["What's the weather like in Paris?", "Wie wird das Wetter morgen in Berlin?"])
async def test_a_question_activates_only_its_toolkit(
    on: BotHarness, caplog: pytest.LogCaptureFixture, question: str
) -> None:
    async with ready(on):
        await ask(on, question)
    assert shown(on) == {"get_forecast"}
    assert "calculate" in defined(on)
    (line,) = decided(caplog)
    number, _, rest = line.partition("/")
    assert int(number) == len(defined(on))
    assert "activated: [weather(" in rest
    assert "words only" not in rest


@pytest.mark.parametrize("chat", ["hello", "How are you today?", "Hallo, wie geht's?", "thank you, that was nice"])
async def test_small_talk_activates_no_toolkit(on: BotHarness, chat: str) -> None:
    async with ready(on):
        await ask(on, chat)
    assert shown(on) == set()


async def test_a_short_follow_up_keeps_the_toolkit(on: BotHarness) -> None:
    async with ready(on):
        await ask(on, "What's the weather like in Paris?")
        await ask(on, "and tomorrow?")
    assert "get_forecast" in shown(on)
    assert not shown(on) & {"take_note", "find_note"}


FOLLOW_UP = "and the other one?"


async def test_a_follow_up_keeps_the_toolkits_also_after_a_restart(
    on: BotHarness, caplog: pytest.LogCaptureFixture
) -> None:
    async with ready(on) as app:
        alone = await app.engine.tooling.selector.match(FOLLOW_UP)
        assert "weather" not in {each.toolkit for each in alone.activated}, (
            "without context it does not mention weather"
        )
        await ask(on, "What's the weather like in Paris?")
        await ask(on, FOLLOW_UP)
        assert shown(on) == {"get_forecast"}
        assert "weather(follow-up:" in decided(caplog)[-1]
        await ask(on, FOLLOW_UP)
        assert shown(on) == set(), "for one turn, because no tool was called"
        await ask(on, "What's the weather like in Paris?")
    kept = on.rows("select encoder, hash, vector from vectors order by hash")
    assert len(kept) > 50
    assert {str(encoder).partition(":")[0] for encoder, _, _ in kept} == {"static"}
    async with ready(on):
        assert on.rows("select encoder, hash, vector from vectors order by hash") == kept
        await ask(on, FOLLOW_UP)
        assert shown(on) == {"get_forecast"}
        assert "weather(follow-up:" in decided(caplog)[-1]
        await ask(on, "/new")
        await ask(on, FOLLOW_UP)
        assert shown(on) == set()


async def test_a_new_topic_drops_the_old_toolkit(on: BotHarness) -> None:
    async with ready(on):
        await ask(on, "What's the weather like in Paris?")
        assert shown(on) == {"get_forecast"}
        await ask(on, "What is in my diary?")
        assert "get_forecast" not in shown(on)


async def test_a_message_without_a_topic_keeps_toolkits_for_one_turn(on: BotHarness) -> None:
    async with ready(on):
        await ask(on, "What's the weather like in Paris?")
        await ask(on, "Thanks!")
        assert shown(on) == {"get_forecast"}
        await ask(on, "Thanks again!")
        assert shown(on) == set()


async def test_a_used_toolkit_stays_while_its_calls_are_in_context(
    on: BotHarness, caplog: pytest.LogCaptureFixture
) -> None:
    on.ms.call_tools([("take_note", {"text": "milk"})])
    on.ms.reply("Noted.")
    async with ready(on):
        await ask(on, "Jot this down: buy milk")
        await ask(on, "hello")
        await ask(on, "hello again")
        await ask(on, "hello once more")
        assert shown(on) == {"take_note", "find_note"}
        assert "notes(used:1.00)" in decided(caplog)[-1]


async def test_a_small_model_gets_few_short_tools_and_the_other_names(on: BotHarness) -> None:
    small(on)
    async with ready(on):
        await ask(on, "What's the weather like in Paris?")
    tools = {tool["function"]["name"]: tool["function"]["description"] for tool in on.ms.last.body["tools"]}
    assert len(tools) <= 8
    assert (defined(on)[0], defined(on)[-1]) == ("get_forecast", "discover_tools")
    assert tools["get_forecast"] == "Weather"
    assert tools["discover_tools"] == "Find more tools"
    lines = [line for line in on.ms.last.reading.system_text.splitlines() if "More tools" in line]
    assert len(lines) == 1
    assert lines[0].endswith(ASK_FOR_CALLS)
    others = {"plan_meeting", "list_appointments", "take_note", "find_note", "calculate", "set_tier", "run_command"}
    assert all((name in tools) != (name in lines[0]) for name in others)
    assert len(others - tools.keys()) > 3


async def test_discovery_finds_a_missing_tool_within_the_turn(on: BotHarness, caplog: pytest.LogCaptureFixture) -> None:
    small(on)
    on.ms.call_tools([("discover_tools", {"query": "put an appointment into the diary"})])
    on.ms.call_tools([("plan_meeting", {"title": "Lunch with Ann"})])
    on.ms.reply("It is in your diary.")
    async with ready(on):
        answer = await ask(on, "hello")
    assert answer.text == "It is in your diary."
    assert len(on.ms.calls) == 3
    assert "plan_meeting" not in defined(on, 0)
    assert "plan_meeting" in defined(on, 1)
    for earlier, later in pairwise(on.ms.calls):
        kept, grown = earlier.body["messages"], later.body["messages"]
        assert grown[: len(kept)] == kept
        assert later.body["tools"][: len(earlier.body["tools"])] == earlier.body["tools"]
    found, added = tool_results(on)
    assert found.startswith("Found, ")
    assert "- plan_meeting: " in found
    assert added == 'added\n{"title": "Lunch with Ann"}'
    assert any(line.startswith("discover_tools found plan_meeting") for line in decided(caplog))


async def test_a_tool_known_only_by_name_runs(on: BotHarness) -> None:
    small(on)
    on.ms.call_tools([("take_note", {"words": "milk"})])
    on.ms.call_tools([("take_note", {"text": "milk"})])
    on.ms.call_tools([("find_note", {"text": "milk"})])
    on.ms.call_tools([("find_note", {"text": "milk"})])
    on.ms.reply("Noted.")
    async with ready(on):
        assert (await ask(on, "hello")).text == "Noted."
    wrong, right, blind, other = tool_results(on)
    assert blind.startswith("Error: find_note was not run yet")
    assert '"required": ["text"]' in blind
    assert wrong.startswith("Error: ")
    assert '"required": ["text"]' in wrong
    assert '"tag"' not in wrong
    assert right == 'noted\n{"text": "milk"}'
    assert other == 'found\n{"text": "milk"}'
    assert "take_note" not in defined(on, 0)
    assert defined(on, 1) == defined(on, 2) == [*defined(on, 0), "take_note"]
    assert defined(on, 3) == [*defined(on, 0), "take_note", "find_note"]


async def test_failover_mid_turn_uses_the_tool_texts_of_the_new_size(on: BotHarness) -> None:
    on.config["tiers"] = {"balanced": {"pool": [SMALL]}, "deep": {"pool": ["openai/gpt-5.2"]}}
    for _ in range(2):  # it is only named, so the first call returns its schema
        on.ms.call_tools([("set_tier", {"tier": "deep"})])
    on.ms.reply("Thought through.")
    async with ready(on):
        assert (await ask(on, "What's the weather like in Paris?")).text == "Thought through."
    first, _, second = on.ms.calls
    assert (first.model, second.model) == ("llama-3.2-1b", "gpt-5.2")
    described = [_described(call.body, "get_forecast") for call in (first, second)]
    assert described == ["Weather", "Tell the weather at a place, now and for a week."]
    assert "More tools" in first.reading.system_text
    assert "More tools" not in second.reading.system_text


def _described(body: dict[str, Any], name: str) -> str:
    functions = (tool.get("function", tool) for tool in body["tools"])
    return next(str(each["description"]) for each in functions if each["name"] == name)


async def test_a_new_toolkit_file_is_loaded_at_runtime(
    on: BotHarness, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.live_config.RELOAD_SECONDS", 0.02)
    monkeypatch.setattr("routing.tools.index_builder.PAUSE_SECONDS", 0.0)
    file = on.workspace / "toolkits" / "weather.json"
    file.unlink()
    question = "What's the weather like in Paris?"
    async with ready(on) as app:
        await ask(on, question)
        assert shown(on) == set()
        write(on, WEATHER)
        await until(lambda: "get_forecast" in _names(app.engine.tooling.toolbox.toolkits()))
        await until(lambda: caplog.text.count("[Embeddings] ") == 2)
        await ask(on, question)
        assert shown(on) == {"get_forecast"}
        assert "words only" not in decided(caplog)[-1]
        write(on, '{"name": "weather",', "weather")
        await until(lambda: app.engine.tooling.toolkits.broken)
        assert "weather.json line 1 column 20: not valid JSON" in caplog.text
        await ask(on, question)
        assert shown(on) == {"get_forecast"}, "the last valid version"
        changed = task("get_forecast", "Tell how the sky looks.", "Sky", NOTES["tasks"][0]["parameters"], "grey")
        write(on, {**WEATHER, "tasks": [changed]})
        await until(lambda: not app.engine.tooling.toolkits.broken)
        on.ms.call_tools([("get_forecast", {"text": "up"})])
        await ask(on, question)
        assert tool_results(on)[-1] == 'grey\n{"text": "up"}'
        assert _described(on.ms.last.body, "get_forecast") == "Tell how the sky looks."
        file.unlink()
        await until(lambda: "get_forecast" not in _names(app.engine.tooling.toolbox.toolkits()))
        await ask(on, question)
        assert shown(on) == set()


def _names(toolkits: Sequence[Toolkit]) -> set[str]:
    return {card.name for toolkit in toolkits for card in toolkit.tools}


async def test_the_index_is_kept_while_nothing_changes(
    on: BotHarness, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.live_config.RELOAD_SECONDS", 0.001)
    async with ready(on) as app:
        before = app.engine.tooling.toolbox.toolkits()
        looks = app.engine.tooling.toolkits.found
        await until(lambda: app.engine.tooling.toolkits.found is not looks)
        await app.engine.tooling.refresh()
        await ask(on, "hello")
        assert app.engine.tooling.toolbox.toolkits() is before
    assert caplog.text.count("[Embeddings] ") == 1


@pytest.mark.parametrize(("backend", "fallback_reason"), [("off", "EMBEDDINGS=off"), (NOWHERE, "/nowhere/at-all: ")])
async def test_without_an_encoder_keywords_choose_and_this_is_logged(
    on: BotHarness, caplog: pytest.LogCaptureFixture, backend: str, fallback_reason: str
) -> None:
    on.env["EMBEDDINGS"] = backend
    async with ready(on, fallback_reason):
        for question in ("What's the weather like in Paris?", "Wie wird das Wetter morgen in Berlin?"):
            await ask(on, question)
            assert "get_forecast" in shown(on)
            assert "plan_meeting" not in shown(on)
            assert "weather(keyword:" in decided(caplog)[-1]
            assert f" | words only: {fallback_reason}" in decided(caplog)[-1]
    assert on.rows("select count(*) from vectors") == [(0,)]


@pytest.mark.parametrize("model", [SMALL, "openai/gpt-5.2"])
async def test_the_first_message_after_a_start_does_not_wait_for_the_index(
    on: BotHarness, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    on.config["tiers"] = {"balanced": {"pool": [model]}}
    gate = threading.Event()

    class Held(Catalogue):
        def __init__(self, toolkits: Sequence[Toolkit], cache: Path | None = None) -> None:
            assert gate.wait(60)
            super().__init__(toolkits, cache)

    monkeypatch.setattr("routing.tools.selection.catalogue.Catalogue", Held)
    try:
        async with running(on) as app:
            await ask(on, "What's the weather like in Paris?")
            assert shown(on) == {"get_forecast"}
            assert decided(caplog)[-1].endswith(
                "activated: [weather(keyword:1.00)] | words only: the tool index is still being built"
            )
            gate.set()
            await indexed(app)
            await ask(on, "Is it cold in Oslo?")
            assert "get_forecast" in shown(on)
            assert "words only" not in decided(caplog)[-1]
    finally:
        gate.set()
