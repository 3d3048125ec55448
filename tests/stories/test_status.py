"""/status explains decisions and the bot's state."""

import re
from typing import get_args

import pytest

from handlers.commands.status import WHY_SIZE, WHY_WINDOW
from handlers.version import VERSION
from routing.catalog.ollama import WindowSource
from routing.catalog.sizes import size_of
from routing.types.decisions import SizeSource
from tests.servers.telegram.entities import utf16_length
from tests.stories.harness import BotHarness, ask, running

OWNERS_ONLY = ("Running turns", "Replies being sent", "telegram: up", "Database", "tierbot ", "p50", "failed")


async def test_status_is_six_plain_lines_with_the_budget_left(on: BotHarness) -> None:
    on.config["budget"] = {"perUserDailyUsd": 2}
    async with running(on):
        on.ms.reply("one " * 875, usage=(100_000, 1000))
        await ask(on, "first")
        lines = (await ask(on, "/status")).text.splitlines()
        full = (await ask(on, "/status full")).text
        await ask(on, "/settings language de")
        german = (await ask(on, "/status")).text.splitlines()
    assert lines[0] == "Tier: balanced (nothing else was chosen)"
    assert lines[1] == "Model: openai/gpt-5.1, reasoning medium (configured)."
    assert re.match(r"Tools: \d+ of \d+ for the last message", lines[2])
    assert re.match(r"Context: [\d,]+ of 42,000 tokens", lines[3])
    assert lines[4] == "Cost today: $0.14 · budget left: $1.86 of $2.00"
    assert [line for line in full.splitlines() if "oday" in line] == [lines[4]], "today's cost is shown once"
    assert len(lines) == len(german) == 6
    assert german[0] == "Stufe: balanced (nichts anderes wurde gewählt)"
    assert "von 42.000 Token" in german[3]
    assert german[4] == "Kosten heute: 0,14 $ · übrig: 1,86 $ von 2,00 $"


async def test_status_says_what_was_decided_and_by_which_rule(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "/model deep openai/gpt-4.1")
        await ask(on, "/tier deep force")
        lines = (await ask(on, "/status full")).text.splitlines()
    assert lines[:3] == [
        "Tier: deep, Force: on",
        "In effect: deep, because you locked it with /tier deep force.",
        "Model: openai/gpt-4.1 (override).",
    ]


@pytest.mark.parametrize(
    ("pool", "line"),
    [
        ("", "Model: openai/gpt-5.1, reasoning medium (configured)."),
        ("anthropic/claude-haiku-4-5,openai/gpt-5-mini", "Model: openai/gpt-5-mini, reasoning medium (fallback)."),
    ],
)
async def test_status_says_where_the_model_comes_from(on: BotHarness, pool: str, line: str) -> None:
    on.env["TIER_BALANCED_POOL"] = pool
    async with running(on):
        assert line in (await ask(on, "/status full")).text.splitlines()


@pytest.mark.parametrize(
    ("model", "english", "german"),
    [
        ("openai/gpt-5.1", "Size class: XL (from its family).", "Größenklasse: XL (nach seiner Modellfamilie)."),
        ("openai/some-24b", "Size class: L (24B, from its name).", "Größenklasse: L (24B, steht im Namen)."),
        ("openai/some-8x7b", "Size class: XL (8x7B, from its name).", "Größenklasse: XL (8x7B, steht im Namen)."),
        ("openai/mine", "Size class: S (sizeClass in models.json).", "Größenklasse: S (sizeClass in models.json)."),
        (
            "openai/odd",
            "Size class: M (unknown; set sizeClass in models.json).",
            "Größenklasse: M (unbekannt; sizeClass in models.json legt sie fest).",
        ),
    ],
)
async def test_status_says_the_size_class_below_the_model(
    on: BotHarness, model: str, english: str, german: str
) -> None:
    catalogue = on.workspace / "models" / "models.json"
    catalogue.parent.mkdir(parents=True)
    catalogue.write_text('{"models": {"openai/mine": {"sizeClass": "S"}}}', encoding="utf-8")
    on.env["TIER_BALANCED_POOL"] = model
    async with running(on):
        lines = (await ask(on, "/status full")).text.splitlines()
        await ask(on, "/settings language de")
        translated = (await ask(on, "/status full")).text.splitlines()
    assert lines[2].startswith(f"Model: {model}")
    assert lines[3] == english
    assert translated[2].startswith(f"Modell: {model}")
    assert translated[3] == german


def test_every_source_of_a_size_or_window_has_a_text() -> None:
    assert WHY_SIZE.keys() == set(get_args(SizeSource))
    assert WHY_WINDOW.keys() == set(get_args(WindowSource))
    assert size_of("x", metadata="8.03B").evidence.startswith("8.03B, ")  # the first figure of the line


