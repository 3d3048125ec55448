"""The log at INFO: each turn's decisions under its id, and nothing that people or models wrote."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bot.observability.logs import Redactor
from handlers.tools.calculator import calculator
from routing.llm.error_mapping import REPEATS
from routing.tracing import turn_id
from tests.servers.model.script import Script, ToolCall
from tests.servers.telegram import Message
from tests.stories.harness import OWNER, BotHarness, BotProcess, ask, running
from tests.stories.vendors import vendors

MARK = "xyzzy"
"""In everything that people write here, and in what the model answers."""


class Lines(logging.Handler):
    """Keeps records as text: level, turn, message and traceback."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self.addFilter(Redactor(()))
        self.setFormatter(logging.Formatter("%(levelname)s %(turn)s %(message)s"))
        self.lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


@contextmanager
def info_log() -> Iterator[list[str]]:
    """The log at INFO while the block runs."""
    lines: list[str] = []
    handler, root = Lines(lines), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        yield lines
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


async def test_each_turn_logs_its_tier_and_model_under_its_id_and_no_text(on: BotHarness) -> None:
    with info_log() as lines:
        async with running(on):
            await ask(on, "/tier smart force")
            on.ms.reply("the answer is plugh")
            await ask(on, "my secret is xyzzy")
            await ask(on, "!deep my secret is xyzzy")
    turns = [line.split(" ", 2)[1:] for line in lines if "[ContextBuilding]" in line or "[LLM]" in line]
    assert [text for _, text in turns] == [
        "[ContextBuilding] Resolved tier: smart (source: forced)",
        "[LLM] Model tier: smart, selected model: openai/gpt-5.1, reasoning: high",
        "[ContextBuilding] Resolved tier: deep (source: prefix !deep)",
        "[LLM] Model tier: deep, selected model: openai/gpt-5.2, reasoning: xhigh",
    ]
    ids = [turn for turn, _ in turns]
    assert ids[0] == ids[1] != ids[2] == ids[3]
    assert all(re.fullmatch(r"[0-9a-f]{8}", turn) for turn in ids)
    assert [line for line in lines if "xyzzy" in line or "plugh" in line] == []
    assert turn_id.get() == "-"


async def test_the_process_log_has_the_same_lines_without_keys(on: BotHarness) -> None:
    async with BotProcess(on) as bot:
        await ask_when_up(on, "hi xyzzy")
        await bot.terminate()
    assert re.search(
        r"INFO +[0-9a-f]{8} routing: \[LLM\] Model tier: balanced, selected model: openai/gpt-5.1", bot.log
    )
    for secret in ("xyzzy", on.tg.token, on.tg.token.partition(":")[2], "sk-test-openai-000000000000"):
        assert secret not in bot.log
    assert str(OWNER) not in bot.log or "getUpdates" not in bot.log


async def test_a_day_leaves_no_words_in_the_log(on: BotHarness) -> None:
    with info_log() as lines:
        async with running(on):
            on.ms.call_tools([("remember", {"text": f"The password is {MARK}"}), (f"{MARK}_tool", {"text": MARK})])
            on.ms.reply(f"Noted: {MARK}")
            await ask(on, f"Remember that my password is {MARK}")
            for command in ("tier", "model coding", "help", "memory", "think", "remind"):
                await ask(on, f"/{command} {MARK}")
            on.tg.say_document(f"{MARK}.txt", MARK.encode(), caption=f"Read {MARK}")
            await on.tg.reply(matching="You said")
            for fault in ("garbage", "break_stream", "truncate"):
                getattr(on.ms, fault)(text=f"{MARK} " * 9, after_chunks=4)
                await ask(on, f"Why {MARK}?")
            edited = on.tg.say(f"Who was {MARK}?")
            await on.tg.reply(edited, after=edited)
            on.tg.edit(edited, f"Who is {MARK}?")
            await on.tg.reply(edited, matching="Answer the new version")
            await ask(on, f"@tierbot {MARK}", group="Team")
            await ask(on, "/history export")
    assert any("[LLM]" in line for line in lines)
    assert [line for line in lines if MARK in line] == []


