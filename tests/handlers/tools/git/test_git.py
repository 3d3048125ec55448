"""The git tools against a real server: from a clone to a push."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from handlers.accounts.reachable import Reachable
from handlers.tools.git import scripts
from handlers.tools.git.tools import GitTools
from handlers.tools.sandbox import Sandbox, SandboxLimits
from routing.errors import ToolFailed
from tests.handlers.tools.files import ADA, BOB
from tests.handlers.tools.git.logins import NOBODY, here
from tests.handlers.tools.sandbox.test_sandbox import home, made
from tests.servers.git import GitServer, bare_repository, git, git_daemon, git_server

pytestmark = pytest.mark.system


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[GitServer]:
    (tmp_path / "srv").mkdir()
    bare_repository(tmp_path / "srv")
    async with git_server(tmp_path / "srv") as running:
        yield running


@pytest.fixture
async def tools(tmp_path: Path) -> GitTools:
    return GitTools(await made(tmp_path), NOBODY, here)


@dataclass(frozen=True, slots=True)
class SlowNames(Reachable):
    """Waits for `answer` before it resolves a name."""

    asked: threading.Event = field(default_factory=threading.Event)
    answer: threading.Event = field(default_factory=threading.Event)

    def addresses(self, host: str, port: int, encrypted: bool) -> list[str]:
        self.asked.set()
        self.answer.wait(30)
        return []


async def test_from_a_clone_to_a_push(tmp_path: Path, tools: GitTools, server: GitServer) -> None:
    url = f"{server.root}/notes.git"
    assert "Cloned into the folder notes. The newest commit:" in await tools.git_clone(ADA, url)
    here = home(tmp_path) / "notes"
    assert git(here, "config", "remote.origin.url") == url
    assert "## main...origin/main" in await tools.git_status(ADA)
    (here / "plan.md").write_text("- [ ] Milch für Änne\n")
    (here / "README.md").write_text("hello again\n")
    assert "?? plan.md" in await tools.git_status(ADA, "notes")
    told = await tools.git_diff(ADA)
    assert "+hello again" in told
    assert "New file, not shown here: plan.md" in told
    assert "Committed" in await tools.git_commit(ADA, "Add the plan", files=["plan.md"])
    assert "README.md" in await tools.git_status(ADA)
    await tools.git_commit(ADA, "Greet again\n\nBecause one hello is not enough.")
    assert "Nothing has changed" in await tools.git_diff(ADA)
    assert "Änne" in await tools.git_diff(ADA, commit="HEAD~1", file="plan.md")
    note = await tools._push_note(ADA)
    assert f"New commits for the branch main of {url}: 2" in note
    assert git(here, "rev-parse", "HEAD") in note
    assert "Greet again" in note
    assert "main -> main" in await tools.git_push(ADA)
    bare = server.folder / "notes.git"
    assert git(bare, "log", "--format=%an <%ae> %s", "main").splitlines()[:2] == [
        "Ada <person-7@tierbot.invalid> Greet again",
        "Ada <person-7@tierbot.invalid> Add the plan",
    ]
    log = await tools.git_log(ADA, count=2)
    assert [line.partition(": ")[2] for line in log.splitlines()] == [
        "Greet again (HEAD -> main, origin/main, origin/HEAD)",
        "Add the plan",
    ]
    with pytest.raises(ToolFailed, match="nothing to push"):
        await tools.git_push(ADA)


async def test_branches_and_pulling(tmp_path: Path, tools: GitTools, server: GitServer) -> None:
    await tools.git_clone(ADA, f"{server.root}/notes.git", "work/copy", depth=1)
    here, there = home(tmp_path) / "work" / "copy", tmp_path / "srv" / "notes.git.work"
    (there / "README.md").write_text("new\n")
    git(there, "commit", "-q", "-a", "-m", "From elsewhere")
    git(there, "push", "-q", str(server.folder / "notes.git"), "main")
    told = await tools.git_pull(ADA)
    assert "Tess: From elsewhere" in told
    assert "README.md" in told
    assert (here / "README.md").read_text() == "new\n"
    assert "Up to date" in await tools.git_pull(ADA)
    assert "## draft" in await tools.git_branch(ADA, "draft")
    (here / "draft.md").write_text("x")
    await tools.git_commit(ADA, "Draft")
    assert "draft -> draft" in await tools.git_push(ADA)
    assert "* draft" in await tools.git_branch(ADA)
    await tools.git_branch(ADA, "main")
    assert not (here / "draft.md").exists()
    git(there, "commit", "-q", "--amend", "-m", "Rewritten")
    git(there, "push", "-q", "-f", str(server.folder / "notes.git"), "main")
    with pytest.raises(ToolFailed, match="Not possible to fast-forward"):
        await tools.git_pull(ADA)


async def test_a_merge_and_a_long_new_branch_are_pushed_with_what_they_hold(
    tmp_path: Path, tools: GitTools, server: GitServer
) -> None:
    url, bare = f"{server.root}/notes.git", server.folder / "notes.git"
    await tools.git_clone(ADA, url)
    here = home(tmp_path) / "notes"
    git(here, "switch", "-q", "-c", "aside")
    git(here, "commit", "-q", "--allow-empty", "-m", "Aside")
    git(here, "switch", "-q", "main")
    git(here, "commit", "-q", "--allow-empty", "-m", "On main")
    await tools.git_push(ADA)
    git(here, "merge", "-q", "-m", "Merge aside", "aside")
    note = await tools._push_note(ADA)
    assert f"of {url}: 2" in note
    assert "Merge aside" in note
    assert "Aside" in note
    assert "On main" not in note
    assert "main -> main" in await tools.git_push(ADA)
    git(here, "switch", "-q", "-c", "long")
    for number in range(25):
        git(here, "commit", "-q", "--allow-empty", "-m", f"Grüße {number}")
    note = await tools._push_note(ADA)
    assert f"The branch long is new for {url}. Its newest commits:" in note
    assert "Grüße 24" in note
    assert "Grüße 4" not in note
    assert "… and all commits before them" in note
    assert "long -> long" in await tools.git_push(ADA)
    assert git(bare, "log", "-1", "--format=%s", "long") == "Grüße 24"


async def test_a_git_daemon(tmp_path: Path, tools: GitTools) -> None:
    bare = bare_repository(tmp_path / "srv")
    async with git_daemon(tmp_path / "srv") as root:
        await tools.git_clone(ADA, f"{root}/notes.git")
        (home(tmp_path) / "notes" / "more.md").write_text("more")
        await tools.git_commit(ADA, "More")
        assert "main -> main" in await tools.git_push(ADA)
        assert "Up to date" in await tools.git_pull(ADA)
        with pytest.raises(ToolFailed, match="access denied or repository not exported"):
            await tools.git_clone(ADA, f"{root}/none.git")
    assert git(bare, "log", "-1", "--format=%s", "main") == "More"
    with pytest.raises(ToolFailed, match="can't be reached"):
        await tools.git_pull(ADA)


async def test_a_repository_of_ones_own_and_several(tmp_path: Path, tools: GitTools) -> None:
    with pytest.raises(ToolFailed, match="no repository yet"):
        await tools.git_commit(ADA, "Save")
    code = home(tmp_path) / "code"
    code.mkdir()
    git(code, "init", "-q")
    assert await tools.git_log(ADA) == "No commits."
    assert "no branches yet" in await tools.git_branch(ADA)
    (code / "a.py").write_text("print()\n")
    await tools.git_commit(ADA, "First")
    with pytest.raises(ToolFailed, match="There is nothing to commit"):
        await tools.git_commit(ADA, "Again")
    with pytest.raises(ToolFailed, match="no remote called origin"):
        await tools.git_push(ADA)
    git(code, "config", "user.email", "ada@example.com")
    (code / "a.py").write_text("print(1)\n")
    await tools.git_commit(ADA, "Second")
    assert git(code, "log", "-1", "--format=%an %ae") == "Ada ada@example.com"
    git(home(tmp_path), "init", "-q", "other")
    with pytest.raises(ToolFailed, match=r"several repositories: (code, other|other, code)\. Give the path"):
        await tools.git_status(ADA)
    assert "Repository: /files/other" in await tools.git_status(ADA, "other")
    with pytest.raises(ToolFailed, match="no such folder"):
        await tools.git_status(ADA, "nowhere")
    (home(tmp_path) / "plain").mkdir()
    with pytest.raises(ToolFailed, match="not a usable repository"):
        await tools.git_status(ADA, "plain")
    with pytest.raises(ToolFailed, match="no repository yet"):
        await tools.git_status(BOB)
    with pytest.raises(ToolFailed, match="leaves the folder"):
        await tools.git_status(BOB, "../7/code")


async def test_a_clone_that_is_too_large_leaves_nothing(tmp_path: Path, server: GitServer) -> None:
    bare_repository(tmp_path / "srv", "large.git")
    work = tmp_path / "srv" / "large.git.work"
    (work / "blob").write_bytes(os.urandom(8_000_000))
    git(work, "add", "-A")
    git(work, "commit", "-q", "-m", "Large")
    git(work, "push", "-q", str(server.folder / "large.git"), "main")
    tools = GitTools(await made(tmp_path, SandboxLimits(disk_bytes=2_000_000)), NOBODY, here)
    with pytest.raises(ToolFailed, match=r"the person's folder is full|larger than the person's folder"):
        await tools.git_clone(ADA, f"{server.root}/large.git")
    assert not os.listdir(home(tmp_path))
    (home(tmp_path) / "notes").mkdir()
    with pytest.raises(ToolFailed, match="exists already"):
        await tools.git_clone(ADA, f"{server.root}/notes.git")
    assert (home(tmp_path) / "notes").exists()


async def test_in_a_full_folder_git_reads_pushes_and_leaves_nothing_unfinished(
    tmp_path: Path, server: GitServer
) -> None:
    tools = GitTools(await made(tmp_path, SandboxLimits(disk_bytes=2_000_000)), NOBODY, here)
    await tools.git_clone(ADA, f"{server.root}/notes.git")
    repository = home(tmp_path) / "notes"
    (repository / "plan.md").write_text("tea\n")
    await tools.git_commit(ADA, "Add the plan")
    (repository / "README.md").write_text("new\n")
    (home(tmp_path) / "film").write_bytes(bytes(3_000_000))
    assert "Repository: /files/notes" in await tools.git_status(ADA)
    assert "main -> main" in await tools.git_push(ADA)
    assert git(server.folder / "notes.git", "log", "-1", "--format=%s", "main") == "Add the plan"
    for refused in (
        tools.git_clone(ADA, f"{server.root}/notes.git", "again"),
        tools.git_commit(ADA, "Change"),
        tools.git_branch(ADA, "draft"),
    ):
        with pytest.raises(ToolFailed, match="the person's folder is full"):
            await refused
    assert sorted(os.listdir(home(tmp_path))) == ["film", "notes"]
    (home(tmp_path) / "film").unlink()
    assert "Committed" in await tools.git_commit(ADA, "Change")


async def test_only_the_given_files_are_committed(tmp_path: Path, tools: GitTools, server: GitServer) -> None:
    await tools.git_clone(ADA, f"{server.root}/notes.git")
    repository = home(tmp_path) / "notes"
    (repository / "secret.txt").write_text("swordfish\n")
    git(repository, "add", "secret.txt")
    (repository / "plan.md").write_text("tea\n")
    (repository / "README.md").unlink()
    await tools.git_commit(ADA, "Add the plan", files=["plan.md", "README.md"])
    assert git(repository, "show", "--format=", "--name-only", "HEAD").split() == ["README.md", "plan.md"]
    with pytest.raises(ToolFailed, match="nothing to commit"):
        await tools.git_commit(ADA, "Again", files=["plan.md"])


async def test_a_resolved_merge_is_committed_as_a_whole(tmp_path: Path, tools: GitTools, server: GitServer) -> None:
    await tools.git_clone(ADA, f"{server.root}/notes.git")
    repository = home(tmp_path) / "notes"
    git(repository, "switch", "-q", "-c", "aside")
    for branch, text in (("aside", "tea"), ("main", "ale")):
        git(repository, "switch", "-q", branch)
        (repository / "README.md").write_text(f"{text}\n")
        await tools.git_commit(ADA, f"Prefer {text}")
    with pytest.raises(AssertionError):
        git(repository, "merge", "-q", "aside")
    (repository / "README.md").write_text("tea and ale\n")
    assert "Committed" in await tools.git_commit(ADA, "Prefer both", files=["README.md"])
    git(repository, "switch", "-q", "-c", "again", "HEAD^1")
    with pytest.raises(AssertionError):
        git(repository, "merge", "-q", "aside")
    git(repository, "checkout", "-q", "--ours", "README.md")
    assert "Committed" in await tools.git_commit(ADA, "Prefer ours")
    for branch in ("main", "again"):
        assert len(git(repository, "log", "-1", "--format=%P", branch).split()) == 2
    git(repository, "switch", "-q", "-c", "picked", "aside~1")
    (repository / "README.md").write_text("water\n")
    await tools.git_commit(ADA, "Prefer water")
    with pytest.raises(AssertionError):
        git(repository, "cherry-pick", "aside")
    (repository / "README.md").write_text("water and tea\n")
    assert "Committed" in await tools.git_commit(ADA, "Both again", files=["README.md"])


async def test_a_clone_that_is_stopped_deletes_nothing_that_was_there(
    tmp_path: Path, tools: GitTools, server: GitServer
) -> None:
    await tools.git_clone(ADA, f"{server.root}/notes.git")
    (home(tmp_path) / "notes" / "only-here.md").write_text("months of work\n")
    await tools.git_commit(ADA, "Only here")
    again = asyncio.create_task(tools.git_clone(ADA, f"{server.root}/notes.git"))
    await asyncio.sleep(0)
    again.cancel()
    with pytest.raises(asyncio.CancelledError):
        await again
    assert (home(tmp_path) / "notes" / "only-here.md").exists()


async def test_a_clone_that_is_stopped_at_a_slow_name_server_deletes_nothing(tmp_path: Path, server: GitServer) -> None:
    (home(tmp_path) / "inbox").mkdir(parents=True)
    (home(tmp_path) / "inbox" / "letter.pdf").write_bytes(b"%PDF-")
    slow = SlowNames()
    tools = GitTools(await made(tmp_path), NOBODY, lambda _: slow)
    clone = asyncio.create_task(tools.git_clone(ADA, f"{server.root}/notes.git", "inbox"))
    await asyncio.to_thread(slow.asked.wait)
    clone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await clone
    slow.answer.set()
    assert (home(tmp_path) / "inbox" / "letter.pdf").exists()


async def test_a_clone_never_replaces_a_folder_that_appears_while_it_runs(
    tmp_path: Path, tools: GitTools, server: GitServer
) -> None:
    root = home(tmp_path)
    (root / "deep").mkdir(parents=True)
    await tools.git_clone(ADA, f"{server.root}/notes.git", "deep/down/notes")
    assert (root / "deep" / "down" / "notes" / ".git").is_dir()
    script = scripts.CLONE.replace("mkdir -p", 'mkdir "$2"; echo mine >"$2/mine.txt"; mkdir -p')
    assert script != scripts.CLONE
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scripts, "CLONE", script)
        with pytest.raises(ToolFailed, match="exists already"):
            await tools.git_clone(ADA, f"{server.root}/notes.git", "late")
    assert [each.name for each in (root / "late").iterdir()] == ["mine.txt"]
    assert {each.name for each in root.iterdir()} == {"deep", "late"}


async def test_without_git_or_the_sandbox_the_tools_are_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    off = await GitTools(Sandbox(tmp_path, SandboxLimits(), "bwrap-is-not-here"), NOBODY, here)._off()
    assert off is not None
    assert "bubblewrap is not installed" in off
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    off = await GitTools(Sandbox(tmp_path, SandboxLimits()), NOBODY, here)._off()
    assert off is not None
    assert "git is not installed" in off
