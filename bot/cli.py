"""The command line."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bot import logs
from bot.ops.setup.flags import add_flags, read_flags
from bot.settings import Environment, EnvironmentFault, load, process_environment, workspace_folder
from bot.workspace import JOURNAL, Workspace
from handlers.languages import Say
from handlers.version import VERSION
from routing.errors import ConfigError, StorageFault
from routing.lean_imports import without_collection
from routing.process_memory import share_one_arena

if TYPE_CHECKING:
    from bot.app import App
    from bot.ops.setup.wizard import Outcome


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code: 0 for success, 1 for a failed check, 2 for an error that the user has to
    fix, which is printed."""
    os.umask(0o077)  # files hold conversations and keys, so only this user may read them
    options = _parser().parse_args(arguments)
    redactor = logs.Redactor(())
    try:
        given = process_environment(options.workspace if options.command == "restore" else "")
        _finish_restore(given)
        environment = load(given)
        redactor.add(environment.secrets())
        return _run(options, environment)
    except BrokenPipeError:  # the reader closed the pipe, as in `tierbot models list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except EnvironmentFault as error:
        if options.command == "doctor":
            return _run(options, error.rest, error.faults)
        if options.command == "restore":  # it replaces the .env with the error
            return _restore(options, error.rest, redactor)
        installs = options.command == "service" and options.service == "install" and not options.dry_run
        if options.command in ("service", "update") and not installs:
            return _run(options, error.rest)
        return _print_error(error, redactor)
    except (ConfigError, StorageFault) as error:
        if options.command == "doctor":
            from bot.ops.doctor import unreadable

            return unreadable(error, options.json)
        return _print_error(error, redactor)
    except KeyboardInterrupt:
        return 130


def _finish_restore(given: Mapping[str, str]) -> None:
    """Finish or undo a restore that was interrupted, before anything reads the workspace."""
    workspace = workspace_folder(given)
    if (workspace / JOURNAL).exists():
        from bot.ops.backup.swap import recover
        from storage.database.server_restore import loaded

        recover(workspace, lambda: loaded(load(given).settings.database))


def _restore(options: argparse.Namespace, environment: Environment, redactor: logs.Redactor) -> int:
    from bot.ops.backup.restore import restore

    try:
        return restore(Workspace(environment, redactor.add), options.file)
    except (ConfigError, StorageFault) as error:
        return _print_error(error, redactor)


def _print_error(error: Exception, redactor: logs.Redactor) -> int:
    for line in redactor.clean(str(error)).splitlines():
        print(f"tierbot: {line}", file=sys.stderr)
    return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tierbot", description="A self-hosted assistant with a choice of model classes."
    )
    parser.add_argument("--version", action="version", version=f"tierbot {VERSION}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    add_flags(commands.add_parser("setup", help="ask for tokens, keys and the owner, check them and save them"))
    commands.add_parser("run", help="start every platform that is switched on")
    chat = commands.add_parser("chat", help="chat in the terminal or through a pipe")
    chat.add_argument("--as", dest="name", metavar="NAME", help="your name in the chat (default: your user name)")
    commands.add_parser("migrate", help="bring the database to the current revision")
    backup = commands.add_parser("backup", help="save the database and the workspace in one file, also while it runs")
    backup.add_argument("file", help="such as tierbot.tar.gz; an earlier backup there is replaced")
    restore = commands.add_parser("restore", help="put a backup in the place of the database and the workspace")
    restore.add_argument("file", help="made by backup or by BACKUP_EVERY_HOURS")
    restore.add_argument("--workspace", default="", metavar="DIR", help="where to (default: WORKSPACE)")
    doctor = commands.add_parser("doctor", help="check configuration, tokens, database, disk and providers")
    doctor.add_argument("--json", action="store_true", help="machine-readable")
    doctor.add_argument("--fix", action="store_true", help="first repair what is safe to repair")
    mcp = commands.add_parser("mcp", help="serve the bot's tools to MCP clients")
    mcp.add_argument("--http", default="", metavar="HOST:PORT", help="serve over HTTP instead of stdin and stdout")
    model = commands.add_parser("model", help="download a small local model and set the tiers to it")
    model.add_argument("name", nargs="?", default="", help="the model to download (default: Qwen2.5 1.5B)")
    models = commands.add_parser("models", help="list the models of the catalogue or of a provider").add_subparsers(
        dest="models", required=True, metavar="action"
    )
    models.add_parser("list", help="list the models in the catalogue")
    discover = models.add_parser("discover", help="list the models that a provider offers")
    discover.add_argument("provider")
    update = commands.add_parser("update", help="install the newest version, or go back if it does not work")
    update.add_argument("--check", action="store_true", help="only say whether there is a newer version")
    update.add_argument("--from", dest="given", default="", metavar="WHEEL", help="the new version's file or address")
    _add_service(commands.add_parser("service", help="run the bot as a systemd service"))
    return parser


def _add_service(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="service", required=True, metavar="action")
    install = actions.add_parser("install", help="install or renew the service, and start it")
    install.add_argument("--dry-run", action="store_true", help="print the unit and change nothing")
    install.add_argument(
        "--workspace",
        type=Path,
        metavar="DIR",
        help="the folder for everything the bot owns (default: /var/lib/tierbot; with --user: your workspace)",
    )
    uninstall = actions.add_parser("uninstall", help="stop and remove the service; data is kept")
    status = actions.add_parser("status", help="say in words how the service is")
    logs = actions.add_parser("logs", help="show the log of the service")
    logs.add_argument("-f", "--follow", action="store_true", help="go on with new lines")
    logs.add_argument("-n", "--lines", type=int, default=100, metavar="N", help="the last N lines (default: 100)")
    logs.add_argument("--since", default="", metavar="TIME", help='such as "today" or "1 hour ago"')
    for action in (install, uninstall, status, logs):
        action.add_argument("--user", action="store_true", help="a service of your own user, without root")


def _run(options: argparse.Namespace, environment: Environment, faults: Sequence[str] = ()) -> int:
    settings = environment.settings
    if options.command == "run":
        share_one_arena()
        with suppress(ValueError):  # raised outside the main thread
            signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))  # until `bot.running` handles them
            if sys.stdin is None or not sys.stdin.isatty():
                signal.signal(signal.SIGHUP, lambda number, frame: None)
    has_level = "log_level" in settings.model_fields_set
    level = settings.log_level if has_level or options.command in ("run", "mcp") else _default_level(options.command)
    redactor = logs.configure(level, settings.log_format, environment.secrets())
    if options.command in ("service", "update"):
        return _maintain(options, environment)
    workspace = Workspace(environment, redactor.add)
    if options.command == "doctor":
        from bot.ops.doctor import doctor

        return doctor(environment, workspace, as_json=options.json, faults=faults, repair=options.fix)
    if options.command == "models":
        from bot.ops import models

        if options.models == "list":
            return models.list_models(workspace)
        return models.find(workspace, options.provider, settings.https_proxy)
    if options.command == "backup":
        from bot.ops.backup.backup import backup

        return backup(workspace, options.file)
    if options.command == "restore":
        return _restore(options, environment, redactor)
    if options.command == "model":
        from bot.ops.download import fetch_model

        return fetch_model(environment, workspace, options.name)
    if options.command == "setup":
        from bot.ops.setup.command import setup

        return setup(environment, read_flags(options), redactor.add, partial(_start_after_setup, redactor))
    if options.command == "mcp":
        from bot.ops import mcp

        return mcp.offer(environment, workspace, options.http)
    if options.command == "chat" and workspace.in_use():
        environment, workspace = _terminal_environment(environment, workspace, redactor)
    workspace.prepare()
    try:
        return _with_database(options, environment, workspace)
    finally:
        workspace.release()


