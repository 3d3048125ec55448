"""/tools: the toolkits, what a message would select, and what a person has disabled."""

from __future__ import annotations

import asyncio
import re

import pytest

from handlers.commands.tools import BUTTONS
from routing.tools.fallback_reasons import OFF
from tests.servers.telegram.entities import utf16_length
from tests.servers.waiting import TIMEOUT_SECONDS
from tests.stories.harness import BotHarness, ask, press, running
from tests.stories.toolkits import indexed, ready, write

WEATHER: dict[str, object] = {
    "name": "weather",
    "description": "The weather of any place.",
    "keywords": ["weather", "rain", "Regen"],
    "tasks": [{"name": "forecast", "description": "A forecast.", "execute": {"command": ["echo", "sunny"]}}],
}
RAIN = "rain in Rome?"


@pytest.fixture(autouse=True)
def weather_toolkit(first_toolkits: None, on: BotHarness) -> None:
    """A toolkit of the owner; no embeddings, so that decisions are the same on every machine."""
    write(on, WEATHER)
    on.env["EMBEDDINGS"] = "off"


def line(text: str, begin: str) -> str:
    """The one line that starts with this, without it."""
    found = [each.removeprefix(begin) for each in text.splitlines() if each.startswith(begin)]
    assert len(found) == 1, text
    return found[0]


async def test_the_list_names_every_toolkit_with_its_source(on: BotHarness) -> None:
    async with ready(on, OFF) as app:
        text = (await ask(on, "/tools")).text
        there = {each.name for each in app.engine.tooling.toolbox.toolkits()}
    assert line(text, "• weather ") == "(workspace, 1 tool): The weather of any place."
    assert line(text, "• basics ") == (
        "(ours, 2 tools, always included): The present date and time anywhere, and exact arithmetic with units."
    )
    assert {"weather", "basics", "conversation"} <= there
    assert {name for name in there if f"• {name} (" in text} == there
    assert "(ours, 2 of 3 tools, always included)" in line(text, "• conversation ")
    assert line(text, "• use_skill: ") == "no skills installed"


async def test_the_list_is_an_overview_and_one_toolkit_is_shown_in_full(on: BotHarness) -> None:
    async with ready(on, OFF):
        shown = await ask(on, "/tools")
        assert utf16_length(shown.text) <= 4096
        assert line(shown.text, "/tools <toolkit> ") == "shows the tools of one toolkit."
        one = await ask(on, "/tools Council")
        assert one.text.startswith("council (ours, 0 of 1 tools): Asks several models")
        asks = "Ask several models for a second opinion (asks before some runs)"
        assert line(one.text, "• consult_council: ") == asks
        assert "⚠️ fewer than two providers have a key" in one.text
        assert [button["text"] for button in one.buttons] == ["⏹ council"]
        assert "For this message:" in (await ask(on, '/tools "council"')).text
        await ask(on, "/settings language de")
        german = (await ask(on, "/tools files")).text
        assert "(fragt manchmal vorher)" in (await ask(on, "/tools council")).text
    assert line(german, "• read_file: ") == "Eine Text-, PDF- oder Office-Datei lesen"
    assert line(german, "• send_file: ") == "Dir eine Datei schicken"


async def test_problems_are_shown_to_those_who_can_fix_them(on: BotHarness) -> None:
    write(on, '{"name": "broken",\n"tasks" []}', "broken")
    (on.workspace / "mcp.json").write_text(
        '{"mcpServers": {"notes": {"command": "/nowhere/notes"}, "rest": {"command": "x", "disabled": true}}, "mcp": 1}'
    )
    on.env["BOT_ACCESS"] = "open"
    async with running(on):
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while "not connected for" not in (text := (await ask(on, "/tools")).text):
                pass
        status = (await ask(on, "/status full")).text
        his, his_status = (
            (await ask(on, "/tools", user="bob")).text,
            (await ask(on, "/status full", user="bob")).text,
        )
    assert "broken.json line 2 column 9: not valid JSON" in text
    assert re.search(r"⚠️ notes: not connected for \d+ s: .*/nowhere/notes is not there", text)
    assert "• rest: disabled in mcp.json" in text
    assert re.search(r"⚠️ mcp\.json.*mcp is not known", text)
    assert "⚠️ Broken toolkit files: 1; /tools says why." in status
    assert "⚠️ MCP servers with errors: notes; /tools says why." in status
    for shown in (his, his_status):
        assert "broken" not in shown
        assert "Broken" not in shown
        assert "notes" not in shown
        assert "MCP" not in shown
    assert "• weather " in his


