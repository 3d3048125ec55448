"""Downloads attachments. A file's URL contains the token, so it is never logged or shown."""

from __future__ import annotations

import logging

from telegram.error import BadRequest, InvalidToken, TelegramError

from bot.adapters.telegram.api import Api
from bot.adapters.telegram.messages import REF
from routing.errors import Refused
from routing.types.messages import Attachment

log = logging.getLogger(__name__)
MAX_MEGABYTES = 20  # the Bot API's limit
_TOO_LARGE = "That file is too large; Telegram gives bots up to {limit} MB. Send a smaller one."
_GONE = "Telegram no longer has that file. Send it again."
_UNREACHABLE = "I couldn't get the file from Telegram. Send it again in a minute."


async def fetch(api: Api, attachment: Attachment) -> bytes:
    """Raises Refused if the file is too large, deleted or can't be reached."""
    if attachment.size > MAX_MEGABYTES * 2**20:
        raise Refused(_TOO_LARGE, limit=MAX_MEGABYTES)
    try:
        file = await api.get_file(attachment.ref.removeprefix(REF))
        if (file.file_size or 0) > MAX_MEGABYTES * 2**20:
            raise Refused(_TOO_LARGE, limit=MAX_MEGABYTES)
        return bytes(await file.download_as_bytearray())
    except BadRequest as error:
        log.info("a file was refused: %s", error.message)
        if "too big" in error.message:
            raise Refused(_TOO_LARGE, limit=MAX_MEGABYTES) from None
        raise Refused(_GONE) from None
    except InvalidToken:  # also raised for a 404
        raise Refused(_GONE) from None
    except TelegramError as error:
        log.warning("a file could not be fetched: %s", type(error).__name__)
        raise Refused(_UNREACHABLE) from None
