"""`tierbot mcp` with third-party clients: the TypeScript SDK, protocol versions of 2025 and 2026."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from handlers.version import VERSION
from tests.independent.mcp_parties import ROOT, modules, node

pytestmark = [pytest.mark.system]
CALLER = Path(__file__).with_name("mcp_caller.mjs")
CALLS = [
    {"name": "write_file", "arguments": {"path": "grüße.txt", "content": "grüß dich"}},
    {"name": "read_file", "arguments": {"path": "grüße.txt"}},
    {"name": "calculate", "arguments": {"expression": "6*7"}},
    {"name": "read_file", "arguments": {"path": "nowhere.txt"}},
]


@pytest.mark.parametrize("era", ["sdk", "client"])
def test_tools_with_hints_are_listed_and_called(era: str, tmp_path: Path) -> None:
    command = [node(), str(CALLER), str(modules(era)), era, json.dumps(CALLS), sys.executable, "-m", "bot", "mcp"]
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    said = subprocess.run(
        command, capture_output=True, text=True, timeout=100, cwd=ROOT, env={**kept, "WORKSPACE": str(tmp_path / "ws")}
    )
    assert said.returncode == 0, said.stderr
    told = json.loads(said.stdout)
    assert (told["server"]["name"], told["server"]["version"]) == ("tierbot", VERSION)
    tools = {tool["name"]: tool for tool in told["tools"]}
    hints = tools["read_file"]["_meta"]["io.github.tierbot/capabilityHints"]
    assert set(hints["tiers"]) == {"small", "medium", "large"}
    assert hints["category"] == "files"
    assert tools["read_file"]["annotations"]["readOnlyHint"]
    assert not tools["write_file"]["annotations"]["readOnlyHint"]
    written, read, sums, failed = told["results"]
    assert not written.get("isError")
    assert read["content"][0]["text"] == "grüß dich"
    assert sums["content"][0]["text"] == "6*7 = 42"
    assert failed["isError"]
