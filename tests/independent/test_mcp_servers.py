"""Our MCP client with third-party servers: the reference servers, and one with the newest protocol version."""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from handlers.tools.mcp.config import DEFAULT_LIMITS
from routing.errors import ToolFailed
from routing.types.decisions import SIZES
from tests.handlers.tools.mcp.harness import McpHarness, mcp_harness
from tests.independent.mcp_parties import modules, node, program, reference
from tests.ports import free_port

pytestmark = pytest.mark.system


@pytest.fixture
async def on(tmp_path: Path) -> AsyncIterator[McpHarness]:
    async with mcp_harness(tmp_path, DEFAULT_LIMITS) as made:
        yield made


async def begun(on: McpHarness, name: str, command: list[str], **fields: object) -> None:
    on.entry(name, {"command": command[0], "args": command[1:], "timeout": 60, **fields})
    await on.started(name)
    assert on.state(name).warnings == (), "every tool of theirs can be used"


async def test_everything_server(on: McpHarness) -> None:
    await begun(on, "everything", reference("server-everything"), env={"GREETING": "hello"})
    await everything(on)
    said = json.loads(await on.call("everything_get-env"))
    assert set(said) - {"PATH", "HOME", "LANG"} == {"GREETING"}, "nothing of the bot's environment"


async def everything(on: McpHarness) -> None:
    (toolkit,) = on.client.toolkits()
    assert toolkit.description.startswith("# Everything Server")
    assert len(toolkit.tools) >= 12
    assert all(set(card.texts) == set(SIZES) and card.texts["S"].description for card in toolkit.tools)
    assert await on.call("everything_echo", message="grüß dich") == "Echo: grüß dich"
    assert "42" in await on.call("everything_get-sum", a=2, b=40)
    assert "[image image/png, 4 kB: it can't be shown here]" in await on.call("everything_get-tiny-image")
    told = json.loads(await on.call("everything_get-structured-content", location="Chicago"))
    assert set(told) == {"temperature", "conditions", "humidity"}
    linked = await on.call("everything_get-resource-links", count=2)
    assert linked.count("[resource ") == 2
    held = await on.call("everything_get-resource-reference", resourceType="Text", resourceId=1)
    assert "[resource demo://resource/dynamic/text/1]\nResource 1: " in held
    with pytest.raises(ToolFailed, match="Input validation error"):
        await on.call("everything_get-sum", a=1, b="x")


@contextmanager
def everything_over_http() -> Iterator[str]:
    port = free_port()
    process = subprocess.Popen(
        [*reference("server-everything"), "streamableHttp"],
        stderr=subprocess.PIPE,
        text=True,
        env={"PORT": str(port), "PATH": "/usr/bin:/bin", "HOME": "/nonexistent"},
    )
    try:
        assert process.stderr is not None
        assert any("listening" in line for line in process.stderr)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.communicate(timeout=60)


async def test_everything_server_over_http(on: McpHarness) -> None:
    with everything_over_http() as url:
        on.entry("everything", {"url": url, "timeout": 60})
        await on.started("everything")
        await everything(on)


async def test_a_call_that_times_out(on: McpHarness) -> None:
    await begun(on, "everything", reference("server-everything"))
    on.entry("everything", {**json.loads(on.path.read_text())["mcpServers"]["everything"], "timeout": 1})
    await on.client.refresh()
    await on.connected("everything")
    with pytest.raises(ToolFailed, match="did not answer within 1 s and was told to stop"):
        await on.call("everything_trigger-long-running-operation", duration=50, steps=5)
    assert await on.call("everything_echo", message="x") == "Echo: x"


async def test_filesystem(on: McpHarness, tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    await begun(on, "fs", [*reference("server-filesystem"), str(tmp_path / "inside")])
    await on.call("fs_write_file", path=str(tmp_path / "inside" / "a.txt"), content="hello")
    assert await on.call("fs_read_text_file", path=str(tmp_path / "inside" / "a.txt")) == "hello"
    assert (tmp_path / "inside" / "a.txt").read_text() == "hello"
    assert not on.client.traits("fs_read_text_file").changes
    assert on.client.traits("fs_write_file").changes
    assert on.client.traits("fs_write_file").confirm
    assert not on.client.traits("fs_read_text_file").confirm
    with pytest.raises(ToolFailed, match="Access denied"):
        await on.call("fs_read_text_file", path="/etc/passwd")


async def test_memory(on: McpHarness, tmp_path: Path) -> None:
    await begun(on, "memory", reference("server-memory"), env={"MEMORY_FILE_PATH": str(tmp_path / "memory.json")})
    ann = {"name": "Ann", "entityType": "person", "observations": ["likes tea"]}
    await on.call("memory_create_entities", entities=[ann])
    assert "likes tea" in await on.call("memory_search_nodes", query="Ann")


async def test_time(on: McpHarness) -> None:
    await begun(on, "time", [program("mcp-server-time")])
    told = json.loads(await on.call("time_get_current_time", timezone="Asia/Tokyo"))
    assert told["timezone"] == "Asia/Tokyo"
    assert told["datetime"].endswith("+09:00")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", "-b", "trunk", str(folder)], check=True, timeout=60)
    return folder


async def test_git(on: McpHarness, repository: Path) -> None:
    await begun(on, "git", [program("mcp-server-git"), "--repository", str(repository)])
    assert "On branch trunk" in await on.call("git_git_status", repo_path=str(repository))


async def test_a_server_with_the_newest_protocol_announces_new_tools(on: McpHarness) -> None:
    script = str(Path(__file__).with_name("mcp_server.mjs"))
    await begun(on, "modern", [node(), script, str(modules("server"))])
    assert on.client.toolkits()[0].description == "Speaks the newest protocol."
    assert await on.call("modern_say", text="hi") == "hi"
    assert await on.call("modern_grow") == "done"
    await on.until(lambda: "modern_grown" in on.names())
    assert await on.call("modern_grown") == "new"
