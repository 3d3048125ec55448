"""Installs Python packages into a person's folder, where their commands and programs find them."""

from __future__ import annotations

import asyncio
import re
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from handlers.tools.authoring.decorator import tool
from handlers.tools.folder import MOUNT
from handlers.tools.sandbox import Sandbox
from handlers.tools.sandbox.bubblewrap import interpreter
from handlers.tools.sandbox.result import describe_limit
from handlers.tools.sandbox.sandbox import OVERHEAD_SECONDS
from routing.errors import Reason, ToolFailed
from routing.types.tools import ToolScope, Traits

OFF = "off"
MAX_PACKAGES, MAX_CHARACTERS = 20, 200
SECONDS = 180.0
"""Time limit for downloading, and again for installing."""
MAX_SAID = 1_500
LOCKS = 16
NO_INDEX = Reason("the owner allows no package index (PIP_INDEX_URL=off)")
NO_PIP = Reason("Python's pip is missing (sudo apt install python3-pip, then restart the bot)")

_WORK = f"{MOUNT}/.pip-install"
_DOWNLOAD = f"""
IFS= read -r PIP_INDEX_URL; IFS= read -r HTTPS_PROXY; export PIP_INDEX_URL
if [ -n "$HTTPS_PROXY" ]; then export HTTPS_PROXY; fi
rm -rf {_WORK}; mkdir -p {_WORK}/tmp {_WORK}/wheels; cd {_WORK}/tmp
TMPDIR={_WORK}/tmp PIP_CONFIG_FILE=/dev/null PIP_NO_CACHE_DIR=1; export TMPDIR PIP_CONFIG_FILE PIP_NO_CACHE_DIR
exec "$@"
"""
"""Addresses come on standard input, because they may contain passwords. The folder is new, so that no name is that of a
file."""
_INSTALL = f"""
PIP_CONFIG_FILE=/dev/null PIP_BREAK_SYSTEM_PACKAGES=1; export PIP_CONFIG_FILE PIP_BREAK_SYSTEM_PACKAGES
cd {_WORK}/tmp; "$@"; ended=$?; cd {MOUNT}; rm -rf {_WORK}; exit $ended
"""
_QUIET = ("--disable-pip-version-check", "--no-input", "--no-color")
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?"
_EXTRAS = r"(?:\[[A-Za-z0-9._,-]{1,80}\])?"
_VERSION = r"(?:===?|~=|!=|<=?|>=?)[A-Za-z0-9.*+!_-]{1,40}"
_REQUIREMENT = re.compile(f"{_NAME}{_EXTRAS}(?:{_VERSION}(?:,{_VERSION}){{0,4}})?")
_OPERATOR = re.compile(r" ?([=<>!~]=?=?|,) ?")
_FILE = re.compile(r".*\.(?:whl|zip|egg|tar|tgz|tbz|txz|tlz|gz|bz2|xz|lz|lzma)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PackageIndex:
    """An index in the form of PEP 503, or `off`; and the proxy for HTTPS."""

    url: str = "https://pypi.org/simple"
    https_proxy: str | None = None


PYPI = PackageIndex()


class PackageTools:
    """Only wheels are installed, so no code of a package runs before the person's own code imports it. pip downloads
    them with the network of the machine, isolated from the person's files; it installs them without network."""

    def __init__(self, sandbox: Sandbox, index: PackageIndex) -> None:
        self._sandbox = sandbox
        self._index = index
        self._why_not = NO_INDEX if index.url == OFF else None if _has_pip() else NO_PIP
        self._locks = tuple(asyncio.Lock() for _ in range(LOCKS))

    def _traits(self) -> Traits:
        waiting = self._sandbox.wait_seconds + OVERHEAD_SECONDS
        return Traits(parallel=False, changes=True, seconds=2 * (SECONDS + waiting))

    async def _off(self) -> str | None:
        return self._why_not or await self._sandbox.reason_off()

    @tool(traits=_traits, off=_off)
    async def pip_install(self, scope: ToolScope, packages: str) -> str:
        """Names with optional extras and versions, separated by spaces. Raises ToolFailed."""
        wanted, person_id = requirements(packages), scope.person.id
        pip = [str(interpreter()), "-m", "pip"]
        isolated = [str(interpreter()), "-I", "-m", "pip"]
        lines = f"{self._index.url}\n{self._index.https_proxy or ''}\n"
        download = ["download", "-q", *_QUIET, "--only-binary=:all:", "--timeout=15", "--retries=1"]
        install = ["install", *_QUIET, "--user", "--no-index", f"--find-links={_WORK}/wheels"]
        async with self._locks[person_id % LOCKS]:
            shell = ["/bin/sh", "-c", _DOWNLOAD, "sh", *isolated, *download, f"--dest={_WORK}/wheels", "--", *wanted]
            await self._run(person_id, shell, lines.encode(), network=True)
            offline = [*install, "--no-compile", "--no-warn-script-location", "--", *wanted]
            said = await self._run(person_id, ["/bin/sh", "-c", _INSTALL, "sh", *pip, *offline])
        new = next((line for line in said.splitlines() if line.startswith("Successfully installed ")), "")
        if not new:
            return "These are installed already."
        return f"Installed: {new.removeprefix('Successfully installed ')}. Import them with run_python_code."

    async def _run(self, person_id: int, argv: Sequence[str], stdin: bytes = b"", network: bool = False) -> str:
        """The output. After a failure, removes what was downloaded and raises ToolFailed."""
        limits = replace(self._sandbox.limits, seconds=max(SECONDS, self._sandbox.limits.seconds))
        ran = await self._sandbox.run(person_id, argv, stdin, seconds=limits.seconds, network=network)
        if ran.ended == "exit" and ran.exit_code == 0:
            return ran.output
        await self._sandbox.run(person_id, ["/bin/rm", "-rf", _WORK])
        if ran.ended != "exit":
            raise ToolFailed(f"Nothing was installed: pip ended {describe_limit(ran.ended, limits)}.")
        errors = [line for line in ran.output.splitlines() if line.startswith(("ERROR", "WARNING: Retrying"))]
        said = "\n".join(errors or ran.output.splitlines()[-5:])[-MAX_SAID:]
        raise ToolFailed(f"Nothing was installed: only wheels for this Python can be. pip said:\n{said}")


def requirements(text: str) -> list[str]:
    """The packages of a list. Raises ToolFailed for anything but names with extras and versions: options, paths and
    addresses could make pip run code."""
    if len(text) > MAX_PACKAGES * MAX_CHARACTERS:
        raise ToolFailed("The list is too long: install a few packages at a time.")
    joined = _OPERATOR.sub(
        lambda found: found[1] if found[1] != "," or found[0] == "," else " ", " ".join(text.split())
    )
    wanted = joined.split()
    wrong = next((each for each in wanted if not _REQUIREMENT.fullmatch(each) or _FILE.fullmatch(each)), None)
    if wrong is not None or not wanted:
        raise ToolFailed(
            f"{(wrong or '')[:60]!r} is not the name of a package: write names as on PyPI, with a version if needed, "
            "such as: requests pandas==2.2.3"
        )
    if len(wanted) > MAX_PACKAGES:
        raise ToolFailed(f"At most {MAX_PACKAGES} packages can be installed at a time.")
    return wanted


def _has_pip() -> bool:
    """Whether the Python of the sandbox has pip. Blocks."""
    base: dict[str, Any] = {name: str(interpreter().parents[1]) for name in ("base", "platbase")}
    places = (sysconfig.get_path("purelib", vars=base), "/usr/lib/python3/dist-packages")
    return any(Path(place, "pip", "__main__.py").is_file() for place in places)
