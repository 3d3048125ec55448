"""`tierbot setup` in a terminal of its own, as a person sees it."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

import pexpect

from tests.stories.harness import ROOT

LINK = re.compile(r"https://t\.me/tierbot\?start=([A-Z0-9-]+) and press Start")
SECONDS = 120.0
KEY = "sk-test-newcomer-000000"


class Terminal:
    """`tierbot setup` with its own terminal, in an empty home folder."""

    def __init__(self, home: Path, environ: Mapping[str, str], command: Sequence[str]) -> None:
        variables = {"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin", "TERM": "xterm"}
        variables |= {"PROMPT_TOOLKIT_NO_CPR": "1", "EMBEDDINGS": "off", "LANG": "C.UTF-8", **environ}
        self._screen = StringIO()
        self.answers = 0
        self.process = pexpect.spawn(
            command[0],
            [*command[1:]],
            cwd=str(home),
            env=variables,
            dimensions=(60, 250),
            encoding="utf-8",
            timeout=SECONDS,
            preexec_fn=_ctrl_c_works,
        )
        self.process.logfile_read = self._screen

    @property
    def screen(self) -> str:
        """Everything that was shown."""
        return self._screen.getvalue()

    @property
    def command_line(self) -> str:
        """As other users of the machine see it."""
        return Path(f"/proc/{self.process.pid}/cmdline").read_text()

    async def sees(self, pattern: str) -> str:
        """Waits for a text; returns its first group, if it has one."""
        await self.process.expect(pattern, async_=True)
        found = self.process.match
        return str(found.group(1)) if found.re.groups else ""

    async def answers_with(self, question: str, text: str) -> None:
        """Types an answer to a question."""
        await self.sees(question)
        self.answers += 1
        self.process.send(f"{text}\r")

    async def presses_enter(self, question: str) -> None:
        """Takes the first choice of a question."""
        await self.answers_with(question, "")

    async def presses_enter_until(self, question: str, pattern: str) -> str:
        """The same, again every ten seconds: an answer typed while a question is drawn may get lost."""
        await self.presses_enter(question)
        for _ in range(5):
            if not await self.process.expect([pattern, pexpect.TIMEOUT], timeout=10, async_=True):
                return str(self.process.match.group(1))
            self.process.send("\r")
        return await self.sees(pattern)

    async def ends(self) -> int | None:
        """Presses Ctrl-C; returns the exit code."""
        self.process.sendintr()
        await self.process.expect(pexpect.EOF, async_=True)
        self.process.wait()
        status: int | None = self.process.exitstatus
        return status


def _ctrl_c_works() -> None:
    """It does not if this suite runs in the background of a shell, which ignores the signal there."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def newcomer(home: Path, environ: Mapping[str, str], *arguments: str) -> Iterator[Terminal]:
    """The program of this tree."""
    variables = {"PYTHONPATH": str(ROOT), **environ}
    with terminal_of(home, variables, (sys.executable, "-m", "bot", "setup", *arguments)) as terminal:
        yield terminal


@contextmanager
def terminal_of(home: Path, environ: Mapping[str, str], command: Sequence[str]) -> Iterator[Terminal]:
    terminal = Terminal(home, environ, command)
    try:
        yield terminal
    finally:
        terminal.process.close(force=True)
