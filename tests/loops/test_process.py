"""A child process: its last output, how it ended, and that no process is left."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from routing.process import ChildProcess
from tests.handlers.tools.mcp.test_ends import gone


async def start(script: str, grace_seconds: float = 30.0) -> ChildProcess:
    environment = {"PATH": os.environ["PATH"], "GIVEN": "yes"}
    command = ("/bin/sh", "-c", script)
    return await ChildProcess.start(command, environment=environment, folder=Path("/"), grace_seconds=grace_seconds)


async def test_a_process_gets_only_the_given_environment() -> None:
    child = await start("env; pwd")
    said = (await child.stdout.read()).decode().splitlines()
    await child.stop()
    assert "GIVEN=yes" in said
    assert said[-1] == "/"
    assert not any(line.startswith("HOME=") for line in said)


@pytest.mark.parametrize(
    ("script", "ending"),
    [
        ("echo the last words >&2; exit 3", "ended with exit code 3"),
        ("echo the last words >&2; kill -KILL $$", "was killed (SIGKILL)"),
        ("echo the last words >&2; kill -40 $$", "was killed (signal 40)"),
        ("cat; echo the last words >&2", "ended with exit code 0"),
    ],
)
async def test_exit_status_and_stderr(script: str, ending: str) -> None:
    child = await start(script)
    await child.stop()
    assert (child.ending, child.log) == (ending, "the last words\n")


async def test_the_end_of_long_output_is_kept() -> None:
    child = await start("head -c 1000000 /dev/zero >&2; echo end >&2")
    assert await child.exited(30)
    await child.stop()
    assert len(child.log) <= 16_384
    assert child.log.endswith("end\n")


async def test_a_process_that_writes_without_end_and_ignores_signals_is_killed_with_its_children() -> None:
    child = await start("trap '' TERM; sleep 1000 & echo $!; while :; do echo more; done", grace_seconds=0.1)
    grandchild = int(await child.stdout.readline())
    await child.stop()
    assert child.ending == "was killed (SIGKILL)"
    assert gone(grandchild)


async def test_a_long_secret_is_redacted_completely() -> None:
    child = await start("printf 'PRIVATE KEY %3000s' | tr ' ' x >&2")
    await child.stop()
    assert child.log.startswith("PRIVATExKEYx")
    assert len(child.log) == 3_012


async def test_a_missing_program_or_folder_is_named(tmp_path: Path) -> None:
    for program, folder, missing in (("no-such-program", Path("/"), "no-such-program"), ("sh", tmp_path / "a", "a")):
        with pytest.raises(FileNotFoundError) as caught:
            await ChildProcess.start([program], environment={}, folder=folder, grace_seconds=1)
        assert Path(caught.value.filename).name == missing


async def test_writing_to_a_dead_process_fails_with_a_connection_error() -> None:
    child = await start("exit 0")
    await child.wait()
    with pytest.raises(ConnectionError):
        await flood(child)
    await child.stop()


async def flood(child: ChildProcess) -> None:
    """Writes until the end of the pipe is noticed."""
    while True:
        await child.write(b"x" * 65536)


async def test_no_descriptor_is_inherited() -> None:
    handle = os.open("/", os.O_RDONLY)
    os.set_inheritable(handle, True)
    try:
        child = await start(f"[ -e /proc/self/fd/{handle} ] && echo inherited")
    finally:
        os.close(handle)
    assert await child.stdout.read() == b""
    await child.stop()
