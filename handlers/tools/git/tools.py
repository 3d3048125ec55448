"""The tools for git repositories."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from secrets import token_hex

from handlers.accounts.kinds import ServiceFailed
from handlers.accounts.reachable import Reachable
from handlers.languages import Say, languages
from handlers.replies.fences import fenced
from handlers.tools.authoring.decorator import Tools, tool, tools_of
from handlers.tools.dependencies import ToolDependencies
from handlers.tools.folder import parts_of, printable
from handlers.tools.git import scripts
from handlers.tools.git.account import GitAccounts
from handlers.tools.git.commits import Pushed, check
from handlers.tools.git.program import Git, GitStopped, Online, Script
from handlers.tools.git.remote import Push, Remote, Route, parse_remote
from handlers.tools.sandbox import Sandbox
from routing.errors import ToolFailed
from routing.types.people import Person
from routing.types.tools import ToolScope, Traits

NAME = "git"
MAX_COMMITS, DEFAULT_COMMITS = 100, 20
MAX_NAMES_CHARACTERS = 50_000
MAX_SHOWN_COMMITS = 20
"""Commits listed on the card of a push."""
_REVISION = re.compile(r"[\w@][\w./@{}^~-]*")
_BRANCH = re.compile(r"[\w][\w./-]*")


def build(dependencies: ToolDependencies) -> Tools:
    return tools_of(GitTools(dependencies.sandbox, GitAccounts(dependencies.accounts), dependencies.reachable))


@dataclass(frozen=True, slots=True)
class _PushPlan:
    """What a push would do: move the branch from `base`, or create it if that is empty, to `commit`."""

    url: str
    branch: str
    base: str
    commit: str
    pushed: Pushed


class GitTools:
    """Without a path, a tool works in the person's only repository. `reachable` says where a person's
    repositories may be."""

    def __init__(self, sandbox: Sandbox, accounts: GitAccounts, reachable: Callable[[Person], Reachable]) -> None:
        self._git = Git(sandbox)
        self._accounts = accounts
        self._reachable = reachable

    def _local(self) -> Traits:
        return Traits(parallel=False, changes=True, seconds=self._git.seconds, private=True)

    def _reading(self) -> Traits:
        return Traits(seconds=self._git.seconds, private=True)

    def _online(self) -> Traits:
        return Traits(parallel=False, changes=True, seconds=self._git.network_seconds, private=True)

    def _off(self) -> Awaitable[str | None]:
        return self._git.reason_off()

    async def _push_note(self, scope: ToolScope, path: str = "") -> str:
        return _note(await self._push_plan(scope, path), Say(scope.language))

    @tool(traits=_online, off=_off)
    async def git_clone(self, scope: ToolScope, url: str, folder: str = "", depth: int = 0) -> str:
        """Clones without submodules. `depth` limits the history to this many commits; 0: all. A clone that is stopped
        leaves nothing, and the folder is never one that was there before."""
        remote = parse_remote(url.strip())
        target = "/".join(parts_of(folder)) or remote.name
        unfinished = f".git-clone-{token_hex(8)}"
        arguments = (remote.url, target, unfinished, str(depth) if depth > 0 else "")
        try:
            return await self._connected(scope, Script(scripts.CLONE, arguments, repository=None), remote)
        except (GitStopped, asyncio.CancelledError):
            await self._run(scope, Script(scripts.REMOVE, (unfinished,), repository=None))
            raise

    @tool(traits=_reading, off=_off)
    async def git_status(self, scope: ToolScope, path: str = "") -> str:
        """The repository, its branch and the changed files."""
        return await self._run(scope, Script(scripts.STATUS, repository=_inside(path)))

    @tool(traits=_reading, off=_off)
    async def git_diff(self, scope: ToolScope, path: str = "", file: str = "", commit: str = "") -> str:
        """The changes since the last commit, or those of one commit."""
        if commit and not _REVISION.fullmatch(commit):
            raise ToolFailed("This is no commit: use a hash from git_log, a branch or HEAD~1.")
        files = _arguments([file] if file else [])
        printed = await self._run(scope, Script(scripts.DIFF, (commit, *files), repository=_inside(path)))
        return printed or "Nothing has changed since the last commit."

    @tool(traits=_reading, off=_off)
    async def git_log(self, scope: ToolScope, path: str = "", file: str = "", count: int = DEFAULT_COMMITS) -> str:
        """The newest commits, at most 100. Times are those of the authors."""
        most = min(max(count, 1), MAX_COMMITS)
        printed = await self._run(
            scope, Script(scripts.LOG, (str(most), *_arguments([file])), repository=_inside(path))
        )
        return printed or "No commits."

    @tool(traits=_local, off=_off)
    async def git_branch(self, scope: ToolScope, name: str = "", path: str = "") -> str:
        """Switches to a branch, which is created if needed; without a name, lists the branches."""
        if name and not _BRANCH.fullmatch(name):
            raise ToolFailed("This is no name for a branch: use letters, digits, dots, slashes and hyphens.")
        script, arguments = (scripts.SWITCH, (name,)) if name else (scripts.BRANCHES, ())
        printed = await self._run(scope, Script(script, arguments, repository=_inside(path)))
        return printed or "There are no branches yet: the first commit makes one."

    @tool(traits=_local, off=_off)
    async def git_commit(self, scope: ToolScope, message: str, path: str = "", files: list[str] | None = None) -> str:
        """Commits all changes, or those of the given files. Nothing leaves this machine."""
        if not message.strip() or "\0" in message:
            raise ToolFailed("A commit needs a message: say in a few words what changed.")
        return await self._run(scope, Script(scripts.COMMIT, _arguments(files or ()), message, _inside(path)))

    @tool(traits=_online, off=_off)
    async def git_pull(self, scope: ToolScope, path: str = "") -> str:
        """Brings the branch up to date from `origin`, if that needs no merge."""
        url = await self._run(scope, Script(scripts.ORIGIN_URL, repository=_inside(path)))
        return await self._connected(scope, Script(scripts.PULL, repository=_inside(path)), parse_remote(url), url)

    @tool(traits=_online, off=_off, asks=_push_note)
    async def git_push(self, scope: ToolScope, path: str = "") -> str:
        """Sends the branch's commits to `origin`: those that the person saw, and nothing else."""
        plan = await self._push_plan(scope, path)
        if scope.confirmed and all(_note(plan, Say(language)) != scope.confirmed for language in languages()):
            raise ToolFailed(
                "The commits or the remote changed since the user confirmed. Nothing was pushed: ask again."
            )
        script = Script(scripts.PUSH, (plan.branch,), repository=_inside(path))
        push = Push(f"refs/heads/{plan.branch}", plan.base, plan.commit)
        return await self._connected(scope, script, parse_remote(plan.url), plan.url, push)

    async def _push_plan(self, scope: ToolScope, path: str) -> _PushPlan:
        """Raises ToolFailed if there is nothing to push."""
        script = Script(scripts.PUSH_PLAN, (str(MAX_SHOWN_COMMITS),), repository=_inside(path))
        author = await self._accounts.author(scope.person)
        url, branch, base, commit, *commits = (await self._git.read(scope.person.id, author, script)).split("\n")
        parse_remote(url)
        if base == commit:
            raise ToolFailed("There is nothing to push: the remote has all commits of this branch.")
        return _PushPlan(url, branch, base, commit, await asyncio.to_thread(check, "".join(commits), base, commit))

    async def _run(self, scope: ToolScope, script: Script) -> str:
        return await self._git.run(scope.person.id, await self._accounts.author(scope.person), script)

    async def _connected(
        self, scope: ToolScope, script: Script, remote: Remote, url: str = "", push: Push | None = None
    ) -> str:
        """Runs a script that may reach `remote`, which the repository knows as `url`."""
        gateway = await asyncio.to_thread(import_module, "handlers.tools.git.gateway")
        reachable = self._reachable(scope.person)
        try:
            addresses = await asyncio.to_thread(reachable.addresses, remote.host, remote.port, remote.encrypted)
        except ServiceFailed as failed:
            raise ToolFailed(f"The repository can't be reached: {failed}.") from None
        login = await self._accounts.login(scope.person, remote)
        route = Route(remote, addresses, login, push, self._git.disk_bytes)
        author = await self._accounts.author(scope.person)
        async with gateway.opened(route) as (server, problems):
            try:
                return await self._git.run_online(scope.person.id, author, script, Online(remote, url, server))
            except GitStopped:
                raise
            except ToolFailed:
                if problems:
                    raise ToolFailed(problems[-1]) from None
                raise


def _note(plan: _PushPlan, say: Say) -> str:
    """The remote, the branch and the commits, for the person's confirmation."""
    pushed, facts = plan.pushed, {"branch": plan.branch, "url": plan.url}
    words = say("New commits for the branch {branch} of {url}: {n}", n=pushed.count, **facts)
    if pushed.older:
        words = say("The branch {branch} is new for {url}. Its newest commits:", **facts)
    shown = pushed.lines[:MAX_SHOWN_COMMITS]
    lines = [words, f"{plan.base}..{plan.commit}" if plan.base else plan.commit, "", *shown]
    if pushed.older:
        lines.append(say("… and all commits before them"))
    elif pushed.count > len(shown):
        lines.append(say("… and {n} more", n=pushed.count - len(shown)))
    return fenced("\n".join(map(printable, lines)))


def _arguments(names: Iterable[str]) -> tuple[str, ...]:
    """Names of files as arguments. Raises ToolFailed."""
    given = tuple(names)
    if any("\0" in name for name in given) or sum(map(len, given)) > MAX_NAMES_CHARACTERS:
        raise ToolFailed("These names can't be used: give fewer ones, without control characters.")
    return given


def _inside(path: str) -> str:
    return "/".join(parts_of(path))
