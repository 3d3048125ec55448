"""Repositories: "Commit my code" end to end, and a push that its button starts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from handlers.tools.sandbox import Sandbox, SandboxLimits
from tests.handlers.tools.sandbox.test_sandbox import missing
from tests.servers.git import bare_repository, git, git_server
from tests.servers.model.request import ModelRequest
from tests.servers.model.script import Script, ToolCall
from tests.stories.harness import BotHarness, ask, press, running, tool_results
from tests.stories.office import ONCE, card, pressed

pytestmark = pytest.mark.system
TOKEN = "ghp_token-of-ann"


@pytest.fixture
def tmp_path(on_disk: Path) -> Path:
    """The sandbox can't see the workspace in memory."""
    return on_disk


@pytest.fixture(autouse=True)
async def sandboxed(tmp_path: Path) -> None:
    if off := await Sandbox(tmp_path, SandboxLimits()).reason_off():
        missing(off)


def scripted(steps: Iterable[tuple[str, dict[str, object]]]) -> Callable[[ModelRequest], Script | str]:
    """A model that makes these calls one after the other, and then says what the last one returned."""
    left = [Script(calls=(ToolCall(name, json.dumps(arguments)),)) for name, arguments in steps]

    def answer(request: ModelRequest) -> Script | str:
        return left.pop(0) if left else f"Done: {request.reading.turns[-1][1]}"

    return answer


async def test_commit_my_code(on: BotHarness) -> None:
    """One of the first people's wishes: with no word about files, folders or messages."""
    code = on.workspace / "files" / "1" / "code"
    code.mkdir(parents=True)
    git(code, "init", "-q")
    (code / "hello.py").write_text("print('hello')\n")
    on.ms.default = scripted(
        [("git_status", {}), ("git_diff", {}), ("git_commit", {"message": "Say hello"})],
    )
    async with running(on):
        answer = await ask(on, "Commit my code")
    assert "on the branch main: Say hello" in answer.text or "on the branch master: Say hello" in answer.text
    offered = {tool["function"]["name"] for tool in on.ms.calls[0].body["tools"]}
    assert {"git_status", "git_commit", "git_push"} <= offered
    assert any("?? hello.py" in each for each in tool_results(on))
    assert git(code, "log", "--format=%an: %s") == "Alice: Say hello"


async def test_a_push_shows_what_it_sends_and_waits_for_the_button(on: BotHarness, tmp_path: Path) -> None:
    bare = bare_repository(tmp_path / "srv")
    async with git_server(tmp_path / "srv", ("ann", TOKEN)) as server, running(on):
        url = f"{server.root}/notes.git"
        await ask(on, "/connect git")
        await ask(on, url)
        await ask(on, "ann")
        assert "Connected and tested: Git, ann" in (await ask(on, TOKEN)).text
        on.ms.default = scripted([("git_clone", {"url": url})])
        assert "Cloned into the folder notes" in (await ask(on, "Clone my notes repository")).text
        here = on.workspace / "files" / "1" / "notes"
        (here / "plan.md").write_text("plan\n")
        on.ms.default = scripted([("git_commit", {"message": "Add the plan"}), ("git_push", {})])
        asked = await card(on, "Commit and push my notes")
        assert f"New commits for the branch main of {url}: 1" in asked.text
        assert git(here, "rev-parse", "HEAD") in asked.text
        assert "Add the plan" in asked.text
        assert git(bare, "log", "-1", "--format=%s", "main") == "Begin"
        assert "main -> main" in (await pressed(on, ONCE, asked)).text
        assert git(bare, "log", "-1", "--format=%an: %s", "main") == "Alice: Add the plan"

        (here / "plan.md").write_text("another plan\n")
        on.ms.default = scripted([("git_commit", {"message": "Change the plan"}), ("git_push", {})])
        asked = await card(on, "Commit and push again")
        (here / "evil.md").write_text("evil\n")
        git(here, "add", "-A")
        git(here, "commit", "-q", "-m", "Something else")
        assert "changed since the user confirmed" in (await pressed(on, ONCE, asked)).text
        on.ms.default = scripted([("git_push", {})])
        asked = await card(on, "Push my commits")
        await press(on, "❌ Cancel", asked)
        assert git(bare, "log", "-1", "--format=%s", "main") == "Add the plan"
        told = "".join(str(call.body) for call in on.ms.calls)
        assert TOKEN not in told
        for path in (on.workspace / "files").rglob("*"):
            assert not path.is_file() or TOKEN.encode() not in path.read_bytes()


async def test_repositories_of_others_are_out_of_reach(on: BotHarness) -> None:
    on.env["BOT_ACCESS"] = "open"
    code = on.workspace / "files" / "1" / "code"
    code.mkdir(parents=True)
    git(code, "init", "-q")
    async with running(on):
        await ask(on, "hello")
        for path in ("../1/code", "/files/../1/code", str(code), "code", ""):
            on.ms.default = scripted([("git_status", {"path": path})])
            told = (await ask(on, "What is the git status?", user="bob")).text
            assert "Repository:" not in told, path
            assert re.search("no repository yet|no such folder|leaves the folder|outside the folder", told), told
