"""Where new versions come from: the git repository of a checkout; a wheel, a repository or an index for a package."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution, distributions
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

from bot.ops.processes import run
from handlers.version import VERSION
from routing.errors import ConfigError

PACKAGE = "tierbot"
VERSION_FILE = "handlers/version.py"
MAX_NAMES = 10


@dataclass(frozen=True, slots=True)
class Release:
    """A newer version: its name for people, and what to install."""

    name: str
    what: str


class Source(Protocol):
    """Installs versions of the program. All methods raise ConfigError with what to do."""

    @property
    def revision(self) -> str:
        """What `roll_back` needs to find the installed version."""

    def newer(self) -> Release | None:
        """The newest version, if it is not the installed one."""

    def install(self, release: Release) -> None:
        """Replace the program's files and packages."""

    def roll_back(self, revision: str) -> None:
        """Undo what `install` changed outside the Python environment, wherever it was interrupted."""


class Checkout:
    """A git repository, updated to the newest commit of its branch. Its packages are installed as `make` does."""

    def __init__(self, root: Path, venv: Path) -> None:
        self._root = root
        self._venv = venv

    @property
    def revision(self) -> str:
        """The commit."""
        return self._git("rev-parse", "HEAD")

    def newer(self) -> Release | None:
        """Fetches. Raises ConfigError for local changes and commits, which an update could lose."""
        if not (self._root / ".git").exists():
            raise ConfigError(f"{self._root} is not a git repository. Clone it, or unpack the new version over it.")
        if changed := self._git("status", "--porcelain", "--untracked-files=no").splitlines():
            names = ", ".join(line.strip().partition(" ")[2].strip() for line in changed[:MAX_NAMES])
            more = f" and {len(changed) - MAX_NAMES} more" if len(changed) > MAX_NAMES else ""
            raise ConfigError(
                f"Nothing was updated, because files of {self._root} were changed: {names}{more}. "
                "Commit them, or undo the changes with `git restore`."
            )
        try:
            upstream = self._git("rev-parse", "--abbrev-ref", "--symbolic-full-name", "@{upstream}")
        except ConfigError:
            raise ConfigError(
                f"Nothing was updated, because the branch of {self._root} follows no other. Choose one, for example: "
                "git switch main && git branch --set-upstream-to=origin/main"
            ) from None
        self._git("fetch", "--quiet", upstream.partition("/")[0])
        if int(self._git("rev-list", "--count", f"{upstream}..HEAD")):
            raise ConfigError(
                f"Nothing was updated, because {self._root} has commits that {upstream} has not. Rebase them or merge "
                "it yourself, then run `make`."
            )
        count = int(self._git("rev-list", "--count", f"HEAD..{upstream}"))
        if not count:
            return None
        commit = self._git("rev-parse", upstream)
        found = re.search(r'VERSION = "(.+)"', self._git("show", f"{commit}:{VERSION_FILE}"))
        commits = f"{count:,} new commit{'s' * (count > 1)}, {commit[:8]}"
        return Release(f"{found[1] if found else ''} ({commits})".strip(), commit)

    def install(self, release: Release) -> None:
        """Move the branch to the commit, and install the packages of its locks."""
        self._git("merge", "--quiet", "--ff-only", release.what)
        self._run("make", "--silent", f"VENV={self._venv}", f"{self._venv}/.base", f"{self._venv}/bin/{PACKAGE}")

    def roll_back(self, revision: str) -> None:
        """What was changed since is kept in a stash."""
        (self._root / ".git" / "index.lock").unlink(missing_ok=True)  # of a git that was killed; ours is the only one
        if self._git("status", "--porcelain", "--untracked-files=no"):
            self._git("-c", "user.name=tierbot", "-c", "user.email=tierbot@localhost", "stash", "push", "--quiet")
        self._git("reset", "--quiet", "--hard", revision)

    def _git(self, *arguments: str) -> str:
        return self._run("git", "-C", str(self._root), *arguments).strip()

    def _run(self, *command: str) -> str:
        owner = self._root.stat().st_uid
        return run(command, self._root, owner, {"GIT_TERMINAL_PROMPT": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"})


class Package:
    """An installed wheel. New versions come from `given` (a wheel's path or address), or else from where it was
    installed: the folder of the wheel, the git repository, or pip's index."""

    def __init__(self, venv: Path, given: str = "") -> None:
        self._venv = venv
        self._given = given

    @property
    def revision(self) -> str:
        """Empty: the environment is all there is."""
        return ""

    def newer(self) -> Release | None:
        """Looks in the folder, repository or index."""
        if self._given:
            return self._of_wheel(self._given)
        origin = _origin()
        url, git = str(origin.get("url", "")), origin.get("vcs_info")
        if git:
            return self._of_repository(url, git)
        if not url:
            return self._of_index()
        folder = Path(unquote(urlsplit(url).path)).parent
        if not url.startswith("file:") or not url.endswith(".whl"):
            raise ConfigError(f"tierbot was installed from {url}. Say where the new version is: --from WHEEL")
        wheels = {version: path for path in folder.glob("*.whl") if (version := _version(path.name)) is not None}
        newest = max(wheels, default=Version(VERSION))
        if newest <= Version(VERSION):
            return None
        self._refuse_of_others(wheels[newest])
        return Release(str(newest), str(wheels[newest]))

    def install(self, release: Release) -> None:
        """Install the package and what it needs."""
        self._installer("install", "--upgrade", release.what)

    def roll_back(self, revision: str) -> None:
        """Nothing is outside the environment."""

    def _of_wheel(self, given: str) -> Release | None:
        if "://" not in given:
            path = Path(given).expanduser().absolute()
            if not path.is_file():
                raise ConfigError(f"There is no file {path}.")
            given = str(path)
        version = _version(given.rpartition("/")[2])
        if version is None:
            raise ConfigError(
                f"{given} is not a wheel of tierbot: its name must look like tierbot-1.2.3-py3-none-any.whl"
            )
        return Release(str(version), given) if version != Version(VERSION) else None

    def _refuse_of_others(self, wheel: Path) -> None:
        """Raise ConfigError for a wheel that another user may have put there, for example into /tmp."""
        status = wheel.stat()
        if status.st_uid not in (0, os.geteuid(), self._venv.stat().st_uid) or status.st_mode & stat.S_IWOTH:
            raise ConfigError(
                f"{wheel} can be changed by other users, so it is not installed. If you trust it, run: "
                f"tierbot update --from {wheel}"
            )

    def _of_repository(self, url: str, git: Mapping[str, Any]) -> Release | None:
        wanted = str(git.get("requested_revision") or "HEAD")
        lines = run(("git", "ls-remote", url, wanted), variables={"GIT_TERMINAL_PROMPT": "0"}).split()
        if not lines:
            raise ConfigError(f"{url} has no {wanted}. Install another version of it, or use --from WHEEL.")
        same = lines[0] == git.get("commit_id")
        return None if same else Release(f"commit {lines[0][:8]}", f"{PACKAGE} @ git+{url}@{lines[0]}")

    def _of_index(self) -> Release | None:
        if importlib.util.find_spec("pip") is None:
            raise ConfigError("uv does not say where tierbot came from. Say where the new version is: --from WHEEL")
        options = ("--dry-run", "--ignore-installed", "--no-deps", "--quiet", "--report", "-")
        report = json.loads(self._installer("install", *options, PACKAGE))
        newest = Version(report["install"][0]["metadata"]["version"])
        return Release(str(newest), f"{PACKAGE}=={newest}") if newest > Version(VERSION) else None

    def _installer(self, *arguments: str) -> str:
        """pip of the environment, or uv, whose environments have none."""
        if importlib.util.find_spec("pip") is not None:
            command = (str(self._venv / "bin" / "python"), "-m", "pip", *arguments)
        elif shutil.which("uv"):
            command = ("uv", "pip", *arguments, "--python", str(self._venv / "bin" / "python"))
        else:
            raise ConfigError("Neither pip nor uv is there to install packages. Install uv, or put it into PATH.")
        variables = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"}
        return run(command, owner=self._venv.stat().st_uid, variables=variables)


def _origin() -> Mapping[str, Any]:
    """Where the package was installed from (PEP 610); empty for an index."""
    try:
        text = distribution(PACKAGE).read_text("direct_url.json")
    except PackageNotFoundError:
        return {}
    return dict(json.loads(text)) if text else {}


def _version(name: str) -> Version | None:
    """The version of a wheel of ours, from its file name."""
    try:
        project, version, _, _ = parse_wheel_filename(name.partition("#")[0])
    except InvalidWheelFilename:
        return None
    return version if project == PACKAGE else None


def source(root: Path | None, venv: Path, given: str = "") -> Source:
    """The source of the running program."""
    if root is None:
        if not any(distributions(name=PACKAGE)):
            raise ConfigError(
                "This tierbot is part of an image or a plain folder, which it can't update. In a container, get the "
                "new source, then run: docker compose -f docker/compose.yaml up --detach --build"
            )
        return Package(venv, given)
    if given:
        raise ConfigError(f"{root} is a checkout, which is updated with git. Leave --from out.")
    return Checkout(root, venv)
