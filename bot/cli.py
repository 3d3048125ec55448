"""The command line."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress

from bot import logs
from bot.settings import Environment, EnvironmentFault, load
from bot.workspace import Workspace
from handlers.languages import Say
from handlers.version import VERSION
from routing.errors import ConfigError, StorageFault
from routing.lean_imports import without_collection


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code: 0 for success, 1 for a failed check, 2 for an error that the user has to
    fix, which is printed."""
    os.umask(0o077)  # files hold conversations and keys, so only this user may read them
    options = _parser().parse_args(arguments)
    redactor = logs.Redactor(())
    try:
        environment = load()
        redactor.add(environment.secrets())
        return _run(options, environment)
    except BrokenPipeError:  # the reader closed the pipe, as in `tierbot models list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except EnvironmentFault as error:
        if options.command == "doctor":
            return _run(options, error.rest, error.faults)
        return _print_error(error, redactor)
    except (ConfigError, StorageFault) as error:
        if options.command == "doctor":
            from bot.ops.doctor import unreadable

            return unreadable(error, options.json)
        return _print_error(error, redactor)
    except KeyboardInterrupt:
        return 130


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
    commands.add_parser("run", help="start every platform that is switched on")
    chat = commands.add_parser("chat", help="chat in the terminal or through a pipe")
    chat.add_argument("--as", dest="name", metavar="NAME", help="your name in the chat (default: your user name)")
    commands.add_parser("migrate", help="bring the database to the current revision")
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
    return parser


def _run(options: argparse.Namespace, environment: Environment, faults: Sequence[str] = ()) -> int:
    settings = environment.settings
    if options.command == "run":
        with suppress(ValueError):  # raised outside the main thread
            signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))  # until `bot.running` handles it
    has_level = "log_level" in settings.model_fields_set
    level = settings.log_level if has_level or options.command in ("run", "mcp") else _default_level(options.command)
    redactor = logs.configure(level, settings.log_format, environment.secrets())
    workspace = Workspace(environment, redactor.add)
    if options.command == "doctor":
        from bot.ops.doctor import doctor

        return doctor(environment, workspace, as_json=options.json, faults=faults, repair=options.fix)
    if options.command == "models":
        from bot.ops import models

        if options.models == "list":
            return models.list_models(workspace)
        return models.find(workspace, options.provider, settings.https_proxy)
    if options.command == "model":
        from bot.ops.download import fetch_model

        return fetch_model(environment, workspace, options.name)
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
