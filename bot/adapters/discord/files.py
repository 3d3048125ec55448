"""Downloads attachments. Discord's URLs expire after a day; `fetch` then gets a new one."""

from __future__ import annotations

import asyncio
import logging

import discord

from bot.adapters.discord.client import NETWORK, Client, release_rate_limit
from bot.adapters.discord.messages import REF, with_forwarded
from bot.adapters.shared.attachments import MAX_BYTES, gone, too_large, unreachable
from routing.types.messages import Attachment

log = logging.getLogger(__name__)
_SECONDS = 30.0


async def fetch(client: Client, attachment: Attachment) -> bytes:
    """Raises Refused if the file is too large, deleted or can't be reached."""
    if attachment.size > MAX_BYTES:
        raise too_large()
    place, _, url = attachment.ref.removeprefix(REF).partition(" ")
    try:
        async with asyncio.timeout(_SECONDS):
            try:
                return await client.http.get_from_cdn(url)
            except (discord.NotFound, discord.Forbidden):
                return await client.http.get_from_cdn(await _new_address(client, place))
    except (discord.NotFound, discord.Forbidden, LookupError):
        raise gone("Discord") from None
    except (*NETWORK, discord.DiscordException) as error:
        log.warning("a file could not be fetched: %s", type(error).__name__)
        raise unreachable("Discord") from None


async def _new_address(client: Client, place: str) -> str:
    """A new URL. Raises LookupError if the message no longer has the file, or what a call raises."""
    channel_id, message_id, file_id = place.split("/")
    with release_rate_limit(client):
        payload = dict(await client.http.get_message(int(channel_id), int(message_id)))
    attachments = (one for part in with_forwarded(payload) for one in part.get("attachments") or ())
    found = [one for one in attachments if str(one["id"]) == file_id]
    return str(found[0]["url"])
