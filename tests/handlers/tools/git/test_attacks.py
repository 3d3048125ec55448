"""Hostile addresses, servers, repositories and sandboxed programs against the git tools."""

from __future__ import annotations

import asyncio
import shutil
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from handlers.accounts.kinds import ServiceFailed
from handlers.accounts.reachable import Reachable
from handlers.tools.files.person_files import PersonFiles
from handlers.tools.files.tools import FileTools
from handlers.tools.git.packets import read_commands
from handlers.tools.git.program import Script
from handlers.tools.git.remote import Push, Remote, parse_remote
from handlers.tools.git.tools import GitTools
from routing.errors import ToolFailed
from routing.types.tools import ToolScope
from tests.handlers.tools.files import ADA
from tests.handlers.tools.git.logins import NOBODY, FixedLogin, here
from tests.handlers.tools.sandbox.outside import SECRET
from tests.handlers.tools.sandbox.test_sandbox import home, made
from tests.servers.git import HOST, Answer, GitServer, bare_repository, git, git_server

USER, TOKEN = "ada", "ghp_the-token-that-nobody-may-see"
ADDRESSES = (
    "ext::sh -c touch% /tmp/owned",
    "https::ext::sh",
    "file:///etc",
    "/etc/passwd",
    "../8/notes",
    "ssh://git@example.com/a/b.git",
    "git@github.com:ann/notes.git",
    "ftp://example.com/a/b.git",
    "https://ann:secret@example.com/a/b.git",
    "https://ann@example.com/a/b.git",
    "https://example.com/a/b.git?x=1",
    "https://example.com/a/../b.git",
    "https://example.com/a b.git",
    "https://example.com/a\nb.git",
    "https://example.com",
    "https://example.com:99999/a.git",
    "--upload-pack=touch /tmp/owned",
    "-u",
    "",
)


@pytest.mark.parametrize("address", ADDRESSES)
def test_only_plain_https_addresses_are_used(address: str) -> None:
    with pytest.raises(ToolFailed):
        parse_remote(address)


def test_an_ssh_address_is_answered_with_the_https_one() -> None:
    for address in ("git@github.com:ann/notes.git", "ssh://git@github.com/ann/notes.git"):
        with pytest.raises(ToolFailed, match=r"such as https://github\.com/ann/notes\.git"):
            parse_remote(address)


def test_addresses_are_kept_as_they_are() -> None:
    remote = parse_remote("https://example.com:8443/ann/notes.git")
    assert remote == Remote("https", "example.com", 8443, "/ann/notes.git")
    assert (remote.url, remote.name) == ("https://example.com:8443/ann/notes.git", "notes")
    assert parse_remote("http://[::1]/a").url == "http://[::1]/a"


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "localhost", "2130706433", "0x7f.1", "0177.0.0.1", "::1", "::ffff:127.0.0.1", "169.254.169.254"),
        *("10.0.0.1", "192.168.1.1", "100.64.0.1", "0.0.0.0", "fd00::1", "fe80::1", "224.0.0.1", "64:ff9b::7f00:1"),
    ],
)
def test_private_addresses_are_refused(host: str) -> None:
    with pytest.raises(ServiceFailed):
        Reachable().addresses(host, 443, True)


def test_public_addresses_need_tls_and_private_ones_a_permission() -> None:
    assert Reachable().addresses("1.1.1.1", 443, True) == ["1.1.1.1"]
    with pytest.raises(ServiceFailed):
        Reachable(private=True).addresses("1.1.1.1", 80, False)
    assert Reachable(private=True).addresses("192.168.1.1", 80, False) == ["192.168.1.1"]
    assert Reachable(hosts=frozenset({"192.168.1.1"})).addresses("192.168.1.1", 9418, False) == ["192.168.1.1"]
    with pytest.raises(ServiceFailed):
        Reachable(private=True).addresses("169.254.169.254", 80, False)


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[GitServer]:
    (tmp_path / "srv").mkdir()
    bare_repository(tmp_path / "srv")
    async with git_server(tmp_path / "srv", (USER, TOKEN)) as running:
        yield running


async def tools_for(tmp_path: Path, server: GitServer) -> GitTools:
    return GitTools(await made(tmp_path), FixedLogin(server.root, USER, TOKEN), here)


def assert_no_token(*folders: Path) -> None:
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file() and not path.is_symlink():
                assert TOKEN.encode() not in path.read_bytes(), path


