"""The model router: the models of each tier in order, its contract, and a test that asks for one word."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from bot.admin.edits import File, Saved
from bot.admin.formatting import money
from bot.admin.forms import read_number
from bot.admin.page_context import PageContext, signed_in
from bot.admin.pages.changes import env_change, propose
from bot.ops.model_probe import probe
from handlers.replies.duration import format_duration
from handlers.replies.footer import PASSED
from routing.config import jsonfile
from routing.config.contracts import TierContract, single_vendor_pools
from routing.config.kinds import Setting, settings
from routing.config.runtime import parse_pool
from routing.errors import ConfigError
from routing.ports import PriceList
from routing.types.budgets import MILLION
from routing.types.model_names import is_model_name, provider_of
from routing.types.tiers import AUTO, TIERS, Tier

TEST_SECONDS = 60.0
LABELS = {
    "deadlineSeconds": ("Time limit", "s for a whole answer"),
    "firstTokenSeconds": ("First words within", "s"),
    "trySeconds": ("One try", "s"),
    "maxOutputTokens": ("Longest answer", "tokens of visible text"),
    "attempts": ("Tries", "models at most"),
    "mayEscalate": ("/tier auto may go up from here", ""),
    "mayBeEscalatedTo": ("/tier auto may go up to here", ""),
    "requiresPeerReview": ("Other vendors review each answer before it ends", ""),
    "requiresVerifier": ("Another vendor checks each answer afterwards", ""),
}
"""A label and a unit for each setting of a contract, in the order of the page."""


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model of a pool: its price, and why it is skipped now (empty: it is not). `keyless`: there is no key."""

    name: str
    provider: str
    display: str
    price: str
    problem: str
    keyless: bool


@dataclass(frozen=True, slots=True)
class ListedTier:
    """A tier with its form. `variable` is set if the pool comes from it; `fixed`: only the process's environment can
    change it. `draft`: the order was changed and is not saved."""

    tier: Tier
    contract: TierContract
    pool: tuple[ListedModel, ...]
    level: str
    levels: tuple[str, ...]
    vendor: str
    variable: str
    fixed: bool
    draft: bool


async def router(context: PageContext) -> Response:
    """All tiers."""
    return await _show(context, {})


async def change(context: PageContext) -> Response:
    """Propose a new pool or contract; or, without JavaScript, move a model in the form."""
    tier = next((each for each in TIERS if each == context.field("tier")), None)
    if tier is None:
        raise ConfigError("The tiers are {tiers}. Nothing was changed.", tiers=", ".join(TIERS))
    pool = [model.strip() for model in context.form.get("pool", ()) if model.strip()]
    pool += [each for each in parse_pool(context.field("add")) if each not in pool]
    if move := context.field("move"):
        return await _show(context, {tier: _moved(pool, move)})
    wrong = next((model for model in pool if not is_model_name(model)), None)
    if wrong is not None:
        raise ConfigError("{model} does not look like provider/model. Nothing was changed.", model=wrong)
    if not pool:
        raise ConfigError("{tier} needs at least one model. Nothing was changed.", tier=tier)
    saved = await asyncio.to_thread(context.site.edits.saved)
    document = await asyncio.to_thread(context.site.edits.document, "config")
    texts: dict[File, str | None] = {}
    if tuple(pool) != saved.config.pools[tier]:
        variable, _ = _source(context, saved, tier)
        if variable:
            texts["env"] = await env_change(context, variable, ",".join(pool))
        else:
            _section(document, "tiers", tier)["pool"] = pool
            texts["config"] = ""
    if _set_contract(context, saved, document, tier, _levels(context, saved, tier, pool)):
        texts["config"] = ""
    if "config" in texts:
        texts["config"] = jsonfile.render(document)
    return await propose(context, f"Change the tier {tier}", texts, f"/router#{tier}")


async def general(context: PageContext) -> Response:
    """Propose the settings for all tiers."""
    saved = await asyncio.to_thread(context.site.edits.saved)
    document = await asyncio.to_thread(context.site.edits.document, "config")
    config, router = saved.config, _section(document, "modelRouter")
    default = context.field("defaultTier") or None
    if default != config.default_tier:
        router["defaultTier"] = default
    if bool(context.field("dynamicTierEnabled")) != config.dynamic_tier:
        router["dynamicTierEnabled"] = not config.dynamic_tier
    if (temperature := read_number(context.field("temperature"), "The temperature")) != config.temperature:
        router["temperature"] = temperature
    if (internal := context.field("routingModel")) != config.internal_model:
        router["routingModel"] = internal
    if not router:
        del document["modelRouter"]
    return await propose(context, "Change the router", {"config": jsonfile.render(document)}, "/router")


async def test(context: PageContext) -> Response:
    """Ask one model for one word, with the configuration in use."""
    model = context.field("test")
    if not is_model_name(model):
        raise ConfigError("A model's name looks like provider/model.")
    engine, start = context.app.engine, context.app.messaging.steady()
    error = await probe(engine.llm, engine.models, model, TEST_SECONDS)
    took = context.app.messaging.steady() - start
    words = (
        f"{model} answers after {took:.1f} s."
        if error is None
        else f"{model} does not answer: {error.raw or error.reason}"
    )
    return context.result(error is None, words)


