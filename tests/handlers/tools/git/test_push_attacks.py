"""A push sends nothing but what was confirmed, whatever runs in the sandbox."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Sequence
from pathlib import Path

import pytest

from handlers.tools.git.packets import read_commands
from handlers.tools.git.program import Script
from handlers.tools.git.remote import Push, parse_remote
from routing.errors import ToolFailed
from tests.handlers.tools.files import ADA
from tests.handlers.tools.git.logins import tools_for
from tests.handlers.tools.sandbox.test_sandbox import home
from tests.servers.git import GitServer, git


@pytest.mark.system
async def test_a_program_in_the_sandbox_can_push_nothing_else(tmp_path: Path, server: GitServer) -> None:
    """The strongest attacker: a script of its own in the sandbox, during a confirmed push."""
    tools = await tools_for(tmp_path, server)
    url = f"{server.root}/notes.git"
    await tools.git_clone(ADA, url)
    (home(tmp_path) / "notes" / "a.md").write_text("a")
    await tools.git_commit(ADA, "Work")
    plan = await tools._push_plan(ADA, "")
    remote, push = parse_remote(url), Push("refs/heads/main", plan.base, plan.commit)
    before = git(server.folder / "notes.git", "for-each-ref")
    for refs in ("HEAD:refs/heads/evil", "+HEAD~1:refs/heads/evil", ":refs/heads/main", "HEAD:refs/tags/v1"):
        with pytest.raises(ToolFailed, match="something else than was confirmed"):
            await tools._connected(ADA, Script(f"git push -f origin {refs}"), remote, url, push)
    for lines in (
        "git push origin HEAD:main",
        "curl -s http://127.0.0.1:9418/other.git/info/refs?service=git-upload-pack; exit 1",
    ):
        with pytest.raises(ToolFailed, match="something else than this repository"):
            await tools._connected(ADA, Script(lines), remote, url)
    assert git(server.folder / "notes.git", "for-each-ref") == before
    await tools._connected(ADA, Script("git push origin HEAD:main"), remote, url, push)
    assert git(server.folder / "notes.git", "log", "-1", "--format=%s", "main") == "Work"


@pytest.mark.system
async def test_a_confirmed_push_overwrites_nothing(tmp_path: Path, server: GitServer) -> None:
    """Also if the sandbox pretends that the commit of another branch, or a replaced one, contains the server's."""
    tools = await tools_for(tmp_path, server)
    url, bare = f"{server.root}/notes.git", server.folder / "notes.git"
    await tools.git_clone(ADA, url)
    here, there = home(tmp_path) / "notes", tmp_path / "srv" / "notes.git.work"
    (here / "a.md").write_text("a")
    await tools.git_commit(ADA, "Work")
    plan = await tools._push_plan(ADA, "")
    assert f"{plan.base}..{plan.commit}" in await tools._push_note(ADA)
    git(there, "commit", "-q", "--allow-empty", "-m", "From elsewhere")
    git(there, "push", "-q", str(bare), "main")
    theirs = git(bare, "rev-parse", "main")
    remote, push = parse_remote(url), Push("refs/heads/main", plan.base, plan.commit)
    with pytest.raises(ToolFailed, match="not as it was when this folder last saw it"):
        await tools._connected(ADA, Script("git push -f origin HEAD:main"), remote, url, push)
    creating = Push("refs/heads/main", "", plan.commit)
    with pytest.raises(ToolFailed, match="not as it was when this folder last saw it"):
        await tools._connected(ADA, Script("git push -f origin HEAD:main"), remote, url, creating)
    git(here, "fetch", "-q", str(bare), "main:refs/remotes/origin/main")
    git(here, "replace", "--graft", plan.commit, theirs)
    (here / ".git" / "info" / "grafts").write_text(f"{plan.commit} {theirs}\n")
    with pytest.raises(ToolFailed, match="origin has commits on main"):
        await tools.git_push(ADA)
    assert git(bare, "rev-parse", "main") == theirs