def _maintain(options: argparse.Namespace, environment: Environment) -> int:
    if options.command == "update":
        from bot.ops.update.update import update

        return update(environment, options.check, options.given)
    from bot.ops.service.command import service

    return service(options, environment)


def _start_after_setup(redactor: logs.Redactor, runner: asyncio.Runner, outcome: Outcome) -> bool:
    """Run the bot that was set up, until its owner was answered if a service follows, else until it is stopped. Returns
    whether the owner was answered."""
    workspace = Workspace(outcome.environment, redactor.add)
    workspace.prepare()
    try:
        with without_collection():
            from bot import running
            from bot.ops.setup.first_message import RunningBot, first_message
            from bot.ops.setup.prompts import show
            from storage.database.migrate import migrate

        answered = False

        async def attend(app: App) -> bool:
            nonlocal answered
            stores, outbox = app.messaging.stores, app.messaging.outbox
            bot = RunningBot(
                app.messaging.platforms,
                stores.people,
                stores.turns,
                app.access.new_owner_code,
                lambda: outbox.chats,
                app.messaging.clock,
            )
            await first_message(bot, outcome.accounts, say, show)
            answered = True
            if not outcome.service:
                show(say("The bot runs until you press Ctrl-C. Later, start it with: tierbot run"))
            return not outcome.service

        say = Say(outcome.environment.language)
        show(say("Starting the bot …"))
        migrate(outcome.environment.settings.database, workspace.backups)
        runner.run(running.run(outcome.environment, workspace, attend))
        return answered
    finally:
        workspace.release()


def _terminal_environment(
    environment: Environment, taken: Workspace, redactor: logs.Redactor
) -> tuple[Environment, Workspace]:
    """The environment and workspace of a terminal chat while the bot is running: the same keys, models, skills and
    tools, but its own conversations and files, because two processes must not share an inbox."""
    own = taken.root / "terminal"
    words = "The bot is already running in {folder}, so this terminal keeps its own conversations in {own}."
    print(Say(environment.language)(words, folder=taken.root, own=own), file=sys.stderr)
    settings = environment.settings.model_copy(update={"database_url": f"sqlite+aiosqlite:///{own / 'tierbot.db'}"})
    beside = Environment(settings, environment.keys, environment.variables, environment.given)
    return beside, Workspace(beside, redactor.add, own)


def _default_level(command: str) -> str:
    """The default log level of a command that prints its own output. The doctor reports problems as findings."""
    if command == "doctor":
        return "CRITICAL"
    return "ERROR" if command == "chat" and sys.stdout.isatty() else "WARNING"


def _with_database(options: argparse.Namespace, environment: Environment, workspace: Workspace) -> int:
    with without_collection():
        from storage.database.migrate import migrate

    before = migrate(environment.settings.database, workspace.backups)
    if options.command == "migrate":
        print(f"Migrated from {before}." if before else "The database is at the current revision.")
        return 0
    if options.command == "chat":
        with without_collection():
            from bot import terminal
        return asyncio.run(terminal.chat(environment, workspace, options.name))
    with without_collection():
        from bot import running
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(running.run(environment, workspace))


def new_event_loop() -> asyncio.AbstractEventLoop:
    """uvloop's, where it is installed: see docs/benchmarks.md."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