async def test_tools_of_higher_roles_are_not_listed(on: BotHarness) -> None:
    write(on, WEATHER | {"name": "vault", "role": "owner", "tasks": [{
        "name": "open_vault", "description": "Opens it.", "execute": {"command": ["true"]}}]})  # fmt: skip
    bob = on.tg.user("bob")
    on.env["BOT_ACCESS"] = "open"
    async with ready(on, OFF):
        assert "vault" in (await ask(on, "/tools")).text
        assert "vault" in (await ask(on, f"/tools {RAIN}")).text
        assert "vault" not in (await ask(on, "/tools", user=bob)).text
        assert "vault" not in (await ask(on, f"/tools {RAIN}", user=bob)).text
        refused = (await ask(on, "/tools off vault", user=bob)).text
        assert refused == "There is no toolkit vault; /tools lists them. Nothing was changed."
        await ask(on, "/access here on", group="Team")
        await ask(on, f"@tierbot {RAIN}", group="Team")
        assert "vault (words " in (await ask(on, "/status full", group="Team")).text
        his = (await ask(on, "/status full", group="Team", user=bob)).text
        assert "weather (words " in his
        assert "vault" not in his


async def test_a_query_shows_the_decision_for_its_message(on: BotHarness) -> None:
    async with ready(on, OFF):
        text = (await ask(on, f"/tools {RAIN}")).text
        calls = len(on.ms.calls)
        await ask(on, RAIN)
        offered = on.ms.last.reading.tool_names
        status = (await ask(on, "/status full")).text
    assert calls == 0, "a query calls no model"
    assert line(text, "In full: ").split(", ") == list(offered)
    assert "forecast" in offered
    head = re.match(
        r"For this message: (\d+) of (\d+) tools, about ([\d,]+) tokens instead of ([\d,]+) \((\d+) %\)\. "
        r"Model: openai/gpt-5\.1\.\n"
        r"Size class XL, strategy full: all matching tools, always in the same order\.\n",
        text,
    )
    assert head is not None, text
    shown, total, tokens, whole, share = (int(each.replace(",", "")) for each in head.groups())
    assert shown == len(offered)
    assert total == shown + len(line(text, "Not shown: ").split(", "))
    assert share == round(100 * tokens / whole)
    assert 0 < tokens < whole
    score = line(text, "• weather: ")
    assert re.fullmatch(r"words [01]\.\d\d", score)
    assert {"basics", "code"} & set(line(text, "• Always included: ").split(", "))
    activated = line(status, f"Tools: {shown} of {total} for the last message (size XL); activated: ")
    assert f"weather ({score})" in activated.split(", ")


async def test_a_small_model_gets_the_other_tools_by_name(on: BotHarness) -> None:
    on.env["TIER_BALANCED_POOL"] = "openai/some-1b"
    async with ready(on, OFF):
        text = (await ask(on, f"/tools {RAIN}")).text
        deep = (await ask(on, f"/tools !deep {RAIN}")).text
        await ask(on, RAIN)
        offered, system_text = on.ms.last.reading.tool_names, on.ms.last.reading.system_text
    assert "Size class S, strategy top_k: the most relevant in full, the others by name." in text
    assert line(text, "In full: ").split(", ") == list(offered)
    assert offered[0] == "forecast"
    names = line(text, "By name only: ").split(", ")
    found = re.search(r"to be found with discover_tools: (.*?)\.", system_text)
    assert found is not None
    assert sorted(found[1].split(", ")) == sorted(names)
    assert "Not shown" not in text
    assert "Model: openai/gpt-5.2." in deep
    assert "Size class XL" in deep


async def test_a_follow_up_is_labelled(on: BotHarness) -> None:
    async with ready(on, OFF):
        assert "forecast" not in line((await ask(on, "/tools so what?")).text, "In full: ")
        await ask(on, RAIN)
        text = (await ask(on, "/tools so what?")).text
    assert line(text, "• weather: ").startswith("follow-up ")
    assert "forecast" in line(text, "In full: ")


