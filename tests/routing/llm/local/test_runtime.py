"""Starting, sharing, restarting and stopping the processes of local models. The real model answers once; otherwise the
child is a shell script that behaves like the server."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from routing.errors import ModelUnknown, Unreachable
from routing.llm.local.runtime import Launch, LocalAddress, LocalRuntime
from routing.llm.local.weights import SHIPPED
from routing.process import ROOT
from tests.polling import until
from tests.routing.llm.local.conftest import TIMEOUT_SECONDS, alive

MODEL = f"local/{SHIPPED}"
FAKE = Launch(("sh", "-c", 'read key; echo "{\\"port\\": $$}"; cat >/dev/null'))
"""Its port is its process id."""
PARENT = f"""
import asyncio, sys
from pathlib import Path
from routing.llm.local.runtime import Launch, LocalRuntime

async def main():
    runtime = LocalRuntime(Path("."), launch=Launch(("sh", "-c", sys.argv[1]), end_seconds=0.1))
    async with runtime.serve("{MODEL}"):
        await asyncio.Event().wait()

asyncio.run(main())
"""

Make = Callable[..., LocalRuntime]


@pytest.fixture
async def make(tmp_path: Path) -> AsyncIterator[Make]:
    """Runtimes over `tmp_path`; their processes are gone afterwards."""
    made: list[LocalRuntime] = []

    def runtime(launch: Launch = FAKE, idle_seconds: float = 600.0) -> LocalRuntime:
        made.append(LocalRuntime(tmp_path, idle_seconds, launch))
        return made[-1]

    yield runtime
    for each in made:
        await each.close()


async def address(runtime: LocalRuntime, model: str = MODEL) -> LocalAddress:
    async with runtime.serve(model) as found:
        return found


def pid(found: LocalAddress) -> int:
    """The process id of the fake server."""
    port = httpx.URL(found.base_url).port
    assert port is not None
    return port


async def test_the_real_model_answers_and_its_key_is_in_no_process_list(make: Make) -> None:
    runtime = make(Launch(context=512))
    async with (
        runtime.serve(MODEL) as found,
        httpx.AsyncClient(headers={"Authorization": f"Bearer {found.api_key}"}, timeout=TIMEOUT_SECONDS) as web,
    ):
        asked = {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 2}
        assert (await web.post(f"{found.base_url}/chat/completions", json=asked)).status_code == 200
        lines = command_lines()
    assert any(b"routing.llm.local.server" in line for line in lines)
    assert not any(found.api_key.encode() in line for line in lines)


def command_lines() -> list[bytes]:
    """The arguments of all processes, as everybody on the machine can read them."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has just ended
            found.append(path.read_bytes())
    return found


async def test_callers_at_the_same_time_share_one_process(make: Make) -> None:
    runtime = make()
    addresses = await asyncio.gather(*(address(runtime) for _ in range(5)))
    assert len(set(addresses)) == 1
    assert addresses[0].model_name == SHIPPED


async def test_a_caller_who_gives_up_does_not_spoil_the_start_for_the_others(make: Make) -> None:
    runtime = make()
    hasty, patient = (asyncio.create_task(address(runtime)) for _ in range(2))
    await asyncio.sleep(0)
    hasty.cancel()
    assert (await patient).model_name == SHIPPED
    assert hasty.cancelled()


async def test_after_a_crash_the_next_need_starts_it_again(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    runtime = make()
    first = pid(await address(runtime))
    os.kill(first, signal.SIGKILL)
    await until(lambda: f"[Local] {SHIPPED} was killed (SIGKILL)" in caplog.text)
    second = pid(await address(runtime))
    assert second != first
    assert alive(second)


async def test_a_failed_start_is_logged_once_for_all_callers_and_without_one(
    make: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broken = f"read key; echo > {tmp_path}/read; while [ ! -e {tmp_path}/go ]; do sleep 0.01; done; exit 9"
    runtime = make(Launch(("sh", "-c", broken)))
    callers = [asyncio.create_task(address(runtime)) for _ in range(3)]
    await until((tmp_path / "read").exists)
    callers.pop().cancel()
    (tmp_path / "go").touch()
    assert all(isinstance(each, Unreachable) for each in await asyncio.gather(*callers, return_exceptions=True))
    assert caplog.text.count("exit code 9") == 1
    (tmp_path / "go").unlink()
    (tmp_path / "read").unlink()
    gone = asyncio.create_task(address(runtime))
    await until((tmp_path / "read").exists)
    gone.cancel()
    (tmp_path / "go").touch()
    await until(lambda: caplog.text.count("exit code 9") == 2)


async def test_a_crash_is_noticed_at_once_although_a_child_holds_the_pipes(
    make: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    script = f'read key; sleep 1000 & echo $! > {tmp_path}/pid; echo "{{\\"port\\": $$}}"; wait'
    os.kill(pid(await address(make(Launch(("sh", "-c", script))))), signal.SIGKILL)
    await until(lambda: f"[Local] {SHIPPED} was killed (SIGKILL)" in caplog.text)
    await until(lambda: not alive(int((tmp_path / "pid").read_text("ascii"))))


async def test_an_idle_model_is_unloaded_and_comes_back(make: Make) -> None:
    runtime = make(idle_seconds=0.0)
    first = pid(await address(runtime))
    await until(lambda: not alive(first))
    assert pid(await address(runtime)) != first


async def test_an_answer_under_way_keeps_it_loaded(make: Make) -> None:
    runtime = make(idle_seconds=0.0)
    async with runtime.serve(MODEL) as first:
        assert await address(runtime) == first
        await asyncio.sleep(0)
        assert alive(pid(first))
        assert await address(runtime) == first
    await until(lambda: not alive(pid(first)))


async def test_closing_stops_what_runs_and_what_still_loads(make: Make, tmp_path: Path) -> None:
    script = (
        f'read key; case "$*" in *own*) echo $$ > {tmp_path}/pid; sleep 1000;; esac; echo "{{\\"port\\": $$}}"; cat'
    )
    runtime = make(Launch(("sh", "-c", script, "sh")))
    running = pid(await address(runtime))
    (tmp_path / "own.gguf").write_bytes(b"GGUF")
    loading = asyncio.create_task(address(runtime, "local/own"))
    file = tmp_path / "pid"
    await until(lambda: file.exists() and file.read_text("ascii").endswith("\n"))
    await runtime.close()
    with pytest.raises(asyncio.CancelledError):
        await loading
    assert not alive(running)
    assert not alive(int(file.read_text("ascii")))
    with pytest.raises(Unreachable, match="is stopping"):
        await address(runtime)


async def test_an_unknown_name_starts_nothing(make: Make) -> None:
    with pytest.raises(ModelUnknown, match=r"nothing-here\.gguf"):
        await address(make(), "local/nothing-here")


@pytest.mark.parametrize("script", ['echo "{\\"port\\": 1}"; cat', "sleep 1000"], ids=["ready", "loading"])
async def test_it_ends_with_a_parent_that_was_killed(script: str, tmp_path: Path) -> None:
    file = tmp_path / "pid"
    command = (sys.executable, "-c", PARENT, f"read key; echo $$ > {file}; {script}")
    parent = await asyncio.create_subprocess_exec(*command, stdin=PIPE, cwd=ROOT)
    await until(lambda: file.exists() and file.read_text("ascii").endswith("\n"))
    child = int(file.read_text("ascii"))
    assert alive(child)
    parent.kill()
    await parent.wait()
    await until(lambda: not alive(child))
