"""The tool that makes pictures."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime

from handlers.languages import Say
from handlers.replies.budget_limits import refusal
from handlers.replies.costs import dollars
from handlers.tools.authoring.decorator import Tools, tool, tools_of
from handlers.tools.dependencies import ToolDependencies, WebSettings
from handlers.tools.files.person_files import PersonFiles
from routing.errors import ModelError, PolicyRefused, ToolFailed
from routing.llm.media.caller import MAX_SECONDS
from routing.llm.media.image_generation import MAX_BYTES, FetchImage, ImageGenerator
from routing.ports import Clock
from routing.types.budgets import BudgetExceeded
from routing.types.messages import OutgoingFile
from routing.types.tools import ToolScope, Traits
from routing.types.usage import TurnCost

NAME = "images"
FOLDER = "pictures"
TRAITS = Traits(parallel=False, changes=True, seconds=MAX_SECONDS + 20.0, own_time=True, outside=False)
"""The extra seconds are for loading the prices."""
MAX_PROMPT_CHARACTERS = 4_000
FETCH_SECONDS = 60.0
UNAVAILABLE = "no provider with a key can make pictures"
ENGLISH = Say("en")
"""The language of texts for the model."""
_NAME_CHARACTERS = 40
_ENDINGS = {"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp"}


def build(dependencies: ToolDependencies) -> Tools:
    if dependencies.images is None:
        return ()
    limits = dependencies.sandbox.limits
    files = PersonFiles(dependencies.files, limits.disk_bytes, limits.files)
    return tools_of(ImageTools(dependencies.images, files, dependencies.clock))


def image_fetcher(web: Callable[[], WebSettings]) -> FetchImage:
    """Fetches a picture that a provider sent as an address, with the limits of fetch_page."""

    async def fetch(url: str) -> bytes:
        settings = web()
        from handlers.http.client import HttpClient, Request  # loads aiohttp

        client = HttpClient.guarded(settings.proxy, settings.private_hosts)
        return (await client.send(url, Request(seconds=FETCH_SECONDS, most_bytes=MAX_BYTES))).body

    return fetch


class ImageTools:
    """Each picture is confirmed with its price, sent with the answer, and saved in the person's folder."""

    def __init__(self, images: ImageGenerator, files: PersonFiles, clock: Clock) -> None:
        self._images = images
        self._files = files
        self._clock = clock

    async def _unavailable(self) -> str | None:
        """Why no picture is possible at the moment."""
        return None if self._images.is_possible() else UNAVAILABLE

    async def _price(self, scope: ToolScope, prompt: str) -> str | None:
        """The model, its price, and what the person may still spend. Raises ToolFailed if that is not enough."""
        cost = _checked(scope, prompt)
        try:
            offer = await self._images.offer()
            await self._images.check(offer, cost)
        except ModelError as error:
            raise self._failed(error) from None
        say, model = Say(scope.language), f"`{offer.models[0]}`"
        lines = [
            say("🎨 {model} makes the picture; its price is unknown.", model=model)
            if offer.dollars is None
            else say("🎨 {model} makes the picture for about {price}.", model=model, price=dollars(offer.dollars))
        ]
        found = await self._images.guard.budget.statuses(cost.person_id, cost.chat, cost.payer)
        if found:
            least = min(found, key=lambda each: each.left)
            left, limit = dollars(least.left), dollars(least.ceiling.dollars)
            lines.append(say("budget left: {left} of {limit}", left=left, limit=limit))
        return "  \n".join(lines)

    @tool(role="user", traits=TRAITS, off=_unavailable, asks=_price)
    async def make_image(self, scope: ToolScope, prompt: str) -> str:
        """Makes a picture, saves it and adds it to the answer."""
        cost = _checked(scope, prompt)
        if scope.show is not None:
            scope.show(Say(scope.language)("🎨 Drawing …"))
        try:
            picture = await self._images.make(prompt.strip(), cost, scope.conversation_id)
        except ModelError as error:
            raise self._failed(error) from None
        name = f"{self._name(prompt)}.{_ENDINGS[picture.mime]}"
        try:
            await asyncio.to_thread(self._files.write, scope.person.id, (FOLDER, name), picture.data)
            saved = f" and saved as {FOLDER}/{name}"
        except ToolFailed as failed:
            saved = f", but not saved: {failed}"
        if scope.attach is None:
            return f"The picture is made{saved}. It can't be sent here."
        scope.attach(OutgoingFile(name, picture.mime, picture.data, "picture"))
        return f"The picture is attached to your answer{saved}. You have not seen it: do not describe it in detail."

    def _failed(self, error: ModelError) -> ToolFailed:
        """For the model: why there is no picture."""
        if isinstance(error, BudgetExceeded):
            return ToolFailed(str(refusal(ENGLISH, error.reached, self._clock())))
        if isinstance(error, PolicyRefused):
            return ToolFailed(f"No picture was made: {error.model} refuses this prompt by its content rules.")
        return ToolFailed(f"No picture was made: {error.model}: {error.reason}. Tell the person.")

    def _name(self, prompt: str) -> str:
        """A file name from the first words and the time, in ASCII."""
        plain = unicodedata.normalize("NFKD", prompt[:200]).encode("ascii", "ignore").decode().lower()
        words = "-".join(re.findall("[a-z0-9]+", plain))[:_NAME_CHARACTERS].strip("-") or "picture"
        return f"{words}-{datetime.fromtimestamp(self._clock(), UTC):%Y%m%d-%H%M%S}"


def _checked(scope: ToolScope, prompt: str) -> TurnCost:
    """Who pays. Raises ToolFailed for a prompt that no model takes."""
    if scope.cost is None:
        raise ToolFailed("No picture can be made here.")
    if not prompt.strip():
        raise ToolFailed("The prompt is empty: describe the picture.")
    if len(prompt) > MAX_PROMPT_CHARACTERS:
        raise ToolFailed(f"The prompt has more than {MAX_PROMPT_CHARACTERS:,} characters: shorten it.")
    return scope.cost
