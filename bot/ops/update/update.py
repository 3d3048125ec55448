"""`tierbot update`: backup, new version, migration, restart; back to the old version if it does not get healthy."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from bot.config.environment import Environment
from bot.ops.ownership import give_all
from bot.ops.processes import ProgramFailed, run
from bot.ops.service.command import chosen
from bot.ops.service.install import in_use
from bot.ops.service.systemctl import Service
from bot.ops.service.unit import SERVICE, Program, program_of, this_program, without_credentials, workspace_of
from bot.ops.update.rollback import Journal, Rollback, this_environment
from bot.ops.update.sources import Release, Source, source
from handlers.version import VERSION
from routing.errors import ConfigError, NewerDatabase, NoDatabase

SETTLE_SECONDS = 20.0
"""How long the new version has to stay up after it said that it is ready. One that fails ends its turns first: 10 s."""
KEPT_BACKUPS = 3
BACKUPS = "before-update-*.tar.gz"


def update(environment: Environment, check: bool, given: str = "") -> int:
    """Update the program, or with `check` say whether there is a newer version; returns 1 if the old version is back.
    Raises ConfigError with what to do; then nothing was changed."""
    program = this_program()
    rollback = Rollback(this_environment())
    new = source(program.root, rollback.venv, given)
    if check:
        return _check(rollback, new)
    deployment = _deployment(environment, program)
    if deployment.service is not None and deployment.service.needs_root():
        raise ConfigError(f"This restarts the system service, so it needs root. Run: sudo {program.name} update")
    if not os.access(rollback.venv.parent, os.W_OK):
        raise ConfigError(f"You can't change {rollback.venv.parent}. Run: sudo {program.name} update")
    try:
        with FileLock(rollback.lock, timeout=0):
            return Update(environment, program, rollback, new, deployment).run()
    except Timeout:
        raise ConfigError("Another update is running.") from None
    except OSError as error:
        raise ConfigError(f"The update stopped ({error}). Run it again: it undoes what is unfinished first.") from None


@dataclass(frozen=True, slots=True)
class Deployment:
    """What runs the program: its workspace, and the service if one is installed for this program."""

    workspace: Path
    service: Service | None

    @property
    def owner(self) -> int:
        """The user id of the workspace's owner."""
        return self.workspace.stat().st_uid if self.workspace.exists() else os.geteuid()

    def running(self) -> bool:
        """Whether the service is up or on its way."""
        return self.service is not None and self.service.show().get("ActiveState") in ("active", "activating")

    def stop(self) -> None:
        if self.service is not None:
            self.service.systemctl("stop", SERVICE)

    def start(self) -> None:
        """Start the service, and wait until it is healthy: it becomes ready and stays up. Raises ConfigError."""
        if self.service is None:
            return
        self.service.systemctl("reset-failed", SERVICE)
        try:
            self.service.systemctl("start", SERVICE)
        except ConfigError:
            raise ConfigError(f"It does not start. The end of its log:\n{self.service.log_end()}".rstrip()) from None
        process, until = self.service.show().get("MainPID"), time.monotonic() + SETTLE_SECONDS
        while time.monotonic() < until:
            time.sleep(0.5)
            facts = self.service.show()
            if facts.get("ActiveState") != "active" or facts.get("MainPID") != process:
                raise ConfigError(f"It ended after its start. The end of its log:\n{self.service.log_end()}".rstrip())


