"""Downloads attachments. A file's URL contains the token, so it is never logged or shown."""

from __future__ import annotations

import logging

from telegram.error import BadRequest, InvalidToken, TelegramError

from bot.adapters.shared.attachments import MAX_BYTES, gone, too_large, unreachable
from bot.adapters.telegram.api import Api
from bot.adapters.telegram.messages import REF
from routing.types.messages import Attachment

log = logging.getLogger(__name__)


async def fetch(api: Api, attachment: Attachment) -> bytes:
    """Raises Refused if the file is too large, deleted or can't be reached."""
    if attachment.size > MAX_BYTES:
        raise too_large()
    try:
        file = await api.get_file(attachment.ref.removeprefix(REF))
        if (file.file_size or 0) > MAX_BYTES:
            raise too_large()
        return bytes(await file.download_as_bytearray())
    except (BadRequest, InvalidToken) as error:  # InvalidToken is also raised for a 404
        log.info("a file was refused: %s", error.message)
        raise (too_large() if "too big" in error.message else gone("Telegram")) from None
    except TelegramError as error:
        log.warning("a file could not be fetched: %s", type(error).__name__)
        raise unreachable("Telegram") from None
