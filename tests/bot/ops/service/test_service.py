"""`tierbot service` as a user's service, with a stand-in for systemd; and what it would do for the system's."""

from __future__ import annotations

import os
import pwd
import resource
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.config.environment import load
from bot.config.workspace import Workspace
from bot.ops.checks.inspection import Inspection
from bot.ops.checks.service import service as doctor_check
from bot.ops.service.install import Installation, plan
from bot.ops.service.install import install as perform
from bot.ops.service.status import explain
from bot.ops.service.systemctl import Service, user_service
from bot.ops.service.unit import render, this_program, workspace_of
from routing.errors import ConfigError
from tests.bot.cli import tierbot
from tests.servers.systemctl import install
from tests.stories.harness import BotHarness, bot_harness


class Machine:
    """A home folder, and a stand-in for systemd."""

    def __init__(self, folder: Path, workspace: Path) -> None:
        self.folder = folder
        self.workspace = workspace
        self.unit = user_service(folder).unit
        install(folder / "bin")

    async def service(self, *arguments: str) -> tuple[int, str, str]:
        """`tierbot service …`: exit code, output, errors."""
        path = f"{self.folder / 'bin'}:/usr/bin:/bin"
        return await tierbot(self.workspace, "service", *arguments, PATH=path, HOME=str(self.folder))

    @property
    def actions(self) -> list[str]:
        """What was asked of systemd, without questions."""
        file = self.folder / "bin" / "actions.log"
        return [line for line in file.read_text().split() if line != "show"] if file.exists() else []


@pytest.fixture
async def on(tmp_path: Path) -> AsyncIterator[BotHarness]:
    async with bot_harness(tmp_path / "workspace") as made:
        made.write_config()
        names = ("TELEGRAM_BOT_TOKEN", "TELEGRAM_API_ROOT", "EMBEDDINGS", "OLLAMA_HOST")
        lines = [f"{name}={value}\n" for name, value in made.environment().items() if name in names]
        (made.workspace / ".env").write_text("".join(lines), encoding="utf-8")
        yield made


@pytest.fixture
async def machine(tmp_path: Path, on: BotHarness) -> AsyncIterator[Machine]:
    made = Machine(tmp_path / "home", on.workspace)
    yield made
    await made.service("uninstall", "--user")


async def test_a_user_installs_looks_and_removes(on: BotHarness, machine: Machine) -> None:
    code, said, _ = await machine.service("status")
    assert code == 1
    assert "There is no system service. Install it:" in said
    code, _, errors = await machine.service("logs")
    assert (code, "There is no system service. Install it:" in errors) == (2, True)

    code, said, errors = await machine.service("install", "--user")
    assert (code, errors) == (0, "")
    assert "1. write" in said.split("Installing tierbot as a user service. This will:")[1]
    assert machine.actions == ["daemon-reload", "enable", "restart"]
    assert workspace_of(machine.unit.read_text()) == on.workspace
    assert machine.unit.stat().st_mode & 0o777 == 0o644

    code, said, _ = await machine.service("status")
    assert code == 0
    assert said.startswith("tierbot runs as a user service since ")
    assert said.endswith("Healthy: it answers systemd's watchdog.\n")
    assert f"Workspace: {on.workspace}" in said

    machine.unit.write_text(machine.unit.read_text().replace("WatchdogSec=180", "WatchdogSec=60"))
    _, said, _ = await machine.service("status")
    renewal = f"Renew it: {user_service(machine.folder).install_command(this_program())}\n"
    assert f"The installed unit is out of date, or of another installation. {renewal}" in said

    environment = load(on.environment() | {"HOME": str(machine.folder)})
    path = f"{machine.folder / 'bin'}:/usr/bin:/bin"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", path)
        patch.setenv("HOME", str(machine.folder))
        (finding,) = await doctor_check(Inspection(environment, Workspace(environment), time.time))
        assert finding.detail == "the installed unit is out of date, or of another installation"
        assert f"{finding.fix}\n" == renewal
        machine.unit.write_text(machine.unit.read_text().replace("WatchdogSec=60", "WatchdogSec=180"))
        (finding,) = await doctor_check(Inspection(environment, Workspace(environment), time.time))
        assert (finding.status, finding.detail) == ("ok", "the user service is running")
        other = load({"WORKSPACE": "/elsewhere"})
        (finding,) = await doctor_check(Inspection(other, Workspace(other), time.time))
        assert finding.fix == f"To look at that one, run doctor with WORKSPACE={on.workspace}."

    code, said, _ = await machine.service("install", "--user")
    assert code == 0
    assert "write" not in said, "a second installation has nothing to write"

    code, said, _ = await machine.service("logs", "--lines", "50")
    assert "Owner code: " in said
    assert "123456:" not in said, "no token"

    code, said, _ = await machine.service("uninstall")
    assert code == 0
    assert f"Your data is still in {on.workspace}" in said
    assert not machine.unit.exists()
    assert (on.workspace / ".env").exists()


