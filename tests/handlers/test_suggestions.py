"""Suggestions: the likeliest first, and none for strangers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, cast

import pytest

from handlers.commands import COMMANDS
from handlers.suggestions import MAX_SUGGESTIONS, Suggestions, Typing, likeliest
from routing.errors import StorageFault
from routing.policy.models import Models
from routing.types.messages import UserKey
from routing.types.people import Override, Person, PersonSettings, Preferences, Role
from routing.types.tiers import TIERS
from routing.types.toolkits import ToolCard, Toolkit
from tests.handlers.suggestions import ALICE, SKILLS, STRANGER, Known, models, suggestions

CARDS: Mapping[str, object] = {
    "openai/gpt-5.2": {
        "provider": "openai",
        "displayName": "GPT-5.2",
        "reasoning": {"default": "low", "levels": {"low": {"maxInputTokens": 9}, "xhigh": {"maxInputTokens": 9}}},
    },
    "openai/gpt-4.1": {"provider": "openai", "displayName": "GPT-4.1"},
    "anthropic/claude-opus-4-5": {
        "provider": "anthropic",
        "displayName": "Opus",
        "reasoning": {"default": "max", "levels": {"max": {"maxInputTokens": 9}}},
    },
    "local/tiny": {"provider": "local", "displayName": "Tiny"},
    "mistral/large": {"provider": "mistral", "displayName": "Large"},
}


async def offered(
    command: str, text: str = "", argument: str = "", known: Known | None = None, user: UserKey = ALICE, **given: str
) -> tuple[str, ...]:
    typing = Typing(command, argument or command, text, given)
    found = await suggestions(known, CARDS).offer(user, typing)
    assert found is not None
    return found


async def test_callable_models_come_first_and_forbidden_ones_are_left_out() -> None:
    found = ("openai/gpt-4.1", "openai/gpt-5.2", "anthropic/claude-opus-4-5", "local/tiny")
    assert await offered("model") == found
    assert await offered("model", argument="provider") == ("anthropic", "local", "openai")
    assert await offered("model", "gpt-5") == ("openai/gpt-5.2",)
    assert (await offered("model", "gtp 5.2"))[0] == "openai/gpt-5.2"


async def test_levels_are_those_of_the_tiers_model() -> None:
    assert await offered("model", argument="level", tier="coding") == ("low", "xhigh")
    known = Known(preferred=Preferences(overrides={"coding": Override("anthropic/claude-opus-4-5", "max")}))
    assert await offered("model", argument="level", known=known, tier="coding") == ("max",)
    assert await offered("model", argument="level", known=known, tier="deep") == ("low", "xhigh")
    anything = await offered("model", argument="level", known=known)
    assert set(anything) == {"low", "xhigh", "max"}
    assert len(anything) == 3


@pytest.mark.parametrize(
    ("command", "text", "words"),
    [
        ("skill", "", ("code-review", "cooking", "off")),
        ("skill", "cook", ("cooking",)),
        ("retry", "", TIERS),
        ("retry", "sm", ("smart",)),
        ("retry", "smart again", ()),
        ("history", "ex", ("export",)),
        ("usage", "", ("7d", "30d", "tiers", "all")),
        ("settings", "", ("language", "streaming", "footer", "learning", "timezone", "instructions")),
        ("settings", "language d", ("language de",)),
        ("settings", "Language d", ("Language de",)),
        ("settings", "nothing d", ()),
        ("settings", "language de ", ()),
        ("whoami", "", ()),
        ("nothing", "", ()),
    ],
)
async def test_valid_words_are_suggested(command: str, text: str, words: tuple[str, ...]) -> None:
    assert await offered(command, text) == words


async def test_help_names_every_command() -> None:
    assert "tier" in await offered("help")
    assert await offered("help", "who") == ("whoami",)


class Box:
    """Toolkits by role."""

    async def offered(self, person: Person) -> tuple[Toolkit, ...]:
        kits = (
            Toolkit("basics", "", base=True, tools=(ToolCard("clock", {}),)),
            Toolkit("meta", "", base=True, tools=(ToolCard("discover_tools", {}),)),
            Toolkit("odd one", "", tools=(ToolCard("odd", {}),)),
            Toolkit("shell", "", tools=(ToolCard("run", {}),)),
        )
        return kits if person.role == "owner" else kits[:3]


def with_box(known: Known) -> Suggestions:
    stores: Any = known
    return Suggestions(COMMANDS, models(CARDS), cast(Any, Box()), lambda: SKILLS, stores, stores)


async def test_toolkits_are_suggested_with_the_effective_switch() -> None:
    known = Known()
    box, typing = with_box(known), Typing("tools", "tools", "", {})
    assert await box.offer(ALICE, typing) == ('off "odd one"', "off shell", "off basics")
    known.kept = PersonSettings(off=frozenset({"shell", "gone"}))
    assert await box.offer(ALICE, typing) == ('off "odd one"', "off basics", "on gone", "on shell")
    known.people[ALICE], known.kept = Person(1, "user", "Alice"), PersonSettings()
    assert await box.offer(ALICE, typing) == ('off "odd one"', "off basics")


async def test_suggestions_respect_roles() -> None:
    assert await offered("model", user=STRANGER) == ()
    roles: tuple[tuple[Role, bool], ...] = (("blocked", False), ("guest", False), ("user", True))
    for role, something in roles:
        known = Known({ALICE: Person(1, role, "")})
        assert bool(await offered("model", known=known)) is something, role


class Broken(Known):
    """A failing store."""

    async def find(self, user: UserKey) -> Person | None:
        raise StorageFault("the disk is full")


class Slow(Known):
    """A store that never answers."""

    async def find(self, user: UserKey) -> Person | None:
        await asyncio.Event().wait()
        return None


@pytest.mark.parametrize(("store", "found"), [(Broken(), ()), (Slow(), None)], ids=["broken", "slow"])
async def test_a_failing_storage_does_not_delay_suggestions(store: Known, found: tuple[str, ...] | None) -> None:
    async with asyncio.timeout(60):
        assert await suggestions(store).offer(ALICE, Typing("model", "model", "", {})) == found


@pytest.mark.parametrize(
    ("known", "is_stranger"),
    [
        (Known(), False),
        (Known({}), True),
        (Known({ALICE: Person(1, "blocked", "")}), True),
        (Known({ALICE: Person(1, "guest", "")}), False),
        (Slow(), False),
    ],
)
async def test_only_known_non_members_are_strangers(known: Known, is_stranger: bool) -> None:
    async with asyncio.timeout(60):
        assert await suggestions(known).is_stranger(ALICE) is is_stranger


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ("b/beta", "a/alpha", "a/beta-alpha", "gamma")),
        (" A/ALPHA ", ("a/alpha",)),
        ("alpha", ("a/alpha", "a/beta-alpha")),
        ("beta", ("b/beta", "a/beta-alpha")),
        ("et", ("b/beta", "a/beta-alpha")),
        ("gama", ("gamma",)),
        ("another-provider/btea", ("b/beta",)),
        ("xyzzy", ()),
    ],
)
def test_ranking_of_suggestions(text: str, found: tuple[str, ...]) -> None:
    assert likeliest(text, ("b/beta", "a/alpha", "a/beta-alpha", "gamma")) == found


def test_a_model_name_without_provider_matches_as_a_prefix() -> None:
    assert likeliest("alpha", ("a/no-alpha", "a/alpha", "alpha/b")) == ("a/alpha", "alpha/b", "a/no-alpha")


def test_suggestions_are_limited_to_discords_maximum() -> None:
    many = [f"word {number}" for number in range(100)]
    assert [len(likeliest(text, many)) for text in ("", "word", "ord", "wrd 1")] == [MAX_SUGGESTIONS] * 4


def test_the_sample_models_are_as_expected() -> None:
    assert isinstance(models(), Models)
    assert len(models().catalog.models()) > len(CARDS)
