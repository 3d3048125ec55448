"""Three vendors on one scripted server, each with a separate key, and checks on their calls."""

from __future__ import annotations

from collections.abc import Mapping

from routing.config.contracts import DEFAULT_CONTRACTS, DEFAULT_FALLBACKS
from routing.types.tiers import TIERS, Tier
from tests.servers.model.request import ModelRequest
from tests.servers.model.script import When
from tests.servers.telegram import Message
from tests.stories.harness import BotHarness, ask

KEYS = {vendor: f"sk-test-{vendor}-000000000000" for vendor in ("openai", "anthropic", "gemini")}
ENDS = {"openai": "/v1", "anthropic": "", "gemini": "/v1beta"}
"""The path after a vendor's root URL."""
FIRST: dict[Tier, str] = {
    "balanced": "openai/gpt-5.1",
    "smart": "openai/gpt-5.1",
    "coding": "openai/gpt-5.2",
    "deep": "openai/gpt-5.2",
}
POOLS: dict[Tier, tuple[str, ...]] = {tier: (FIRST[tier], *DEFAULT_FALLBACKS[tier]) for tier in TIERS}
DEADLINE: dict[Tier, float] = {"balanced": 40.0, "smart": 41.0, "coding": 42.0, "deep": 43.0}
"""Seconds."""
FIRST_TOKEN = 25.0
"""Seconds to the first token in stories where it never comes, which advance the clock by them."""
SOON: dict[str, dict[str, object]] = {tier: {"firstTokenSeconds": FIRST_TOKEN} for tier in TIERS}


def vendors(on: BotHarness, *names: str, **tiers: Mapping[str, object]) -> None:
    """Gives keys to these vendors (default: all), with short time limits and other contract fields as given."""
    on.config["llm"] = {
        "providers": {
            vendor: {"apiType": vendor, "baseUrl": on.ms.vendor(vendor) + ENDS[vendor]} for vendor in names or KEYS
        }
    }
    on.env |= {f"{vendor.upper()}_API_KEY": KEYS[vendor] if vendor in (names or KEYS) else "" for vendor in KEYS}
    times: dict[str, object] = {"trySeconds": 35.0, "firstTokenSeconds": 30.0}
    on.config["tiers"] = {tier: {"deadlineSeconds": DEADLINE[tier], **times, **tiers.get(tier, {})} for tier in TIERS}


def at(vendor: str) -> When:
    """Matches only requests to this vendor."""

    def fits(request: ModelRequest) -> bool:
        return request.vendor == vendor and not request.embeds

    return fits


def asked(on: BotHarness) -> list[str]:
    """The models called, in order."""
    return [f"{call.vendor}/{call.model}" for call in on.ms.calls]


def facts(on: BotHarness) -> dict[str, object]:
    """The facts recorded for the newest turn."""
    names = ("tier", "model", "failed", "fallback", "timed_out", "escalated", "seconds", "first_token_seconds")
    return dict(zip(names, on.rows(f"select {', '.join(names)} from turns order by id desc limit 1")[0], strict=True))


def labels(message: Message) -> list[str]:
    """The labels of its buttons."""
    rows = (message.reply_markup or {}).get("inline_keyboard", [])
    return [button["text"] for row in rows for button in row]


def assert_own_keys(on: BotHarness) -> None:
    """Asserts that no vendor got another one's key."""
    for call in on.ms.journal:
        assert call.key == KEYS[call.vendor]
        sent = f"{call.headers} {call.query} {call.raw!r}"
        assert [vendor for vendor, key in KEYS.items() if vendor != call.vendor and key in sent] == []


async def ask_tier(on: BotHarness, tier: Tier) -> Message:
    """Asks with a tier prefix; returns the answer within the contract's time."""
    answer = await ask(on, f"!{tier} hm")
    row = facts(on)
    assert row["tier"] == tier
    assert isinstance(row["seconds"], float)
    assert row["seconds"] <= DEADLINE[tier]
    assert len(on.ms.calls) <= DEFAULT_CONTRACTS[tier].attempts
    assert_own_keys(on)
    return answer
