"""What came with a message, fetched from its platform: pictures for the model, documents and voices as text."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

from bot.platform import Platform
from routing.calls import Picture
from routing.errors import ModelError, Refused
from routing.models.choice import Models, provider_of
from routing.ports import Llm
from routing.types import Attachment

KEPT_PICTURES = 16
"""Pictures held in memory, so that a follow-up question does not fetch them again."""


class Files:
    """Fetches by the platform that an attachment's `ref` begins with."""

    def __init__(self, platforms: Mapping[str, Platform], llm: Llm, models: Models, transcription_model: str) -> None:
        self._platforms = platforms
        self._llm = llm
        self._models = models
        self._transcription_model = transcription_model
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
        raise Refused("{name} is not a text that I can read.", name=attachment.name)

    async def transcribe(self, attachment: Attachment) -> str:
        """The words of a voice message. Raises Refused when nobody can hear it."""
        model = self._transcription_model
        if not model:
            raise Refused("I can't hear voice messages: the owner has to set TRANSCRIPTION_MODEL. Please write it.")
        audio = await self._fetch(attachment)
        try:
            profile = self._models.config.profile(provider_of(model))
            return await self._llm.transcribe(model, profile, attachment.name, audio)
        except ModelError as error:
            words = "I could not hear your voice message: {model}, {reason}. Please write it."
            raise Refused(words, model=error.model, reason=error.reason) from None

    async def _fetch(self, attachment: Attachment) -> bytes:
        platform = self._platforms.get(attachment.ref.partition(":")[0])
        if platform is None:
            raise Refused("{name} is no longer there.", name=attachment.name)
        return await platform.fetch(attachment)
