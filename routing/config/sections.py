"""The sections of `runtime-config.json` that are plain values, and the spending limits."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import Annotated
from zoneinfo import ZoneInfo

from routing.config.jsonfile import JsonObject
from routing.config.kinds import FLAG, MAX_DOLLARS, MODEL, TOKENS, WHOLE, Kind, Setting, dollars, one_of, optional
from routing.types.budgets import AT_LIMIT, CEILINGS, BudgetLimits

MAX_RESULT_CHARACTERS = 100_000
"""Maximum length of a tool result for the model, in characters."""
UNKNOWN_PER_MILLION = Decimal(10)
"""US dollars per million tokens, input and output, assumed for unknown prices by default: the output price of the
default balanced model (LiteLLM's map, gpt-5.1). Too high is safer than free."""
GUEST_DOLLARS = Decimal("0.25")
"""A guest's default daily limit: about 100 short answers of the default balanced model."""
GUEST_KEY = "perGuestDailyUsd"
BUDGET_KEYS = (*CEILINGS, GUEST_KEY, "atLimit", "assumeUnknownUsdPerMillion", "timeZone")

_LIMIT = optional(dollars(f"must be a number above 0, at most {MAX_DOLLARS:,}, or null for none"))
_TURN_LIMIT = optional(dollars(f"must be a number above 0, at most {MAX_DOLLARS:,}, or null for no limit"))
_THRESHOLD = dollars(f"must be a number from 0 to {MAX_DOLLARS:,}", zero=True)
_SECONDS = Kind(lambda value: float(WHOLE.read(value)), WHOLE.rule)
_AT_LIMIT = one_of(AT_LIMIT)
_CRITIC = Kind(optional(MODEL).read, "must look like provider/model, or be null")


@dataclass(frozen=True, slots=True)
class TurnBounds:
    """One turn: calls of models, calls of tools, seconds, US dollars (None: no limit)."""

    model_calls: Annotated[int, Setting("maxModelCalls", WHOLE)] = 20
    tool_calls: Annotated[int, Setting("maxToolCalls", WHOLE)] = 40
    seconds: Annotated[float, Setting("deadlineSeconds", _SECONDS)] = 600.0
    dollars: Annotated[Decimal | None, Setting("maxUsd", _TURN_LIMIT)] = Decimal(2)


@dataclass(frozen=True, slots=True)
class Compaction:
    """When older messages are summarised: above `most_tokens` (or 0.8 of the model's window), except the last
    `keep_last` messages."""

    enabled: Annotated[bool, Setting("enabled", FLAG)] = True
    most_tokens: Annotated[int, Setting("maxContextTokens", TOKENS)] = 50_000
    keep_last: Annotated[int, Setting("keepLastMessages", WHOLE)] = 20


@dataclass(frozen=True, slots=True)
class ConcurrencyLimits:
    """Maximum number of concurrent calls.

    Per provider, an estimate: with ten-second answers, that is 48 requests per minute, about the
    limit of a new account (50 in Anthropic's first tier). Waiting here costs less than a 429. Per person: three members
    of a council, or three conversations; one person can't use up a provider's limit.
    """

    per_provider: Annotated[int, Setting("perProvider", WHOLE)] = 8
    per_user: Annotated[int, Setting("perUser", WHOLE)] = 3


@dataclass(frozen=True, slots=True)
class CriticConfig:
    """Off by default. `model` None uses the model for internal calls (`modelRouter.routingModel`), or else the first of
    the balanced pool, that is of another vendor."""

    enabled: Annotated[bool, Setting("enabled", FLAG)] = False
    model: Annotated[str | None, Setting("model", _CRITIC)] = None


@dataclass(frozen=True, slots=True)
class CouncilConfig:
    """Expected costs in US dollars above which a council needs a confirmation: one that a person asks for, and one that
    a model asks for. With 0, every council needs it that isn't free."""

    confirm_above: Annotated[Decimal, Setting("confirmAboveUsd", _THRESHOLD)] = Decimal("0.25")
    tool_confirm_above: Annotated[Decimal, Setting("toolConfirmAboveUsd", _THRESHOLD)] = Decimal("0.10")


@dataclass(frozen=True, slots=True)
class LearningConfig:
    """Whether tools and tiers are learned from use, and how many examples near a message take effect. Three, so that a
    single mistake changes nothing."""

    enabled: Annotated[bool, Setting("enabled", FLAG)] = True
    examples: Annotated[int, Setting("examples", WHOLE)] = 3


def read_budget(section: JsonObject) -> BudgetLimits:
    """Read `budget`: seven limits in US dollars, atLimit, assumeUnknownUsdPerMillion, timeZone. Raises ConfigError."""
    found = {where: section.value(key, _LIMIT, None) for key, where in CEILINGS.items()}
    return BudgetLimits(
        dollars=MappingProxyType({where: dollars for where, dollars in found.items() if dollars is not None}),
        at_limit=section.value("atLimit", _AT_LIMIT, "refuse"),
        unknown=section.value("assumeUnknownUsdPerMillion", _LIMIT, None) or UNKNOWN_PER_MILLION,
        guest=section.value(GUEST_KEY, _LIMIT, GUEST_DOLLARS),
        zone=_zone(section),
    )


def _zone(section: JsonObject) -> ZoneInfo:
    name = section.text("timeZone", "UTC")
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown; a path; a folder
        raise section.fault("timeZone", "must be a time zone such as Europe/Berlin") from None
