"""A thread for each mention, where the owner wants that."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Literal

import discord

from bot.adapters.discord.client import Client
from bot.adapters.discord.content import Json
from bot.adapters.discord.places import Place, Places
from bot.adapters.discord.trouble import NETWORK
from handlers.recent import Recent
from routing.types import InboundMessage

log = logging.getLogger(__name__)
MAX_NAME = 60  # characters; Discord takes 100, a list of threads shows fewer
_IDLE_MINUTES: Literal[1440] = 1440
_ALREADY = 160004  # there is one for this message
_SAID = 0


class Threads:
    """Opens them; where that fails, the answer goes to the channel."""

    def __init__(self, client: Client, places: Places, wanted: bool) -> None:
        self._client = client
        self._places = places
        self._wanted = wanted
        self._told: Recent[str, bool] = Recent()

    def begins(self, payload: Json, place: Place, message: InboundMessage) -> bool:
        """Whether a conversation of its own begins with this message: no command, no reply."""
        plain = message.kind == "message" and not message.text.startswith("/")
        return self._wanted and plain and place.room and payload.get("type") == _SAID and not message.chat.thread_id

    async def open(self, message: InboundMessage) -> InboundMessage:
        """The message in its new thread, whose id is its own."""
        chat = replace(message.chat, thread_id=message.message_id)
        name = " ".join(message.text.split())[:MAX_NAME] or message.user_name[:MAX_NAME] or "…"
        try:
            await self._client.http.start_thread_with_message(
                int(message.chat.chat_id), int(message.message_id), name=name, auto_archive_duration=_IDLE_MINUTES
            )
        except (*NETWORK, discord.DiscordException) as error:
            if not (isinstance(error, discord.HTTPException) and error.code == _ALREADY):
                self._tell(message.chat.chat_id, error)
                return message
        self._places.join([chat])
        return replace(message, chat=chat)

    def _tell(self, channel_id: str, error: BaseException) -> None:
        if self._told.get(channel_id) is None:
            self._told.put(channel_id, True)
            log.warning(
                "Discord: can't create a thread in channel %s (%s); answering in the channel", channel_id, error
            )
