"""Our toolkits as a server: raw JSON-RPC, raw HTTP, and our own client. Third-party clients are in
tests/independent."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from handlers.tools.mcp.server import serve
from routing.errors import ConfigError, ToolFailed
from routing.types.tools import Traits
from tests.handlers.tools.mcp import sample_server
from tests.handlers.tools.mcp.harness import McpHarness
from tests.ports import free_port

SAMPLE_SERVER = Path(sample_server.__file__)
TOKEN = "a-token-of-a-length-that-will-do"
START: dict[str, Any] = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "raw", "version": "1"},
}


def environment(token: str = TOKEN) -> dict[str, str]:
    root = str(SAMPLE_SERVER.parents[4])
    return {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "PYTHONPATH": root, "TIERBOT_MCP_TOKEN": token}


class Client:
    """One conversation over stdio, in raw JSON-RPC."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(SAMPLE_SERVER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        self._number = 0
        self.started = self.ask("initialize", params=START)
        self._send({"method": "notifications/initialized"})

    def ask(self, method: str, **fields: Any) -> dict[str, Any]:
        """The answer to a request."""
        assert self._process.stdout is not None
        self._number += 1
        self._send({"id": self._number, "method": method, **fields})
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        assert answer["id"] == fields.get("id", self._number)
        return answer

    def call(self, name: str, **arguments: Any) -> tuple[str, bool]:
        """A tool's result, and whether it failed."""
        result = self.ask("tools/call", params={"name": name, "arguments": arguments})["result"]
        return result["content"][0]["text"], result["isError"]

    def end(self) -> None:
        """Nothing may remain on stdout."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        assert self._process.wait(30) == 0
        assert self._process.stdout.read() == ""
        self._process.stdout.close()

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    client = Client()
    yield client
    client.end()


def test_tools_with_hints_over_stdio(client: Client) -> None:
    start, listed = client.started["result"], client.ask("tools/list")["result"]
    assert (start["serverInfo"]["name"], start["serverInfo"]["version"]) == ("tierbot", "9.8")
    assert start["instructions"] == "speech: Speaks for you.\nother: Of no use."
    say, fail = listed["tools"]
    assert (say["name"], say["description"], say["inputSchema"]) == ("say", "Says it, told to L.", sample_server.LONG)
    hints = say["_meta"]["io.github.tierbot/capabilityHints"]
    assert say["capabilityHints"] == hints
    assert hints["tiers"]["small"] == {"description": "Says it, told to S.", "inputSchema": sample_server.SHORT}
    assert hints["tiers"]["medium"]["description"] == "Says it, told to M."
    assert hints["tiers"]["large"]["description"] == "Says it, told to L."
    assert (hints["category"], hints["priority"]) == ("speech", 2.0)
    assert (say["annotations"], fail["annotations"]) == ({"readOnlyHint": True}, {"readOnlyHint": False})


def test_calls_over_stdio(client: Client) -> None:
    assert client.call("say", text="hü") == ("hü", False)
    assert client.call("fail") == ("The disk is full. Delete something.", True)
    assert client.call("say") == ("say failed internally (KeyError).", True)
    assert client.call("nothing") == ("There is no tool nothing here.", True)


def test_an_unreadable_request_gets_an_error_and_the_next_works(client: Client) -> None:
    """A client waits for an answer; only a request without a usable id gets none."""
    half = {"name": "say", "arguments": {"text": "a\ud800b"}}
    deep: object = "x"
    for _ in range(300):
        deep = [deep]
    error = client.ask("tools/call", params=half)["error"]
    assert (error["code"], error["message"]) == (-32700, "The request contains half a character (a lone surrogate).")
    assert client.ask("tools/call", params=half, id="four")["error"] == error
    nested = client.ask("tools/call", params={"name": "say", "arguments": {"text": deep}})
    assert "recursion limit exceeded" in nested["error"]["message"]
    assert client.call("say", text="hi") == ("hi", False)


async def test_our_client_reads_our_servers_cards(on: McpHarness) -> None:
    on.entry("ours", {"command": sys.executable, "args": [str(SAMPLE_SERVER)], "env": environment()})
    await on.started("ours")
    say, _ = on.client.toolkits()[0].tools
    assert dict(say.texts) == sample_server.CARD.texts
    assert (say.category, say.priority) == ("speech", 2.0)
    assert on.client.toolkits()[0].description == "speech: Speaks for you.\nother: Of no use."
    assert on.client.traits("ours_say") == Traits(parallel=True, changes=False, seconds=35)
    assert await on.call("ours_say", text="hi", loud=True) == "HI"
    with pytest.raises(ToolFailed, match="fail of ours failed: The disk is full"):
        await on.call("ours_fail")


@contextmanager
def serving(host: str = "127.0.0.1") -> Iterator[str]:
    """Our server over HTTP; returns its loopback URL."""
    port = free_port()
    where = f"127.0.0.1:{port}"
    process = subprocess.Popen(
        [sys.executable, str(SAMPLE_SERVER), f"{host}:{port}"], stderr=subprocess.PIPE, text=True, env=environment()
    )
    try:
        assert process.stderr is not None
        assert any("Serving at" in line for line in process.stderr)
        yield where
    finally:
        process.terminate()
        process.communicate(timeout=60)


async def test_our_client_over_http_with_and_without_the_token(on: McpHarness) -> None:
    with serving() as where:
        url = f"http://{where}/mcp"
        on.entry("ours", {"url": url, "headers": {"Authorization": f"Bearer {TOKEN}"}})
        on.entry("stranger", {"url": url})
        await on.started("ours")
        assert await on.call("ours_say", text="hi") == "hi"
        await on.until(lambda: on.state("stranger").status == "failed")
        assert on.state("stranger").reason == "it answers HTTP 401"


@pytest.fixture(scope="module")
def addresses() -> Iterator[dict[str, str]]:
    """The loopback URLs of two servers, by listening address."""
    with serving("127.0.0.1") as loopback, serving("0.0.0.0") as everywhere:
        yield {"127.0.0.1": loopback, "0.0.0.0": everywhere}


@pytest.mark.parametrize(
    ("host", "headers", "status"),
    [
        ("127.0.0.1", {}, 200),
        ("127.0.0.1", {"Authorization": f"bearer {TOKEN}"}, 200),
        ("127.0.0.1", {"Authorization": f"BEARER  {TOKEN}"}, 200),
        ("127.0.0.1", {"Authorization": "Bearer"}, 401),
        ("127.0.0.1", {"Authorization": f"Basic {TOKEN}"}, 401),
        ("127.0.0.1", {"Authorization": TOKEN}, 401),
        ("127.0.0.1", {"Authorization": f"Bearer {TOKEN}x"}, 401),
        ("127.0.0.1", {"Host": "evil.example"}, 421),
        ("127.0.0.1", {"Origin": "http://evil.example"}, 403),
        ("0.0.0.0", {"Authorization": ""}, 401),
        ("0.0.0.0", {"Host": "home.example"}, 200),
        ("0.0.0.0", {"Origin": "http://evil.example"}, 403),
        ("0.0.0.0", {"Origin": "http://home.example", "Host": "home.example"}, 200),
    ],
)
def test_http_authorization(addresses: dict[str, str], host: str, headers: dict[str, str], status: int) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": START}
    usual = {"Authorization": f"Bearer {TOKEN}", "Accept": "application/json, text/event-stream"}
    with httpx.Client(trust_env=False, timeout=60) as http:
        answer = http.post(f"http://{addresses[host]}/mcp", json=body, headers={**usual, **headers})
        assert answer.status_code == status, answer.text


@pytest.mark.parametrize(
    ("where", "token", "reason"),
    [
        ("127.0.0.1:8765", "", "set TIERBOT_MCP_TOKEN to at least 16 characters"),
        ("127.0.0.1:8765", "too-short", "set TIERBOT_MCP_TOKEN to at least 16 characters"),
        ("localhost", TOKEN, "localhost is not an address: give HOST:PORT"),
        ("127.0.0.1:99999", TOKEN, "127.0.0.1:99999 is not an address"),
        ("192.0.2.1:8765", TOKEN, "192.0.2.1:8765 can't be served at"),
    ],
)
async def test_invalid_http_settings(where: str, token: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(reason)):
        await serve(sample_server.TOOLKITS, sample_server.run, http=where, token=token)
