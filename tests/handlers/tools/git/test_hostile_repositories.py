"""Hostile repositories against the git tools: settings, hooks, links and submodules."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from handlers.tools.files.person_files import PersonFiles
from handlers.tools.files.tools import FileTools
from routing.errors import ToolFailed
from routing.types.tools import ToolScope
from tests.handlers.tools.files import ADA
from tests.handlers.tools.git.logins import TOKEN, tools_for
from tests.handlers.tools.sandbox.outside import SECRET
from tests.handlers.tools.sandbox.test_sandbox import home
from tests.servers.git import GitServer, bare_repository, git


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
