"""A model that can't be served reports why, and what the owner can do. Real processes, each broken in one way."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from routing.errors import Unreachable
from routing.llm.local.runtime import Launch, LocalRuntime
from routing.llm.local.weights import SHIPPED, shipped_weights

Reason = Callable[..., Awaitable[str]]


def shell(script: str) -> Launch:
    """A child that is a shell script; `exec "$0" "$@"` in it is the real one."""
    return Launch(interpreter=("sh", "-c", script, sys.executable), context=512)


@pytest.fixture
async def reason(tmp_path: Path) -> AsyncIterator[Reason]:
    """Why a model can't be served under a launch."""
    runtimes: list[LocalRuntime] = []

    async def ask(launch: Launch, name: str = SHIPPED) -> str:
        runtimes.append(LocalRuntime(tmp_path, launch=launch))
        with pytest.raises(Unreachable) as caught:
            async with runtimes[-1].serve(name):
                pass
        assert caught.value.model == f"local/{name}"
        return caught.value.reason

    yield ask
    for runtime in runtimes:
        await runtime.close()


async def test_no_package(reason: Reason) -> None:
    without_site_packages = Launch(interpreter=(sys.executable, "-S"))
    assert "pip install xllamacpp" in await reason(without_site_packages, SHIPPED)


async def test_a_broken_package(reason: Reason, tmp_path: Path) -> None:
    (tmp_path / "xllamacpp.py").write_text(
        "raise ImportError('libgomp.so.1: cannot open shared object file: No such file or directory')", "utf-8"
    )
    script = f'PYTHONPATH="{tmp_path}" exec "$0" "$@"'
    assert "libgomp1" in await reason(shell(script), SHIPPED)


async def test_truncated_weights(reason: Reason, tmp_path: Path) -> None:
    shipped = shipped_weights()
    assert shipped is not None
    with shipped.open("rb") as source:
        (tmp_path / "half.gguf").write_bytes(source.read(4_000_000))
    said = await reason(Launch(), "half")
    assert "half.gguf" in said
    # llama.cpp logs the cause from another thread, which may come too late
    assert "corrupted or incomplete" in said or "Failed to init server" in said


async def test_not_enough_memory(reason: Reason) -> None:
    two_gigabytes = ("sh", "-c", 'ulimit -v 2000000; exec "$0" "$@"', sys.executable)
    assert "not enough memory" in await reason(Launch(two_gigabytes, context=1_000_000), SHIPPED)


async def test_ended_by_the_systems_memory_watch(reason: Reason) -> None:
    assert "not enough memory" in await reason(shell("kill -KILL $$"), SHIPPED)


async def test_a_processor_that_is_too_old(reason: Reason) -> None:
    assert "this processor lacks" in await reason(shell("kill -ILL $$"), SHIPPED)


async def test_an_unknown_exit_shows_the_last_line(reason: Reason) -> None:
    said = await reason(shell("echo first >&2; echo the disk is on fire >&2; exit 9"), SHIPPED)
    assert "exit code 9" in said
    assert said.endswith("the disk is on fire")


async def test_a_child_that_never_gets_ready_is_ended(reason: Reason) -> None:
    launch = Launch(interpreter=("sh", "-c", "trap '' TERM; while :; do read line; done"), ready_seconds=0.2)
    assert "not loaded within 0.2 s" in await reason(launch, SHIPPED)


@pytest.mark.parametrize("line", ["INFO loading", "[1]", "7", '{"port": "x"}', "{}"])
async def test_a_child_that_reports_no_port(reason: Reason, line: str) -> None:
    said = await reason(shell(f"echo '{line}'; cat >/dev/null"))
    assert said == f"llama.cpp did not report its port: {line}"


async def test_no_interpreter(reason: Reason) -> None:
    said = await reason(Launch(interpreter=("/does/not/exist",)), SHIPPED)
    assert "can't be started" in said
    assert "No such file" in said
