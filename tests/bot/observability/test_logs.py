"""What the log shows and hides."""

from __future__ import annotations

import asyncio
import errno
import io
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from bot.observability.logs import MAX_RECENT, MAX_RECENT_CHARACTERS, GroupingHandler, Redactor, configure, recent_lines
from routing.catalog.catalog import BUNDLED, Catalog
from routing.llm.adapter import LiteLlm
from routing.llm.local.runtime import LocalRuntime
from routing.tracing import turn_id
from tests.stories import preloaded

TOKEN = "123456789:AAbbCCddEEffGGhhIIjjKKllMMnnOOppQQr"
KEY = 'quo"ted\\key'
WORDS = "xyzzy"
"""What somebody wrote."""


@pytest.fixture(autouse=True)
def root_logger() -> Iterator[None]:
    """Restores the test run's logging."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    levels = {name: logging.getLogger(name).level for name in ("httpx", "telegram", "LiteLLM")}
    litellm = logging.getLogger("LiteLLM")
    own, litellm.handlers[:] = litellm.handlers[:], []  # another test may have imported the library
    yield
    litellm.handlers[:] = own
    root.handlers[:], root.level = handlers, level
    for name, before in levels.items():
        logging.getLogger(name).setLevel(before)


@pytest.mark.parametrize("text", [TOKEN, f"https://host/bot{TOKEN}/getMe", "Bearer sk-proj-abcdefghijklmnop0123"])
def test_text_that_looks_like_a_secret_is_hidden(text: str) -> None:
    cleaned = Redactor(()).clean(text)
    assert "***" in cleaned
    assert TOKEN not in cleaned
    assert "abcdefghijklmnop" not in cleaned


def test_a_secret_is_hidden_whole_if_another_is_its_prefix() -> None:
    redactor = Redactor(["abcdef", "abcdefghi"])
    redactor.add(["later-one"])
    assert redactor.clean("abcdefghi abcdef later-one x") == "*** *** *** x"


def test_short_values_are_not_redacted() -> None:
    assert Redactor(["a", ""]).clean("banana") == "banana"


@pytest.mark.parametrize("style", ["text", "json"])
def test_no_line_shows_a_secret(style: str, capsys: pytest.CaptureFixture[str]) -> None:
    configure("INFO", "json" if style == "json" else "text", [KEY])
    try:
        raise ValueError(f"refused {KEY}")
    except ValueError:
        logging.getLogger("bot").exception("at %s with %s", f"/bot{TOKEN}/x", KEY)
    written = capsys.readouterr().err
    assert "ValueError" in written
    for form in (TOKEN, KEY, json.dumps(KEY)[1:-1]):
        assert form not in written


def _fail() -> None:
    try:
        raise KeyError(WORDS)
    except KeyError as error:
        raise ExceptionGroup(WORDS, [ValueError(WORDS), OSError(errno.ENOSPC, WORDS, WORDS)]) from error


@pytest.mark.parametrize("style", ["text", "json"])
def test_an_error_is_logged_with_its_message_only_at_debug(
    style: Literal["text", "json"], capsys: pytest.CaptureFixture[str]
) -> None:
    for level, shown in (("INFO", False), ("DEBUG", True)):
        configure(level, style, ())
        try:
            _fail()
        except ExceptionGroup:
            logging.getLogger("bot").exception("It failed")
        written = capsys.readouterr().err
        for each in ("KeyError", "ExceptionGroup", "ValueError", "OSError (No space left on device)", "in _fail"):
            assert each in written
        assert (WORDS in written) == shown
        assert [WORDS in line.text for line in recent_lines()] == [False]


def test_errors_that_cause_each_other_are_logged_once(capsys: pytest.CaptureFixture[str]) -> None:
    configure("INFO", "text", ())
    first, second = ValueError("first"), KeyError("second")
    first.__cause__, second.__context__ = second, first
    logging.getLogger("bot").error("It failed", exc_info=first)
    written = capsys.readouterr().err
    assert [line for line in written.splitlines() if line.endswith("Error")] == ["KeyError", "ValueError"]


@pytest.mark.parametrize(("level", "shown"), [("INFO", False), ("DEBUG", True)])
def test_a_crash_of_the_program_or_a_thread_has_no_words(level: str, shown: bool) -> None:
    program = f"""
import sys, threading
from bot.observability.logs import configure
configure({level!r}, "text", ["{TOKEN}"])
def crash():
    raise ValueError("{WORDS} {TOKEN}")
