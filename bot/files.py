"""What came with a message, fetched from its platform: pictures for the model, documents and voices as text."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

from bot.platform import Platform
from routing.errors import ModelError, Refused
from routing.llm.transcription import Transcriber
from routing.types.budgets import BudgetExceeded
from routing.types.llm import Picture
from routing.types.messages import Attachment
from routing.types.usage import TurnCost

KEPT_PICTURES = 16
"""Pictures held in memory, so that a follow-up question does not fetch them again."""


class Files:
    """Fetches by the platform that an attachment's `ref` begins with."""

    def __init__(self, platforms: Mapping[str, Platform], transcriber: Transcriber) -> None:
        self._platforms = platforms
        self._transcriber = transcriber
        self._pictures: OrderedDict[str, Picture] = OrderedDict()

    async def picture(self, attachment: Attachment) -> Picture | None:
        """An image for a model; None when it can't be fetched any more."""
        if attachment.ref not in self._pictures:
            try:
                data = await self._fetch(attachment)
            except Refused:
                return None
            self._pictures[attachment.ref] = Picture(attachment.mime, data)
            if len(self._pictures) > KEPT_PICTURES:
                self._pictures.popitem(last=False)
        return self._pictures[attachment.ref]

    async def text(self, attachment: Attachment) -> str:
        """A text document, in whatever encoding it is."""
        data = await self._fetch(attachment)
        for encoding in ("utf-8-sig", "utf-16") if data[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8-sig", "cp1252"):
            try:
                return data.decode(encoding)
            except UnicodeDecodeError:
                continue
        raise Refused("I can't read {name} as text.", name=attachment.name)

    async def transcribe(self, attachment: Attachment, cost: TurnCost, turn_id: str, conversation_id: int) -> str:
        """The words of a voice message. Raises Refused when it can't be heard, and OverBudget."""
        if not self._transcriber.model:
            words = "I can't hear voice messages yet: add TRANSCRIPTION_MODEL to workspace/.env. Please type it."
            raise Refused(words)
        audio = await self._fetch(attachment)
        try:
            return await self._transcriber.words(attachment.name, audio, cost, turn_id, conversation_id)
        except BudgetExceeded:
            raise
        except ModelError as error:
            words = "I couldn't transcribe your voice message ({model}: {reason}). Please type it."
            raise Refused(words, model=error.model, reason=error.reason) from None

    async def _fetch(self, attachment: Attachment) -> bytes:
        platform = self._platforms.get(attachment.ref.partition(":")[0])
        if platform is None:
            raise Refused("{name} is no longer there.", name=attachment.name)
        return await platform.fetch(attachment)
