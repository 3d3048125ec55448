"""Misbehaving servers over streamable HTTP: real processes, HTTP by hand."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from routing.errors import ToolFailed
from tests.fakes import later
from tests.handlers.tools.mcp.harness import CALL_SECONDS, QUICK, McpHarness, mcp_harness

UNRULY = Path(__file__).with_name("unruly_http.py")


@contextmanager
def listening(port: int = 0) -> Iterator[int]:
    """The server's process; returns its port."""
    process = subprocess.Popen([sys.executable, str(UNRULY), str(port)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


def address(port: int) -> str:
    return f"http://127.0.0.1:{port}/mcp"


@pytest.fixture
async def web(tmp_path: Path) -> AsyncIterator[McpHarness]:
    """This server, connected, and a good one over stdio."""
    with listening() as port:
        async with mcp_harness(tmp_path) as on:
            on.server("good")
            on.entry("web", {"url": address(port), "headers": {"X-Key": "abcdef"}, "timeout": 20})
            await on.started("good", "web")
            yield on


async def test_a_call_and_its_headers(web: McpHarness) -> None:
    assert await web.call("web_echo", a="ü") == 'echo {"a": "\\u00fc"}'
    sent = {name.lower(): value for name, value in json.loads(await web.call("web_headers")).items()}
    assert sent["x-key"] == "•••", "it was sent, and is hidden from the model"
    assert sent["accept-encoding"] == "identity"
    assert "mcp-session-id" in sent


async def test_an_expired_session_is_renewed_within_the_call(web: McpHarness) -> None:
    assert await web.call("web_forget") == "who are you?"
    assert await web.call("web_echo") == "echo {}"


async def test_an_invalid_response(web: McpHarness) -> None:
    answers: list[tuple[str, dict[str, Any], str]] = [
        ("broken", {}, "Failed to parse JSON response"),
        ("wrong_type", {}, "Unexpected content type: text/html"),
        ("huge", {"size": 5_000_000}, "it is larger than 4 MB"),
        ("events", {"answer": False}, "ended in the middle of events"),
        ("events", {"nonsense": 1, "json": True}, "Failed to parse SSE message"),
        ("events", {"line": 5_000_000}, "ended in the middle of events"),
        ("cut", {}, "ended in the middle of cut"),
        ("bomb", {}, "ended in the middle of bomb"),
    ]
    for tool, arguments, reason in answers:
        with pytest.raises(ToolFailed, match=reason):
            await web.call(f"web_{tool}", **arguments)
        assert await web.call("good_echo") == "echo {}"
        await web.connected("web")
        assert await web.call("web_echo") == "echo {}"


async def test_unknown_events_are_skipped(web: McpHarness) -> None:
    assert await web.call("web_events", nonsense=500) == "in an event"


async def test_a_flood_of_events_is_read_slowly(tmp_path: Path) -> None:
    with listening() as port:
        async with mcp_harness(tmp_path, replace(QUICK, messages_per_second=5, burst_seconds=0.1)) as on:
            on.server("good")
            on.entry("web", {"url": address(port), "timeout": CALL_SECONDS})
            await on.started("good", "web")
            flood = asyncio.create_task(on.call("web_events", nonsense=100_000))
            assert await on.call("good_echo") == "echo {}"
            later(CALL_SECONDS)
            with pytest.raises(ToolFailed, match="did not answer within 20 s"):
                await flood
            assert await on.call("good_echo") == "echo {}"
            assert await on.call("web_echo") == "echo {}"


async def test_a_call_times_out(tmp_path: Path) -> None:
    with listening() as port:
        async with mcp_harness(tmp_path) as on:
            on.entry("web", {"url": address(port), "timeout": CALL_SECONDS})
            await on.started("web")
            calling = asyncio.create_task(on.call("web_hang", seconds=3))
            assert await on.call("web_echo") == "echo {}"
            later(CALL_SECONDS)
            with pytest.raises(ToolFailed, match="did not answer within 20 s"):
                await calling
            assert await on.call("web_echo") == "echo {}"


async def test_a_server_that_disappears_and_returns(tmp_path: Path) -> None:
    async with mcp_harness(tmp_path) as on:
        with listening() as port:
            on.entry("web", {"url": address(port)})
            await on.started("web")
        with pytest.raises(ToolFailed, match="MCP server web"):
            await on.call("web_echo")
        await on.until(lambda: on.state("web").status == "failed")
        assert "it can't be reached" in on.state("web").reason
        assert on.names() == []
        with listening(port):
            await on.connected("web")
            assert await on.call("web_echo") == "echo {}"


async def test_a_wrong_token(tmp_path: Path) -> None:
    with listening() as port:
        async with mcp_harness(tmp_path) as on:
            on.entry("web", {"url": f"{address(port)}?key=SECRET1", "headers": {"Authorization": "Bearer wrong"}})
            await on.client.start()
            await on.until(lambda: on.state("web").status == "failed")
            assert on.state("web").reason == "it answers HTTP 401"