threading.Thread(target=crash).start()
threading.Thread(target=sys.exit, args=("bye",)).start()
crash()
"""
    made = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert made.returncode == 1
    assert made.stderr.count("in crash\nValueError\n") == 2
    assert "SystemExit" not in made.stderr
    assert "LOG_LEVEL=DEBUG" in made.stderr
    assert (WORDS in made.stderr) == shown
    assert TOKEN not in made.stderr


async def test_a_failed_task_that_is_not_awaited_is_logged_without_its_message(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure("INFO", "text", ())
    asyncio.get_running_loop().call_exception_handler(
        {"message": "Task exception was never retrieved", "exception": ValueError("words"), "future": "words"}
    )
    written = capsys.readouterr().err
    assert "asyncio: Task exception was never retrieved\nTraceback" in written
    assert "words" not in written


def test_json_logs_have_one_object_per_line_with_the_turn(capsys: pytest.CaptureFixture[str]) -> None:
    configure("INFO", "json", ())
    mark = turn_id.set("t-1")
    try:
        logging.getLogger("bot").info("one\ntwo ünï")
    finally:
        turn_id.reset(mark)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    line = json.loads(lines[0])
    assert (line["level"], line["turn"], line["name"], line["message"]) == ("INFO", "t-1", "bot", "one\ntwo ünï")


def test_text_logs_have_no_colours(capsys: pytest.CaptureFixture[str]) -> None:
    configure("INFO", "text", ())
    logging.getLogger("bot").warning("x" * 300)
    written = capsys.readouterr().err
    assert written.endswith("bot: " + "x" * 300 + "\n")
    assert "\x1b" not in written


def test_libraries_are_quiet_at_info(capsys: pytest.CaptureFixture[str]) -> None:
    configure("INFO", "text", ())
    for name in ("httpx", "telegram", "LiteLLM"):
        logging.getLogger(name).info("POST https://host/bot…")
        logging.getLogger(name).warning("loud %s", name)
    assert capsys.readouterr().err.count("\n") == 3


def _use_the_library(output: Path, errors: Path) -> None:
    preloaded.redirect((Path(os.devnull), output, errors))
    configure("INFO", "text", [KEY])

    async def load() -> None:
        await LiteLlm(LocalRuntime(Path("nowhere")), Catalog.load(BUNDLED), None).load()

    asyncio.run(load())
    logging.getLogger("LiteLLM").warning("refused %s", KEY)


def test_litellm_logs_only_through_our_handlers(tmp_path: Path) -> None:
    output, errors = tmp_path / "output", tmp_path / "errors"
    process = preloaded.forking.Process(target=_use_the_library, args=(output, errors))
    process.start()
    process.join()
    assert (process.exitcode, output.read_text()) == (0, "")
    assert [line.partition("LiteLLM: ")[2] for line in errors.read_text().splitlines()] == ["refused ***"]


class Terminal(io.StringIO):
    """Counts what is written to it, and announces it."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[str] = []
        self.written = asyncio.Event()

    def write(self, text: str) -> int:
        self.writes.append(text)
        self.written.set()
        return super().write(text)


@pytest.fixture
def terminal() -> Terminal:
    target = Terminal()
    logging.basicConfig(level="INFO", format="%(message)s", handlers=[GroupingHandler(target)], force=True)
    return target


async def test_the_lines_of_a_loop_are_written_together(terminal: Terminal) -> None:
    logging.info("one")
    logging.info("two")
    assert terminal.writes == []
    await terminal.written.wait()
    assert terminal.writes == ["one\ntwo\n"]


async def test_a_warning_is_written_at_once_after_the_lines_that_wait(terminal: Terminal) -> None:
    logging.info("one")
    logging.warning("two")
    assert terminal.writes == ["one\ntwo\n"]


async def test_lines_of_other_threads_are_written_at_once(terminal: Terminal) -> None:
    await asyncio.to_thread(logging.info, "one")
    assert terminal.writes == ["one\n"]


def test_lines_that_wait_are_written_at_the_end_of_the_process(terminal: Terminal) -> None:
    async def work() -> None:
        logging.info("one")

    for _ in range(2):
        asyncio.run(work())
    logging.getLogger().handlers[0].flush()  # as logging.shutdown does
    assert terminal.writes == ["one\none\n"]


def test_the_newest_lines_are_kept_without_secrets_and_debug_lines(capsys: pytest.CaptureFixture[str]) -> None:
    configure("DEBUG", "text", [KEY])
    log = logging.getLogger("t")
    log.debug("what somebody wrote")
    log.info("uses %s", KEY)
    log.warning("x" * 5_000)
    lines = recent_lines()
    assert [line.level for line in lines] == [logging.INFO, logging.WARNING]
    assert KEY not in lines[0].text
    assert len(lines[1].text) == MAX_RECENT_CHARACTERS
    for number in range(MAX_RECENT + 5):
        log.info("line %d", number)
    assert len(recent_lines()) == MAX_RECENT
    assert recent_lines()[-1].text.endswith(f"line {MAX_RECENT + 4}")
