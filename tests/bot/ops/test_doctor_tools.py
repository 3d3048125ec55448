"""The doctor reads toolkits, connects servers and embeds texts, and cleans up."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bot.findings import Finding
from bot.ops.checks import tools
from handlers.tools import TOOLKITS
from handlers.tools.mcp.client import McpClient
from handlers.tools.mcp.config import Limits
from routing.tools.embedding.static import FOLDER, StaticEmbedder
from routing.tools.embedding.texts import FEW_TEXTS
from routing.types.vectors import Floats
from tests.bot.cli import tierbot
from tests.bot.ops.doctor import inspected, status
from tests.fakes import later
from tests.handlers.tools.mcp.harness import UNRULY
from tests.litellm_setup import litellm_without_clients
from tests.stories.harness import BotHarness

QUICK = Limits(start_seconds=60, first_delay=0.01, longest_delay=0.05, end_seconds=0.3)


def toolkit(on: BotHarness, file: str, *tasks: dict[str, Any]) -> None:
    folder = on.workspace / "toolkits"
    folder.mkdir(parents=True, exist_ok=True)
    document = {"name": file.partition(".")[0], "description": "Does things.", "tasks": tasks}
    (folder / file).write_text(json.dumps(document), encoding="utf-8")


def task(name: str, **more: object) -> dict[str, Any]:
    return {"name": name, "description": "Does it.", "execute": {"command": ["true"]}, **more}


def servers(on: BotHarness, **entries: dict[str, Any]) -> None:
    on.workspace.mkdir(exist_ok=True)
    (on.workspace / "mcp.json").write_text(json.dumps({"mcpServers": entries}), encoding="utf-8")


def unruly(on: BotHarness, name: str, **plan: object) -> dict[str, Any]:
    """A server that writes down its process id."""
    path = on.workspace / f"{name}.plan"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(plan), encoding="utf-8")
    line = f'echo $$ > {name}.pid; exec "{sys.executable}" "{UNRULY}" {path.name}'
    return {"command": "sh", "args": ["-c", line]}


def alive(on: BotHarness, name: str) -> bool:
    pid = int((on.workspace / f"{name}.pid").read_text())
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def connected(on: BotHarness, seconds: float = 30.0) -> dict[str, Finding]:
    return {each.name: each for each in await tools.mcp_check(QUICK, seconds)(inspected(on))}


async def test_toolkits_are_counted(on: BotHarness) -> None:
    assert await status(on, "toolkits") == ("ok", f"{len(TOOLKITS)} of ours; of the workspace: none → ")
    toolkit(on, "words.json", task("count_words"))
    toolkit(on, "more.json", task("one"), task("two"))
    expected = f"{len(TOOLKITS)} of ours; of the workspace: more (2 tools), words (1 tool) → "
    assert await status(on, "toolkits") == ("ok", expected)


async def test_only_a_broken_toolkit_is_named(on: BotHarness) -> None:
    toolkit(on, "good.json", task("count_words"))
    toolkit(on, "taken.json", task("read_file"))
    (on.workspace / "toolkits" / "bad.json").write_text('{\n "name": "bad",\n}', encoding="utf-8")
    worst, detail = await status(on, "toolkits")
    assert worst == "warn"
    assert "good (1 tool)" in detail
    assert "bad.json line 3 column 1: not valid JSON" in detail
    assert "taken.json: the tool read_file already exists in our toolkit files" in detail


async def test_findings_are_not_repeated_in_the_log(on: BotHarness) -> None:
    toolkit(on, "bad.json", task("read_file"))
    servers(on, gone={"command": "/nonexistent/server", "comand": "x"})
    inspected(on)
    environ = on.environment()
    del environ["WORKSPACE"]
    _, output, stderr = await tierbot(on.workspace, "doctor", **environ)
    assert stderr == ""
    assert "bad.json: the tool read_file" in output
    assert "comand is not known" in output


async def test_a_hint_that_is_ignored_is_named(on: BotHarness) -> None:
    hints = {"tiers": {"small": {"inputSchema": {"type": "object", "properties": {"x": {"type": "no-such"}}}}}}
    toolkit(on, "words.json", task("count_words", capabilityHints=hints))
    worst, detail = await status(on, "toolkits")
    assert worst == "warn"
    assert "words.json: the tool count_words: its hint for small" in detail
    assert "Fix the hint, or remove it." in detail
    assert "words (1 tool)" in detail


async def test_a_tool_of_an_unconfigured_server_is_reported(on: BotHarness) -> None:
    servers(on, there={"disabled": True})
    ways = [task("here", execute={"mcp": "there/x"}), task("nowhere", execute={"mcp": "gone/x"})]
    toolkit(on, "far.json", *ways)
    worst, detail = await status(on, "toolkits")
    assert worst == "warn"
    assert "far.json: the tool nowhere belongs to the MCP server gone, which is not in mcp.json" in detail
    assert "the tool here" not in detail


async def test_without_servers_there_is_nothing_to_connect(on: BotHarness) -> None:
    assert await connected(on) == {"mcp.json": Finding("mcp.json", "ok", "no servers")}


async def test_every_server_is_connected_and_closed(on: BotHarness) -> None:
    broken = {"name": "odd", "inputSchema": {"type": "no-such"}}
    servers(
        on,
        good=unruly(on, "good", tools=["a", "b"]) | {"role": "user"},
        odd=unruly(on, "odd", tools=["a", broken]),
        dead=unruly(on, "dead", start="die") | {"env": {"TOKEN": "TOKEN-123456"}},
        off={"disabled": True, "command": "x"},
        gone={"command": "/nonexistent/server"},
        wrong={"command": "x", "role": "everybody"},
    )
    found = await connected(on)
    assert found["mcp server good"] == Finding("mcp server good", "ok", "2 tools, for the role user and above")
    assert found["mcp server off"] == Finding("mcp server off", "ok", "disabled in mcp.json")
    for name, reason in (("dead", "exit code 4"), ("gone", "/nonexistent/server"), ("wrong", "role must be one of")):
        stderr = found[f"mcp server {name}"]
        assert (stderr.status, reason in stderr.detail) == ("warn", True), stderr
        assert stderr.fix
        assert "TOKEN-123456" not in stderr.detail
    assert found["mcp server odd"].status == "warn"
    assert "odd" in found["mcp server odd"].detail
    assert [name for name in ("good", "odd", "dead") if alive(on, name)] == []


async def test_a_servers_tool_whose_name_is_taken_is_named(on: BotHarness) -> None:
    toolkit(on, "vault.json", task("vault_take"), task("other"))
    servers(on, vault=unruly(on, "vault", tools=["take", "put"]), files=unruly(on, "files", tools=["search"]))
    found = await tools.mcp_check(QUICK, 30.0)(inspected(on))
    warnings = [finding for finding in found if finding.status == "warn"]
    assert [each.detail for each in warnings] == [
        "The tool vault_take of mcp:vault is left out: vault has one of this name."
    ]
    assert warnings[0].fix


async def test_a_hanging_server_times_out(on: BotHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    class Hasty(McpClient):
        """The time is over once a server has connected."""

        def __init__(self, *given: Any, changed: Callable[[], None], **more: Any) -> None:
            def noted() -> None:
                if any(state.status == "connected" for state in self.states()):
                    later(10.0)
                changed()

            super().__init__(*given, changed=noted, **more)

    monkeypatch.setattr(tools, "McpClient", Hasty)
    servers(on, slow=unruly(on, "slow", start="hang"), good=unruly(on, "good"))
    found = await connected(on, 10.0)
    assert found["mcp server slow"].detail == "not connected after 10 s"
    assert found["mcp server slow"].fix
    assert found["mcp server good"].status == "ok"
    assert not alive(on, "slow")
    assert not alive(on, "good")


async def test_an_unreadable_mcp_json_is_named_with_its_line(on: BotHarness) -> None:
    inspected(on)
    (on.workspace / "mcp.json").write_text('{\n "mcpServers": {,\n}', encoding="utf-8")
    worst, detail = await status(on, "mcp.json")
    assert worst == "warn"
    assert "mcp.json line 2" in detail
    assert "Fix that line" in detail
    (on.workspace / "mcp.json").write_text('{"mcpServers": {}, "more": 1}', encoding="utf-8")
    worst, detail = await status(on, "mcp.json")
    assert worst == "warn"
    assert "more is not known" in detail


async def test_embeddings_working_and_off(on: BotHarness) -> None:
    worst, detail = await status(on, "embeddings", EMBEDDINGS="static")
    assert worst == "ok"
    assert detail.startswith("static:")
    assert "makes vectors with" in detail
    off = "off: tools are matched by words only → "
    assert await status(on, "embeddings", EMBEDDINGS="off") == ("ok", off)


async def test_provider_embeddings_are_checked(on: BotHarness) -> None:
    litellm_without_clients()
    model = "litellm:openai/text-embedding-3-small"
    worst, detail = await status(on, "embeddings", EMBEDDINGS=model)
    assert worst == "ok"
    assert detail.startswith(f"{model} makes vectors with ")
    worst, detail = await status(on, "embeddings", EMBEDDINGS="litellm:mistral/mistral-embed")
    assert worst == "warn"
    assert "MISTRAL_API_KEY" in detail
    assert "set EMBEDDINGS to static" in detail


async def test_an_incomplete_encoder_is_named(on: BotHarness, tmp_path: Path) -> None:
    for file in ("tokenizer.json", "model.safetensors"):
        data = (FOLDER / file).read_bytes()
        (tmp_path / file).write_bytes(data[: len(data) // 2] if file == "model.safetensors" else data)
    found = await tools.embeddings_check(lambda *_: StaticEmbedder(tmp_path))(inspected(on))
    assert found[0].status == "warn"
    assert "the shipped encoder can't be read" in found[0].detail


class FaultyEmbedder:
    """An embedder that never answers, or fails."""

    name = "odd"

    def __init__(self, answers: bool) -> None:
        self._answers = answers
        self.asked = 0
        self.closed = False

    async def embed(self, texts: Sequence[str]) -> Floats:
        self.asked = len(texts)
        if not self._answers:
            await asyncio.Event().wait()
        return np.zeros((len(texts), 3), np.float32)

    def at_once(self, texts: Sequence[str]) -> Floats | None:
        return None

    async def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize(
    ("answers", "expected"), [(False, "no vector after 0 s"), (True, "odd knows no English words")]
)
async def test_an_unusable_embedder_is_named_and_closed(on: BotHarness, answers: bool, expected: str) -> None:
    odd = FaultyEmbedder(answers)
    found = await tools.embeddings_check(lambda *_: odd, 30.0 if answers else 0.01)(inspected(on))
    assert (found[0].status, expected in found[0].detail) == ("warn", True)
    assert found[0].fix
    assert odd.closed
    assert odd.asked > FEW_TEXTS, "a worker lets callers wait no longer for its model"
