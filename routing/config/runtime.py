"""The owner's configuration of providers and tiers, `preferences/runtime-config.json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from routing.config.budget import KEYS as BUDGET_KEYS
from routing.config.budget import read_budget
from routing.config.concurrency import ConcurrencyLimits, read_concurrency
from routing.config.contracts import CONTRACT_KEYS, TierContract, read_contracts
from routing.config.contracts import DEFAULT_FALLBACKS as DEFAULT_FALLBACKS
from routing.config.council import KEYS as COUNCIL_KEYS
from routing.config.council import CouncilConfig, read_council
from routing.config.critic import KEYS as CRITIC_KEYS
from routing.config.critic import CriticConfig, read_critic
from routing.config.jsonfile import JsonFile, JsonObject
from routing.config.presentation import Presentation, read_presentations
from routing.config.turn_limits import MAX_RESULT_CHARS, Compaction, TurnBounds, read_compaction, read_turn
from routing.types.budgets import BudgetLimits
from routing.types.decisions import Size
from routing.types.llm import ApiType, ProviderProfile
from routing.types.model_names import OLLAMA, OLLAMA_HOME, is_model_name
from routing.types.tiers import AUTO, TIERS, Tier, TierChoice

Slot = Literal["balanced", "smart", "coding", "deep", "routing"]
SLOTS: tuple[Slot, ...] = get_args(Slot)
API_TYPES: tuple[ApiType, ...] = get_args(ApiType)

DEFAULT_SLOTS: dict[Slot, tuple[str, str | None]] = {
    "balanced": ("openai/gpt-5.1", "medium"),
    "smart": ("openai/gpt-5.1", "high"),
    "coding": ("openai/gpt-5.2", "medium"),
    "deep": ("openai/gpt-5.2", "xhigh"),
    "routing": ("openai/gpt-5.2-codex", "none"),
}
ALWAYS_ALLOWED = ("openai", "anthropic", "local")
DEFAULT_TIMEOUT_SECONDS = 600.0
DEFAULT_TEMPERATURE = 0.7
_HOTTEST = 2.0
_KNOWN: dict[str, set[str]] = {
    "llm": {"providers"},
    "modelRouter": {f"{slot}{part}" for slot in SLOTS for part in ("Model", "ModelReasoning")}
    | {"dynamicTierEnabled", "temperature", "defaultTier"},
    "tiers": set(TIERS),
    "compaction": {"enabled", "maxContextTokens", "keepLastMessages"},
    "turn": {"maxModelCalls", "maxToolCalls", "deadlineSeconds", "maxUsd"},
    "tools": {"maxResultChars", "presentation", "allow"},
    "parallel": {"perProvider", "perUser"},
    "sandbox": {"seconds", "memoryMb", "processes", "folderMb", "files", "network"},
    "budget": set(BUDGET_KEYS),
    "critic": set(CRITIC_KEYS),
    "council": set(COUNCIL_KEYS),
}


@dataclass(frozen=True, slots=True)
class RouterConfig:
    """The models of the tiers, and how to reach providers. `internal_model` is for the critic's calls. `default_tier`
    is for people without a choice. `allowed_tools` are names of tools and toolkits. `unknown_keys` are reported by
    doctor."""

    profiles: Mapping[str, ProviderProfile]
    reasoning: Mapping[Tier, str | None]
    internal_model: str
    contracts: Mapping[Tier, TierContract]
    temperature: float
    dynamic_tier: bool
    default_tier: TierChoice | None
    turn: TurnBounds
    parallel: ConcurrencyLimits
    budget: BudgetLimits
    critic: CriticConfig
    council: CouncilConfig
    compaction: Compaction
    most_result_chars: int
    presentations: Mapping[Size, Presentation]
    allowed_tools: frozenset[str]
    allowed: frozenset[str]
    unknown_keys: tuple[str, ...]

    @property
    def pools(self) -> Mapping[Tier, tuple[str, ...]]:
        """The models of each tier, in order of preference."""
        return {tier: contract.pool for tier, contract in self.contracts.items()}

    def profile(self, provider: str) -> ProviderProfile:
        """How to reach a provider; an unknown one has no key."""
        known = self.profiles.get(OLLAMA if provider == "ollama_chat" else provider)  # LiteLLM has two names for it
        return known or ProviderProfile(provider, None, None, None, DEFAULT_TIMEOUT_SECONDS, variable(provider))


def variable(provider: str) -> str:
    """The environment variable of a provider's key: `my-router` → MY_ROUTER_API_KEY."""
    return "".join(sign if sign.isalnum() else "_" for sign in provider).upper() + "_API_KEY"


def read_config(
    file: JsonFile,
    keys: Mapping[str, str],
    pools: Mapping[Tier, tuple[str, ...]],
    allowed: tuple[str, ...] = (),
    ollama: str = OLLAMA_HOME,
) -> RouterConfig:
    """Merge the file with keys (by provider), pools and allowed providers from the environment; its pools win. Without
    allowed providers, people may choose openai, anthropic, Ollama, the local model and every configured provider.
    `ollama` is Ollama's address unless the file sets one; it needs no key.

    Raises ConfigError with file, line and reason for invalid values.
    """
    root = file.root()
    router = _section(root, "modelRouter")
    slots = {slot: _slot(router, slot) for slot in SLOTS}
    contracts = read_contracts(root, {tier: slots[tier] for tier in TIERS}, pools)
    tools = _section(root, "tools")
    profiles = _profiles(root, keys, ollama)
    return RouterConfig(
        profiles=profiles,
        reasoning={tier: _level(router, tier, contracts[tier].pool[0]) for tier in TIERS},
        internal_model=slots["routing"],
        contracts=contracts,
        temperature=_number(router, "temperature", DEFAULT_TEMPERATURE, _HOTTEST),
        dynamic_tier=router.flag("dynamicTierEnabled", True),
        default_tier=_default_tier(router),
        turn=read_turn(_section(root, "turn")),
        parallel=read_concurrency(_section(root, "parallel")),
        budget=read_budget(_section(root, "budget")),
        critic=read_critic(_section(root, "critic")),
        council=read_council(_section(root, "council")),
        compaction=read_compaction(_section(root, "compaction")),
        most_result_chars=tools.whole("maxResultChars", MAX_RESULT_CHARS),
        presentations=read_presentations(tools),
        allowed_tools=_allowed_tools(tools),
        allowed=frozenset(allowed or (*ALWAYS_ALLOWED, *profiles)),
        unknown_keys=tuple(_unknown(root)),
    )


