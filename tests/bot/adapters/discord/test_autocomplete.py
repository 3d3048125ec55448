"""Autocomplete through the loopback server."""

from __future__ import annotations

import asyncio

import pytest

from bot.adapters.discord.commands import MAX_TEXT_CHARACTERS, focused, suggest
from handlers.suggestions import Typing
from routing.types.messages import UserKey
from routing.types.people import Person
from tests.bot.adapters.discord.interactions import command_client
from tests.handlers.suggestions import ALICE, STRANGER, Known, suggestions


async def test_typed_text_is_completed() -> None:
    async with command_client() as (dc, client):
        found = await dc.autocomplete("model set", {"tier": "coding", "model": "gpt-5.2"}, focused="model")
        assert found[0] == {"name": "openai/gpt-5.2", "value": "openai/gpt-5.2"}
        found = await dc.autocomplete("model reasoning", {"tier": "deep", "level": "x"}, focused="level")
        assert [choice["value"] for choice in found] == ["xhigh"]
        assert [each["value"] for each in await dc.autocomplete("skill", {"skill": "cook"}, "skill")] == ["cooking"]
        assert client.accepted == []
        assert dc.refusals == []


async def test_strangers_get_no_suggestions() -> None:
    async with command_client() as (dc, _):
        assert await dc.autocomplete("model set", {"model": ""}, focused="model", user="mallory") == []


@pytest.mark.parametrize(
    ("data", "typing"),
    [
        ({"name": "x"}, None),
        ({"name": "x", "options": [{"name": "a", "type": 3, "value": "1"}]}, None),
        (
            {"name": "x", "options": [{"name": "a", "type": 3, "value": "1", "focused": True}]},
            Typing("x", "a", "1", {}),
        ),
        (
            {
                "name": "x",
                "options": [
                    {
                        "name": "s",
                        "type": 1,
                        "options": [
                            {"name": "a", "type": 3, "value": "1"},
                            {"name": "b", "type": 3, "value": "2", "focused": True},
                        ],
                    }
                ],
            },
            Typing("x", "b", "2", {"a": "1"}),
        ),
    ],
)
def test_the_focused_option_is_completed(data: dict[str, object], typing: Typing | None) -> None:
    assert focused(data) == typing


async def test_invalid_choices_are_left_out() -> None:
    cards = {f"openai/{'long' * 30}": {"provider": "openai"}, "openai/short": {"provider": "openai"}}
    data = {"name": "model", "options": [{"name": "model", "type": 3, "value": "", "focused": True}]}
    found = await suggest(data, ALICE, suggestions(cards=cards))
    assert found == ["openai/short"]
    assert max(map(len, cards)) > MAX_TEXT_CHARACTERS


class Slow(Known):
    """The first lookup of a person takes longer than any caller waits."""

    looks = 0

    async def find(self, user: UserKey) -> Person | None:
        self.looks += 1
        if self.looks == 1:
            await asyncio.Event().wait()
        return await super().find(user)


async def test_the_first_keystroke_after_a_start_is_completed_too() -> None:
    data = {"name": "tier", "options": [{"name": "tier", "type": 3, "value": "sm", "focused": True}]}
    assert await suggest(data, ALICE, suggestions(Slow())) == ["smart"]


class Counted(Known):
    """Counts lookups of people."""

    looks = 0

    async def find(self, user: UserKey) -> Person | None:
        self.looks += 1
        return await super().find(user)


@pytest.mark.parametrize(("user", "text"), [(ALICE, "xyzzy"), (STRANGER, "sm")])
async def test_text_without_matches_is_searched_once(user: UserKey, text: str) -> None:
    counted = Counted()
    data = {"name": "tier", "options": [{"name": "tier", "type": 3, "value": text, "focused": True}]}
    assert await suggest(data, user, suggestions(counted)) == []
    assert counted.looks == 1


async def test_without_a_focused_option_there_are_no_suggestions() -> None:
    assert await suggest({"name": "model"}, ALICE, suggestions()) == []
