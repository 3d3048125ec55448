"""Runs the real git in the sandbox.

A repository's files and configuration can make git run programs and read any file. Here they find only the sandbox:
the person's folder, no network, and no password. Hooks and similar settings are switched off as well, because nobody
expects them to run."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from handlers.tools.folder import MOUNT, printable
from handlers.tools.git import forward
from handlers.tools.git.remote import Remote
from handlers.tools.sandbox import Ended, ExecResult, Sandbox
from handlers.tools.sandbox.bubblewrap import SERVER, interpreter
from routing.errors import Reason, ToolFailed

PORT = 9418
"""The port of 127.0.0.1 in the sandbox that leads to the gateway."""
NETWORK_SECONDS = 300.0
"""Time limit for a clone, a pull or a push."""
OVERHEAD_SECONDS = 60.0
"""Seconds added to the limit of a call: for measuring the folder, a slow start and the shutdown."""
MAX_CHARACTERS = 30_000
"""Maximum length of what git prints, in characters, for a model."""
MAX_READ_CHARACTERS = 4_000_000
"""Maximum length of what git prints for the bot itself: about 5,000 commits."""
NO_GIT = Reason("git is not installed (sudo apt install git, then restart the bot)")
_VARIABLES = {
    "GIT_CONFIG_SYSTEM": "/tmp/gitconfig",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "/bin/false",
    "GIT_ALLOW_PROTOCOL": "http:git",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "false",
    "GIT_SEQUENCE_EDITOR": "false",
    "GIT_CEILING_DIRECTORIES": MOUNT,
    "GIT_LFS_SKIP_SMUDGE": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": "/dev/null",
}
_SETTINGS = (
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.quotePath", "false"),
    ("core.sshCommand", "false"),
    ("core.gitProxy", ""),
    ("credential.helper", ""),
    ("http.proxy", ""),
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("push.recurseSubmodules", "no"),
    ("push.gpgSign", "false"),
    ("push.followTags", "false"),
    ("push.pushOption", ""),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
    ("core.commitGraph", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("color.ui", "false"),
    ("advice.detachedHead", "false"),
    ("advice.graftFileDeprecated", "false"),
)
_IDENTITY = """
trap '' XFSZ
printf %s "$1" 2>/dev/null >/tmp/gitconfig
"""
"""Makes the identity `$1` the system's configuration, so that `git config` in the folder can change it. Ignores
SIGXFSZ: in a full folder a write fails instead of killing git, so it can still read, finish and remove its locks."""
_ENTER = r"""
if [ -n "$2" ]; then
    cd -- "$2" 2>/dev/null || exit 97
elif ! git rev-parse --git-dir >/dev/null 2>&1; then
    found=$(find . -maxdepth 4 -name '.git-clone-*' -prune -o -name .git -prune -exec dirname {} \; 2>/dev/null |
        head -n 20)
    case "$found" in
        "") exit 98 ;;
        *"
"*) printf %s "$found"; exit 99 ;;
        *) cd -- "$found" ;;
    esac
fi
git rev-parse --git-dir >/dev/null || exit 96
shift 2
"""
"""Enters the repository at the path `$2`; without a path, the person's only one."""
_TOO_LARGE = "File too large"
"""The system's error text for a write beyond the folder's limit (EFBIG)."""
_STOPPED: dict[Ended, str] = {
    "seconds": "it reached the time limit. For a large repository, clone with depth 1",
    "memory": "it needed too much memory. For a large repository, clone with depth 1",
    "processes": "it started too many processes",
    "disk": "the person's folder is full. Delete something first, or clone with depth 1",
    "output": "it printed too much. Ask for less",
}


@dataclass(frozen=True, slots=True)
class Identity:
    """The author of commits."""

    name: str
    email: str

    @property
    def configuration(self) -> str:
        return f"[user]\n\tname = {_quoted(self.name)}\n\temail = {_quoted(self.email)}\n"


@dataclass(frozen=True, slots=True)
class Script:
    """A shell script with git calls, its arguments `$1`, `$2`, … and its standard input. It runs in the repository at
    this path, or in the person's only one if the path is empty; without `repository`, in the person's folder."""

    text: str
    arguments: tuple[str, ...] = ()
    stdin: str = ""
    repository: str | None = ""


@dataclass(frozen=True, slots=True)
class Online:
    """The remote that a script may use, its address as the repository's configuration has it, and the Unix socket that
    leads to it."""

    remote: Remote
    url: str
    server: Path


class GitStopped(ToolFailed):
    """git reached a limit and was killed, so it may have left something unfinished."""