async def _show(context: PageContext, drafts: dict[Tier, tuple[str, ...]]) -> Response:
    edits, models = context.site.edits, context.app.engine.models
    saved, env, config = await asyncio.to_thread(lambda: (edits.saved(), edits.read("env"), edits.read("config")))
    prices = await context.app.engine.guard.prices()
    given = {file: context.field(f"digest_{file}") for file in ("env", "config")} if drafts else {}
    listed = []
    for tier in TIERS:
        contract = saved.config.contracts[tier]
        pool = drafts.get(tier, contract.pool)
        variable, fixed = _source(context, saved, tier)
        listed.append(
            ListedTier(
                tier=tier,
                contract=contract,
                pool=tuple(_listed(context, saved, prices, tier, model) for model in pool),
                level=saved.config.reasoning[tier] or "default",
                levels=_levels(context, saved, tier, pool),
                vendor=single_vendor_pools([contract]).get(tier, ""),
                variable=variable,
                fixed=fixed,
                draft=tier in drafts,
            )
        )
    known = {card.name for card in saved.catalog.models() if models.has_key(card.provider)}
    return context.render(
        "router.html",
        tiers=listed,
        labels=[(setting.key, *LABELS[setting.key], name) for name, setting in _settings()],
        digests={"env": given.get("env") or env.digest, "config": given.get("config") or config.digest},
        config=saved.config,
        choices=(AUTO, *TIERS),
        known=sorted(known),
    )


def _listed(context: PageContext, saved: Saved, prices: PriceList, tier: Tier, model: str) -> ListedModel:
    price, models = prices(model), context.app.engine.models
    words = "price unknown"
    if price is not None:
        rates = price.rates[0]
        words = f"{money(rates.input * MILLION)} in, {money(rates.output * MILLION)} out"
        words = f"{words} per million tokens" if rates.input or rates.output else "free"
    skipped = models.obstacle(model, tier)
    problem = ""
    if skipped is not None:
        variable = saved.config.profile(provider_of(model)).variable
        problem = f"Skipped: it {PASSED[skipped.why].format(variable=variable, reason=skipped.reason)}"
        if skipped.until is not None:
            problem += f", for {format_duration(skipped.until - context.app.messaging.steady())}"
    keyless = skipped is not None and skipped.why == "key"
    return ListedModel(model, provider_of(model), saved.catalog.lookup(model).display_name, words, problem, keyless)


def _settings() -> list[tuple[str, Setting]]:
    """The contract's settings by field, in the order of LABELS."""
    found = {setting.key: (name, setting) for name, setting in settings(TierContract).items()}
    return [found[key] for key in LABELS]


def _levels(context: PageContext, saved: Saved, tier: Tier, pool: Sequence[str]) -> tuple[str, ...]:
    """The reasoning levels of the pool's first model, and the one that is set."""
    own = context.app.engine.models.levels(pool[0]) if pool else ()
    return tuple(dict.fromkeys(("default", "none", *own, saved.config.reasoning[tier] or "default")))


def _set_contract(
    context: PageContext, saved: Saved, document: dict[str, Any], tier: Tier, levels: Sequence[str]
) -> bool:
    """Write what differs from the contract in force; whether anything does."""
    level = context.field("level")
    if level and level not in levels:
        words = "{level} is not a reasoning level of this model: {levels}. Nothing was changed."
        raise ConfigError(words, level=level, levels=", ".join(levels))
    contract, found = saved.config.contracts[tier], False
    for name, setting in _settings():
        now = getattr(contract, name)
        wanted: object = bool(context.field(setting.key))
        if not isinstance(now, bool):
            wanted = read_number(context.field(setting.key), LABELS[setting.key][0])
        if wanted != now:
            _section(document, "tiers", tier)[setting.key] = wanted
            found = True
    if level and level != (saved.config.reasoning[tier] or "default"):
        _section(document, "modelRouter")[f"{tier}ModelReasoning"] = level
        found = True
    return found


def _section(document: dict[str, Any], *names: str) -> dict[str, Any]:
    """The object at this place, which is created if it is missing."""
    inside = document
    for name in names:
        if not isinstance(inside.get(name), dict):
            inside[name] = {}
        inside = inside[name]
    return inside


def _source(context: PageContext, saved: Saved, tier: Tier) -> tuple[str, bool]:
    """The variable that sets the pool (empty: none), and whether only the process's environment can change it."""
    if tier not in saved.environment.settings.pools:
        return "", False
    name = f"TIER_{tier.upper()}_POOL"
    return name, name in context.site.services.environment.given


def _moved(pool: Sequence[str], move: str) -> tuple[str, ...]:
    """The pool after a button: `up 1`, `down 0`, `remove 2`."""
    what, _, number = move.partition(" ")
    order = list(pool)
    if not (number.isascii() and number.isdecimal() and len(number) < 4 and int(number) < len(order)):
        return tuple(order)
    model = order.pop(int(number))
    if what in ("up", "down"):
        order.insert(max(0, int(number) + (1 if what == "down" else -1)), model)
    return tuple(order)


ROUTES = (
    Route("/router", signed_in(router)),
    Route("/router", signed_in(change), methods=["POST"]),
    Route("/router/general", signed_in(general), methods=["POST"]),
    Route("/router/test", signed_in(test), methods=["POST"]),
)
