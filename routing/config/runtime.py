"""The owner's configuration of providers and tiers, `preferences/runtime-config.json`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, get_args

from routing.config.contracts import CONTRACT_KEYS, TierContract, read_contracts
from routing.config.contracts import DEFAULT_FALLBACKS as DEFAULT_FALLBACKS
from routing.config.jsonfile import JsonFile, JsonObject
from routing.config.kinds import ADDRESS, MODEL, TEMPERATURE, TEXT_OR_NULL, keys_of, number, one_of, optional
from routing.config.presentation import Presentation, read_presentations
from routing.config.sandbox import SandboxLimits, read_limits
from routing.config.sections import (
    BUDGET_KEYS,
    MAX_RESULT_CHARACTERS,
    Compaction,
    ConcurrencyLimits,
    CouncilConfig,
    CriticConfig,
    LearningConfig,
    TurnBounds,
    read_budget,
)
from routing.errors import ConfigError, Reason
from routing.types.budgets import BudgetLimits
from routing.types.decisions import Size
from routing.types.llm import ApiType, ProviderProfile
from routing.types.model_names import OLLAMA, OLLAMA_HOME, OLLAMA_NAMES
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
_TIMEOUT = number("must be a number from 0 to 86,400", 86_400, zero=True)

_DEFAULT_TIER = optional(one_of((AUTO, *TIERS)))
_API_TYPE = optional(one_of(API_TYPES))
_KNOWN: dict[str, set[str]] = {
    "llm": {"providers"},
    "modelRouter": {f"{slot}{part}" for slot in SLOTS for part in ("Model", "ModelReasoning")}
    | {"dynamicTierEnabled", "temperature", "defaultTier"},
    "tiers": set(TIERS),
    "compaction": set(keys_of(Compaction)),
    "turn": set(keys_of(TurnBounds)),
    "tools": {"maxResultChars", "presentation", "allow"},
    "parallel": set(keys_of(ConcurrencyLimits)),
    "sandbox": {"seconds", "memoryMb", "processes", "folderMb", "files", "network"},
    "budget": set(BUDGET_KEYS),
    "critic": set(keys_of(CriticConfig)),
    "council": set(keys_of(CouncilConfig)),
    "learning": set(keys_of(LearningConfig)),
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
    learning: LearningConfig
    sandbox: SandboxLimits
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
        known = self.profiles.get(OLLAMA if provider in OLLAMA_NAMES else provider)
        return known or ProviderProfile(provider, None, None, None, DEFAULT_TIMEOUT_SECONDS, variable(provider))


def variable(provider: str) -> str:
    """The environment variable of a provider's key: `my-router` → MY_ROUTER_API_KEY."""
    return "".join(sign if sign.isalnum() else "_" for sign in provider).upper() + "_API_KEY"


ADDRESS_ENDINGS = ("_BASE_URL", "_API_BASE")


def address_variable(provider: str, variables: Mapping[str, str]) -> str:
    """The variable with a provider's address that is set, OPENAI_BASE_URL or OPENAI_API_BASE; empty if none is."""
    stem = variable(provider).removesuffix("_API_KEY")
    return next((name for ending in ADDRESS_ENDINGS if variables.get(name := f"{stem}{ending}")), "")


def read_config(
    file: JsonFile,
    keys: Mapping[str, str],
    pools: Mapping[Tier, tuple[str, ...]],
    allowed: tuple[str, ...] = (),
    ollama: str = OLLAMA_HOME,
    variables: Mapping[str, str] = MappingProxyType({}),
) -> RouterConfig:
    """Merge the file with keys (by provider), pools and allowed providers from the environment; its pools win. Without
    allowed providers, people may choose openai, anthropic, Ollama, the local model and every configured provider.
    `ollama` is Ollama's address unless the file sets one; it needs no key. `variables` of the environment may hold the
    addresses of others, see `address_variable`.

    Raises ConfigError with file, line and reason for invalid values.
    """
    root = file.root()
    router, tools, council = root.section("modelRouter"), root.section("tools"), root.section("council")
    council = replace(council, values={key: value for key, value in council.values.items() if value is not None})
    slots = {slot: router.value(f"{slot}Model", MODEL, DEFAULT_SLOTS[slot][0]) for slot in SLOTS}
    contracts = read_contracts(root, {tier: slots[tier] for tier in TIERS}, pools)
    profiles = _profiles(root.section("llm").section("providers"), keys, ollama, variables)
    most_result_chars = tools.whole("maxResultChars", MAX_RESULT_CHARACTERS)
    return RouterConfig(
        profiles=profiles,
        reasoning={tier: _level(router, tier, contracts[tier].pool[0]) for tier in TIERS},
        internal_model=slots["routing"],
        contracts=contracts,
        temperature=router.value("temperature", TEMPERATURE, DEFAULT_TEMPERATURE),
        dynamic_tier=router.flag("dynamicTierEnabled", True),
        default_tier=router.value("defaultTier", _DEFAULT_TIER, None),
        turn=root.section("turn").fill(TurnBounds()),
        parallel=root.section("parallel").fill(ConcurrencyLimits()),
        budget=read_budget(root.section("budget")),
        critic=root.section("critic").fill(CriticConfig()),
        council=council.fill(CouncilConfig()),
        learning=root.section("learning").fill(LearningConfig()),
        sandbox=read_limits(root.section("sandbox"), most_result_chars),
        compaction=root.section("compaction").fill(Compaction()),
        most_result_chars=most_result_chars,
        presentations=read_presentations(tools),
        allowed_tools=_allowed_tools(tools),
        allowed=frozenset(allowed or (*ALWAYS_ALLOWED, *profiles)),
        unknown_keys=tuple(_unknown(root)),
    )


