"""The arguments of the command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bot.ops.setup.flags import add_flags
from handlers.version import VERSION

MAX_NAME = 40
"""Characters of an unknown command that are compared with the known ones."""


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options of a command line (default: this process's). The command's name is in `command`. Exits if they are
    wrong."""
    given = sys.argv[1:] if arguments is None else arguments
    parser, names = _parser()
    if given and given[0] not in names and not given[0].startswith("-"):
        from difflib import get_close_matches

        close = get_close_matches(given[0][:MAX_NAME], names, 1)
        if close:
            parser.error(f"there is no command {given[0]!r}; did you mean {close[0]!r}?")
    return parser.parse_args(given)


def _parser() -> tuple[argparse.ArgumentParser, Sequence[str]]:
    """All commands with their options, and their names."""
    parser = argparse.ArgumentParser(
        prog="tierbot", description="A self-hosted assistant with a choice of model classes."
    )
    parser.add_argument("--version", action="version", version=f"tierbot {VERSION}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    add_flags(commands.add_parser("setup", help="ask for tokens, keys and the owner, check them and save them"))
    commands.add_parser("run", help="start every platform that is switched on")
    chat = commands.add_parser("chat", help="chat in the terminal or through a pipe")
    chat.add_argument("--as", dest="name", metavar="NAME", help="your name in the chat (default: your user name)")
    _add_service(commands.add_parser("service", help="run the bot as a systemd service"))
    doctor = commands.add_parser("doctor", help="check configuration, tokens, database, disk and providers")
    doctor.add_argument("--json", action="store_true", help="machine-readable")
    doctor.add_argument("--fix", action="store_true", help="first repair what is safe to repair")
    backup = commands.add_parser("backup", help="save the database and the workspace in one file, also while it runs")
    backup.add_argument("file", help="such as tierbot.tar.gz; an earlier backup there is replaced")
    restore = commands.add_parser("restore", help="put a backup in the place of the database and the workspace")
    restore.add_argument("file", help="made by backup or by BACKUP_EVERY_HOURS")
    restore.add_argument("--workspace", default="", metavar="DIR", help="where to (default: WORKSPACE)")
    update = commands.add_parser("update", help="install the newest version, or go back if it does not work")
    update.add_argument("--check", action="store_true", help="only say whether there is a newer version")
    update.add_argument("--from", dest="given", default="", metavar="WHEEL", help="the new version's file or address")
    commands.add_parser("migrate", help="bring the database to the current revision")
    _add_move(commands.add_parser("migrate-to", help="move everything to another database, such as PostgreSQL's"))
    _add_models(commands.add_parser("models", help="list the models of the catalogue or of a provider"))
    model = commands.add_parser("model", help="download a small local model and set the tiers to it")
    model.add_argument("name", nargs="?", default="", help="the model to download (default: Qwen2.5 1.5B)")
    mcp = commands.add_parser("mcp", help="serve the bot's tools to MCP clients")
    mcp.add_argument("--http", default="", metavar="HOST:PORT", help="serve over HTTP instead of stdin and stdout")
    return parser, list(commands.choices)


def _add_move(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Moves all data of a stopped bot to another database, compares every table, and then sets DATABASE_URL in "
        ".env. The old database stays as it is. If it is interrupted, run it again: it goes on."
    )
    parser.add_argument(
        "target",
        help="postgresql://user:password@host/name; sqlite for tierbot.db in the workspace; the path of another SQLite "
        "file; or - to type the address or read it from a pipe, so that no password is in the list of processes",
    )


def _add_models(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="models", required=True, metavar="action")
    actions.add_parser("list", help="list the models in the catalogue")
    discover = actions.add_parser("discover", help="list the models that a provider offers")
    discover.add_argument("provider")


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
