"""The contract of each tier: time, attempts, output length, models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Literal, get_args

from routing.config.jsonfile import JsonObject
from routing.config.kinds import FLAG, TOKENS, WHOLE, Setting, keys_of, number
from routing.errors import ConfigError
from routing.types.model_names import is_model_name, provider_of
from routing.types.tiers import TIERS, Tier

PriceClass = Literal["low", "mid", "high"]
PRICE_CLASSES: tuple[PriceClass, ...] = get_args(PriceClass)
_MAX_SECONDS = 86_400
_SECONDS = number(f"must be a number of seconds above 0, at most {_MAX_SECONDS:,}", _MAX_SECONDS)


@dataclass(frozen=True, slots=True)
class TierContract:
    """One tier's contract. `deadline_seconds` limits a whole turn, with tools but without queueing; `try_seconds` one
    attempt, `first_token_seconds` its first token. `max_output_tokens` counts visible text. `attempts` limits the
    attempts at one answer; in a turn with tools each model call has that many. `pool` lists the models in order of
    preference. With `requires_peer_review`, models of other vendors review each answer before the turn ends; with
    `requires_verifier`, one of them checks it after it was shown."""

    tier: Tier
    deadline_seconds: Annotated[float, Setting("deadlineSeconds", _SECONDS)]
    first_token_seconds: Annotated[float, Setting("firstTokenSeconds", _SECONDS)]
    try_seconds: Annotated[float, Setting("trySeconds", _SECONDS)]
    max_output_tokens: Annotated[int, Setting("maxOutputTokens", TOKENS)]
    attempts: Annotated[int, Setting("attempts", WHOLE)]
    pool: tuple[str, ...]
    price_class: PriceClass
    may_escalate: Annotated[bool, Setting("mayEscalate", FLAG)]
    may_be_escalated_to: Annotated[bool, Setting("mayBeEscalatedTo", FLAG)]
    requires_peer_review: Annotated[bool, Setting("requiresPeerReview", FLAG)] = False
    requires_verifier: Annotated[bool, Setting("requiresVerifier", FLAG)] = False

    def escalates_to(self, other: TierContract) -> bool:
        """Whether /tier auto or a button may move a question from this tier to the other."""
        higher = TIERS.index(other.tier) > TIERS.index(self.tier)
        return higher and self.may_escalate and other.may_be_escalated_to

    def is_cheaper(self, other: TierContract) -> bool:
        """Whether this tier is of a lower price class."""
        return PRICE_CLASSES.index(self.price_class) < PRICE_CLASSES.index(other.price_class)


DEFAULT_CONTRACTS: dict[Tier, TierContract] = {
    "balanced": TierContract("balanced", 90.0, 25.0, 45.0, 2_000, 3, (), "low", True, False),
    "smart": TierContract("smart", 180.0, 90.0, 120.0, 4_000, 3, (), "mid", True, True),
    "coding": TierContract("coding", 240.0, 60.0, 150.0, 8_000, 3, (), "mid", True, True),
    "deep": TierContract("deep", 600.0, 400.0, 450.0, 16_000, 2, (), "high", False, True),
}
"""The default contracts. Nothing is below balanced, nothing above deep."""
DEFAULT_FALLBACKS: dict[Tier, tuple[str, ...]] = {
    "balanced": ("anthropic/claude-haiku-4-5", "gemini/gemini-2.5-flash"),
    "smart": ("anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-pro"),
    "coding": ("anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-pro"),
    "deep": ("anthropic/claude-opus-4-5",),
}
ALLOWANCE: dict[str, int] = {"minimal": 4_000, "low": 4_000, "medium": 16_000, "high": 32_000, "xhigh": 64_000}
"""Extra tokens for thinking, by reasoning level; minimal has low's."""
CONTRACT_KEYS = frozenset({"pool", *keys_of(TierContract)})
"""Allowed keys of `tiers.<tier>`."""


