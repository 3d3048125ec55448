"""Resolves the tier of a turn, with the reason."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from routing.errors import Refused
from routing.text import nearest
from routing.types.decisions import TierDecision, TierSwitch
from routing.types.people import Preferences, Role
from routing.types.tiers import AUTO, DEFAULT_TIER, TIERS, Tier, TierChoice

DEFAULT, RESET = "default", "reset"
"""Words that clear a stored choice."""
_PREFIX = re.compile(r"\s*!(\w+)(?:\s+|$)", re.ASCII)
_CLASSES = frozenset(
    [
        "auto",
        "cheap",
        "code",
        "coder",
        "default",
        "fast",
        "max",
        "mini",
        "normal",
        "pro",
        "quick",
        "reasoning",
        "think",
        "turbo",
        "ultra",
    ]
)
"""Names of model classes in other programs; as a prefix they are meant as tiers."""


def resolve(
    preferences: Preferences,
    prefix: Tier | None = None,
    switches: Sequence[TierSwitch] = (),
    auto: TierDecision | None = None,
    default: TierChoice | None = None,
) -> TierDecision:
    """Resolve the tier in this order: prefix, lock, the conversation's newest switch, the stored tier or the choice of
    `auto`, the owner's `default`, balanced.

    A lock without a stored tier has no effect.
    """
    if prefix is not None:
        return TierDecision(prefix, "prefix", f"prefix !{prefix}")
    stored = preferences.tier
    if preferences.force and stored is not None:
        return TierDecision(stored, "forced", "forced")
    if switches:
        newest = max(switches, key=lambda switch: switch.at)
        return TierDecision(newest.tier, newest.source, newest.evidence)
    if is_auto(preferences, default):
        return auto or TierDecision(DEFAULT_TIER, "auto", "auto")
    if stored is not None:
        return TierDecision(stored, "preference", "preference")
    if default is not None and default != AUTO:
        return TierDecision(default, "owner", "the owner's default")
    return TierDecision(DEFAULT_TIER, "default", "default")


def tiers_for(role: Role) -> tuple[Tier, ...]:
    """The tiers that a role may use: guests all except deep, others all."""
    return TIERS if role in ("owner", "admin", "user") else tuple(tier for tier in TIERS if tier != "deep")


def check_role(tier: TierChoice, role: Role) -> None:
    """Raises Refused for a tier that the role may not use, and suggests the best allowed one."""
    if tier != AUTO and tier not in tiers_for(role):
        words = "The {tier} tier needs the role user; yours is {role}. The best one for you is smart: /tier smart."
        raise Refused(words, tier=tier, role=role)


def restrict_to_role(preferences: Preferences, role: Role) -> Preferences:
    """The preferences that apply to a role. Guests have no lock, no own models and no deep tier, even if stored."""
    if role in ("owner", "admin", "user"):
        return preferences
    tier = preferences.tier if preferences.tier in tiers_for(role) else None
    return replace(preferences, tier=tier, force=False, overrides={})


def default_for(role: Role, default: TierChoice | None) -> TierChoice | None:
    """The owner's default tier if the role may use it."""
    return default if default in (AUTO, *tiers_for(role)) else None


def is_auto(preferences: Preferences, default: TierChoice | None) -> bool:
    """Whether each message chooses its own tier, by the person's choice or else the owner's default."""
    return preferences.auto or (preferences.tier is None and default == AUTO)


def split_prefix(text: str, usable: Sequence[Tier] = TIERS) -> tuple[Tier | None, str]:
    """Split off a tier prefix: `!smart why?` → ("smart", "why?"). `!wow` is text. Raises Refused for words that were
    clearly meant as a tier, such as `!smrt` or `!turbo`, and suggests the `usable` ones."""
    found = _PREFIX.match(text)
    if found is None:
        return None, text
    name = found.group(1)
    tier = known(name)
    if tier is not None:
        return tier, text[found.end() :]
    meant = nearest(name, usable)
    if meant is not None:
        raise Refused("There is no tier !{name}. Did you mean !{nearest}? Nothing was sent.", name=name, nearest=meant)
    if name.lower() in _CLASSES:
        words = "There is no tier !{name}. Put one of these before a message: {valid}. Nothing was sent."
        raise Refused(words, name=name, valid=", ".join(f"!{each}" for each in usable))
    return None, text


def parse(name: str) -> Tier:
    """Find a tier by name, ignoring case. Raises Refused, which lists the tiers and the nearest name."""
    tier = known(name)
    if tier is None:
        raise _unknown(name, TIERS)
    return tier


def parse_preference(name: str, usable: Sequence[Tier] = TIERS) -> TierChoice | None:
    """Like `parse`, and also accepts `auto`, and `default` or `reset` (None) to clear the choice. The error names the
    `usable` tiers."""
    word = name.strip().lower()
    if word == AUTO:
        return AUTO
    if word in (DEFAULT, RESET):
        return None
    tier = known(name)
    if tier is None:
        raise _unknown(name, (*usable, AUTO), DEFAULT, RESET)
    return tier


def _unknown(name: str, known: Sequence[str], *others: str) -> Refused:
    meant, valid = nearest(name, (*known, *others)), ", ".join(known)
    if meant is None:
        return Refused("There is no tier {name}. The tiers are {valid}. Nothing was changed.", name=name, valid=valid)
    return Refused(
        "There is no tier {name}; did you mean {nearest}? The tiers are {valid}. Nothing was changed.",
        name=name,
        nearest=meant,
        valid=valid,
    )


def known(name: str) -> Tier | None:
    return next((tier for tier in TIERS if tier == name.strip().lower()), None)
