"""`tierbot service install` and `uninstall`: each says what it will do, then does it."""

from __future__ import annotations

import grp
import os
import pwd
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from bot.config.environment import Environment
from bot.config.workspace import DATABASE_FILE, LOCK, TERMINAL, Workspace, refuse_other_folder
from bot.ops.ownership import give_all
from bot.ops.service.systemctl import Service, run
from bot.ops.service.unit import NAME, SERVICE, Program, render, user_of, without_credentials, workspace_of
from routing.errors import ConfigError, system_reason

LEFT_BEHIND = (LOCK, TERMINAL, "cache")
"""What a copy of a workspace does not need."""


@dataclass(frozen=True, slots=True)
class Step:
    """Something that an installation changes. `what` completes "This will …"."""

    what: str
    do: Callable[[], object]


@dataclass(frozen=True, slots=True)
class Installation:
    """What a service will be. `source`: a workspace whose contents it starts with."""

    service: Service
    program: Program
    workspace: Path
    owner: str
    source: Path | None = None

    @property
    def unit(self) -> str:
        """The text of its unit."""
        names = self.service.names_of_credentials()
        return render(self.program, self.workspace, self.owner, _group_of(self.owner), names)

    def steps(self) -> Iterator[Step]:
        """What is still to be done, in order."""
        service, workspace = self.service, self.workspace
        if self.owner and not _exists(self.owner):
            yield Step(f"create the system user {self.owner}", partial(_create_user, self.owner, workspace))
        if not workspace.is_dir():
            yield Step(f"create {workspace}", partial(_create_folder, workspace, self.owner))
        elif self.owner and not _owner_of(workspace):
            yield Step(f"give {workspace} to {self.owner}", partial(_give_to, workspace, self.owner))
        if self.source is not None:
            words = f"copy settings, conversations and files from {self.source} to {workspace}"
            yield Step(words, partial(_copy, self.source, workspace, self.owner))
        if service.text() != self.unit:
            yield Step(f"write {service.unit}", partial(_write, service.unit, self.unit))
        if service.user:
            yield Step("let it run while you are logged out", _linger)
        yield Step("start it now and at each boot", partial(_start, service))


def plan(service: Service, program: Program, environment: Environment, workspace: Path | None = None) -> Installation:
    """What to install. `workspace`: where the bot shall keep its data; by default the one of an earlier installation,
    else /var/lib/tierbot, and for a user's service the workspace of the command line."""
    current = environment.settings.workspace
    earlier = workspace_of(service.text())
    if service.user:
        return Installation(service, program, workspace or earlier or current, "")
    target = workspace or earlier or service.state
    owner = user_of(service.text()) or _owner_of(target) or NAME
    found = Installation(service, program, target, owner)
    sources = (current, _home_of_sudo(environment) / ".local/share/tierbot")
    source = next((each for each in sources if _is_used(each) and each != target), None)
    return replace(found, source=None if _is_used(target) else source)


def install(installation: Installation, environment: Environment) -> int:
    """Install or repair the service; returns the exit code. Raises ConfigError with what to do."""
    service = installation.service
    elsewhere = "" if installation.workspace == service.state else f" --workspace '{installation.workspace}'"
    _require_root(service, f"install{elsewhere}", installation.program)
    if not service.user and installation.workspace != service.state:
        refuse_other_folder(installation.workspace)  # all of it will belong to the bot's user
    if installation.source is not None and in_use(environment, installation.source):
        raise ConfigError(f"The bot is running in {installation.source}. Stop it, then install the service.")
    _require_systemd(service)
    steps = list(installation.steps())
    print(f"Installing tierbot as a {service.kind}. This will:")
    for number, step in enumerate(steps, 1):
        print(f"  {number}. {step.what}")
    try:
        for step in steps:
            step.do()
    except OSError as error:
        raise ConfigError(f"{error.filename or service.unit} can't be changed: {system_reason(error)}.") from None
    print(f"Done. The bot keeps everything in {installation.workspace}.")
    print(f"See how it is: {installation.program.name} service status")
    print(f"Read its log, which has the owner code at the first start: {installation.program.name} service logs")
    return 0


def uninstall(service: Service, program: Program) -> int:
    """Stop and remove the service, and say where the data is. Raises ConfigError with what to do."""
    text = service.text()
    if not text:
        print(f"There is no {service.kind} to remove.")
        return 0
    _require_root(service, "uninstall", program)
    print(f"Stopping the {service.kind} and removing {service.unit}.")
    service.systemctl("disable", "--now", SERVICE)
    service.unit.unlink(missing_ok=True)
    service.systemctl("daemon-reload")
    workspace, owner = workspace_of(text), user_of(text)
    print(f"Removed. Your data is still in {workspace}; to delete it too:")
    print(f"  {service.sudo}rm -r '{workspace}'")
    if owner == NAME:
        print(f"  sudo userdel {NAME}")
    if service.names_of_credentials():
        print(f"  sudo rm -r {service.credentials}")
    return 0


