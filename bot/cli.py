"""The command line."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.arguments import parse
from bot.config.environment import Environment, EnvironmentFault, load, process_environment, workspace_folder
from bot.config.workspace import DATABASE_FILE, JOURNAL, TERMINAL, Workspace
from bot.observability import logs
from handlers.languages import Say
from routing.errors import ConfigError, StorageFault
from routing.lean_imports import without_collection
from routing.process_memory import share_one_arena

if TYPE_CHECKING:
    from bot.ops.setup.wizard import Outcome


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code: 0 for success, 1 for a failed check, 2 for an error that the user has to
    fix, which is printed; `backup` and `migrate` have more."""
    os.umask(0o077)  # files hold conversations and keys, so only this user may read them
    options = parse(arguments)
    redactor = logs.Redactor(())
    try:
        given = process_environment(options.workspace if options.command == "restore" else "")
        _finish_restore(given)
        return _load_and_run(options, given, redactor)
    except BrokenPipeError:  # the reader closed the pipe, as in `tierbot models list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ConfigError, StorageFault) as error:
        if options.command == "doctor":
            from bot.ops.doctor import unreadable

            return unreadable(error, options.json)
        for line in redactor.clean(str(error)).splitlines():
            print(f"tierbot: {line}", file=sys.stderr)
        if options.command in ("backup", "migrate") and isinstance(error, ConfigError):
            return error.exit_code  # `update` runs these two
        return 2
    except KeyboardInterrupt:
        return 130


def _finish_restore(given: Mapping[str, str]) -> None:
    """Finish or undo a restore that was interrupted, before anything reads the workspace."""
    workspace = workspace_folder(given)
    if (workspace / JOURNAL).exists():
        from bot.ops.backup.swap import recover
        from storage.database.server_restore import loaded

        recover(workspace, lambda: loaded(load(given).settings.database))


def _load_and_run(options: argparse.Namespace, given: Mapping[str, str], redactor: logs.Redactor) -> int:
    """Raises EnvironmentFault, except for the commands that work in spite of errors in the environment."""
    faults: Sequence[str] = ()
    try:
        environment = load(given)
    except EnvironmentFault as error:
        if not _tolerates_faults(options):
            raise
        environment, faults = error.rest, error.faults
    redactor.add(environment.secrets())
    if options.command == "run":
        _prepare_process()
    level = _level(options.command, environment)
    hidden = logs.configure(level, environment.settings.log_format, environment.secrets())
    invocation = _Invocation(options, environment, Workspace(environment, hidden.add), hidden, faults)
    return _COMMANDS[options.command](invocation)


def _tolerates_faults(options: argparse.Namespace) -> bool:
    """Whether the command reports errors in the environment itself, replaces the `.env`, or needs no setting."""
    if options.command == "service":
        return options.service != "install" or bool(options.dry_run)
    return options.command in ("doctor", "restore", "update")


def _prepare_process() -> None:
    """Memory, and signals until `bot.running` handles them."""
    share_one_arena()
    with suppress(ValueError):  # raised outside the main thread
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
        if sys.stdin is None or not sys.stdin.isatty():
            signal.signal(signal.SIGHUP, lambda number, frame: None)


def _level(command: str, environment: Environment) -> str:
    """LOG_LEVEL if it is set. By default, commands that print their own output log less; the doctor reports problems as
    findings."""
    settings = environment.settings
    if "log_level" in settings.model_fields_set or command in ("run", "mcp"):
        return settings.log_level
    if command == "doctor":
        return "CRITICAL"
    return "ERROR" if command == "chat" and sys.stdout.isatty() else "WARNING"


@dataclass(frozen=True, slots=True)
class _Invocation:
    """What a command gets. `faults` are the errors in the environment, for commands that tolerate them."""

    options: argparse.Namespace
    environment: Environment
    workspace: Workspace
    redactor: logs.Redactor
    faults: Sequence[str]