async def test_a_service_that_does_not_start_says_why(on: BotHarness, machine: Machine) -> None:
    (on.workspace / ".env").write_text("", encoding="utf-8")
    code, _, errors = await machine.service("install", "--user")
    assert code == 2
    assert "The service is installed, but does not start. The end of its log:" in errors
    assert "No chat platform is configured" in errors
    code, said, _ = await machine.service("status")
    assert code == 1
    assert "Something must be fixed first; the log says what. Then: systemctl --user start tierbot" in said
    assert "No chat platform is configured" in said


async def test_without_systemd_it_says_what_to_do(on: BotHarness, tmp_path: Path) -> None:
    code, _, errors = await tierbot(on.workspace, "service", "install", "--user", PATH="/nowhere", HOME=str(tmp_path))
    assert code == 2
    assert errors.endswith(": systemctl is not installed. The service needs systemd; without it, use `tierbot run`.\n")


async def test_doctor_does_not_advise_a_service_without_systemd(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = load({"WORKSPACE": str(tmp_path)})
    looking = Inspection(environment, Workspace(environment), time.time)
    install(tmp_path / "bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (found,) = await doctor_check(looking)
    assert "service install" in found.detail
    monkeypatch.setenv("PATH", "/nowhere")
    (found,) = await doctor_check(looking)
    assert (found.status, found.fix) == ("ok", "")
    assert "has no systemd" in found.detail
    assert "service install" not in found.detail


async def test_a_systemd_that_does_not_answer_changes_nothing(on: BotHarness, tmp_path: Path) -> None:
    systemctl = tmp_path / "bin" / "systemctl"
    systemctl.parent.mkdir()
    systemctl.write_text("#!/bin/sh\necho 'Failed to connect to bus: Host is down' >&2\nexit 1\n")
    systemctl.chmod(0o755)
    path = f"{systemctl.parent}:/usr/bin:/bin"
    code, said, errors = await tierbot(on.workspace, "service", "install", "--user", PATH=path, HOME=str(tmp_path))
    assert (code, said) == (2, "")
    assert "Host is down" in errors
    assert "Nothing was changed. Without systemd, start the bot with `tierbot run`." in errors
    assert sorted(os.listdir(tmp_path)) == ["bin", "workspace"]


async def test_a_dry_run_prints_the_unit_and_changes_nothing(tmp_path: Path) -> None:
    for environ in ({}, {"BOT_OWNERS": "nonsense"}):
        code, said, errors = await tierbot(tmp_path, "service", "install", "--dry-run", **environ)
        assert (code, errors) == (0, "")
        assert "User=tierbot\n" in said
        assert "Environment=WORKSPACE=/var/lib/tierbot\n" in said
    assert not os.listdir(tmp_path)


async def test_errors_in_the_settings_stop_an_installation(on: BotHarness, machine: Machine) -> None:
    (on.workspace / ".env").write_text("BOT_ACCESS=nonsense\n", encoding="utf-8")
    code, _, errors = await machine.service("install", "--user")
    assert code == 2
    assert "BOT_ACCESS is not valid" in errors
    assert machine.actions == []


def system(folder: Path) -> Service:
    return Service(unit=folder / "tierbot.service", state=folder / "state", credentials=folder / "credentials")


def sentences(installation: Installation) -> list[str]:
    return [step.what for step in installation.steps()]


def test_the_system_service_gets_a_user_a_folder_and_the_settings_of_setup(tmp_path: Path) -> None:
    service, source = system(tmp_path), tmp_path / "workspace"
    source.mkdir()
    (source / ".env").touch()
    environment = load({"WORKSPACE": str(source)})
    found = plan(service, this_program(), environment)
    user = [] if exists("tierbot") else ["create the system user tierbot"]
    assert sentences(found) == [
        *user,
        f"create {service.state}",
        f"copy settings, conversations and files from {source} to {service.state}",
        f"write {service.unit}",
        "start it now and at each boot",
    ]
    service.credentials.mkdir()
    for name in ("openai_api_key", "README.txt"):
        (service.credentials / name).touch()
    assert "\nLoadCredential=openai_api_key:" in found.unit
    assert "README" not in found.unit


def test_an_installed_system_service_is_only_restarted(tmp_path: Path) -> None:
    me = pwd.getpwuid(os.geteuid()).pw_name
    service, source = system(tmp_path), tmp_path / "workspace"
    for folder in (source, service.state):
        folder.mkdir()
        (folder / ".env").touch()
    service.unit.write_text(render(this_program(), service.state, "tierbot"), encoding="utf-8")
    found = plan(service, this_program(), load({"WORKSPACE": str(source)}))
    assert found.source is None, "its workspace has settings, which are not replaced"
    assert [what for what in sentences(found) if "user" not in what and "give" not in what] == [
        "start it now and at each boot"
    ]
    assert ([what for what in sentences(found) if "give" in what] != []) == (me == "root")


def test_a_masked_unit_is_replaced_and_not_followed(tmp_path: Path) -> None:
    service, null = system(tmp_path), tmp_path / "null"
    null.touch()
    service.unit.symlink_to(null)
    installation = Installation(service, this_program(), tmp_path, "")
    next(step for step in installation.steps() if step.what.startswith("write ")).do()
    assert not service.unit.is_symlink()
    assert null.read_text() == ""


def test_a_copied_workspace_is_complete_or_not_there(tmp_path: Path) -> None:
    me = pwd.getpwuid(os.geteuid()).pw_name
    source, target = tmp_path / "workspace", tmp_path / "state"
    mine = source / "files" / "1" / "cache" / "notes.txt"
    for path in (mine, source / "terminal" / "tierbot.db", source / ".env"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (source / "files" / "1" / "link").symlink_to("/nowhere")
    os.mkfifo(source / "files" / "1" / "pipe")
    unfinished = tmp_path / ".state.part"
    unfinished.mkdir()
    (unfinished / "of an earlier copy").touch()
    installation = Installation(system(tmp_path), this_program(), target, me, source)
    for step in installation.steps():
        if step.what.startswith(("create /", "copy ")):
            step.do()
    assert sorted(path.name for path in target.iterdir()) == [".env", "files"]
    assert sorted(path.name for path in (target / "files" / "1").iterdir()) == ["cache", "link"]
    assert (target / "files" / "1" / "cache" / "notes.txt").exists()
    assert (target / "files" / "1" / "link").is_symlink()
    assert target.stat().st_mode & 0o777 == 0o700
    assert not unfinished.exists()


def test_a_full_disk_is_said_once_and_leaves_no_copy(tmp_path: Path) -> None:
    me = pwd.getpwuid(os.geteuid()).pw_name
    source, target = tmp_path / "workspace", tmp_path / "state"
    for name in ("a", "b"):
        (source / "files" / name).mkdir(parents=True)
        (source / "files" / name / "large").write_bytes(bytes(1 << 20))
    target.mkdir()
    installation = Installation(system(tmp_path), this_program(), target, me, source)
    copy = next(step for step in installation.steps() if step.what.startswith("copy "))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 19, hard))
    try:
        with pytest.raises(ConfigError, match=r"large can't be copied: File too large\. Free some space"):
            copy.do()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["state", "workspace"]


def test_a_folder_with_other_things_is_no_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    (tmp_path / "other" / "things").mkdir(parents=True)
    (tmp_path / "other" / ".env").touch()
    environment = load({"WORKSPACE": str(tmp_path / "workspace")})
    installation = plan(system(tmp_path), this_program(), environment, tmp_path / "other")
    with pytest.raises(ConfigError, match="is no workspace of tierbot, and not empty"):
        perform(installation, environment)


def test_the_command_that_installs_it_is_complete(tmp_path: Path) -> None:
    program = this_program()
    assert user_service(tmp_path).install_command(program) == f"{program.name} service install --user"
    assert system(tmp_path).install_command(program) == f"sudo {program.name} service install"


def test_root_is_asked_for_plainly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not system(tmp_path).needs_root() or os.geteuid()
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert system(tmp_path).needs_root()
    assert not user_service(tmp_path).needs_root()


def exists(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"ActiveState": "activating", "SubState": "auto-restart"}, "systemd starts it again in a few seconds"),
        ({"ActiveState": "activating"}, "It is starting."),
        ({"ActiveState": "deactivating"}, "running turns may finish"),
        ({"ActiveState": "failed", "Result": "exit-code", "ExecMainStatus": "2"}, "Something must be fixed first"),
        ({"ActiveState": "failed", "Result": "exit-code", "ExecMainStatus": "1"}, "It failed (exit-code)."),
        ({"ActiveState": "failed", "Result": "watchdog"}, "It made no progress"),
        ({"ActiveState": "failed", "Result": "oom-kill"}, "The memory was full."),
        ({"ActiveState": "failed", "Result": "start-limit-hit"}, "It ended too often."),
        ({"ActiveState": "inactive", "Result": "success"}, "It was stopped. Start it: sudo systemctl start tierbot"),
    ],
)
def test_why_it_does_not_run_is_said_in_words(facts: dict[str, str], words: str) -> None:
    assert words in explain(Service(), facts)