@pytest.mark.parametrize("status", [400, 500])
async def test_a_provider_that_repeats_the_question_is_not_quoted(on: BotHarness, status: int) -> None:
    question = f"Why is {MARK} my password?"
    with info_log() as lines:
        async with running(on):
            for _ in range(9):
                on.ms.fail(status, message=f"Invalid input: '{question}' is too long")
            told = await ask(on, question)
            assert MARK not in told.text
    before, after = map(re.escape, REPEATS.split("{details}"))
    assert [line for line in lines if re.search(f"openai/gpt-5.1 failed: {before}HTTP {status}[^)]*{after}", line)]
    assert [line for line in lines if MARK in line] == []


ESCAPED = r"Gr\u00fc\u00dfe\nplugh\\u0020fr\xe9d\u00e9ric"


@pytest.mark.parametrize("said", [f"'{MARK}'", f"[{MARK[:4]}", f"'{ESCAPED}'", "%70lugh%20 &#112;lugh"])
async def test_no_word_that_was_sent_comes_back_in_an_error(on: BotHarness, said: str) -> None:
    """Words of the question, of a tool call and of an answer, escaped or cut off."""
    hidden = (MARK, MARK[:4], "plugh", "Grüße", "Gr\\u00fc", "frédéric", "d\\u00e9ric")
    with info_log() as lines:
        async with running(on):
            on.ms.call_tools([("remember", {"text": "My password is plugh"})])
            on.ms.reply("Noted: Grüße an Frédéric")
            await ask(on, f"Remember my password, and that {MARK} is the name of my first cat")
            for _ in range(9):
                on.ms.fail(400, message=f"Invalid value: {said} is too long for the parameter fuzz")
            told = await ask(on, "Again?")
    [reason] = {line.partition("failed: ")[2] for line in lines if "[LLM] openai/gpt-5.1 failed: " in line}
    assert re.fullmatch(r"Invalid value: \W*…\W* is too long for the parameter fuzz", reason)
    assert [line for line in (*lines, told.text) if any(word in line for word in hidden)] == []


async def test_what_a_model_thought_does_not_come_back_in_an_error(on: BotHarness) -> None:
    vendors(on, "anthropic", balanced={"pool": ["anthropic/claude-sonnet-4-5"], "reasoning": "low"})
    on.ms.script(Script(thinking="Is plugh an old game?", calls=(ToolCall("get_datetime", "{}"),)))
    for _ in range(9):
        on.ms.fail(400, message="Invalid signature of 'plugh'")
    with info_log() as lines:
        async with running(on):
            told = await ask(on, "Which game is it?")
    assert "Invalid signature of '…'" in told.text
    assert [line for line in lines if "plugh" in line] == []


async def test_a_tool_that_crashes_is_logged_without_its_words(on: BotHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(expression: str) -> str:
        raise ValueError(f"invalid literal: {expression!r}") from KeyError(expression)

    monkeypatch.setattr(calculator, "calculate", crash)
    with info_log() as lines:
        async with running(on):
            on.ms.call_tools([("calculate", {"expression": MARK})])
            on.ms.reply("It does not work.")
            await ask(on, f"What is {MARK}?")
    [line] = [line for line in lines if "[Tools] calculate failed" in line]
    assert [each for each in line.splitlines() if each.endswith("Error")] == ["KeyError", "ValueError"]
    assert f'test_log_privacy.py", line {crash.__code__.co_firstlineno + 1}, in crash' in line
    assert [line for line in lines if MARK in line] == []


async def ask_when_up(on: BotHarness, text: str) -> Message:
    message = on.tg.say(text)
    return await on.tg.reply(message, after=message)
