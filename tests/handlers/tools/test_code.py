"""What a model is told of the commands and programs that it ran."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from handlers.tools.code import LONGEST_COMMAND, CodeTools
from handlers.tools.sandbox import Ended, Ran, Sandbox, SandboxLimits
from routing.errors import ToolFailed
from routing.outcome import ToolScope
from routing.types import Person, TierDecision
from tests.handlers.tools.test_sandbox import ANN, home, made

SCOPE = ToolScope(Person(ANN, "user", "Ann"), 1, TierDecision("balanced", "default", ""))


class Told(Sandbox):
    """A sandbox that runs nothing and says what it was told to say."""

    def __init__(self, ran: Ran) -> None:
        super().__init__(Path("/nowhere"), SandboxLimits())
        self.ran = ran
        self.asked: list[tuple[int, Sequence[str], bytes]] = []

    async def run(self, person_id: int, argv: Sequence[str], stdin: bytes = b"") -> Ran:
        self.asked.append((person_id, argv, stdin))
        return self.ran


@pytest.mark.parametrize(
    ("output", "code", "said"),
    [
        ("hello\n", 0, "hello\n"),
        ("", 0, "[no output]"),
        ("\n \n", 0, "[no output]"),
        ("oh\n", 1, "oh\n[exit code 1]"),
        ("oh", 2, "oh\n[exit code 2]"),
        ("", 137, "[exit code 137]"),
    ],
)
async def test_what_ends_by_itself_is_a_result(output: str, code: int, said: str) -> None:
    tools = CodeTools(Told(Ran(output, code, "exit", 0.1)))
    assert await tools.run_command(SCOPE, "true") == said
    assert await tools.run_python_code(SCOPE, "pass") == said


@pytest.mark.parametrize(
    ("ended", "reason"),
    [
        ("seconds", "[ended after 60 s: the time limit] Do less"),
        ("memory", "[ended beyond 537 MB: the memory limit] Work through"),
        ("processes", "[ended beyond 64 processes and threads: their limit] Start fewer"),
        ("disk", "[ended beyond 524 MB or 20000 files: the limit of the folder] Delete"),
        ("output", "the output limit] Print less"),
    ],
)
async def test_a_limit_is_a_failure_with_what_was_printed_and_what_to_do(ended: Ended, reason: str) -> None:
    with pytest.raises(ToolFailed) as failure:
        await CodeTools(Told(Ran("so far\n\n", None, ended, 60))).run_command(SCOPE, "true")
    assert str(failure.value).startswith("so far\n[ended ") and reason in str(failure.value)
    with pytest.raises(ToolFailed) as failure:
        await CodeTools(Told(Ran("", None, ended, 60))).run_command(SCOPE, "true")
    assert str(failure.value).startswith("[ended ")


async def test_it_runs_for_the_person_who_asked() -> None:
    sandbox = Told(Ran("", 0, "exit", 0))
    await CodeTools(sandbox).run_command(SCOPE, "echo 'a b'")
    await CodeTools(sandbox).run_python_code(SCOPE, "print('ü')\n")
    (person, argv, _), (other, _, code) = sandbox.asked
    assert person == other == ANN
    assert argv[-1] == "echo 'a b'" and code.decode() == "print('ü')\n"


@pytest.mark.parametrize("text", ["a\0b", "x" * (LONGEST_COMMAND + 1)])
async def test_what_no_program_takes_is_refused_before_it_is_tried(text: str) -> None:
    sandbox = Told(Ran("", 0, "exit", 0))
    with pytest.raises(ToolFailed):
        await CodeTools(sandbox).run_command(SCOPE, text)
    assert sandbox.asked == []


async def test_where_the_sandbox_is_off_the_model_is_told_why(tmp_path: Path) -> None:
    tools = CodeTools(Sandbox(tmp_path, SandboxLimits(), "bwrap-is-not-here"))
    for call in (tools.run_command, tools.run_python_code):
        with pytest.raises(ToolFailed, match="bubblewrap is not installed"):
            await call(SCOPE, "1")


@pytest.mark.system
async def test_a_shell_and_a_python_that_share_a_folder(tmp_path: Path) -> None:
    tools = CodeTools(await made(tmp_path))
    assert await tools.run_command(SCOPE, 'echo $((6 * 7)) > note; echo "it\'s" {1..3}; false') in (
        "it's 1 2 3\n[exit code 1]",
        "it's {1..3}\n[exit code 1]",
    )
    code = "import sys\nprint(open('note').read(), end='')\nprint('é\ud800', file=sys.stderr)\nraise SystemExit(4)"
    assert await tools.run_python_code(SCOPE, code) == "42\né?\n[exit code 4]"
    assert (home(tmp_path) / "note").read_text() == "42\n"


@pytest.mark.system
async def test_modules_in_the_folder_can_be_imported_and_input_is_at_its_end(tmp_path: Path) -> None:
    (home(tmp_path) / "mine.py").write_text("ANSWER = 42")
    tools = CodeTools(await made(tmp_path))
    printed = await tools.run_python_code(SCOPE, "import mine\nprint(mine.ANSWER)\ninput()")
    assert printed.startswith("42\n") and printed.endswith("EOFError: EOF when reading a line\n[exit code 1]")


@pytest.mark.system
async def test_a_command_as_long_as_it_may_be(tmp_path: Path) -> None:
    line = "echo done #" + "x" * (LONGEST_COMMAND - 11)
    assert await CodeTools(await made(tmp_path)).run_command(SCOPE, line) == "done\n"


@pytest.mark.system
async def test_nothing_is_left_of_what_a_command_started(tmp_path: Path) -> None:
    tools = CodeTools(await made(tmp_path, SandboxLimits(seconds=0.3)))
    with pytest.raises(ToolFailed, match=r"(?s)^up\n\[ended after 0.3 s: the time limit\]"):
        await tools.run_command(SCOPE, "echo up; nohup sleep 98768 & wait")