async def test_status_counts_context_tokens_and_money(on: BotHarness) -> None:
    async with running(on):
        on.ms.reply("one " * 875, usage=(8000, 1000))
        await ask(on, "first")
        on.ms.reply("two", usage=(4000, 500, 1000))
        await ask(on, "!coding second")
        text = (await ask(on, "/status full")).text
        used = re.search(r"Context: ([\d,]+) of 42,000 tokens \((\d+) %\)", text)
        assert used is not None
        assert 1000 < int(used[1].replace(",", "")) < 1100
        assert int(used[2]) == 3
        # gpt-5.1: 8000 × $1.25/M + 1000 × $10/M; gpt-5.2: 3000 × $1.75/M + 1000 × $0.175/M + 500 × $14/M
        assert "This conversation: 2 calls · 12,000 in (1,000 cached) / 1,500 out · $0.0324" in text
        assert "Last 24 hours: 2 calls · 12,000 in (1,000 cached) / 1,500 out · $0.0324" in text
        assert "Cost today: $0.0324 · no budget limit" in text
        assert "• openai/gpt-5.1: 1 call · 8,000 in / 1,000 out · $0.02" in text
        assert "• openai/gpt-5.2: 1 call · 4,000 in (1,000 cached) / 500 out · $0.0124" in text
        usage = (await ask(on, "/usage")).text
        assert "openai/gpt-5.2: 1 call · 4,000 in (1,000 cached) / 500 out · $0.0124" in usage
        await ask(on, "/new")
        text = (await ask(on, "/status full")).text
        assert "This conversation: nothing yet" in text
        assert "12,000 in (1,000 cached) / 1,500 out · $0.0324" in text


async def test_an_unknown_price_is_not_shown_as_zero(on: BotHarness) -> None:
    on.config["llm"] = {
        "providers": {"house": {"baseUrl": f"{on.ms.vendor('house')}/v1", "apiKey": "sk-house-0000000000"}}
    }
    on.env["TIER_BALANCED_POOL"] = "house/anything"
    async with running(on):
        on.ms.reply("one", usage=(10, 20))
        await ask(on, "hi")
        text = (await ask(on, "/status full")).text
        assert "This conversation: 1 call · 10 in / 20 out · price unknown" in text
        assert "Last 24 hours: 1 call · 10 in / 20 out · price unknown" in text
        assert "$" not in text
        assert "price unknown" in (await ask(on, "/usage")).text


async def test_without_token_counts_the_price_is_unknown(on: BotHarness) -> None:
    async with running(on):
        on.ms.reply("one", usage=None)
        await ask(on, "hi")
        on.ms.reply("two", usage=(8000, 1000))
        await ask(on, "hi")
        text = (await ask(on, "/status full")).text
    assert "2 calls · 8,000 in / 1,000 out · $0.02 (one unpriced)" in text


async def test_the_owner_sees_the_process_and_others_do_not(on: BotHarness) -> None:
    on.env["BOT_ACCESS"] = "open"
    async with running(on):
        await ask(on, "hi")
        on.ms.fail(401)
        await ask(on, "hi again", user="bob")
        mine = (await ask(on, "/status full")).text
        assert "Running turns: 0, waiting: 0" in mine
        assert re.search(r"telegram: up \d+ s, last message \d+ s ago", mine)
        assert re.search(r"openai/gpt-5\.1: p50 \d+\.\d s, p95 \d+\.\d s", mine)
        assert re.search(r"⚠️ openai/gpt-5\.1 failed \d+ s ago: openai refused the key in OPENAI_API_KEY", mine)
        assert re.search(r"Database: revision 0\d{3}, \d\.\d MB", mine)
        assert re.search(rf"tierbot {re.escape(VERSION)}, up \d+ s, [\d,]+ MB of memory", mine)
        his = (await ask(on, "/status full", user="bob")).text
        assert [words for words in OWNERS_ONLY if words in his] == []
        assert his.startswith("Tier: balanced, Force: off")


async def test_status_shows_the_running_turn_and_waiting_messages(on: BotHarness) -> None:
    async with running(on):
        gate = on.ms.gate("at last")
        on.tg.say("a long one")
        await gate.reached()
        waits = on.tg.say("and this?")
        await on.tg.wait_for(lambda _: waits.emoji == ["👀"])
        text = (await ask(on, "/status full")).text
        assert "Running turns: 1, waiting: 1" in text
        gate.open()
        await on.tg.reply(matching="and this?")


async def test_status_fits_one_message_and_full_shows_the_rest(on: BotHarness) -> None:
    models = [f"openai/a-model-with-quite-a-long-name-indeed-number-{n:02}" for n in range(40)]
    found = on.workspace / "models" / "discovered.json"
    found.parent.mkdir(parents=True)
    rows = ",".join(f'{{"id": "{name}"}}' for name in models)
    found.write_text(f'{{"openai": [{rows}]}}')
    async with running(on):
        for name in models:
            await ask(on, f"/model balanced {name}")
            on.ms.reply("yes", usage=(123456, 1000, 1000)) if int(name[-2:]) % 2 else on.ms.fail(400, None, "no " * 200)
            await ask(on, "hi")
        short = await ask(on, "/status")
        assert utf16_length(short.text) <= 4096
        assert len(short.text.splitlines()) == 6
        message = on.tg.say("/status full")
        await on.tg.reply(after=message, matching="of memory")
    everything = "\n".join(part.text for part in short.chat.messages if part.id > message.id)
    assert [name for name in models if name not in everything] == []
    assert [name for name in models if name in short.text] != models