class Git:
    """Runs git for people in the sandbox."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._installed = False
        self.seconds = sandbox.wait_seconds + sandbox.limits.seconds + OVERHEAD_SECONDS
        self.network_seconds = sandbox.wait_seconds + NETWORK_SECONDS + OVERHEAD_SECONDS
        self.disk_bytes = sandbox.limits.disk_bytes

    async def reason_off(self) -> str | None:
        """Why git can't be used here; None if it can."""
        if not self._installed:
            path = "/usr/local/bin:/usr/bin:/bin"
            self._installed = await asyncio.to_thread(shutil.which, "git", path=path) is not None
        return await self._sandbox.reason_off() if self._installed else NO_GIT

    async def run(self, person_id: int, identity: Identity, script: Script) -> str:
        """What the script prints. Raises ToolFailed."""
        ran = await self._sandbox.run(person_id, _command(identity, script, _SETTINGS), script.stdin.encode())
        return _printed(ran)

    async def read(self, person_id: int, identity: Identity, script: Script) -> str:
        """The same, whole, for the bot itself."""
        command = _command(identity, script, _SETTINGS)
        ran = await self._sandbox.run(person_id, command, script.stdin.encode(), kept=MAX_READ_CHARACTERS)
        if ran.cut or ran.exit_code != 0:
            raise ToolFailed("These are too many commits for one push." if ran.cut else _printed(ran))
        return ran.output

    async def run_online(self, person_id: int, identity: Identity, script: Script, online: Online) -> str:
        """The same for a script that reaches a server."""
        remote = online.remote
        inside = f"{'git' if remote.scheme == 'git' else 'http'}://127.0.0.1:{PORT}/"
        prefixes = {
            f"{remote.origin}/",
            f"{online.url.removesuffix(remote.path)}/" if online.url else f"{remote.origin}/",
        }
        settings = [*_SETTINGS, *((f"url.{inside}.insteadOf", prefix) for prefix in sorted(prefixes))]
        argv = [str(interpreter()), "-ISc", await asyncio.to_thread(_forwarder), str(PORT), SERVER]
        argv += _command(identity, script, settings)
        ran = await self._sandbox.run(
            person_id, argv, script.stdin.encode(), seconds=NETWORK_SECONDS, server=online.server
        )
        return _printed(replace(ran, output=ran.output.replace(inside, f"{remote.origin}/")))


@cache
def _forwarder() -> str:
    return Path(forward.__file__).read_text("utf-8")


def _command(identity: Identity, script: Script, settings: Sequence[tuple[str, str]]) -> list[str]:
    variables = _VARIABLES | {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (name, value) in enumerate(settings):
        variables |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    environment = [f"{name}={value}" for name, value in variables.items()]
    place, entered = ("shift\n", ()) if script.repository is None else (_ENTER, (script.repository,))
    shell = ("/bin/sh", "-c", _IDENTITY + place + script.text, "sh", identity.configuration)
    return ["/usr/bin/env", *environment, *shell, *entered, *script.arguments]


def _printed(ran: ExecResult) -> str:
    """Raises ToolFailed if git failed or was stopped."""
    text = ran.output.strip()
    if ran.ended != "exit":
        raise GitStopped(f"git was stopped: {_STOPPED[ran.ended]}.")
    match ran.exit_code:
        case 0:
            return _cut(text)
        case 97:
            raise ToolFailed("There is no such folder: use list_files, or leave the path out.")
        case 98:
            raise ToolFailed(
                "The person has no repository yet: get one with git_clone, or make one with run_command (git init)."
            )
        case 99:
            names = ", ".join(printable(line.removeprefix("./")) for line in text.splitlines())
            raise ToolFailed(f"There are several repositories: {names}. Give the path of one.")
        case 96:
            raise ToolFailed(f"This folder is not a usable repository: {_cut(text)}")
    if ran.full or _TOO_LARGE in text:
        raise GitStopped(f"git was stopped: {_STOPPED['disk']}.")
    raise ToolFailed(_cut(text) or f"git failed with exit code {ran.exit_code}.")


def _cut(text: str) -> str:
    if len(text) <= MAX_CHARACTERS:
        return text
    left_out = len(text) - MAX_CHARACTERS
    return f"{text[:MAX_CHARACTERS]}\n[{left_out:,} more characters are left out: ask for one file or fewer commits.]"


def _quoted(value: str) -> str:
    plain = " ".join("".join(sign if sign.isprintable() else " " for sign in value).split())
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'
