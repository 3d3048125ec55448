"""The text of the systemd unit, from one template for the system and for a user's own systemd."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from routing.errors import ConfigError

NAME = "tierbot"
SERVICE = f"{NAME}.service"
STATE = Path("/var/lib")
HOMES = (Path("/home"), Path("/root"), Path("/run/user"))
"""What systemd's ProtectHome hides."""
TEMPORARY = (Path("/tmp"), Path("/var/tmp"))
"""What PrivateTmp hides."""


@dataclass(frozen=True, slots=True)
class Program:
    """Where the program is. `root`: its checkout; None if it is installed as a package. `parts`: all folders that
    Python reads."""

    python: Path
    root: Path | None
    parts: tuple[Path, ...]

    @property
    def command(self) -> tuple[str, ...]:
        """The program's command line, without a subcommand. It works in `root`, and for a package anywhere."""
        return (str(self.python), *(() if self.root else ("-P",)), "-m", "bot")

    @property
    def name(self) -> str:
        """What a person types for it."""
        script = self.python.with_name(NAME)
        return str(script) if script.exists() else " ".join(self.command)


def this_program() -> Program:
    """The program that is running."""
    packages = Path(__file__).resolve().parents[3]
    root = packages if (packages / "pyproject.toml").is_file() else None
    python = Path(sys.executable)
    places = (Path(sys.prefix), Path(sys.base_prefix), python.resolve().parents[1], *((root,) if root else ()))
    return Program(python, root, _outermost(path for place in places for path in (place, place.resolve())))


def render(
    program: Program,
    workspace: Path,
    user: str = "",
    group: str = "",
    credentials: Sequence[str] = (),
) -> str:
    """The unit that runs `program` with `workspace`: as `user` for the system's systemd, without one for the systemd of
    the user who installs it. `credentials` are names of files in /etc/tierbot. Raises
    ConfigError for a folder that a unit can't name."""
    for path in (workspace, *program.parts):
        if not str(path).isprintable():
            raise ConfigError(f"A unit can't name {str(path)!r}: choose a folder without a line break in its name.")
    system = bool(user)
    state = _state_directory(workspace) if system else ""
    hidden = [path for path in program.parts if _within(path, HOMES + TEMPORARY)] if system else []
    writable = "BindPaths" if _within(workspace, HOMES + TEMPORARY) else "ReadWritePaths"
    homes = [path for path in (*hidden, workspace) if _within(path, HOMES)]
    text = _template().render(
        edit=f"systemctl {'' if system else '--user '}edit {NAME}",
        manual=_plain(program.root / "docs" / "raspberry-pi.md").replace(" ", "%%20") if program.root else "",
        system=system,
        command=" ".join(_quoted(word).replace("$", "$$") for word in (*program.command, "run")),
        folder=_plain(program.root or Path("/")),
        workspace=_quoted(f"WORKSPACE={workspace}"),
        user=user,
        group=group or user,
        state=state,
        credentials=sorted(credentials),
        writable="" if state or not system else f"{writable}={_quoted(str(workspace))}",
        protect_home="tmpfs" if homes else "yes",
        root_home=any(_within(path, (Path("/root"),)) for path in homes),
        program=" ".join(map(_quoted, map(str, hidden))),
    )
    return re.sub(r"\n{3,}", "\n\n", text)


def workspace_of(unit: str) -> Path | None:
    """The workspace that a unit's text names."""
    found = re.search(r'^Environment="?WORKSPACE=(.*?)"?$', unit, re.MULTILINE)
    return Path(_unquoted(found[1])) if found else None


def user_of(unit: str) -> str:
    """The user that a unit's text names; empty for a user's own."""
    found = re.search(r"^User=(.+)$", unit, re.MULTILINE)
    return found[1] if found else ""


def program_of(unit: str) -> str:
    """The interpreter that a unit's text starts."""
    found = re.search(r'^ExecStart=(?:"((?:[^"\\]|\\.)*)"|(\S+))', unit, re.MULTILINE)
    return _unquoted(found[1] or found[2]).replace("$$", "$") if found else ""


def without_credentials(unit: str) -> str:
    """The text without the names of credentials, which only root can list."""
    return re.sub(r"(?m)^LoadCredential=.*\n", "", unit)


def _within(path: Path, folders: Sequence[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _state_directory(workspace: Path) -> str:
    """The value of StateDirectory for a folder that systemd can keep for the bot; empty for any other."""
    if workspace.parent != STATE or not re.fullmatch(r"[\w.-]+", workspace.name):
        return ""
    return workspace.name


def _outermost(paths: Iterable[Path]) -> tuple[Path, ...]:
    """The paths that are in none of the others."""
    found = sorted(set(paths))
    return tuple(path for path in found if not any(path.is_relative_to(each) for each in found if each != path))


def _plain(path: Path) -> str:
    return str(path).replace("%", "%%")


def _quoted(text: str) -> str:
    """A word as systemd reads it."""
    text = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{text}"' if re.search(r"[\s\"'\\;]", text) else text


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text).replace("%%", "%")


def _template() -> Template:
    folder = FileSystemLoader(Path(__file__).parent)
    options = Environment(loader=folder, undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True)
    return options.get_template("tierbot.service.jinja")
