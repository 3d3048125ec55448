"""The contracts of the tiers: defaults, the owner's changes, and the errors with their location."""

import json
from dataclasses import replace

import pytest

from routing.config import jsonfile
from routing.config.contracts import (
    CONTRACT_KEYS,
    DEFAULT_CONTRACTS,
    DEFAULT_FALLBACKS,
    TierContract,
    output_limit,
    read_contracts,
    single_vendor_pools,
)
from routing.errors import ConfigError
from routing.types.tiers import TIERS, Tier

MODELS: dict[Tier, str] = {tier: f"openai/{tier}" for tier in TIERS}


def read(tiers: object = None, pools: dict[Tier, tuple[str, ...]] | None = None) -> dict[Tier, TierContract]:
    text = json.dumps({"tiers": tiers} if tiers is not None else {}, indent=1)
    return read_contracts(jsonfile.parse(text, "runtime-config.json").root(), MODELS, pools or {})


@pytest.mark.parametrize(
    ("tier", "numbers", "price"),
    [
        ("balanced", (90, 25, 45, 2_000, 3), "low"),
        ("smart", (180, 90, 120, 4_000, 3), "mid"),
        ("coding", (240, 60, 150, 8_000, 3), "mid"),
        ("deep", (600, 400, 450, 16_000, 2), "high"),
    ],
)
def test_the_default_contracts(tier: Tier, numbers: tuple[int, ...], price: str) -> None:
    it = read()[tier]
    assert numbers == (
        it.deadline_seconds, it.first_token_seconds, it.try_seconds, it.max_output_tokens, it.attempts,
    )  # fmt: skip
    assert (it.tier, it.price_class, it.pool) == (tier, price, (f"openai/{tier}", *DEFAULT_FALLBACKS[tier]))


def test_every_field_can_be_overridden_alone() -> None:
    body = {
        "pool": ["a/1", " b/2 "], "deadlineSeconds": 100, "firstTokenSeconds": 2.5, "trySeconds": 50,
        "maxOutputTokens": 7, "attempts": 9, "mayEscalate": False, "mayBeEscalatedTo": True,
        "requiresVerifier": True, "requiresPeerReview": True,
    }  # fmt: skip
    assert set(body) == CONTRACT_KEYS
    found = read({"balanced": body})
    assert found["balanced"] == TierContract(
        "balanced", 100.0, 2.5, 50.0, 7, 9, ("a/1", "b/2"), "low", may_escalate=False, may_be_escalated_to=True,
        requires_verifier=True, requires_peer_review=True,
    )  # fmt: skip
    assert {tier: found[tier] for tier in TIERS[1:]} == {tier: read()[tier] for tier in TIERS[1:]}
    assert read({"balanced": None}) == read({}) == read()


def test_the_pool_is_the_environments_else_the_files_else_the_tiers_model_and_its_fallbacks() -> None:
    file = {"deep": {"pool": ["a/1", "b/2"]}}
    assert read(file, {"deep": ("c/3",)})["deep"].pool == ("c/3",)
    assert read(file, {"deep": ()})["deep"].pool == ("a/1", "b/2")
    own: dict[Tier, str] = {**MODELS, "deep": DEFAULT_FALLBACKS["deep"][0]}
    root = jsonfile.parse("{}", "x.json").root()
    assert read_contracts(root, own, {})["deep"].pool == DEFAULT_FALLBACKS["deep"], "no model is listed twice"