def outdated(service: Service, program: Program) -> bool:
    """Whether the installed unit differs from the one that `install` would write for `program`."""
    text, workspace = service.text(), workspace_of(service.text())
    if workspace is None:
        return False
    owner = user_of(text)
    return without_credentials(text) != render(program, workspace, owner, _group_of(owner))


def _require_root(service: Service, action: str, program: Program) -> None:
    if service.needs_root():
        raise ConfigError(
            f"This changes the system, so it needs root. Run: sudo {program.name} service {action}\n"
            f"Without root, a service of your own user: {program.name} service {action.split()[0]} --user"
        )


def _require_systemd(service: Service) -> None:
    """Raises ConfigError where systemd does not answer, such as in a container, before anything is changed."""
    try:
        service.show()
    except ConfigError as error:
        if shutil.which("systemctl") is None:  # then it says all
            raise
        raise ConfigError(f"{error}\nNothing was changed. Without systemd, start the bot with `tierbot run`.") from None


def in_use(environment: Environment, workspace: Path) -> bool:
    """Whether a bot runs in this workspace."""
    return Workspace(environment.with_settings(workspace=workspace)).in_use()


def _is_used(workspace: Path) -> bool:
    """Whether a workspace has settings or conversations."""
    return any(os.path.exists(workspace / name) for name in (".env", DATABASE_FILE, "preferences/runtime-config.json"))


def _owner_of(workspace: Path) -> str:
    """The name of the user whose folder this is; empty for root and for a folder that does not exist."""
    try:
        owner = pwd.getpwuid(workspace.stat().st_uid)
    except (FileNotFoundError, KeyError):
        return ""
    return owner.pw_name if owner.pw_uid else ""


def _home_of_sudo(environment: Environment) -> Path:
    """The home of the person who used sudo, else of this user."""
    try:
        return Path(pwd.getpwnam(environment.given["SUDO_USER"]).pw_dir)
    except KeyError:
        return Path.home()


def _group_of(user: str) -> str:
    try:
        return grp.getgrgid(pwd.getpwnam(user).pw_gid).gr_name
    except KeyError:
        return user


def _exists(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True


def _create_user(name: str, home: Path) -> None:
    run("useradd", "--system", "--user-group", "--home-dir", str(home), "--shell", "/usr/sbin/nologin", name)


def _create_folder(folder: Path, owner: str) -> None:
    folder.mkdir(mode=0o700, parents=True)
    _give_to(folder, owner)


def _copy(source: Path, target: Path, owner: str) -> None:
    """Copy a workspace. The copy appears under its name when it is complete. Raises ConfigError."""

    def left_out(folder: str, names: Iterable[str]) -> set[str]:
        """The pipes and sockets of people's programs, and what a copy does not need."""
        special = {name for name in names if not _is_plain(Path(folder, name))}
        return special.union(LEFT_BEHIND) if Path(folder) == source else special

    part = target.with_name(f".{target.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        shutil.copytree(source, part, symlinks=True, ignore=left_out, copy_function=_copy_file)
        part.chmod(0o700)
        _give_to(part, owner)
        target.rmdir()
        part.rename(target)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _is_plain(path: Path) -> bool:
    return path.is_symlink() or path.is_dir() or path.is_file()


def _copy_file(source: str, target: str) -> None:
    """`copytree` would go on after an error, such as a full disk, and raise one that names each file."""
    try:
        shutil.copy2(source, target, follow_symlinks=False)
    except OSError as error:
        raise ConfigError(
            f"{source} can't be copied: {system_reason(error)}. Free some space, then run this again."
        ) from None


def _give_to(folder: Path, owner: str) -> None:
    if owner:
        give_all(folder, pwd.getpwnam(owner).pw_uid)


def _write(path: Path, text: str) -> None:
    """Replace a unit, also a masked one, which is a link to /dev/null: `routing.atomic_file` would follow it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    new.write_text(text, encoding="utf-8")
    new.chmod(0o644)
    new.replace(path)


def _linger() -> None:
    try:
        run("loginctl", "enable-linger")
    except ConfigError:
        name = pwd.getpwuid(os.geteuid()).pw_name
        print(f"This needs root. Until then the bot stops when you log out: sudo loginctl enable-linger {name}")


def _start(service: Service) -> None:
    """Enable and restart the service. Raises ConfigError with the end of its log if it does not get ready."""
    service.systemctl("daemon-reload")
    service.systemctl("enable", SERVICE)
    try:
        service.systemctl("restart", SERVICE)
    except ConfigError:
        raise ConfigError(
            f"The service is installed, but does not start. The end of its log:\n{service.log_end()}"
            f"When that is fixed: {service.sudo}systemctl {service.option}restart {NAME}"
        ) from None
