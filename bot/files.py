"""Attachments fetched from their platform: pictures for the model, voice messages as text, and documents."""

from __future__ import annotations

from collections.abc import Mapping

from bot.platform import Platform
from handlers.incoming import page_of
from routing.bounded import Bounded
from routing.errors import ModelError, Refused
from routing.llm.media.transcription import Transcriber, check_size
from routing.types.budgets import BudgetExceeded
from routing.types.llm import Picture, Recording
from routing.types.messages import Attachment
from routing.types.usage import TurnCost

KEPT_PICTURES = 16
"""Pictures cached in memory, so that a follow-up question does not fetch them again."""
KEPT_TRANSCRIPTS = 64
"""Transcripts cached in memory, so that a turn that begins again does not pay for them again."""


class Files:
    """Fetches attachments from the platform named at the start of their `ref`."""

    def __init__(self, platforms: Mapping[str, Platform], transcriber: Transcriber) -> None:
        self._platforms = platforms
        self._transcriber = transcriber
        self._pictures = Bounded[str, Picture](KEPT_PICTURES)
        self._transcripts = Bounded[tuple[str, str], str](KEPT_TRANSCRIPTS)

    async def picture(self, attachment: Attachment) -> Picture | None:
        """An image for a model; None if it can't be fetched any more."""
        if attachment.ref not in self._pictures:
            try:
                data = await page_of(attachment, self._fetch) or await self._fetch(attachment)
            except Refused:
                return None
            self._pictures[attachment.ref] = Picture(attachment.mime, data)
        return self._pictures[attachment.ref]

    async def content(self, attachment: Attachment) -> bytes:
        """The bytes of any attachment. Raises Refused."""
        if attachment.kind != "image":
            return await self._fetch(attachment)
        picture = await self.picture(attachment)
        if picture is None:
            raise Refused("{name} is no longer there.", name=attachment.name)
        return picture.data

    async def transcribe(self, attachment: Attachment, language: str, cost: TurnCost, conversation_id: int) -> str:
        """Transcribe a voice message, or return its transcript if there is one. Raises Refused if that is not possible,
        and BudgetExceeded."""
        if (known := self._transcripts.get((attachment.ref, language))) is not None:
            return known
        if not await self._transcriber.order():
            words = (
                "I can't hear voice messages here. The owner can switch it on with the key of a provider that "
                "transcribes, such as OPENAI_API_KEY or GROQ_API_KEY, or TRANSCRIPTION_MODEL. Please type it."
            )
            raise Refused(words)
        check_size(attachment.size)
        recording = Recording(attachment.name, await self._fetch(attachment), language)
        try:
            transcript = await self._transcriber.transcribe(recording, cost, conversation_id)
        except BudgetExceeded:
            raise
        except ModelError as error:
            words = "I couldn't transcribe your voice message ({model}: {reason}). Please type it."
            raise Refused(words, model=error.model, reason=error.reason) from None
        self._transcripts[attachment.ref, language] = transcript
        return transcript

    async def _fetch(self, attachment: Attachment) -> bytes:
        platform = self._platforms.get(attachment.ref.partition(":")[0])
        if platform is None:
            raise Refused("{name} is no longer there.", name=attachment.name)
        return await platform.fetch(attachment)