@pytest.mark.parametrize(
    ("tiers", "key", "words"),
    [
        ({"dep": {"pool": ["a/1"]}}, "tiers.dep", "balanced, smart, coding, deep"),
        ({"Deep": {}}, "tiers.Deep", "is not a tier"),
        ({"deep": ["a/1"]}, "tiers.deep", "must be an object"),
        ({"deep": {"pool": "a/1"}}, "tiers.deep.pool", "must be a list"),
        ({"deep": {"pool": None}}, "tiers.deep.pool", "must be a list"),
        ({"deep": {"pool": []}}, "tiers.deep.pool", "at least one"),
        ({"deep": {"pool": ["a/1", "a/1 "]}}, "tiers.deep.pool.1", "already"),
        ({"deep": {"pool": ["a/1", " "]}}, "tiers.deep.pool.1", "provider/model"),
        ({"deep": {"pool": ["a/ "]}}, "tiers.deep.pool.0", "provider/model"),
        ({"deep": {"pool": ["/1"]}}, "tiers.deep.pool.0", "provider/model"),
        ({"deep": {"pool": [7]}}, "tiers.deep.pool.0", "provider/model"),
        ({"deep": {"deadlineSeconds": 0}}, "tiers.deep.deadlineSeconds", "above 0"),
        ({"deep": {"deadlineSeconds": True}}, "tiers.deep.deadlineSeconds", "above 0"),
        ({"deep": {"deadlineSeconds": None}}, "tiers.deep.deadlineSeconds", "above 0"),
        ({"deep": {"firstTokenSeconds": -1}}, "tiers.deep.firstTokenSeconds", "above 0"),
        ({"deep": {"trySeconds": "60"}}, "tiers.deep.trySeconds", "above 0"),
        ({"deep": {"trySeconds": 86_401}}, "tiers.deep.trySeconds", "at most 86,400"),
        ({"deep": {"maxOutputTokens": 0}}, "tiers.deep.maxOutputTokens", "above 0"),
        ({"deep": {"attempts": 0}}, "tiers.deep.attempts", "above 0"),
        ({"deep": {"attempts": 1.5}}, "tiers.deep.attempts", "whole number"),
        ({"deep": {"mayEscalate": "no"}}, "tiers.deep.mayEscalate", "true or false"),
        ({"deep": {"mayBeEscalatedTo": 1}}, "tiers.deep.mayBeEscalatedTo", "true or false"),
        ({"balanced": {"trySeconds": 90}}, "tiers.balanced.trySeconds", "before the deadline (90 s)"),
        ({"balanced": {"deadlineSeconds": 45}}, "tiers.balanced.deadlineSeconds", "one try (45 s)"),
        ({"balanced": {"firstTokenSeconds": 46}}, "tiers.balanced.firstTokenSeconds", "within one try (45 s)"),
        ({"balanced": {"trySeconds": 24}}, "tiers.balanced.trySeconds", "first token (25 s)"),
        ({"balanced": {"deadlineSeconds": 180}}, "tiers.balanced.deadlineSeconds", "balanced (180 s)"),
        ({"balanced": {"deadlineSeconds": 180}}, "tiers.balanced.deadlineSeconds", "below smart (180 s)"),
        ({"coding": {"deadlineSeconds": 170}}, "tiers.coding.deadlineSeconds", "smart (180 s) must be below coding"),
        ({"deep": {"deadlineSeconds": 240, "trySeconds": 200, "firstTokenSeconds": 9}}, "tiers.deep.deadlineSeconds",
         "coding (240 s) must be below deep (240 s)"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_refused_with_file_line_and_key(tiers: object, key: str, words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read(tiers)
    assert f" {key} " in str(refused.value)
    assert words in str(refused.value)
    name, _, line = str(refused.value).partition(": ")[0].partition(" line ")
    assert name == "runtime-config.json"
    assert int(line) > 2, "not merely the start of the section"


def test_an_excessive_number_is_refused() -> None:
    root = jsonfile.parse('{"tiers": {"deep": {"deadlineSeconds": 1e999}}}', "x.json").root()
    with pytest.raises(ConfigError, match="at most"):
        read_contracts(root, MODELS, {})


def test_overlapping_deadlines_may_be_moved_together() -> None:
    seconds = {"balanced": 300, "smart": 301, "coding": 302}
    found = read({tier: {"deadlineSeconds": value} for tier, value in seconds.items()})
    assert [found[tier].deadline_seconds for tier in TIERS] == [300, 301, 302, 600]


@pytest.mark.parametrize("pool", [("a/1", "a/1"), ("sk-secret",), ("a/",), ("a/1", "/secret")])
def test_an_invalid_environment_pool_is_refused_without_its_value(pool: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match="TIER_SMART_POOL") as refused:
        read(None, {"smart": pool})
    assert "secret" not in str(refused.value)
    assert f"entry {len(pool)}" in str(refused.value)


def test_a_pool_of_the_file_is_checked_also_where_the_environments_wins() -> None:
    with pytest.raises(ConfigError, match=r"tiers\.deep\.pool"):
        read({"deep": {"pool": "a/1"}}, {"deep": ("c/3",)})


def test_a_single_vendor_pool_is_warned_about() -> None:
    assert single_vendor_pools(read().values()) == {}
    found = read({"smart": {"pool": ["a/1", "a/2"]}, "deep": {"pool": ["router/a/1", "router/b/2"]}})
    assert single_vendor_pools(found.values()) == {"smart": "a", "deep": "router"}


@pytest.mark.parametrize(
    ("effort", "most", "again", "tokens"),
    [
        (None, None, False, 2_000),
        ("none", None, False, 2_000),
        ("minimal", None, False, 6_000),
        ("low", None, False, 6_000),
        ("medium", None, False, 18_000),
        ("high", None, False, 34_000),
        ("xhigh", None, False, 66_000),
        ("unheard-of", None, False, 18_000),
        ("high", 32_000, False, 32_000),
        ("high", 64_000, False, 34_000),
        ("low", None, True, 10_000),
        ("xhigh", None, True, 130_000),
        ("xhigh", 128_000, True, 128_000),
        (None, None, True, 10_000),
    ],
)
def test_the_output_limit_is_the_visible_text_and_room_to_think(
    effort: str | None, most: int | None, again: bool, tokens: int
) -> None:
    assert output_limit(DEFAULT_CONTRACTS["balanced"], effort, most, again) == tokens


@pytest.mark.parametrize("lower", TIERS)
@pytest.mark.parametrize("higher", TIERS)
def test_escalation_goes_upwards_if_both_tiers_allow_it(lower: Tier, higher: Tier) -> None:
    one, other = DEFAULT_CONTRACTS[lower], DEFAULT_CONTRACTS[higher]
    rises = TIERS.index(higher) > TIERS.index(lower)
    assert one.escalates_to(other) is rises
    assert not replace(one, may_escalate=False).escalates_to(other)
    assert not one.escalates_to(replace(other, may_be_escalated_to=False))
