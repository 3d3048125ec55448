"""The model catalogue: what is known about each model, and what the providers offer now."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from bot.admin.edits import Saved
from bot.admin.json_text import updated
from bot.admin.page_context import PageContext, signed_in
from bot.admin.pages.changes import propose
from bot.ops.web import client
from routing.catalog.cards import ModelCard
from routing.catalog.discovery import DiscoveredModel, discover, save_discovered
from routing.catalog.provider_models import DiscoveryError
from routing.errors import ConfigError
from routing.types.decisions import SIZES
from routing.types.model_names import is_model_name

PAGE_SIZE = 50
MAX_FOUND = 500
DISCOVERY_SECONDS = 30.0
FLAGS = (
    ("supportsTemperature", "supports_temperature", "Takes a temperature"),
    ("supportsVision", "supports_vision", "Sees pictures"),
    ("supportsTools", "supports_tools", "Calls tools"),
)
"""A key of models.json, the field of ModelCard, and a label."""


async def catalogue(context: PageContext) -> Response:
    """A page of the catalogue. htmx gets the list alone."""
    saved = await asyncio.to_thread(context.site.edits.saved)
    text, provider = context.query("q").casefold()[:100], context.query("provider")
    cards = sorted(saved.catalog.models(), key=lambda card: (card.provider, card.display_name.casefold()))
    found = [
        card
        for card in cards
        if text in f"{card.name} {card.display_name}".casefold() and provider in ("", card.provider)
    ]
    pager = context.pager(PAGE_SIZE).of(len(found))
    template = "catalogue_list.html" if context.is_fragment else "catalogue.html"
    return context.render(
        template,
        cards=found[pager.offset : pager.offset + pager.size],
        pager=pager,
        providers=sorted({card.provider for card in cards}),
        with_key=sorted(name for name, profile in saved.config.profiles.items() if profile.api_key),
        text=context.query("q"),
        provider=provider,
    )


async def entry(context: PageContext) -> Response:
    """The form for one model, also for one that is not in the catalogue yet."""
    name = _checked_name(context.query("id"))
    edits = context.site.edits
    saved, digest = await asyncio.to_thread(lambda: (edits.saved(), edits.read("catalogue").digest))
    key = _key_of(saved, name)
    card = saved.catalog.lookup(name)
    return context.render(
        "catalogue_entry.html",
        id=key or name,
        known=key is not None,
        card=card,
        shown=card.display_name if key else context.query("shown") or card.display_name,
        sizes=SIZES,
        flags=[(key, words, getattr(card, field)) for key, field, words in FLAGS],
        digests={"catalogue": digest},
    )


async def change(context: PageContext) -> Response:
    """Propose a new or changed entry, or to remove one."""
    name = _checked_name(context.field("id"))
    edits = context.site.edits
    saved, text = await asyncio.to_thread(lambda: (edits.saved(), edits.text("catalogue")))
    document = json.loads(text)
    models = document.setdefault("models", {})
    before = models.get(name)
    page = f"/catalogue?q={name.partition('/')[2] or name}"
    if context.field("remove"):
        models.pop(name, None)
        what = f"Remove {name} from the catalogue"
    else:
        models[name] = _entry(context, before if isinstance(before, dict) else {}, saved.catalog.lookup(name))
        what = f"{'Change' if before is not None else 'Add'} {name} in the catalogue"
    return await propose(context, what, {"catalogue": updated(text, document)}, page)


async def discovery(context: PageContext) -> Response:
    """Ask a provider for its models, show which the catalogue lacks, and offer all of them to /model."""
    provider = context.field("provider")
    saved = await asyncio.to_thread(context.site.edits.saved)
    problem = ""
    found: tuple[DiscoveredModel, ...] = ()
    try:
        found = await discovered(saved, provider)
    except DiscoveryError as error:
        problem = str(error)
    else:
        path = context.site.services.workspace.discovered_file
        await asyncio.to_thread(save_discovered, path, provider, found)
    known = {card.name for card in saved.catalog.models()}
    template = "discovery_list.html" if context.is_fragment else "discovery.html"
    return context.render(
        template, provider=provider, problem=problem, found=found[:MAX_FOUND], total=len(found), known=known
    )


async def discovered(saved: Saved, provider: str) -> tuple[DiscoveredModel, ...]:
    """A provider's models by display name. Raises DiscoveryError."""
    profile = saved.config.profile(provider)
    async with client(saved.environment.settings.https_proxy) as web, asyncio.timeout(DISCOVERY_SECONDS):
        return await discover(profile, web)


def _checked_name(name: str) -> str:
    """The name of an entry, which may lack a provider. Raises ConfigError."""
    if not (is_model_name(name) or (is_model_name(f"any/{name}") and "/" not in name)):
        raise ConfigError("A model's name looks like provider/model. Nothing was changed.")
    return name


def _key_of(saved: Saved, name: str) -> str | None:
    """The entry of a model: its full name, or without the provider; None if there is none."""
    return next((card.id for card in saved.catalog.models() if name in (card.id, card.name)), None)


def _entry(context: PageContext, before: dict[str, Any], card: ModelCard) -> dict[str, Any]:
    """The entry of the form. Keys that the form does not have stay. An entry that exists gets a new flag only if it
    differs from what `card` says."""
    after = dict(before)
    after["displayName"] = context.field("displayName") or context.field("id")
    if "/" not in context.field("id"):
        after["provider"] = context.field("provider")
    for key, field, _ in FLAGS:
        if key in before or not before or bool(context.field(key)) != getattr(card, field):
            after[key] = bool(context.field(key))
    after["maxInputTokens"] = _tokens(context.field("maxInputTokens"))
    size = context.field("sizeClass")
    after = {key: value for key, value in after.items() if key != "sizeClass"} | ({"sizeClass": size} if size else {})
    levels = [each.strip().lower() for each in context.field("levels").split(",") if each.strip()]
    after.pop("reasoning", None)
    if levels:
        old = before.get("reasoning") or {}
        windows = old.get("levels", {})
        after["reasoning"] = {
            **old,
            "default": context.field("level") or levels[0],
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
