"""Our MCP server with third-party clients: the TypeScript SDK, protocol versions of 2025 and 2026."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.handlers.tools.mcp.sample_server import LONG, SHORT
from tests.handlers.tools.mcp.test_server import SAMPLE_SERVER, TOKEN, environment, serving
from tests.independent.mcp_parties import modules, node

pytestmark = [pytest.mark.system, pytest.mark.parametrize("era", ["sdk", "client"])]
CLIENT = Path(__file__).with_name("mcp_client.mjs")


def run(era: str, *how: str) -> dict[str, Any]:
    said = subprocess.run(
        [node(), str(CLIENT), str(modules(era)), era, *how],
        capture_output=True,
        text=True,
        timeout=100,
        env=environment(),
    )
    assert said.returncode == 0, said.stderr
    return dict(json.loads(said.stdout))


def judge(told: dict[str, Any]) -> None:
    assert (told["server"]["name"], told["server"]["version"]) == ("tierbot", "9.8")
    assert told["about"] == "speech: Speaks for you.\nother: Of no use."
    say, fail = told["tools"]
    assert (say["name"], say["inputSchema"], fail["name"]) == ("say", LONG, "fail")
    tiers = say["_meta"]["io.github.tierbot/capabilityHints"]["tiers"]
    assert list(tiers) == ["small", "medium", "large"]
    assert tiers["small"]["inputSchema"] == SHORT
    assert told["say"]["content"] == [{"type": "text", "text": "GRÜSS DICH"}]
    assert not told["say"].get("isError")
    assert told["fail"]["isError"]
    assert told["fail"]["content"][0]["text"] == "The disk is full. Delete something."


def test_clients_over_stdio(era: str) -> None:
    judge(run(era, "stdio", sys.executable, str(SAMPLE_SERVER)))


def test_clients_over_http(era: str) -> None:
    with serving() as where:
        judge(run(era, "http", f"http://{where}/mcp", TOKEN))


def test_http_without_the_token_is_refused(era: str) -> None:
    with serving() as where, pytest.raises(AssertionError, match=r"401|Unauthorized"):
        run(era, "http", f"http://{where}/mcp", "wrong")