@pytest.mark.system
async def test_a_card_shows_no_commit_whose_text_does_not_fit_its_name(tmp_path: Path, server: GitServer) -> None:
    """git in the sandbox believes what the repository stores under a name. What is pushed is checked outside."""
    tools = await tools_for(tmp_path, server)
    await tools.git_clone(ADA, f"{server.root}/notes.git")
    here = home(tmp_path) / "notes"
    before = git(here, "rev-parse", "HEAD")
    for name in ("first", "second"):
        (here / name).write_text(name)
        await tools.git_commit(ADA, f"Commit the {name}")
    honest = git(here, "rev-parse", "HEAD~1")
    assert "Commit the first" in await tools._push_note(ADA)
    stored = here / ".git" / "objects" / honest[:2] / honest[2:]
    stored.chmod(0o600)
    text = git(here, "cat-file", "commit", honest).replace("Commit the first", "Harmless").encode() + b"\n"
    stored.write_bytes(zlib.compress(b"commit %d\0%b" % (len(text), text)))
    assert "Harmless" in await tools.git_log(ADA), "as the sandbox sees it"
    for call in (tools._push_note, tools.git_push):
        with pytest.raises(ToolFailed, match="can't be checked"):
            await call(ADA)
    assert git(server.folder / "notes.git", "rev-parse", "main") == before


@pytest.mark.system
async def test_a_push_gives_the_server_no_other_order(tmp_path: Path, server: GitServer) -> None:
    tools, bare = await tools_for(tmp_path, server), server.folder / "notes.git"
    git(bare, "config", "receive.advertisePushOptions", "true")
    url = f"{server.root}/notes.git"
    await tools.git_clone(ADA, url)
    here = home(tmp_path) / "notes"
    (here / "a.md").write_text("a")
    await tools.git_commit(ADA, "Work")
    git(here, "tag", "-a", "-m", "Tag", "v1")
    plan = await tools._push_plan(ADA, "")
    remote, push = parse_remote(url), Push("refs/heads/main", plan.base, plan.commit)
    with pytest.raises(ToolFailed, match="an order besides the push"):
        await tools._connected(ADA, Script("git push -o merge_request.create origin HEAD:main"), remote, url, push)
    git(here, "config", "push.pushOption", "merge_request.create")
    git(here, "config", "push.followTags", "true")
    await tools.git_push(ADA)
    assert git(bare, "for-each-ref", "--format=%(refname)") == "refs/heads/main"
    assert git(bare, "log", "-1", "--format=%s", "main") == "Work"


async def reading(*packets: bytes) -> Sequence[bytes]:
    reader = asyncio.StreamReader()
    for packet in packets:
        reader.feed_data(packet if packet == b"0000" else b"%04x" % (len(packet) + 4) + packet)
    reader.feed_data(b"PACK")
    reader.feed_eof()
    return [await read_commands(reader, PUSH), await reader.read()]


PUSH = Push("refs/heads/main", "c" * 40, "a" * 40)
OLD, GOOD = b"c" * 40, b"a" * 40 + b" refs/heads/main"


async def test_the_commands_of_a_push_are_read_exactly() -> None:
    wanted = OLD + b" " + GOOD + b"\0 report-status"
    assert await reading(wanted, b"0000") == [b"%04x" % (len(wanted) + 4) + wanted + b"0000", b"PACK"]
    assert await reading(b"0000") == [b"0000", b"PACK"]


@pytest.mark.parametrize(
    "packets",
    [
        (OLD + b" " + b"b" * 40 + b" refs/heads/main",),
        (b"d" * 40 + b" " + GOOD,),
        (b"0" * 40 + b" " + GOOD,),
        (OLD + b" " + b"a" * 40 + b" refs/heads/main2",),
        (OLD + b" " + GOOD + b"\0 report-status push-options agent=git",),
        (OLD + b" " + GOOD, OLD + b" " + b"a" * 40 + b" refs/heads/evil"),
        (b"push-cert\0x",),
        (b"x" * 60_000, b"x" * 60_000),
        (b"shallow " + b"a" * 60_000, b"shallow " + b"a" * 60_000),
    ],
)
async def test_other_commands_are_refused(packets: tuple[bytes, ...]) -> None:
    with pytest.raises(ToolFailed):
        await reading(*packets, b"0000")
