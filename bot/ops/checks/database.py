"""Checks of the database and of the bot's owner."""

from __future__ import annotations

from bot.findings import Finding, fail, ok, size, warn
from bot.ops.checks.inspection import Inspection
from handlers.access.roles import AccessMode
from routing.errors import ConfigError, Reason
from storage.database.inspection import DatabaseFacts, look
from storage.schema import REVISION


async def database(inspection: Inspection) -> list[Finding]:
    """Both are checked in one inspection of the database."""
    settings = inspection.environment.settings
    try:
        facts = await look(settings.database)
        owned = bool(settings.owners)
    except ConfigError as error:
        return [fail("database", error.reason, Reason("Do what the message says after the colon."))]
    found = [*_state(facts, str(inspection.workspace.backups)), _owner(owned, facts, settings.bot_access)]
    if settings.retention_days:
        found.append(ok("retention", f"messages, turns and usage are deleted after {settings.retention_days} days"))
    if facts is not None and facts.dead:
        fix = "These people blocked the bot or left; /status shows the newest failures."
        found.append(warn("replies", f"{facts.dead} could not be delivered", fix))
    if facts is not None and facts.unreadable:
        fix = "Ask the people concerned to send their messages again; the log of that start names the rows."
        found.append(warn("entries", f"{facts.unreadable} can't be read and were set aside", fix))
    return found


def _state(facts: DatabaseFacts | None, backups: str) -> list[Finding]:
    if facts is None:
        return [ok("database", "none yet; the first start creates it")]
    if facts.corruption:
        words = "Stop the bot, move the file aside and put back a copy from {folder}."
        return [fail("database", Reason("damaged: {verdict}", verdict=facts.corruption), Reason(words, folder=backups))]
    if not facts.writable:
        fixed = Reason("Make the file and its folder writable for the bot's user.")
        return [fail("database", Reason("it can't be written"), fixed)]
    if facts.status == "unknown":
        fix = f"Install the version of tierbot that wrote it, or restore a copy from {backups}."
        return [fail("database", f"revision {facts.revision} is newer than this program ({REVISION})", fix)]
    if facts.status == "older":
        fix = "Nothing to do: the next start backs it up and migrates it."
        return [warn("database", f"revision {facts.revision}, this program has {REVISION}", fix)]
    if facts.status == "empty":
        return [ok("database", "empty; the first start fills it")]
    return [ok("database", f"revision {facts.revision}, sound, {size(facts.size_bytes)}")]


def _owner(configured: bool, facts: DatabaseFacts | None, mode: AccessMode) -> Finding:
    if mode == "open":
        fix = "Set BOT_ACCESS=pairing unless strangers may spend your money."
        return warn("access", "open: anyone who finds the bot can use it", fix)
    if configured or (facts is not None and facts.owners):
        where = "named in BOT_OWNERS" if configured else "known"
        return ok("access", f"{mode}; the owner is {where}")
    if mode == "allowlist":
        fix = "Set BOT_OWNERS=telegram:<your id>, or BOT_ACCESS=pairing."
        return fail("access", "allowlist without an owner: no one can be let in", fix)
    fix = "Start the bot and send it the owner code that it prints (journalctl -u tierbot shows it)."
    return warn("access", "the bot has no owner yet", fix)
