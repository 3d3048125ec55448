"""The tier for a message: its request in any language, and the state of the conversation."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from routing.policy.auto.chooser import default_chooser
from routing.types.tiers import TIERS, Tier

FENCE = "```go\nch := make(chan int)\n```"


@pytest.mark.parametrize(
    ("text", "tier"),
    [
        ("hi", "balanced"),
        ("", "balanced"),
        ("🎉🎉", "balanced"),
        ("17 * 23", "balanced"),
        ("What's the capital of Mongolia?", "balanced"),
        ("Prove P != NP", "deep"),
        ("证明P≠NP", "deep"),
        ("证明 P 不等于 NP", "deep"),
        ("Докажи, что P не равно NP", "deep"),
        ("P ≠ NP を証明して", "deep"),
        ("Beweise, dass die Wurzel aus 2 irrational ist", "deep"),
        ("أثبت أن عدد الأعداد الأولية لا نهائي", "deep"),
        ("Classify all groups of order 30.", "deep"),
        ("设计一个支持百万并发的秒杀系统", "smart"),
        ("Compare renting and buying over ten years", "smart"),
        ("Résous l'équation x² + 3x = 4", "smart"),
        ("Write a Python function that merges two lists", "coding"),
        ("用Python写一个爬虫", "coding"),
        (f"why does this block?\n{FENCE}", "coding"),
        ("IndexError: list index out of range", "coding"),
    ],
)
def test_tiers_of_messages(text: str, tier: Tier) -> None:
    assert default_chooser().choose(text).tier == tier


@pytest.mark.parametrize(
    ("text", "tier"),
    [
        ("What does 'prove' mean?", "balanced"),
        ("translate 'think hard' into French", "balanced"),
        ("Translate into German: prove that there are infinitely many primes", "balanced"),
        ("translate this to TypeScript: def add(a, b): return a + b", "coding"),
        ("I think hard cheese is better than soft", "balanced"),
        ("Is Java a nice island for a holiday?", "balanced"),
        ("How can I prove my age at the door?", "balanced"),
        ("Please fix the commas: we analysed the risks and compared the contracts in depth", "balanced"),
        ("在职证明去哪里开？", "balanced"),
    ],
)
def test_misleading_messages(text: str, tier: Tier) -> None:
    assert default_chooser().choose(text).tier == tier


@pytest.mark.parametrize(
    "asked",
    [
        *(
            "think hard",
            "ultrathink",
            "denk gründlich nach",
            "réfléchis bien",
            "piensa bien",
            "pensa bem",
            "rifletti bene",
        ),
        *("подумай хорошенько", "подумай добре", "仔细想一想", "よく考えて", "깊이 생각해줘", "فكر جيدا", "תחשוב טוב"),
        *(
            "अच्छी तरह सोचो",
            "iyice düşün",
            "zastanów się dobrze",
            "denk goed na",
            "tänk efter noga",
            "dobře si to promysli",
        ),
        *("pikirkan baik-baik", "hãy suy nghĩ kỹ", "คิดให้ดี", "σκέψου καλά", "gondold át alaposan", "mieti tarkkaan"),
    ],
)
def test_hard_thinking_is_recognised_in_many_languages(asked: str) -> None:
    assert default_chooser().choose(asked).tier == "smart"
    assert default_chooser().choose(f"{asked}: 12 + 7?").signals[0] == "intent"
    assert default_chooser().choose(asked, previous=["smart"]).tier == "deep"


@pytest.mark.parametrize(
    "text",
    [
        "don't think too hard about it, which colour is nicer?",
        "no need to think hard, name a number",
        "don't overthink it, red or blue?",
        "不用仔细想，选一个",
    ],
)
def test_requests_for_a_quick_answer(text: str) -> None:
    assert default_chooser().choose(text).tier == "balanced"


def test_intent_raises_the_tier_by_one() -> None:
    assert default_chooser().choose("Compare renting and buying over ten years").tier == "smart"
    assert default_chooser().choose("Think hard. Compare renting and buying over ten years").tier == "deep"
    assert default_chooser().choose(f"Think hard about this\n{FENCE}").tier == "deep"


@pytest.mark.parametrize(
    ("text", "previous", "had_code", "tier"),
    [
        ("fix it", ["coding"], True, "coding"),
        ("fix it", ["balanced"], True, "coding"),
        ("fix it", ["balanced"], False, "balanced"),
        ("fix it", [], False, "balanced"),
        ("исправь", ["coding"], True, "coding"),
        ("geht immer noch nicht", ["coding"], True, "coding"),
        ("还是不行", ["coding"], True, "coding"),
        ("and in line 3?", ["coding"], True, "coding"),
        ("why?", ["balanced", "deep"], False, "deep"),
        ("继续", ["deep"], False, "deep"),
        ("and what if I only have half?", ["smart"], False, "smart"),
        ("prove it for n = 3", ["deep"], False, "deep"),
        ("thanks, that helped a lot", ["deep"], False, "balanced"),
        ("hi", ["deep"], False, "balanced"),
        ("Спасибо!", ["smart"], False, "balanced"),
        ("What time is it in Tokyo?", ["deep"], False, "balanced"),
        ("Any good films tonight?", ["coding"], True, "balanced"),
        ("and write it in Python with unit tests", ["smart"], False, "coding"),
    ],
)
def test_the_conversations_tier_counts(text: str, previous: Sequence[Tier], had_code: bool, tier: Tier) -> None:
    assert default_chooser().choose(text, previous=previous, had_code=had_code).tier == tier


@pytest.mark.parametrize("text", ["restart it", "and the other function?", "and the second loop?"])
def test_a_hint_of_code_counts_only_after_code(text: str) -> None:
    without = default_chooser().choose(text, previous=["smart"])
    assert (without.tier, without.signals) == ("smart", ("follow-up",))
    assert default_chooser().choose(text, previous=["smart"], had_code=True).signals == ("code before",)


@pytest.mark.parametrize(
    ("text", "signal"),
    [
        ("thanks, that helped a lot", "small talk"),
        ("In one sentence: what is inflation?", "brief"),
        ("Translate 'good luck' into Italian", "words"),
        ("go on", "follow-up"),
        ("Why did my landlord keep the deposit? Can I sue?", "law"),
        ("name a colour", "everyday"),
    ],
)
def test_reasons(text: str, signal: str) -> None:
    assert signal in default_chooser().choose(text, previous=["deep"]).signals


def test_a_picture_starts_a_new_topic() -> None:
    assert default_chooser().choose("this?", previous=["deep"]).tier == "deep"
    assert default_chooser().choose("this?", previous=["deep"], pictures=1).tier == "balanced"
    assert default_chooser().choose("", pictures=1).signals == ("picture",)


def test_the_end_of_a_long_message_is_read_as_well() -> None:
    assert default_chooser().choose(f"{'la ' * 9_000}\nProve P != NP").tier == "deep"
    assert default_chooser().choose(f"{'la ' * 9_000}\n```\nx = 1\n```").tier == "coding"


def test_disallowed_tiers() -> None:
    decision = default_chooser().choose("Prove P != NP", allowed=["balanced", "smart"])
    assert decision.tier == "smart"
    assert decision.evidence == "a proof; deep is not allowed"


@given(
    st.text(st.characters()),
    st.lists(st.sampled_from(TIERS), max_size=3),
    st.booleans(),
    st.sets(st.sampled_from(TIERS), min_size=1),
    st.integers(0, 3),
)
@example("\ud800 P != NP", [], False, {"balanced"}, 0)
@example("ﷺ" * 3_000, [], False, {"deep"}, 0)
@example("…" * 50, ["deep"], True, {"smart"}, 1)
def test_any_text_gets_an_allowed_tier(
    text: str, previous: list[Tier], had_code: bool, allowed: set[Tier], pictures: int
) -> None:
    decision = default_chooser().choose(text, previous=previous, had_code=had_code, allowed=allowed, pictures=pictures)
    assert decision.tier in allowed
    assert decision.evidence
    assert decision.signals
    assert decision == default_chooser().choose(
        text, previous=previous, had_code=had_code, allowed=allowed, pictures=pictures
    )
