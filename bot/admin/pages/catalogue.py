"""The model catalogue: what is known about each model, and what the providers offer now."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from bot.admin.edits import Saved
from bot.admin.pages.changes import propose
from bot.admin.visits import Visit, signed_in
from bot.ops.web import client
from routing.catalog.cards import ModelCard
from routing.catalog.discovery import DiscoveredModel, discover, save_discovered
from routing.catalog.provider_models import DiscoveryError
from routing.config import jsonfile
from routing.errors import ConfigError
from routing.types.decisions import SIZES
from routing.types.model_names import is_model_name

PAGE_SIZE = 50
MAX_PAGE = 10_000
MAX_FOUND = 500
DISCOVERY_SECONDS = 30.0
FLAGS = (
    ("supportsTemperature", "Takes a temperature"),
    ("supportsVision", "Sees pictures"),
    ("supportsTools", "Calls tools"),
)


async def catalogue(visit: Visit) -> Response:
    """A page of the catalogue. htmx gets the list alone."""
    saved = await asyncio.to_thread(visit.site.edits.saved)
    text, provider = visit.query("q").casefold()[:100], visit.query("provider")
    cards = sorted(saved.catalog.models(), key=lambda card: (card.provider, card.display_name.casefold()))
    found = [
        card
        for card in cards
        if text in f"{card.name} {card.display_name}".casefold() and provider in ("", card.provider)
    ]
    at = visit.number("page", 1, MAX_PAGE)
    template = "catalogue_list.html" if visit.is_fragment else "catalogue.html"
    return visit.page(
        template,
        cards=found[PAGE_SIZE * (at - 1) : PAGE_SIZE * at],
        total=len(found),
        number=at,
        pages=-(-len(found) // PAGE_SIZE),
        providers=sorted({card.provider for card in cards}),
        with_key=sorted(name for name, profile in saved.config.profiles.items() if profile.api_key),
        text=visit.query("q"),
        provider=provider,
    )


async def entry(visit: Visit) -> Response:
    """The form for one model, also for one that is not in the catalogue yet."""
    name = visit.query("id")
    if not _is_entry(name):
        raise ConfigError("A model's name looks like provider/model. Nothing was changed.")
    edits = visit.site.edits
    saved, digest = await asyncio.to_thread(lambda: (edits.saved(), edits.read("catalogue").digest))
    key = _key_of(saved, name)
    card = saved.catalog.lookup(name)
    return visit.page(
        "catalogue_entry.html",
        id=key or name,
        known=key is not None,
        card=card,
        shown=card.display_name if key else visit.query("shown") or card.display_name,
        sizes=SIZES,
        flags=[(name, words, _flag(card, name)) for name, words in FLAGS],
        digests={"catalogue": digest},
    )


async def change(visit: Visit) -> Response:
    """Propose a new or changed entry, or to remove one."""
    name = visit.field("id")
    if not _is_entry(name):
        raise ConfigError("A model's name looks like provider/model. Nothing was changed.")
    edits = visit.site.edits
    _, document = await asyncio.to_thread(lambda: (edits.saved(), edits.document("catalogue")))
    models = document.setdefault("models", {})
    before = models.get(name)
    page = f"/catalogue?q={name.partition('/')[2] or name}"
    if visit.field("remove"):
        models.pop(name, None)
        texts = jsonfile.render(document)
        return await propose(visit, f"Remove {name} from the catalogue", {"catalogue": texts}, page)
    models[name] = _entry(visit, before if isinstance(before, dict) else {})
    what = "Change" if before is not None else "Add"
    return await propose(visit, f"{what} {name} in the catalogue", {"catalogue": jsonfile.render(document)}, page)


async def discovery(visit: Visit) -> Response:
    """Ask a provider for its models, show which the catalogue lacks, and offer all of them to /model."""
    provider = visit.field("provider")
    saved = await asyncio.to_thread(visit.site.edits.saved)
    problem = ""
    found: tuple[DiscoveredModel, ...] = ()
    try:
        found = await discovered(saved, provider)
    except DiscoveryError as error:
        problem = str(error)
    else:
        path = visit.site.services.workspace.discovered_file
        await asyncio.to_thread(save_discovered, path, provider, found)
    known = {card.name for card in saved.catalog.models()}
    template = "discovery_list.html" if visit.is_fragment else "discovery.html"
    return visit.page(
        template, provider=provider, problem=problem, found=found[:MAX_FOUND], total=len(found), known=known
    )


async def discovered(saved: Saved, provider: str) -> tuple[DiscoveredModel, ...]:
    """A provider's models by display name. Raises DiscoveryError."""
    profile = saved.config.profile(provider)
    async with client(saved.environment.settings.https_proxy) as web, asyncio.timeout(DISCOVERY_SECONDS):
        return await discover(profile, web)


def _is_entry(name: str) -> bool:
    """Entries may lack a provider."""
    return is_model_name(name) or (is_model_name(f"any/{name}") and "/" not in name)


def _key_of(saved: Saved, name: str) -> str | None:
    """The entry of a model: its full name, or without the provider; None if there is none."""
    return next((card.id for card in saved.catalog.models() if name in (card.id, card.name)), None)


def _flag(card: ModelCard, key: str) -> bool:
    by_key = {
        "supportsTemperature": card.supports_temperature,
        "supportsVision": card.supports_vision,
        "supportsTools": card.supports_tools,
    }
    return by_key[key]


def _entry(visit: Visit, before: dict[str, Any]) -> dict[str, Any]:
    """The entry of the form; keys that the form does not have stay."""
    after = dict(before)
    after["displayName"] = visit.field("displayName") or visit.field("id")
    if "/" not in visit.field("id"):
        after["provider"] = visit.field("provider")
    for key, _ in FLAGS:
        after[key] = bool(visit.field(key))
    after["maxInputTokens"] = _tokens(visit.field("maxInputTokens"))
    size = visit.field("sizeClass")
    after = {key: value for key, value in after.items() if key != "sizeClass"} | ({"sizeClass": size} if size else {})
    levels = [each.strip().lower() for each in visit.field("levels").split(",") if each.strip()]
    after.pop("reasoning", None)
    if levels:
        old = before.get("reasoning") if isinstance(before.get("reasoning"), dict) else {}
        windows = old.get("levels", {}) if isinstance(old, dict) else {}
        after["reasoning"] = {
            "default": visit.field("level") or levels[0],
            "levels": {each: windows.get(each) or {"maxInputTokens": after["maxInputTokens"]} for each in levels},
        }
    return after


def _tokens(text: str) -> int:
    digits = text.replace(",", "").replace(" ", "")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 9):
        raise ConfigError("The context window is a whole number of tokens. Nothing was changed.")
    return int(digits)


ROUTES = (
    Route("/catalogue", signed_in(catalogue)),
    Route("/catalogue/entry", signed_in(entry)),
    Route("/catalogue/entry", signed_in(change), methods=["POST"]),
    Route("/catalogue/discover", signed_in(discovery), methods=["POST"]),
)
