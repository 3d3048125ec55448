"""Makes pictures within the budget."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from decimal import Decimal

from routing.errors import EmptyAnswer, ModelUnknown, Reason, ToolFailed, Unreachable
from routing.llm.media.caller import MediaCaller
from routing.ports import MediaLlm, MediaPrices
from routing.types.llm import GeneratedImage, Picture, ProviderProfile
from routing.types.usage import TurnCost

MAX_BYTES = 20 * 2**20
FetchImage = Callable[[str], Awaitable[bytes]]
"""Fetches a picture that a provider sent as an address. Raises ToolFailed."""
_FORMATS = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"))
_RIFF, _WEBP = b"RIFF", b"WEBP"


@dataclass(frozen=True, slots=True)
class ImageOffer:
    """The models to try, and the expected price in US dollars; None if it is unknown."""

    models: tuple[str, ...]
    dollars: Decimal | None


class ImageGenerator:
    """Makes pictures with the first model that can. Another one steps in only if it costs no more."""

    def __init__(self, llm: MediaLlm, caller: MediaCaller, fetch: FetchImage) -> None:
        self._llm = llm
        self._caller = caller
        self._fetch = fetch
        self.guard = caller.guard

    def is_possible(self) -> bool:
        """Whether a model is configured. Returns at once."""
        return self._caller.media.is_possible("image_generation")

    async def offer(self) -> ImageOffer:
        """Raises ModelError if no model can make pictures."""
        order = await self._caller.media.order("image_generation")
        if not order:
            raise ModelUnknown("IMAGE_MODEL", Reason("no provider with a key can make pictures"))
        prices = await self._caller.prices()
        first = prices.picture(order[0], None)
        others = [each for each in order[1:] if _at_most(prices.picture(each, None), first)]
        return ImageOffer((order[0], *others), first)

    async def check(self, offer: ImageOffer, cost: TurnCost) -> None:
        """Raises BudgetExceeded if a limit has no room for a picture."""
        (await self.guard.hold_dollars(offer.models[0], offer.dollars, cost)).release()

    async def make(self, prompt: str, cost: TurnCost, conversation_id: int) -> Picture:
        """Make a picture, store its cost, and add the call to `cost`. Raises ModelError, including BudgetExceeded."""
        offer = await self.offer()

        async def ask(model: str, profile: ProviderProfile) -> GeneratedImage:
            image = await self._llm.generate_image(model, profile, prompt)
            if image.url:
                try:
                    image = replace(image, data=await self._fetch(image.url))
                except ToolFailed as failed:
                    raise Unreachable(model, Reason("its picture can't be fetched"), raw=str(failed)) from None
            if len(image.data) > MAX_BYTES:
                words = "its picture is too large: {megabytes} MB"
                raise EmptyAnswer(model, Reason(words, megabytes=len(image.data) // 2**20))
            if not _mime(image.data):
                raise EmptyAnswer(model, Reason("its answer can't be read"))
            return image

        def price(prices: MediaPrices, model: str, image: GeneratedImage | None) -> Decimal | None:
            return prices.picture(model, image)

        image = await self._caller.first_stored("image", offer.models, ask, price, cost, conversation_id)
        return Picture(_mime(image.data), image.data)


def _at_most(price: Decimal | None, limit: Decimal | None) -> bool:
    return limit is None or (price is not None and price <= limit)


def _mime(data: bytes) -> str:
    """The type of a picture by its first bytes; empty if it is none."""
    if data.startswith(_RIFF) and data[8:12] == _WEBP:
        return "image/webp"
    return next((mime for start, mime in _FORMATS if data.startswith(start)), "")
