"""The bytes of what people send. Discord's addresses live for a day; an old one is asked for anew."""

from __future__ import annotations

import asyncio
import logging

import discord

from bot.adapters.discord.client import Client, unlocking
from bot.adapters.discord.content import REF, wholes
from bot.adapters.discord.trouble import NETWORK
from routing.errors import Refused
from routing.types import Attachment

log = logging.getLogger(__name__)
MAX_MEGABYTES = 20  # as much as other platforms hand out
_SECONDS = 30.0
_TOO_LARGE = "That file is too large; I accept up to {limit} MB. Send a smaller one."
_GONE = "Discord no longer has that file. Send it again."
_UNREACHABLE = "I couldn't get the file from Discord. Send it again in a minute."


async def fetch(client: Client, attachment: Attachment) -> bytes:
    """Raises Refused when it is too large, gone, or out of reach."""
    if attachment.size > MAX_MEGABYTES * 2**20:
        raise Refused(_TOO_LARGE, limit=MAX_MEGABYTES)
    place, _, url = attachment.ref.removeprefix(REF).partition(" ")
    try:
        async with asyncio.timeout(_SECONDS):
            try:
                return await client.http.get_from_cdn(url)
            except (discord.NotFound, discord.Forbidden):
                return await client.http.get_from_cdn(await _renewed(client, place))
    except (discord.NotFound, discord.Forbidden, LookupError):
        raise Refused(_GONE) from None
    except (*NETWORK, discord.DiscordException) as error:
        log.warning("a file could not be fetched: %s", type(error).__name__)
        raise Refused(_UNREACHABLE) from None


async def _renewed(client: Client, place: str) -> str:
    """The file's present address. Raises LookupError when its message no longer has it, or what a call raises."""
    channel_id, message_id, file_id = place.split("/")
    with unlocking(client):
        payload = dict(await client.http.get_message(int(channel_id), int(message_id)))
    found = [one for whole in wholes(payload) for one in whole.get("attachments") or () if str(one["id"]) == file_id]
    return str(found[0]["url"])