async def test_a_disabled_toolkit_is_off_for_that_person_only(on: BotHarness) -> None:
    on.env["BOT_ACCESS"] = "open"
    async with running(on):
        text = (await ask(on, "/tools off Weather")).text
        assert text.startswith("⏹ weather is off for you in every chat. /tools on weather turns it on again.\n")
        assert "• ⏹ weather (workspace, 1 tool, switched off by you)" in text
        await ask(on, "/settings timezone Europe/Berlin")  # keeps what it does not set
        await ask(on, "/tools off files")
    async with ready(on, OFF):
        await ask(on, RAIN)
        assert not {"forecast", "read_file"} & set(on.ms.last.reading.tool_names)
        text = (await ask(on, f"/tools {RAIN}")).text
        assert "`forecast`" not in text
        assert "read_file" not in text
        assert "• Switched off by you: weather (" in text
        await ask(on, RAIN, user="bob")
        assert {"forecast", "read_file"} <= set(on.ms.last.reading.tool_names)
        text = (await ask(on, "/tools on weather")).text
        assert text.startswith("✅ weather is on for you again.\n")
        assert "• weather (workspace, 1 tool):" in text
        await ask(on, RAIN)
        assert "forecast" in on.ms.last.reading.tool_names
        assert on.rows("select toolkits_off from preferences") == [('["files"]',)]
        await ask(on, f"/access role telegram:{on.tg.user('bob').id} owner")
        await press(on, "Delete it all", await ask(on, "/access forget me"))
        assert on.rows("select count(*) from preferences") == [(0,)]


async def test_buttons_switch_and_redraw(on: BotHarness) -> None:
    async with running(on):
        shown = await ask(on, "/tools")
        labels = [button["text"] for button in shown.buttons]
        assert "⏹ weather" in labels
        assert "⏹ files" in labels
        assert len(labels) <= BUTTONS
        assert not any("conversation" in label for label in labels)
        assert labels.index("⏹ weather") < labels.index("⏹ files"), "toolkits shown only for some messages come first"
        await press(on, "⏹ weather", shown)
        assert shown.text.startswith("⏹ weather is off for you")
        assert shown.buttons[0]["text"] == "▶️ weather"
        await press(on, "▶️ weather", shown)
        assert shown.text.startswith("✅ weather is on for you again.")
        assert on.rows("select toolkits_off from preferences") == [("[]",)]


REFUSALS = [
    ("/tools off weathr", "There is no toolkit weathr; did you mean weather? Nothing was changed."),
    ("/tools OFF qqqqqq", "There is no toolkit qqqqqq; /tools lists them. Nothing was changed."),
    ("/tools off", "Name a toolkit: /tools off <toolkit>. Nothing was changed."),
    ("/tools on weather", "weather is already on. Nothing was changed."),
    (
        "/tools off forecast",
        "forecast belongs to weather; only whole toolkits can be switched. Nothing was changed.",
    ),
    (
        "/tools off conversation",
        "conversation can't be turned off, because small models find the other tools with it. Nothing was changed.",
    ),
    (
        "/tools on we go",
        "Write one toolkit after on. To ask about a message that begins with on, put it in "
        "quotation marks. Nothing was changed.",
    ),
]


async def test_a_refusal_says_why_and_changes_nothing(on: BotHarness) -> None:
    async with running(on):
        for typed, answer in REFUSALS:
            assert (await ask(on, typed)).text == answer
            assert on.rows("select toolkits_off from preferences where toolkits_off != '[]'") == []
        await ask(on, "/tools off weather")
        assert (await ask(on, "/tools off weather")).text == "weather is already off. Nothing was changed."


async def test_quoted_text_is_always_a_query(on: BotHarness) -> None:
    async with ready(on, OFF):
        for typed in ('/tools "off weather"', "/tools “off weather”", "/tools 'off weather'"):
            assert line((await ask(on, typed)).text, "• weather: ").startswith("words ")
        assert "• weather (workspace, 1 tool):" in (await ask(on, "/tools")).text


async def test_the_selection_method_and_its_reason_are_shown(on: BotHarness) -> None:
    on.env["BOT_ACCESS"] = "open"
    only = "⚠️ Tool matching: words only (EMBEDDINGS=off)"
    async with ready(on, OFF):
        for typed in ("/tools", f"/tools {RAIN}", "/status full"):
            assert only in (await ask(on, typed)).text.splitlines(), typed
    on.env["EMBEDDINGS"] = ""
    async with ready(on):
        for typed in ("/tools", "/status full"):
            text = (await ask(on, typed)).text
            assert re.search(r"^Tool matching: words and embeddings \(static:\w+\)$", text, re.M)
        assert "embeddings (static)" in (await ask(on, "/tools", user="bob")).text
        assert "Only words" not in (await ask(on, f"/tools {RAIN}")).text


