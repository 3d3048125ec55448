"""`tierbot mcp` as a process: with the official client, with raw lines, beside a bot, and its end."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from getpass import getuser
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client, StdioServerParameters

from routing.types.people import PersonSettings
from storage.database import open_database
from storage.people.preferences import SqlPreferences
from tests.bot.cli import ROOT, tierbot
from tests.bot.ops.doctor import migrated
from tests.handlers.tools.mcp.test_server import START, TOKEN
from tests.polling import until
from tests.ports import free_port
from tests.stories.forked_cli import TIMEOUT_SECONDS, Forked, forked
from tests.stories.harness import BotHarness, BotProcess

HINTS = "io.github.tierbot/capabilityHints"
needs_bubblewrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
OPENING: list[dict[str, Any]] = [
    {"id": 0, "method": "initialize", "params": START},
    {"method": "notifications/initialized"},
]


def environ(workspace: Path, **more: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return {**kept, "WORKSPACE": str(workspace), **more}


class Line:
    """Raw lines to and from the process."""

    def __init__(self, process: Forked) -> None:
        self.process = process
        self._number = 0

    def send(self, method: str, **params: object) -> None:
        self._number += 1
        self._write({"id": self._number, "method": method, "params": params})

    async def ask(self, method: str, **params: object) -> dict[str, Any]:
        self.send(method, **params)
        return await self.answer()

    async def call(self, name: str, **arguments: object) -> tuple[str, bool]:
        result = (await self.ask("tools/call", name=name, arguments=arguments))["result"]
        return result["content"][0]["text"], result["isError"]

    async def answer(self) -> dict[str, Any]:
        return dict(json.loads(await asyncio.wait_for(self.process.stdout.readline(), TIMEOUT_SECONDS)))

    async def begin(self) -> None:
        for message in OPENING:
            self._write(message)
        assert (await self.answer())["result"]["serverInfo"]["name"] == "tierbot"

    def _write(self, message: dict[str, Any]) -> None:
        self.process.write((json.dumps({"jsonrpc": "2.0", **message}) + "\n").encode())

    async def ended(self, *, close: bool = True) -> tuple[int, str, str]:
        """Exit code, remaining stdout, and the log."""
        return await self.process.ended(close=close)


@asynccontextmanager
async def started(workspace: Path, *arguments: str, **more: str) -> AsyncIterator[Line]:
    async with forked("mcp", *arguments, env=environ(workspace, **more)) as process:
        yield Line(process)


@asynccontextmanager
async def talking(workspace: Path, **more: str) -> AsyncIterator[Line]:
    async with started(workspace, **more) as line:
        await line.begin()
        yield line


async def test_the_official_client_works(tmp_path: Path) -> None:
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "bot", "mcp"], env=environ(tmp_path / "ws"), cwd=ROOT
    )
    async with Client(command) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        always = {"get_datetime", "calculate", "read_file", "write_file", "list_files", "web_search", "fetch_page"}
        assert always <= set(tools)
        assert not set(tools) & {"set_tier", "help", "health"}, "they are about a chat with the bot"
        hints = (tools["read_file"].meta or {})[HINTS]
        assert list(hints["tiers"]) == ["small", "medium", "large"]
        assert hints["category"] == "files"
        assert len(hints["tiers"]["small"]["description"]) < len(hints["tiers"]["large"]["description"])
        assert "description" not in hints["tiers"]["small"]["inputSchema"]["properties"]["path"]
        sums = await client.call_tool("calculate", {"expression": "6*7"})
        assert [block.model_dump()["text"] for block in sums.content] == ["6*7 = 42"]
        written = await client.call_tool("write_file", {"path": "a/b.txt", "content": "milk"})
        wrong = await client.call_tool("write_file", {"path": "a/b.txt"})
        assert not written.is_error
        assert wrong.is_error
        assert "is a required property" in str(wrong.content)
    with sqlite3.connect(tmp_path / "ws" / "tierbot.db") as database:
        found = "select role, platform, user_id, people.id from people join identities on person_id = people.id"
        ((role, platform, user, person_id),) = database.execute(found).fetchall()
    assert (role, platform, user) == ("owner", "console", getuser())
    assert (tmp_path / "ws" / "files" / str(person_id) / "a" / "b.txt").read_text() == "milk"


async def test_chat_tools_are_not_offered(tmp_path: Path) -> None:
    async with talking(tmp_path) as line:
        names = {tool["name"] for tool in (await line.ask("tools/list"))["result"]["tools"]}
        theirs = ("set_tier", "use_skill", "discover_tools", "help", "show_config", "health")
        assert not names & set(theirs)
        for name in theirs:
            text, failed = await line.call(name)
            assert failed
            assert f"There is no tool {name} here." in text


async def test_times_are_in_the_owners_time_zone(tmp_path: Path) -> None:
    async with talking(tmp_path) as line:
        assert "(UTC" in (await line.call("get_datetime"))[0]
        database = open_database(f"sqlite:///{tmp_path / 'tierbot.db'}")
        await SqlPreferences(database).set_settings(1, PersonSettings(time_zone="Asia/Tokyo"))
        await database.close()
        assert "Asia/Tokyo" in (await line.call("get_datetime"))[0]


async def test_the_server_runs_beside_the_bot(on: BotHarness) -> None:
    async with BotProcess(on) as bot:
        on.tg.say("hi")
        await on.tg.reply(timeout=TIMEOUT_SECONDS)
        async with talking(on.workspace, USER_RATE_LIMIT="off") as line:
            assert await line.call("calculate", expression="1+1") == ("1+1 = 2", False)
            assert not (await line.call("write_file", path="x.txt", content="x"))[1]
            on.tg.say("again")
            await on.tg.reply(timeout=TIMEOUT_SECONDS)
            code, output, _ = await line.ended()
            assert (code, output) == (0, "")
        on.tg.say("and again")
        await on.tg.reply(timeout=TIMEOUT_SECONDS)
        assert await bot.terminate() == 0


async def test_several_servers_start_on_a_new_workspace(tmp_path: Path) -> None:
    async def one(number: int) -> tuple[str, bool]:
        async with talking(tmp_path / "ws") as line:
            return await line.call("calculate", expression=f"{number}+1")

    assert await asyncio.gather(*map(one, range(3))) == [(f"{n}+1 = {n + 1}", False) for n in range(3)]
    with sqlite3.connect(tmp_path / "ws" / "tierbot.db") as database:
        assert database.execute("select count(*) from identities").fetchone() == (1,)


async def test_a_bot_can_start_while_it_serves(on: BotHarness) -> None:
    async with talking(on.workspace) as line, BotProcess(on) as bot:
        on.tg.say("hi")
        await on.tg.reply(timeout=TIMEOUT_SECONDS)
        assert await line.call("calculate", expression="1+1") == ("1+1 = 2", False)
        assert await bot.terminate() == 0


@needs_bubblewrap
@pytest.mark.parametrize(("how", "busy"), [("end", True), ("SIGTERM", True), ("SIGINT", False)])
async def test_the_server_ends_cleanly(tmp_path: Path, how: str, busy: bool) -> None:
    begun = tmp_path / "files" / "1" / "begun"
    async with talking(tmp_path) as line:
        if busy:
            line.send("tools/call", name="run_command", arguments={"command": "touch begun; exec sleep 7777"})
            await until(begun.exists, TIMEOUT_SECONDS)
        if how != "end":
            line.process.send_signal(getattr(signal, how))
        code, output, log = await line.ended(close=how == "end")
    assert code == 0
    assert "Traceback" not in log
    assert all(json.loads(each)["id"] == 1 for each in output.splitlines()), "nothing else is on standard output"
    listed = await asyncio.create_subprocess_exec("ps", "-eo", "args", stdout=asyncio.subprocess.PIPE)
    assert b"sleep 7777" not in (await listed.communicate())[0]


async def test_a_disconnected_client_is_not_an_error(tmp_path: Path) -> None:
    asked = "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in OPENING)
    async with forked("mcp", env=environ(tmp_path), closed_stdout=True) as process:
        code, _, log = await process.ended(asked.encode())
    assert code == 0
    assert all("disconnected" in line for line in log.splitlines()), "nothing is logged if the end came first"


async def test_over_http_with_the_token(tmp_path: Path) -> None:
    async with started(tmp_path, "--http", "127.0.0.1:0", TIERBOT_MCP_TOKEN=TOKEN) as line:
        code, output, log = await line.ended()
        assert code == 2
        assert output == ""
        assert "127.0.0.1:0 is not an address" in log
    where = f"127.0.0.1:{free_port()}"
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    async with started(tmp_path, "--http", where, TIERBOT_MCP_TOKEN_FILE=str(tmp_path / "token")) as line:
        while b"Serving at" not in (
            line_read := await asyncio.wait_for(line.process.stderr.readline(), TIMEOUT_SECONDS)
        ):
            assert line_read
        body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": START}
        headers = {"Authorization": f"Bearer {TOKEN}", "Accept": "application/json, text/event-stream"}
        async with httpx.AsyncClient(trust_env=False, timeout=60) as web:
            assert (await web.post(f"http://{where}/mcp", json=body, headers=headers)).status_code == 200
            headers["Authorization"] += "x"
            assert (await web.post(f"http://{where}/mcp", json=body, headers=headers)).status_code == 401
        line.process.send_signal(signal.SIGTERM)
        code, output, log = await line.ended(close=False)
    assert (code, output) == (0, "")
    assert TOKEN not in log
    assert "Traceback" not in log


async def test_over_http_without_a_token(tmp_path: Path) -> None:
    code, output, stderr = await tierbot(tmp_path, "mcp", "--http", ":8765")
    assert (code, output) == (2, "")
    assert stderr.count("\n") == 1
    assert stderr.startswith("tierbot: Over HTTP anyone could call the tools: set TIERBOT_MCP_TOKEN to at least 16")


async def test_a_newer_database_is_reported_in_one_sentence(on: BotHarness) -> None:
    on.workspace.mkdir()
    with sqlite3.connect(migrated(on)) as database:
        database.execute("update alembic_version set version_num = '9999'")
    database.close()
    code, output, stderr = await tierbot(on.workspace, "mcp")
    assert (code, output) == (2, "")
    assert "9999, which this version of tierbot does not know" in stderr