PROGRAMS = (
    *("core.fsmonitor", "core.sshCommand", "core.gitProxy", "core.askPass", "core.pager", "core.editor"),
    *("credential.helper", "credential.{root}.helper", "diff.external", "diff.evil.textconv", "diff.evil.command"),
    *("filter.evil.clean", "filter.evil.smudge", "gpg.program", "alias.status", "alias.push"),
)
"""Settings of a repository that name a program."""
SWITCHES = {
    "core.hooksPath": "/files/notes/hooks",
    "core.attributesFile": "/files/notes/attributes",
    "commit.gpgSign": "true",
    "push.gpgSign": "true",
    "log.showSignature": "true",
    "include.path": "/files/notes/more",
    "submodule.recurse": "true",
    "protocol.ext.allow": "always",
    "protocol.file.allow": "always",
    "http.extraHeader": "X-Evil: 1",
}
ELSEWHERE = {
    "http.proxy": "http://127.0.0.1:9",
    "remote.origin.proxy": "http://127.0.0.1:9",
    "remote.origin.vcs": "ext",
    "url.ext::/files/notes/run.sh.insteadOf": "{root}/notes",
    "url./etc.insteadOf": "{root}/notes",
    "url.http://127.0.0.1:9418/other.git?.insteadOf": "{root}/notes.git",
}
"""Settings that lead git to another place."""
HOOKS = ("pre-commit", "commit-msg", "post-commit", "pre-push", "post-checkout", "post-merge", "reference-transaction")


@pytest.mark.system
async def test_a_hostile_repository_runs_nothing_outside_and_learns_no_password(
    tmp_path: Path, server: GitServer
) -> None:
    tools = await tools_for(tmp_path, server)
    await tools.git_clone(ADA, f"{server.root}/notes.git")
    here, owned = home(tmp_path) / "notes", tmp_path / "owned"
    program = here / "run.sh"
    program.write_text(f"#!/bin/sh\ntouch {owned}\nenv >>/files/env.txt\ncat /proc/*/environ >>/files/env.txt\ncat\n")
    program.chmod(0o755)
    for hook in HOOKS:
        for folder in (here / "hooks", here / ".git" / "hooks"):
            folder.mkdir(exist_ok=True)
            shutil.copy(program, folder / hook)
    (here / "attributes").write_text("*.txt filter=evil diff=evil\n")
    (here / "more").write_text("[core]\n\tfsmonitor = /files/notes/run.sh\n")
    run = "/files/notes/run.sh"
    kept = (here / ".git" / "config").read_text()
    results = []

    async def attacked(*calls: Callable[[ToolScope], Awaitable[str]]) -> None:
        for call in calls:
            try:
                results.append(await call(ADA))
            except ToolFailed as failure:
                results.append(str(failure))
            assert not owned.exists()

    (here / "note.txt").write_text("note")
    for name in PROGRAMS:
        git(here, "config", name.format(root=server.root), f"!{run}" if name.startswith(("alias", "cred")) else run)
    for name, value in SWITCHES.items():
        git(here, "config", name, value)
    await attacked(tools.git_status, tools.git_diff, tools.git_log, tools.git_branch, tools.git_pull)
    for name, value in ELSEWHERE.items():
        (here / ".git" / "config").write_text(kept)
        git(here, "config", name, value.format(root=server.root))
        await attacked(tools.git_pull)
    (here / ".git" / "config").write_text(kept)
    git(here, "config", "filter.evil.clean", run)
    try:
        await tools.git_commit(ADA, "Work")
        await tools.git_push(ADA)
    finally:
        assert not owned.exists()
    assert git(server.folder / "notes.git", "log", "-1", "--format=%s", "main") == "Work"
    assert not any(TOKEN in each for each in results)
    assert_no_token(home(tmp_path))
    assert {path.partition("?")[0].rpartition("notes.git")[0] for path, _ in server.requests} == {"/"}


@pytest.mark.system
async def test_hooks_do_not_run_even_in_the_sandbox(tmp_path: Path, server: GitServer) -> None:
    tools = await tools_for(tmp_path, server)
    await tools.git_clone(ADA, f"{server.root}/notes.git")
    here = home(tmp_path) / "notes"
    for hook in HOOKS:
        (here / ".git" / "hooks" / hook).write_text("#!/bin/sh\ntouch /files/ran\nexit 1\n")
        (here / ".git" / "hooks" / hook).chmod(0o755)
    git(here, "config", "core.fsmonitor", "touch /files/ran; false")
    (here / "a.md").write_text("a")
    await tools.git_commit(ADA, "Work")
    await tools.git_push(ADA)
    assert not (home(tmp_path) / "ran").exists()


@pytest.mark.system
async def test_links_and_submodules_lead_nowhere(tmp_path: Path, server: GitServer, secret: Path) -> None:
    bare_repository(
        tmp_path / "srv",
        "evil.git",
        {".gitmodules": '[submodule "x"]\n\tpath = x\n\turl = ext::sh -c touch% /files/ran\n', "a.md": "a"},
    )
    work = tmp_path / "srv" / "evil.git.work"
    (work / "link").symlink_to(secret)
    (work / "folder").symlink_to(secret.parent)
    git(work, "add", "-A")
    git(work, "commit", "-q", "-m", "Links")
    git(work, "push", "-q", str(server.folder / "evil.git"), "main")
    tools = await tools_for(tmp_path, server)
    told = await tools.git_clone(ADA, f"{server.root}/evil.git")
    told += await tools.git_diff(ADA, commit="HEAD")
    with pytest.raises(ToolFailed):
        await tools.git_status(ADA, "evil/folder")
    with pytest.raises(ToolFailed, match="is a link"):
        await asyncio.to_thread(FileTools(PersonFiles(tmp_path / "workspace" / "files")).read_file, ADA, "evil/link")
    assert SECRET not in told
    assert not (home(tmp_path) / "ran").exists()