async def test_a_late_encoder_is_reported(on: BotHarness) -> None:
    on.env["EMBEDDINGS"] = "litellm:openai/text-embedding-3-small"
    late = "⚠️ Tool matching: words only (the embeddings took too long)"
    async with running(on) as app:
        await indexed(app)
        assert "words and embeddings" in (await ask(on, "/status full")).text
        on.ms.gate(when=lambda request: request.embeds, times=None)
        await ask(on, "Shall I take something against the wet?")
        for typed in ("/tools", "/status full"):
            text = (await ask(on, typed)).text
            assert late in text.splitlines()
            assert "words and embeddings" not in text


async def test_encoder_errors_are_for_admins(on: BotHarness) -> None:
    on.env |= {"BOT_ACCESS": "open", "EMBEDDINGS": "sentence-transformers:/srv/secret/model"}
    async with ready(on, "/srv/secret/model"):
        for typed in ("/tools", f"/tools {RAIN}", "/status full"):
            assert line((await ask(on, typed)).text, "⚠️ Tool matching: words only (").startswith("/srv/secret/model")
            text = (await ask(on, typed, user="bob")).text
            assert "⚠️ Tool matching: words only (embeddings are not available right now)" in text.splitlines()
            assert "secret" not in text


async def test_a_model_without_tools_would_be_shown_none(on: BotHarness) -> None:
    on.env["OPENAI_API_KEY"] = ""
    on.config["llm"] = {"providers": {"mine": {"apiType": "openai", "baseUrl": on.ms.openai_base}}}
    on.knows(**{"mine/plain": {"provider": "mine", "supportsTools": False}})
    on.config["tiers"] = {"balanced": {"pool": ["mine/plain"]}}
    async with running(on):
        text = (await ask(on, f"/tools {RAIN}")).text
    assert re.match(r"Tools: 0 of [1-9]\d*, because this model can't use tools\n", text)
    assert "In this order" not in text


async def test_the_tools_command_in_german(on: BotHarness) -> None:
    write(on, "{", "broken")
    async with ready(on, OFF):
        await ask(on, "/settings language de")
        shown = (await ask(on, "/tools")).text
        assert line(shown, "• weather ") == "(Arbeitsordner, 1 Werkzeug): The weather of any place."
        assert line(shown, "• basics ").startswith("(mitgeliefert, 2 Werkzeuge, immer dabei): Datum und Uhrzeit")
        assert line(shown, "• use_skill: ") == "keine Skills installiert"
        assert "Dateien mit Fehlern:" in shown
        assert "⚠️ Werkzeugauswahl: nur Wörter (EMBEDDINGS=off)" in shown
        decision = (await ask(on, "/tools Regen in Rom?")).text
        assert line(decision, "• weather: ").startswith("Wörter ")
        assert "Vollständig: " in decision
        assert re.search(r"etwa \d\.\d{3} statt \d\.\d{3} Token \(\d+ %\)\. Modell: ", decision)
        assert (await ask(on, "/tools off wetter")).text.endswith("Es wurde nichts geändert.")
        assert (await ask(on, "/tools off weather")).text.startswith("⏹ weather ist für dich in jedem Chat aus.")
        assert (await ask(on, "/tools on weather")).text.startswith("✅ weather ist für dich wieder an.")
        status = (await ask(on, "/status full")).text
        assert re.search(r"^Werkzeuge: \d+ von \d+ für eine allgemeine Nachricht", status, re.M)
        await ask(on, "Regen in Rom?")
        status = (await ask(on, "/status full")).text
    assert re.search(
        r"^Werkzeuge: \d+ von \d+ für die letzte Nachricht \(Größe XL\); aktiviert: .*weather \(Wörter [01],\d\d\)",
        status,
        re.M,
    )
    assert "⚠️ Fehlerhafte Toolkit-Dateien: 1; /tools sagt, warum." in status


async def test_a_status_with_many_toolkits_fits_one_message(on: BotHarness) -> None:
    for n in range(40):
        tasks = [{"name": f"tool_{n}_{at}", "description": "Does it.", "execute": {"mcp": "gone/x"}} for at in range(3)]
        write(on, {"name": f"a-toolkit-with-a-long-name-{n}", "description": "…" * 90,
            "keywords": ["rain"], "base": False, "tasks": [*tasks, {"name": f"does_{n}", "description": "Does it.",
            "execute": {"command": ["true"]}}]})  # fmt: skip
    async with ready(on, OFF):
        await ask(on, RAIN)
        short = await ask(on, "/status")
        full = on.tg.say("/status full")
        await on.tg.reply(after=full, matching="of memory")
    assert utf16_length(short.text) <= 4096
    assert any("tool_39_2 is off: " in part.text for part in short.chat.messages if part.id > full.id)
