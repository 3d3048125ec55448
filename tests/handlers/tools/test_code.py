"""Results of commands and programs, as a model reads them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import pytest

from handlers.tools.authoring.decorator import runnable, tools_of
from handlers.tools.authoring.manifests import our_toolkit
from handlers.tools.code import MAX_COMMAND_BYTES, NAME, CodeTools
from handlers.tools.sandbox import Cut, Ended, ExecResult, Sandbox, SandboxLimits
from handlers.tools.sandbox.sandbox import OVERHEAD_SECONDS
from handlers.tools.sandbox.transcript import Transcript
from handlers.tools.tool_source import BoundToolkit
from routing.errors import ToolFailed
from routing.turn.tool_executor import AGAIN
from routing.turn.truncation import limit_result
from routing.types.decisions import SIZES, TierDecision
from routing.types.people import Person
from routing.types.tools import ToolScope
from tests.handlers.tools.sandbox.test_sandbox import ANN, home, made, running, unique

SCOPE = ToolScope(Person(ANN, "user", "Ann"), 1, TierDecision("balanced", "default", ""))


class FixedResult(Sandbox):
    """A sandbox that runs nothing and returns a fixed result."""

    def __init__(self, ran: ExecResult, limits: SandboxLimits | None = None) -> None:
        super().__init__(Path("/nowhere"), limits or SandboxLimits())
        self.ran = ran
        self.asked: list[tuple[int, Sequence[str], bytes]] = []

    async def run(self, person_id: int, argv: Sequence[str], stdin: bytes = b"", **options: object) -> ExecResult:
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
async def test_a_finished_command_is_a_result(output: str, code: int, said: str) -> None:
    tools = CodeTools(FixedResult(ExecResult(output, code, "exit", 0.1)))
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
async def test_a_limit_is_a_failure_with_output_and_advice(ended: Ended, reason: str) -> None:
    with pytest.raises(ToolFailed) as failure:
        await CodeTools(FixedResult(ExecResult("so far\n\n", None, ended, 60))).run_command(SCOPE, "true")
    assert str(failure.value).startswith("so far\n[ended ")
    assert reason in str(failure.value)
    with pytest.raises(ToolFailed) as failure:
        await CodeTools(FixedResult(ExecResult("", None, ended, 60))).run_command(SCOPE, "true")
    assert str(failure.value).startswith("[ended ")


ENDINGS: tuple[Ended, ...] = get_args(Ended)


@pytest.mark.parametrize("ended", ENDINGS)
@pytest.mark.parametrize("most", [2_000, 90_000, 100_000])
@pytest.mark.parametrize("printed", ["x" * 1_000_000, "é\n" * 200_000, "\x1b[31mred\r\n" * 60_000, "\n" * 150_000])
async def test_how_it_ended_is_the_last_line_also_for_long_output(printed: str, most: int, ended: Ended) -> None:
    limits = SandboxLimits(output_chars=most)
    transcript = Transcript(limits.printed_chars)
    transcript.add(printed.encode())
    output, cut = transcript.result()
    assert cut is not None
    tools = CodeTools(FixedResult(ExecResult(output, 137 if ended == "exit" else None, ended, 1, cut), limits))
    try:
        told = await tools.run_command(SCOPE, "true")
    except ToolFailed as failure:
        told = f"Error: {failure}"
    assert limit_result(told + AGAIN, most) == told + AGAIN
    *_, ending, last = told.splitlines()
    assert ending.startswith("[exit code 137]" if ended == "exit" else "[ended ")
    shown = f"showing first {cut.first} chars and the last {cut.last}"
    advice = "Print less: use head, tail or grep."
    assert last == f"[OUTPUT TRUNCATED: {len(printed)} chars total, {shown}. {advice}]"
    assert cut.first + cut.last > limits.printed_chars / 4


async def test_omitted_output_is_reported_in_the_last_line() -> None:
    ran = ExecResult("first\n[7 chars left out]\nlast\n", 0, "exit", 1, Cut(17, 5, 5))
    told = await CodeTools(FixedResult(ran)).run_command(SCOPE, "true")
    assert told.splitlines()[:3] == ["first", "[7 chars left out]", "last"]
    assert told.splitlines()[3].startswith("[OUTPUT TRUNCATED: 17 chars total, showing first 5 chars and the last 5.")
    assert len(told.splitlines()) == 4


@pytest.mark.system
async def test_the_end_of_long_output_is_kept(tmp_path: Path) -> None:
    code = "print('y' * 250_000)\nraise ValueError('the real reason')"
    told = await CodeTools(await made(tmp_path)).run_python_code(SCOPE, code)
    reason, ending, last = told.splitlines()[-3:]
    assert (reason, ending) == ("ValueError: the real reason", "[exit code 1]")
    assert last.startswith("[OUTPUT TRUNCATED: 250")
    assert len(told) <= 90_000


@pytest.mark.parametrize("network", [False, True])
def test_the_description_says_whether_there_is_a_network(tmp_path: Path, network: bool) -> None:
    sandbox = Sandbox(tmp_path, SandboxLimits(network=network))
    cards = BoundToolkit(our_toolkit(NAME), map(runnable, tools_of(CodeTools(sandbox)))).toolkit.tools
    for size in SIZES:
        said = " ".join(card.spec(size).description for card in cards)
        assert ("offline" in said, "online" in said) == (not network, network)


def test_queueing_does_not_count_as_run_time(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path, SandboxLimits(seconds=45), wait_seconds=200)
    assert {runnable(tool).traits.seconds for tool in tools_of(CodeTools(sandbox))} == {200 + 45 + OVERHEAD_SECONDS}


async def test_it_runs_for_the_person_who_asked() -> None:
    sandbox = FixedResult(ExecResult("", 0, "exit", 0))
    await CodeTools(sandbox).run_command(SCOPE, "echo 'a b'")
    await CodeTools(sandbox).run_python_code(SCOPE, "print('ü')\n")
    (person, argv, _), (other, _, code) = sandbox.asked
    assert person == other == ANN
    assert argv[-1] == "echo 'a b'"
    assert code.decode() == "print('ü')\n"


@pytest.mark.parametrize("text", ["a\0b", "x" * (MAX_COMMAND_BYTES + 1)])
async def test_invalid_commands_are_refused_before_running(text: str) -> None:
    sandbox = FixedResult(ExecResult("", 0, "exit", 0))
    with pytest.raises(ToolFailed):
        await CodeTools(sandbox).run_command(SCOPE, text)
    assert sandbox.asked == []


async def test_a_disabled_sandbox_is_explained_to_the_model(tmp_path: Path) -> None:
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
async def test_local_modules_can_be_imported_and_stdin_is_empty(tmp_path: Path) -> None:
    (home(tmp_path) / "mine.py").write_text("ANSWER = 42")
    tools = CodeTools(await made(tmp_path))
    printed = await tools.run_python_code(SCOPE, "import mine\nprint(mine.ANSWER)\ninput()")
    assert printed.startswith("42\n")
    assert printed.endswith("EOFError: EOF when reading a line\n[exit code 1]")


@pytest.mark.system
async def test_a_command_of_maximum_length(tmp_path: Path) -> None:
    line = "echo done #" + "x" * (MAX_COMMAND_BYTES - 11)
    assert await CodeTools(await made(tmp_path)).run_command(SCOPE, line) == "done\n"


@pytest.mark.system
async def test_processes_started_by_a_command_are_killed(tmp_path: Path) -> None:
    mark = unique()
    tools = CodeTools(await made(tmp_path, SandboxLimits(seconds=0.3)))
    with pytest.raises(ToolFailed, match=r"\[ended after 0.3 s: the time limit\]"):
        await tools.run_command(SCOPE, f"nohup sleep {mark} & wait")
    assert running(mark) == []