def parse_pool(text: str) -> tuple[str, ...]:
    """Parse a pool from the environment, `a/x, b/y`; empty items are dropped."""
    return tuple(item.strip() for item in text.split(",") if item.strip())


def _level(router: JsonObject, tier: Tier, first: str) -> str | None:
    """The reasoning level of a tier's first model; None uses the catalogue's. The built-in level only applies to the
    built-in model."""
    model, usual = DEFAULT_SLOTS[tier]
    level = router.text(f"{tier}ModelReasoning", usual if first == model and usual else "default")
    return None if level == "default" else level


def _allowed_tools(tools: JsonObject) -> frozenset[str]:
    """Tools and toolkits that run without confirmation, for everyone."""
    names = tools.values.get("allow", [])
    if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
        raise tools.fault("allow", "must be a list of names of tools or toolkits")
    return frozenset(names)


def _profiles(
    providers: JsonObject, keys: Mapping[str, str], ollama: str, variables: Mapping[str, str]
) -> dict[str, ProviderProfile]:
    held = {variable(name): key for name, key in keys.items()}
    written = {variable(name) for name in providers.values}
    names = (*providers.values, *(name for name in keys if variable(name) not in written), OLLAMA)
    found = {}
    for name in dict.fromkeys(names):
        own, is_ollama = providers.section(name), name == OLLAMA
        own_key = own.value("apiKey", TEXT_OR_NULL, None)
        found[name] = ProviderProfile(
            name=name,
            api_type=_api_type(own, name, name in providers.values) or ("openai" if is_ollama else None),
            base_url=own.value("baseUrl", ADDRESS, None) or environment_address(name, ollama, variables),
            api_key=own_key or held.get(variable(name)),
            timeout_seconds=own.value("requestTimeoutSeconds", _TIMEOUT, DEFAULT_TIMEOUT_SECONDS),
            variable=f"llm.providers.{name}.apiKey" if own_key else variable(name),
        )
    return found


def environment_address(provider: str, ollama: str, variables: Mapping[str, str]) -> str | None:
    """A provider's address if runtime-config.json has none; None: the provider's own. `ollama` is Ollama's, without
    /v1. Raises ConfigError for an invalid one."""
    if provider == OLLAMA:
        return f"{ollama}/v1"
    if not (name := address_variable(provider, variables)):
        return None
    try:
        return ADDRESS.read(variables[name])
    except ValueError:
        raise ConfigError("{name} {rule}.", name=name, rule=Reason(ADDRESS.rule)) from None


def _api_type(own: JsonObject, name: str, written: bool) -> ApiType | None:
    """Blank means openai for a profile with an address; None derives the protocol from the provider."""
    given = own.value("apiType", TEXT_OR_NULL, None)
    if given is not None:
        return replace(own, values={"apiType": given}).value("apiType", _API_TYPE, None)
    native = next((kind for kind in API_TYPES if kind == name), None)
    return native or ("openai" if written and own.values.get("baseUrl") else None)


def known_keys() -> tuple[str, ...]:
    """Every known key of the file, with its section; providers may have any name."""
    inside = (f"{section}.{key}" for section, keys in _KNOWN.items() for key in sorted(keys))
    tiers = (f"tiers.{tier}.{key}" for tier in TIERS for key in sorted(CONTRACT_KEYS))
    return (*_KNOWN, *inside, *tiers)


def _unknown(root: JsonObject) -> Iterator[str]:
    known = known_keys()
    yield from (key for key in root.values if key not in _KNOWN)
    for section in _KNOWN:
        yield from (f"{section}.{key}" for key in root.section(section).values if f"{section}.{key}" not in known)
    for tier in TIERS:
        own = root.section("tiers").section(tier).values
        yield from (f"tiers.{tier}.{key}" for key in own if key not in CONTRACT_KEYS)
