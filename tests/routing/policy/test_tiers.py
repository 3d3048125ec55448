"""Which tier serves a turn, and how people may write a tier."""

import pytest

from routing.errors import Refused
from routing.policy.tiers import default_for, parse, resolve, split_prefix
from routing.types.decisions import TierSource, TierSwitch
from routing.types.people import Preferences
from routing.types.tiers import Tier

MODEL = TierSwitch("coding", "conversation", 10.0, "the model switched to it")
SKILL = TierSwitch("deep", "skill", 20.0, "the skill 'review' asks for it")
EARLIER_SKILL = TierSwitch("deep", "skill", 5.0, "the skill 'review' asks for it")


@pytest.mark.parametrize(
    ("stored", "force", "prefix", "switches", "tier", "source"),
    [
        (None, False, None, (), "balanced", "default"),
        (None, True, None, (), "balanced", "default"),
        (None, True, None, (SKILL,), "deep", "skill"),
        ("smart", False, None, (), "smart", "preference"),
        ("smart", True, None, (), "smart", "forced"),
        ("smart", False, "deep", (), "deep", "prefix"),
        ("smart", True, "deep", (MODEL, SKILL), "deep", "prefix"),
        ("smart", True, None, (MODEL, SKILL), "smart", "forced"),
        ("smart", False, None, (MODEL,), "coding", "conversation"),
        ("smart", False, None, (MODEL, SKILL), "deep", "skill"),
        ("smart", False, None, (SKILL, MODEL), "deep", "skill"),
        ("smart", False, None, (EARLIER_SKILL, MODEL), "coding", "conversation"),
        ("balanced", True, None, (MODEL,), "balanced", "forced"),
    ],
)
def test_the_highest_priority_decides(
    stored: Tier | None,
    force: bool,
    prefix: Tier | None,
    switches: tuple[TierSwitch, ...],
    tier: Tier,
    source: TierSource,
) -> None:
    decision = resolve(Preferences(stored, force), prefix, switches)
    assert (decision.tier, decision.source) == (tier, source)
    assert decision.evidence


def test_a_switch_has_its_own_reason() -> None:
    assert resolve(Preferences(), None, (SKILL,)).evidence == "the skill 'review' asks for it"


@pytest.mark.parametrize(
    ("text", "tier", "rest"),
    [
        ("!smart why?", "smart", "why?"),
        ("!DEEP  why?", "deep", "why?"),
        (" \n!coding\n\nwhy?", "coding", "why?"),
        ("!balanced", "balanced", ""),
        ("!smart  two  blanks ", "smart", "two  blanks "),
        ("!smart, why?", None, "!smart, why?"),
        ("!routing why?", None, "!routing why?"),
        ("!wow that's great", None, "!wow that's great"),
        ("!important: read this", None, "!important: read this"),
        ("!hola", None, "!hola"),
        ("! smart why?", None, "! smart why?"),
        ("well !smart", None, "well !smart"),
        ("!ｓmart x", None, "!ｓmart x"),
        ("", None, ""),
    ],
)
def test_only_a_whole_first_word_is_a_prefix(text: str, tier: Tier | None, rest: str) -> None:
    assert split_prefix(text) == (tier, rest)


@pytest.mark.parametrize("text", ["!smrt why?", " !DEPE hi", "!balance hi", "!turbo hi", "!auto why?", "!code"])
def test_a_mistyped_prefix_is_refused(text: str) -> None:
    with pytest.raises(Refused, match=r"There is no tier !.*Nothing was sent"):
        split_prefix(text)


@pytest.mark.parametrize("name", ["smart", "SMART", " Smart "])
def test_a_tier_is_read_in_any_case(name: str) -> None:
    assert parse(name) == "smart"


@pytest.mark.parametrize(("name", "nearest"), [("smrt", "smart"), ("code", "coding"), ("balance", "balanced")])
def test_a_typo_names_the_nearest_tier_and_all_four(name: str, nearest: str) -> None:
    with pytest.raises(Refused, match=f"did you mean {nearest}\\?.*balanced, smart, coding, deep") as refused:
        parse(name)
    assert str(refused.value).endswith("Nothing was changed.")


@pytest.mark.parametrize("name", ["turbo", "routing", "", "🚀", "{name}"])
def test_other_text_lists_the_four_tiers(name: str) -> None:
    with pytest.raises(Refused, match="balanced, smart, coding, deep") as refused:
        parse(name)
    assert name in str(refused.value)


def test_the_owners_default_does_not_give_guests_a_tier() -> None:
    assert default_for("guest", "deep") is None
    assert default_for("guest", "auto") == "auto"
    assert default_for("user", "deep") == "deep"