@pytest.mark.system
async def test_a_redirect_gets_no_password(tmp_path: Path, server: GitServer) -> None:
    async with git_server(tmp_path / "srv") as other:
        elsewhere = other.root.replace(HOST, "localhost")

        async def redirect(request: web.Request) -> web.StreamResponse | None:
            if request.path.startswith("/moved.git"):
                raise web.HTTPFound(request.path_qs.replace("/moved.git", "/notes.git"))
            if request.path.startswith("/away.git"):
                raise web.HTTPFound(elsewhere + request.path_qs.replace("/away.git", "/notes.git"))
            if request.path.startswith("/loop.git"):
                raise web.HTTPFound(request.path_qs)
            if request.path.startswith("/cloud.git"):
                raise web.HTTPFound("http://169.254.169.254/latest/meta-data")
            return None

        server.answer = redirect
        tools = await tools_for(tmp_path, server)
        await tools.git_clone(ADA, f"{server.root}/moved.git")
        with pytest.raises(ToolFailed, match=f"has moved to {elsewhere}/notes.git: use that address"):
            await tools.git_clone(ADA, f"{server.root}/away.git")
        with pytest.raises(ToolFailed, match="redirects too often"):
            await tools.git_clone(ADA, f"{server.root}/loop.git")
        with pytest.raises(ToolFailed, match="not a repository"):
            await tools.git_clone(ADA, f"{server.root}/cloud.git")
        assert other.requests == []
        await tools.git_clone(ADA, f"{other.root}/notes.git", "other")
        assert [sent for _, sent in other.requests if sent] == [], "the login is for the other server"


@pytest.mark.system
async def test_logins_that_are_missing_or_wrong_are_explained(tmp_path: Path, server: GitServer) -> None:
    sandbox = await made(tmp_path)
    url = f"{server.root}/notes.git"
    with pytest.raises(ToolFailed, match=r"needs a login. The user can connect an account .* with /connect git"):
        await GitTools(sandbox, NOBODY, here).git_clone(ADA, url)
    with pytest.raises(ToolFailed, match="refused the connected account") as failure:
        await GitTools(sandbox, FixedLogin(server.root, USER, "wrong-token"), here).git_clone(ADA, url)
    assert "wrong-token" not in str(failure.value)
    assert not (home(tmp_path) / "notes").exists()
    with pytest.raises(ToolFailed, match="has no such repository"):
        await (await tools_for(tmp_path, server)).git_clone(ADA, f"{server.root}/none.git")


async def _garbage(_request: web.Request) -> web.StreamResponse:
    return web.Response(body=b"\x00garbage" * 1000, content_type="application/x-git-upload-pack-advertisement")


async def _page(_request: web.Request) -> web.StreamResponse:
    return web.Response(text="<html>hello</html>", content_type="text/html")


async def _broken(_request: web.Request) -> web.StreamResponse:
    return web.Response(status=503)


async def _endless(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/x-git-upload-pack-advertisement"})
    await response.prepare(request)
    try:
        while True:
            await response.write(b"0004" * 65536)
    except (ConnectionError, aiohttp.ClientError):
        return response


async def _aborted(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


@pytest.mark.system
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (_garbage, "protocol error"),
        (_page, "There is no git repository at"),
        (_broken, "answered with the error 503"),
        (_aborted, "can't be reached"),
        (_endless, "larger than the person's folder|git was stopped|protocol error"),
    ],
)
async def test_a_bad_server(tmp_path: Path, server: GitServer, answer: Answer, told: str) -> None:
    server.answer = answer
    tools = await tools_for(tmp_path, server)
    with pytest.raises(ToolFailed, match=told):
        await tools.git_clone(ADA, f"{server.root}/notes.git")
    assert not (home(tmp_path) / "notes").exists()


@pytest.mark.system
async def test_a_slow_server_and_one_that_is_down(
    tmp_path: Path, server: GitServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = await tools_for(tmp_path, server)
    await tools.git_clone(ADA, f"{server.root}/notes.git")
    monkeypatch.setattr("handlers.tools.git.gateway.SILENT_SECONDS", 0.2)
    never = asyncio.Event()

    async def slow(_request: web.Request) -> web.StreamResponse | None:
        await never.wait()
        return None

    server.answer = slow
    with pytest.raises(ToolFailed, match="did not answer in time"):
        await tools.git_pull(ADA)
    never.set()
    down = f"http://{HOST}:9/notes.git"
    with pytest.raises(ToolFailed, match="can't be reached"):
        await tools.git_clone(ADA, down, "down")


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