def _default_tier(router: JsonObject) -> TierChoice | None:
    """The owner's default tier; None if not set."""
    value = router.values.get("defaultTier")
    chosen = next((each for each in (AUTO, *TIERS) if each == value), None)
    if value is not None and chosen is None:
        raise router.file.fault((*router.path, "defaultTier"), f"must be one of {', '.join((AUTO, *TIERS))}")
    return chosen


def _section(root: JsonObject, name: str) -> JsonObject:
    return root.child(name) or JsonObject(root.file, (*root.path, name), {})


def _allowed_tools(tools: JsonObject) -> frozenset[str]:
    """Tools and toolkits that run without confirmation, for everyone."""
    value = tools.values.get("allow", [])
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise tools.file.fault((*tools.path, "allow"), "must be a list of names of tools or toolkits")
    return frozenset(value)


def parse_pool(text: str) -> tuple[str, ...]:
    """Parse a pool from the environment, `a/x, b/y`; empty items are dropped."""
    return tuple(item.strip() for item in text.split(",") if item.strip())


def _slot(router: JsonObject, slot: Slot) -> str:
    named = router.text(f"{slot}Model", DEFAULT_SLOTS[slot][0]).strip()
    if not is_model_name(named):
        raise router.file.fault((*router.path, f"{slot}Model"), "must look like provider/model")
    return named


def _level(router: JsonObject, tier: Tier, first: str) -> str | None:
    """The reasoning level of a tier's first model; None uses the catalogue's. The built-in level only applies to the
    built-in model."""
    model, usual = DEFAULT_SLOTS[tier]
    level = router.text(f"{tier}ModelReasoning", usual if first == model and usual else "default")
    return None if level == "default" else level


def _profiles(root: JsonObject, keys: Mapping[str, str], ollama: str) -> dict[str, ProviderProfile]:
    llm = root.child("llm") or JsonObject(root.file, ("llm",), {})
    providers = llm.child("providers") or JsonObject(root.file, ("llm", "providers"), {})
    found = {}
    held = {variable(name): key for name, key in keys.items()}
    written_as = {variable(name) for name in providers.values}
    names = (*providers.values, *(name for name in keys if variable(name) not in written_as), OLLAMA)
    for name in dict.fromkeys(names):
        own = providers.child(name) or JsonObject(root.file, (*providers.path, name), {})
        written = name in providers.values
        is_ollama = name == OLLAMA
        found[name] = ProviderProfile(
            name=name,
            api_type=_api_type(own, name, written) or ("openai" if is_ollama else None),
            base_url=_optional(own, "baseUrl") or (f"{ollama}/v1" if is_ollama else None),
            api_key=_optional(own, "apiKey") or held.get(variable(name)),
            timeout_seconds=_number(own, "requestTimeoutSeconds", DEFAULT_TIMEOUT_SECONDS, 86_400.0),
            variable=f"llm.providers.{name}.apiKey" if _optional(own, "apiKey") else variable(name),
        )
    return found


def _api_type(own: JsonObject, name: str, written: bool) -> ApiType | None:
    """Blank means openai for a profile with an address; None derives the protocol from the provider."""
    value = _optional(own, "apiType")
    if value is None:
        native = next((kind for kind in API_TYPES if kind == name), None)
        return native or ("openai" if written and own.values.get("baseUrl") else None)
    kind = next((known for known in API_TYPES if known == value), None)
    if kind is None:
        raise own.file.fault((*own.path, "apiType"), f"must be one of {', '.join(API_TYPES)}")
    return kind


def _optional(own: JsonObject, key: str) -> str | None:
    value = own.values.get(key)
    if value is not None and not isinstance(value, str):
        raise own.file.fault((*own.path, key), "must be a string or null")
    return (value or "").strip() or None


def _number(own: JsonObject, key: str, default: float, most: float) -> float:
    value = own.values.get(key, default)
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= most:
        return float(value)
    raise own.file.fault((*own.path, key), f"must be a number from 0 to {most:g}")


def known_keys() -> tuple[str, ...]:
    """Every known key of the file, with its section; providers may have any name."""
    tiers = (f"tiers.{tier}.{key}" for tier in TIERS for key in sorted(CONTRACT_KEYS))
    inside = (f"{section}.{key}" for section, keys in _KNOWN.items() for key in sorted(keys))
    return (*_KNOWN, *inside, *tiers)


def _unknown(root: JsonObject) -> list[str]:
    strange = [key for key in root.values if key not in _KNOWN]
    for section, known in _KNOWN.items():
        inside = root.child(section)
        strange += [f"{section}.{key}" for key in (inside.values if inside else ()) if key not in known]
    tiers = root.child("tiers")
    for tier in TIERS:
        inside = tiers.child(tier) if tiers else None
        strange += [f"tiers.{tier}.{key}" for key in (inside.values if inside else ()) if key not in CONTRACT_KEYS]
    return strange