def read_contracts(
    root: JsonObject, models: Mapping[Tier, str], pools: Mapping[Tier, tuple[str, ...]]
) -> dict[Tier, TierContract]:
    """Apply `tiers.<tier>` of the file to the defaults. `models` are the tiers' own models; `pools` come from the
    environment and win.

    Raises ConfigError with file, line and key, or with the variable.
    """
    tiers = root.section("tiers")
    for name in tiers.values:
        if name not in TIERS:
            raise tiers.fault(name, "is not a tier; the tiers are {tiers}", tiers=", ".join(TIERS))
    contracts = {}
    for tier in TIERS:
        own, model = tiers.section(tier), models[tier]
        usual = (model, *(each for each in DEFAULT_FALLBACKS[tier] if each != model))
        written = _pool(own) or usual
        contracts[tier] = _contract(own, tier, _from_environment(tier, pools.get(tier, ())) or written)
    for lower, higher in pairwise(TIERS):
        _check_rise(tiers, contracts[lower], contracts[higher])
    return contracts


def single_vendor_pools(contracts: Iterable[TierContract]) -> dict[Tier, str]:
    """The vendor of each pool whose models all have the same one: its outage takes them all. A gateway counts as
    one."""
    vendors = {each.tier: {provider_of(model) for model in each.pool} for each in contracts}
    return {tier: names.pop() for tier, names in vendors.items() if len(names) == 1}


def output_limit(contract: TierContract, effort: str | None, most: int | None = None, again: bool = False) -> int:
    """Output tokens to request: the visible text plus an allowance for thinking at `effort` (None: no thinking; unknown
    levels get medium's). `most` is the model's own limit, if known. `again`: the first answer was cut without any text,
    so the allowance doubles, and a model without an effort gets low's, because it did think."""
    allowance = 0 if effort in (None, "none") else ALLOWANCE.get(effort or "", ALLOWANCE["medium"])
    if again:
        allowance = 2 * (allowance or ALLOWANCE["low"])
    wanted = contract.max_output_tokens + allowance
    return wanted if most is None else min(wanted, most)


def _contract(own: JsonObject, tier: Tier, pool: tuple[str, ...]) -> TierContract:
    contract = replace(own.fill(DEFAULT_CONTRACTS[tier]), pool=pool)
    if contract.try_seconds >= contract.deadline_seconds:
        key = "trySeconds" if "trySeconds" in own.values else "deadlineSeconds"
        words = "is refused: one try ({longest:g} s) must end before the deadline ({deadline:g} s)"
        raise own.fault(key, words, longest=contract.try_seconds, deadline=contract.deadline_seconds)
    if contract.first_token_seconds > contract.try_seconds:
        key = "firstTokenSeconds" if "firstTokenSeconds" in own.values else "trySeconds"
        words = "is refused: the first token ({first:g} s) must come within one try ({longest:g} s)"
        raise own.fault(key, words, first=contract.first_token_seconds, longest=contract.try_seconds)
    return contract


def _pool(own: JsonObject) -> tuple[str, ...]:
    """The pool in the file; empty if there is none."""
    if "pool" not in own.values:
        return ()
    pool = own.values["pool"]
    if not isinstance(pool, list):
        raise own.fault("pool", 'must be a list of models, such as ["openai/gpt-5.1"]')
    if not pool:
        raise own.fault("pool", "must name at least one model")
    members: list[str] = []
    for index, item in enumerate(pool):
        if not isinstance(item, str) or not is_model_name(item.strip()) or item.strip() in members:
            raise own.file.fault((*own.path, "pool", index), "must be a provider/model that is not in the pool already")
        members.append(item.strip())
    return tuple(members)


def _from_environment(tier: Tier, pool: tuple[str, ...]) -> tuple[str, ...]:
    """The error gives only the entry's number, because a key may have been pasted there."""
    for place, model in enumerate(pool, 1):
        if not is_model_name(model) or model in pool[: place - 1]:
            raise ConfigError(
                "TIER_{tier}_POOL must list models as provider/model, each once; entry {place} is not a "
                "provider/model, or is already in the pool.",
                tier=tier.upper(),
                place=place,
            )
    return pool


def _check_rise(tiers: JsonObject, lower: TierContract, higher: TierContract) -> None:
    if lower.deadline_seconds < higher.deadline_seconds:
        return
    own = tiers.child(higher.tier)
    named = higher if own is not None and "deadlineSeconds" in own.values else lower
    raise tiers.file.fault(
        (*tiers.path, named.tier, "deadlineSeconds"),
        "is refused: the deadline of {lower} ({less:g} s) must be below {higher} ({more:g} s)",
        lower=lower.tier,
        less=lower.deadline_seconds,
        higher=higher.tier,
        more=higher.deadline_seconds,
    )
