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


@pytest.fixture
def taught(on: BotHarness) -> BotHarness:
    """With a toolkit of the owner and without embeddings, so that decisions are the same on every machine."""
    write(on, WEATHER)
    on.env["EMBEDDINGS"] = "off"
    return on


def line(text: str, begin: str) -> str:
    """The one line that starts with this, without it."""
    found = [each.removeprefix(begin) for each in text.splitlines() if each.startswith(begin)]
    assert len(found) == 1, text
    return found[0]


async def test_the_list_names_every_toolkit_with_its_source(taught: BotHarness) -> None:
    async with ready(taught, OFF) as app:
        text = (await ask(taught, "/tools")).text
        there = {each.name for each in app.engine.tooling.toolbox.toolkits()}
    assert line(text, "• weather ") == "(workspace, 1 tool): The weather of any place."
    assert line(text, "• basics ") == (
        "(ours, 2 tools, always included): The present date and time anywhere, and exact arithmetic with units."
    )
    assert {"weather", "basics", "conversation"} <= there
    assert {name for name in there if f"• {name} (" in text} == there
    assert "(ours, 2 of 3 tools, always included)" in line(text, "• conversation ")
    assert line(text, "• use_skill: ") == "no skills installed"


async def test_problems_are_shown_to_those_who_can_fix_them(taught: BotHarness) -> None:
    write(taught, '{"name": "broken",\n"tasks" []}', "broken")
    (taught.workspace / "mcp.json").write_text(
        '{"mcpServers": {"notes": {"command": "/nowhere/notes"}, "rest": {"command": "x", "disabled": true}}, "mcp": 1}'
    )
    taught.env["BOT_ACCESS"] = "open"
    async with running(taught):
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while "not connected for" not in (text := (await ask(taught, "/tools")).text):
                pass
        status = (await ask(taught, "/status full")).text
        his, his_status = (
            (await ask(taught, "/tools", user="bob")).text,
            (await ask(taught, "/status full", user="bob")).text,
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


async def test_tools_of_higher_roles_are_not_listed(taught: BotHarness) -> None:
    write(taught, WEATHER | {"name": "vault", "role": "owner", "tasks": [{
        "name": "open_vault", "description": "Opens it.", "execute": {"command": ["true"]}}]})  # fmt: skip
    bob = taught.tg.user("bob")
    taught.env["BOT_ACCESS"] = "open"
    async with ready(taught, OFF):
        assert "vault" in (await ask(taught, "/tools")).text
        assert "vault" in (await ask(taught, f"/tools {RAIN}")).text
        assert "vault" not in (await ask(taught, "/tools", user=bob)).text
        assert "vault" not in (await ask(taught, f"/tools {RAIN}", user=bob)).text
        refused = (await ask(taught, "/tools off vault", user=bob)).text
        assert refused == "There is no toolkit vault; /tools lists them. Nothing was changed."
        await ask(taught, "/access here on", group="Team")
        await ask(taught, f"@tierbot {RAIN}", group="Team")
        assert "vault (words " in (await ask(taught, "/status full", group="Team")).text
        his = (await ask(taught, "/status full", group="Team", user=bob)).text
        assert "weather (words " in his
        assert "vault" not in his


async def test_a_query_shows_the_decision_for_its_message(taught: BotHarness) -> None:
    async with ready(taught, OFF):
        text = (await ask(taught, f"/tools {RAIN}")).text
        calls = len(taught.ms.calls)
        await ask(taught, RAIN)
        offered = taught.ms.last.reading.tool_names
        status = (await ask(taught, "/status full")).text
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


async def test_a_small_model_gets_the_other_tools_by_name(taught: BotHarness) -> None:
    taught.env["TIER_BALANCED_POOL"] = "openai/some-1b"
    async with ready(taught, OFF):
        text = (await ask(taught, f"/tools {RAIN}")).text
        deep = (await ask(taught, f"/tools !deep {RAIN}")).text
        await ask(taught, RAIN)
        offered, system_text = taught.ms.last.reading.tool_names, taught.ms.last.reading.system_text
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


async def test_a_follow_up_is_labelled(taught: BotHarness) -> None:
    async with ready(taught, OFF):
        assert "forecast" not in line((await ask(taught, "/tools so what?")).text, "In full: ")
        await ask(taught, RAIN)
        text = (await ask(taught, "/tools so what?")).text
    assert line(text, "• weather: ").startswith("follow-up ")
    assert "forecast" in line(text, "In full: ")


async def test_a_disabled_toolkit_is_off_for_that_person_only(taught: BotHarness) -> None:
    taught.env["BOT_ACCESS"] = "open"
    async with running(taught):
        text = (await ask(taught, "/tools off Weather")).text
        assert text.startswith("⏹ weather is off for you in every chat. /tools on weather turns it on again.\n")
        assert "• ⏹ weather (workspace, 1 tool, switched off by you)" in text
        await ask(taught, "/settings timezone Europe/Berlin")  # keeps what it does not set
        await ask(taught, "/tools off files")
    async with ready(taught, OFF):
        await ask(taught, RAIN)
        assert not {"forecast", "read_file"} & set(taught.ms.last.reading.tool_names)
        text = (await ask(taught, f"/tools {RAIN}")).text
        assert "`forecast`" not in text
        assert "read_file" not in text
        assert "• Switched off by you: weather (" in text
        await ask(taught, RAIN, user="bob")
        assert {"forecast", "read_file"} <= set(taught.ms.last.reading.tool_names)
        text = (await ask(taught, "/tools on weather")).text
        assert text.startswith("✅ weather is on for you again.\n")
        assert "• weather (workspace, 1 tool):" in text
        await ask(taught, RAIN)
        assert "forecast" in taught.ms.last.reading.tool_names
        assert taught.rows("select toolkits_off from preferences") == [('["files"]',)]
        await ask(taught, f"/access role telegram:{taught.tg.user('bob').id} owner")
        await press(taught, "Delete it all", await ask(taught, "/access forget me"))
        assert taught.rows("select count(*) from preferences") == [(0,)]


async def test_buttons_switch_and_redraw(taught: BotHarness) -> None:
    async with running(taught):
        shown = await ask(taught, "/tools")
        labels = [button["text"] for button in shown.buttons]
        assert "⏹ weather" in labels
        assert "⏹ files" in labels
        assert len(labels) <= BUTTONS
        assert not any("conversation" in label for label in labels)
        assert labels.index("⏹ weather") < labels.index("⏹ files"), "toolkits shown only for some messages come first"
        await press(taught, "⏹ weather", shown)
        assert shown.text.startswith("⏹ weather is off for you")
        assert shown.buttons[0]["text"] == "▶️ weather"
        await press(taught, "▶️ weather", shown)
        assert shown.text.startswith("✅ weather is on for you again.")
        assert taught.rows("select toolkits_off from preferences") == [("[]",)]


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


async def test_a_refusal_says_why_and_changes_nothing(taught: BotHarness) -> None:
    async with running(taught):
        for typed, answer in REFUSALS:
            assert (await ask(taught, typed)).text == answer
            assert taught.rows("select toolkits_off from preferences where toolkits_off != '[]'") == []
        await ask(taught, "/tools off weather")
        assert (await ask(taught, "/tools off weather")).text == "weather is already off. Nothing was changed."


async def test_quoted_text_is_always_a_query(taught: BotHarness) -> None:
    async with ready(taught, OFF):
        for typed in ('/tools "off weather"', "/tools “off weather”", "/tools 'off weather'"):
            assert line((await ask(taught, typed)).text, "• weather: ").startswith("words ")
        assert "• weather (workspace, 1 tool):" in (await ask(taught, "/tools")).text


async def test_the_selection_method_and_its_reason_are_shown(taught: BotHarness) -> None:
    taught.env["BOT_ACCESS"] = "open"
    only = "⚠️ Tool matching: words only (EMBEDDINGS=off)"
    async with ready(taught, OFF):
        for typed in ("/tools", f"/tools {RAIN}", "/status full"):
            assert only in (await ask(taught, typed)).text.splitlines(), typed
    taught.env["EMBEDDINGS"] = ""
    async with ready(taught):
        for typed in ("/tools", "/status full"):
            text = (await ask(taught, typed)).text
            assert re.search(r"^Tool matching: words and embeddings \(static:\w+\)$", text, re.M)
        assert "embeddings (static)" in (await ask(taught, "/tools", user="bob")).text
        assert "Only words" not in (await ask(taught, f"/tools {RAIN}")).text


async def test_a_late_encoder_is_reported(taught: BotHarness) -> None:
    taught.env["EMBEDDINGS"] = "litellm:openai/text-embedding-3-small"
    late = "⚠️ Tool matching: words only (the embeddings took too long)"
    async with running(taught) as app:
        await indexed(app)
        assert "words and embeddings" in (await ask(taught, "/status full")).text
        taught.ms.gate(when=lambda request: request.embeds, times=None)
        await ask(taught, "Shall I take something against the wet?")
        for typed in ("/tools", "/status full"):
            text = (await ask(taught, typed)).text
            assert late in text.splitlines()
            assert "words and embeddings" not in text


async def test_encoder_errors_are_for_admins(taught: BotHarness) -> None:
    taught.env |= {"BOT_ACCESS": "open", "EMBEDDINGS": "sentence-transformers:/srv/secret/model"}
    async with ready(taught, "/srv/secret/model"):
        for typed in ("/tools", f"/tools {RAIN}", "/status full"):
            assert line((await ask(taught, typed)).text, "⚠️ Tool matching: words only (").startswith(
                "/srv/secret/model"
            )
            text = (await ask(taught, typed, user="bob")).text
            assert "⚠️ Tool matching: words only (embeddings are not available right now)" in text.splitlines()
            assert "secret" not in text


async def test_a_model_without_tools_would_be_shown_none(taught: BotHarness) -> None:
    taught.env["OPENAI_API_KEY"] = ""
    taught.config["llm"] = {"providers": {"mine": {"apiType": "openai", "baseUrl": taught.ms.openai_base}}}
    taught.knows(**{"mine/plain": {"provider": "mine", "supportsTools": False}})
    taught.config["tiers"] = {"balanced": {"pool": ["mine/plain"]}}
    async with running(taught):
        text = (await ask(taught, f"/tools {RAIN}")).text
    assert re.match(r"Tools: 0 of [1-9]\d*, because this model can't use tools\n", text)
    assert "In this order" not in text


async def test_the_tools_command_in_german(taught: BotHarness) -> None:
    write(taught, "{", "broken")
    async with ready(taught, OFF):
        await ask(taught, "/settings language de")
        shown = (await ask(taught, "/tools")).text
        assert line(shown, "• weather ") == "(Arbeitsordner, 1 Werkzeug): The weather of any place."
        assert line(shown, "• basics ").startswith("(mitgeliefert, 2 Werkzeuge, immer dabei): Datum und Uhrzeit")
        assert line(shown, "• use_skill: ") == "keine Skills installiert"
        assert "Dateien mit Fehlern:" in shown
        assert "⚠️ Werkzeugauswahl: nur Wörter (EMBEDDINGS=off)" in shown
        decision = (await ask(taught, "/tools Regen in Rom?")).text
        assert line(decision, "• weather: ").startswith("Wörter ")
        assert "Vollständig: " in decision
        assert re.search(r"etwa \d\.\d{3} statt \d\.\d{3} Token \(\d+ %\)\. Modell: ", decision)
        assert (await ask(taught, "/tools off wetter")).text.endswith("Es wurde nichts geändert.")
        assert (await ask(taught, "/tools off weather")).text.startswith("⏹ weather ist für dich in jedem Chat aus.")
        assert (await ask(taught, "/tools on weather")).text.startswith("✅ weather ist für dich wieder an.")
        status = (await ask(taught, "/status full")).text
        assert re.search(r"^Werkzeuge: \d+ von \d+ für eine allgemeine Nachricht", status, re.M)
        await ask(taught, "Regen in Rom?")
        status = (await ask(taught, "/status full")).text
    assert re.search(
        r"^Werkzeuge: \d+ von \d+ für die letzte Nachricht \(Größe XL\); aktiviert: .*weather \(Wörter [01],\d\d\)",
        status,
        re.M,
    )
    assert "⚠️ Fehlerhafte Toolkit-Dateien: 1; /tools sagt, warum." in status


async def test_a_status_with_many_toolkits_fits_one_message(taught: BotHarness) -> None:
    for n in range(40):
        tasks = [{"name": f"tool_{n}_{at}", "description": "Does it.", "execute": {"mcp": "gone/x"}} for at in range(3)]
        write(taught, {"name": f"a-toolkit-with-a-long-name-{n}", "description": "…" * 90,
            "keywords": ["rain"], "base": False, "tasks": [*tasks, {"name": f"does_{n}", "description": "Does it.",
            "execute": {"command": ["true"]}}]})  # fmt: skip
    async with ready(taught, OFF):
        await ask(taught, RAIN)
        short = await ask(taught, "/status")
        full = taught.tg.say("/status full")
        await taught.tg.reply(after=full, matching="of memory")
    assert utf16_length(short.text) <= 4096
    assert any("tool_39_2 is off: " in part.text for part in short.chat.messages if part.id > full.id)