def _setup(given: _Invocation) -> int:
    from bot.ops.setup.command import setup
    from bot.ops.setup.flags import read_flags

    def start(runner: asyncio.Runner, outcome: Outcome) -> bool:
        workspace = Workspace(outcome.environment, given.redactor.add)
        with workspace.held():
            with without_collection():
                from bot.after_setup import run_until_answered
            return run_until_answered(runner, outcome, workspace)

    return setup(given.environment, read_flags(given.options), given.redactor.add, start)


def _run(given: _Invocation) -> int:
    with given.workspace.held():
        _migrate(given.environment, given.workspace)
        with without_collection():
            from bot import running
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            return runner.run(running.run(given.environment, given.workspace))


def _chat(given: _Invocation) -> int:
    environment, workspace = given.environment, given.workspace
    if workspace.in_use():
        environment, workspace = _terminal_environment(environment, workspace, given.redactor)
    with workspace.held():
        _migrate(environment, workspace)
        with without_collection():
            from bot import terminal
        return asyncio.run(terminal.chat(environment, workspace, given.options.name))


def _service(given: _Invocation) -> int:
    from bot.ops.service.command import service

    return service(given.options, given.environment)


def _doctor(given: _Invocation) -> int:
    from bot.ops.doctor import doctor

    options = given.options
    return doctor(given.environment, given.workspace, as_json=options.json, faults=given.faults, repair=options.fix)


def _backup(given: _Invocation) -> int:
    from bot.ops.backup.backup import backup

    return backup(given.workspace, given.options.file)


def _restore(given: _Invocation) -> int:
    from bot.ops.backup.restore import restore

    return restore(given.workspace, given.options.file)


def _update(given: _Invocation) -> int:
    from bot.ops.update.update import update

    return update(given.environment, given.options.check, given.options.given)


def _migrate_database(given: _Invocation) -> int:
    with given.workspace.held():
        before = _migrate(given.environment, given.workspace)
        print(f"Migrated from {before}." if before else "The database is at the current revision.")
    return 0


def _move(given: _Invocation) -> int:
    from bot.ops.move import move

    return move(given.workspace, given.options.target)


def _models(given: _Invocation) -> int:
    from bot.ops import models

    if given.options.models == "list":
        return models.list_models(given.workspace)
    return models.find(given.workspace, given.options.provider, given.environment.settings.https_proxy)


def _model(given: _Invocation) -> int:
    from bot.ops.download import fetch_model

    return fetch_model(given.environment, given.workspace, given.options.name)


def _mcp(given: _Invocation) -> int:
    from bot.ops import mcp

    return mcp.offer(given.environment, given.workspace, given.options.http)


_COMMANDS: Mapping[str, Callable[[_Invocation], int]] = {
    "setup": _setup,
    "run": _run,
    "chat": _chat,
    "service": _service,
    "doctor": _doctor,
    "backup": _backup,
    "restore": _restore,
    "update": _update,
    "migrate": _migrate_database,
    "migrate-to": _move,
    "models": _models,
    "model": _model,
    "mcp": _mcp,
}


def _migrate(environment: Environment, workspace: Workspace) -> str | None:
    """Bring the database to the current revision. Returns the one before, if it was another."""
    with without_collection():
        from storage.database.migrate import migrate

    return migrate(environment.settings.database, workspace.backups)


def _terminal_environment(
    environment: Environment, taken: Workspace, redactor: logs.Redactor
) -> tuple[Environment, Workspace]:
    """The environment and workspace of a terminal chat while the bot is running: the same keys, models, skills and
    tools, but its own conversations and files, because two processes must not share an inbox."""
    own = taken.root / TERMINAL
    words = "The bot is already running in {folder}, so this terminal keeps its own conversations in {own}."
    print(Say(environment.language)(words, folder=taken.root, own=own), file=sys.stderr)
    beside = environment.with_settings(database_url=f"sqlite+aiosqlite:///{own / DATABASE_FILE}")
    return beside, Workspace(beside, redactor.add, own)


def new_event_loop() -> asyncio.AbstractEventLoop:
    """uvloop's, where it is installed: see docs/benchmarks.md."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
