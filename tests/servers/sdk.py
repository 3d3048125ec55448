"""python-telegram-bot connected to the loopback Telegram server."""

from typing import Any

from telegram import Bot, InlineKeyboardButton, InlineKeyboardMarkup
from telegram.request import HTTPXRequest

from tests.servers.telegram import TelegramServer

Answer = dict[str, Any]


def a_bot(tg: TelegramServer, token: str | None = None) -> Bot:
    return Bot(
        token or tg.token,
        base_url=tg.root + "/bot",
        base_file_url=tg.root + "/file/bot",
        request=HTTPXRequest(read_timeout=60, write_timeout=60, connect_timeout=60, pool_timeout=60),
    )


def button(text: str, data: str) -> InlineKeyboardMarkup:
    return InlineKeyboardMarkup([[InlineKeyboardButton(text, callback_data=data)]])
