"""The command menu: set for each scope and language, and only when it changed."""

from __future__ import annotations

import hashlib
import json
import logging

from telegram import BotCommandScopeAllGroupChats, BotCommandScopeAllPrivateChats
from telegram.error import TelegramError

from bot.adapters.telegram.api import Api
from bot.platform import MenuEntry
from routing.ports import StateStore

log = logging.getLogger(__name__)
STATE_KEY = "telegram_menu"
MAX_COMMANDS = 100
MAX_SUMMARY = 256
_DEFAULT = "en"
_SCOPES = (BotCommandScopeAllPrivateChats(), BotCommandScopeAllGroupChats())


async def sync(api: Api, bot_id: int, entries: tuple[MenuEntry, ...], state: StateStore) -> None:
    """Set the menu if it differs from the one set last. A failure is logged; the next start tries again."""
    content = {language: _commands(entries, language) for language in _languages(entries)}
    fingerprint = hashlib.sha256(json.dumps([bot_id, content]).encode()).hexdigest()
    if await state.get(STATE_KEY) == fingerprint:
        return
    try:
        for language, commands in content.items():
            code = None if language == _DEFAULT else language
            for scope in _SCOPES:
                await api.set_my_commands(commands, scope=scope, language_code=code)
    except TelegramError as error:
        log.warning("the command menu could not be set (%s); the next start tries again", error)
        return
    await state.put(STATE_KEY, fingerprint)


def _languages(entries: tuple[MenuEntry, ...]) -> list[str]:
    """Telegram's default menu is the English one; other languages by two-letter code."""
    others = {language for entry in entries for language in entry.summary if len(language) == 2}
    return [_DEFAULT, *sorted(others - {_DEFAULT})]


def _commands(entries: tuple[MenuEntry, ...], language: str) -> list[tuple[str, str]]:
    return [
        (entry.name, entry.summary.get(language, entry.summary[_DEFAULT])[:MAX_SUMMARY])
        for entry in entries[:MAX_COMMANDS]
    ]
