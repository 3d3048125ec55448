"""Workspace tools that are programs in the sandbox."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from handlers.tools.authoring.manifests import read_toolkit
from handlers.tools.authoring.tasks import Program
from handlers.tools.sandbox import Cut, Ended, ExecResult, SandboxLimits
from handlers.tools.workspace_source import program_tool
from routing.errors import ToolFailed
from tests.handlers.tools.authoring.manifest import document, written
from tests.handlers.tools.files import ADA
from tests.handlers.tools.test_code import FixedResult


def programs(folder: Path, ran: ExecResult) -> tuple[FixedResult, Any]:
    sandbox = FixedResult(ran, SandboxLimits(seconds=30))
    manifest = read_toolkit(written(folder, {**document(), "role": "admin"}))
    way = manifest.implementations["get_weather"]
    assert isinstance(way, Program)
    return sandbox, program_tool("get_weather", way, manifest.role, sandbox)


async def test_a_program_gets_its_arguments_as_json_and_prints_the_result(tmp_path: Path) -> None:
    sandbox, tool = programs(tmp_path, ExecResult("sunny\n", 0, "exit", 0.1))
    assert await tool.execute(ADA, city="Köln \ud800", self="s", scope="t") == "sunny"
    ((person, argv, stdin),) = sandbox.asked
    assert (person, tuple(argv)) == (7, ("python3", "-c", "x"))
    assert json.loads(stdin) == {"city": "Köln \ud800", "self": "s", "scope": "t"}
    assert (tool.name, tool.role, tool.off) == ("get_weather", "admin", sandbox.reason_off)
    assert not tool.traits.parallel
    assert tool.traits.changes
    assert tool.traits.seconds > sandbox.wait_seconds + 30


@pytest.mark.parametrize(
    ("output", "code", "ended", "said"),
    [
        ("no such city\n", 2, "exit", "get_weather failed [exit code 2]: no such city"),
        ("", 1, "exit", "get_weather failed [exit code 1]: no output"),
        ("so far", None, "seconds", "get_weather failed [ended by its limit on seconds]: so far"),
    ],
)
async def test_a_failing_program_is_reported(tmp_path: Path, output: str, code: int, ended: Ended, said: str) -> None:
    _, tool = programs(tmp_path, ExecResult(output, code, ended, 0.1))
    with pytest.raises(ToolFailed) as failed:
        await tool.execute(ADA)
    assert str(failed.value) == said


async def test_no_output_or_too_much_output_is_reported(tmp_path: Path) -> None:
    assert await programs(tmp_path, ExecResult(" \n", 0, "exit", 0.1))[1].execute(ADA) == "[no output]"
    told = await programs(tmp_path, ExecResult("a…z", 0, "exit", 0.1, Cut(99, 1, 1)))[1].execute(ADA)
    assert told == "a…z\n[OUTPUT TRUNCATED: 99 chars total]"