class Update:
    """The steps of an update. It may be killed in each: the next update undoes it."""

    def __init__(
        self, environment: Environment, program: Program, rollback: Rollback, new: Source, deployment: Deployment
    ) -> None:
        self._environment = environment
        self._program = program
        self._rollback = rollback
        self._source = new
        self._deployment = deployment

    def run(self) -> int:
        """See `update`."""
        if (unfinished := self._rollback.journal()) is not None:
            print("The last update was interrupted.")
            self._roll_back(unfinished)
        release = self._source.newer()
        if release is None:
            print(f"tierbot {VERSION} is the newest version.")
            return 0
        running, workspace = self._deployment.running(), self._deployment.workspace
        if not running and in_use(self._environment, workspace):
            raise ConfigError(f"The bot is running in {workspace}, and not as a service. Stop it, then update.")
        print(f"Updating tierbot {VERSION} to {release.name}. Keeping a copy of the program …")
        self._rollback.keep()
        journal = self._prepare(running)
        done = False
        try:
            done = self._change(release, journal)
        finally:
            if not done:
                self._roll_back(journal)
        if done:
            self._rollback.end()
            self._delete_old_backups()
            backup = f" The backup is {journal.backup}" if Path(journal.backup).exists() else ""
            print(f"tierbot is now {release.name}.{backup}")
            self._compare_units()
        return int(not done)

    def _prepare(self, running: bool) -> Journal:
        """Write the journal, stop the service and back up. On an error the service runs again."""
        workspace = self._deployment.workspace
        backup = workspace / "backups" / f"before-update-{time.strftime('%Y%m%d-%H%M%S')}.tar.gz"
        journal = Journal(VERSION, self._source.revision, str(backup), running)
        self._rollback.begin(journal)
        ready = False
        try:
            if running:
                print("Stopping the service. Messages that arrive now are answered afterwards …")
                self._deployment.stop()
            if workspace.exists():
                print(f"Backing up to {backup} …")
                self._back_up(backup)
            ready = True
        finally:
            if not ready:
                if running:
                    self._deployment.start()
                self._rollback.end()
        return journal

    def _back_up(self, backup: Path) -> None:
        """Before its first start, a bot has no database."""
        try:
            self._tierbot("backup", str(backup))
        except ProgramFailed as error:
            if error.code != NoDatabase.exit_code:
                raise

    def _change(self, release: Release, journal: Journal) -> bool:
        """Install, migrate and restart; False, and the reason is printed, if something does not work."""
        try:
            print("Installing the new version …")
            self._source.install(release)
            self._tierbot("--version")
            if Path(journal.backup).exists():
                print("Migrating the database …")
                self._tierbot("migrate")
            if journal.running:
                print("Starting the service, and waiting until it is healthy …")
                self._deployment.start()
        except ConfigError as error:
            print(f"The new version does not work. {error}")
            return False
        return True

    def _roll_back(self, journal: Journal) -> None:
        """Install the old version again, with the database of the backup if the new one changed it."""
        print(f"Going back to tierbot {journal.version} …")
        self._deployment.stop()
        self._rollback.roll_back()
        self._source.roll_back(journal.revision)
        if Path(journal.backup).exists() and not self._database_fits():
            print("The new version changed the database, so that of the backup takes its place.")
            self._restore(Path(journal.backup))
        try:
            if journal.running:
                self._deployment.start()
        finally:
            self._rollback.end()
        print(f"tierbot is {journal.version} again{' and running' if journal.running else ''}.")

    def _database_fits(self) -> bool:
        """Whether the installed version knows the revision of the database."""
        try:
            self._tierbot("migrate")
        except ProgramFailed as error:
            return error.code != NewerDatabase.exit_code
        return True

    def _restore(self, backup: Path) -> None:
        """As the user who runs this, because the folder that the workspace is in may belong to root. The backup is
        copied first, because a restore moves the workspace aside."""
        workspace, owner = self._deployment.workspace, self._deployment.owner
        with tempfile.TemporaryDirectory() as folder:
            copy = shutil.copy2(backup, folder)
            self._tierbot("restore", str(copy), "--workspace", str(workspace), owner=os.geteuid())
        if not os.geteuid():
            give_all(workspace, owner)

    def _compare_units(self) -> None:
        """Say so if the new version would install another unit."""
        service = self._deployment.service
        if service is None:
            return
        options = ("--user",) if service.user else ()
        workspace = str(self._deployment.workspace)
        unit = self._tierbot("service", "install", "--dry-run", "--workspace", workspace, *options, owner=os.geteuid())
        if without_credentials(unit) != without_credentials(service.text()):
            print(f"It has a new unit. To use it: {service.install_command(self._program)}")

    def _tierbot(self, *arguments: str, owner: int | None = None) -> str:
        """Run the installed program on the workspace, as its owner or as the user with the id `owner`."""
        owner = self._deployment.owner if owner is None else owner
        with _credentials(self._deployment.service, owner) as folder:
            variables = {"WORKSPACE": str(self._deployment.workspace), "PYTHONDONTWRITEBYTECODE": "1"}
            if folder:
                variables["CREDENTIALS_DIRECTORY"] = folder
            command = (*self._program.command, *arguments)
            return run(command, self._program.root or Path("/"), owner, variables)

    def _delete_old_backups(self) -> None:
        found = sorted((self._deployment.workspace / "backups").glob(BACKUPS))
        for path in found[:-KEPT_BACKUPS]:
            path.unlink(missing_ok=True)


def _check(rollback: Rollback, new: Source) -> int:
    if rollback.journal() is not None:
        print("The last update was interrupted. `tierbot update` undoes it, then updates.")
        return 1
    release = new.newer()
    newest = f"tierbot {VERSION} is the newest version."
    print(newest if release is None else f"There is tierbot {release.name}; this is {VERSION}.")
    return 0


def _deployment(environment: Environment, program: Program) -> Deployment:
    """The service that runs this program, with its workspace; else the workspace of the command line."""
    service = chosen(environment, user=False)
    text = service.text()
    if program_of(text) == str(program.python) and (workspace := workspace_of(text)) is not None:
        return Deployment(workspace, service)
    return Deployment(environment.settings.workspace, None)


@contextmanager
def _credentials(service: Service | None, owner: int) -> Iterator[str]:
    """A folder with the credentials that systemd gives the service, which only root and the owner can read."""
    names = service.names_of_credentials() if service is not None else ()
    if service is None or not names:
        yield ""
        return
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            shutil.copyfile(service.credentials / name, Path(folder, name))
        give_all(Path(folder), owner)
        yield folder
