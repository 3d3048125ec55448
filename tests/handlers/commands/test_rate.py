"""/rate: the newest answer, or the one a button belongs to."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from handlers.commands.rate import RateCommand
from handlers.ratings import thumb
from routing.errors import Refused
from routing.types.messages import Button, ChatKey
from routing.types.usage import Rating
from tests.handlers.contexts import asked
from tests.handlers.learners import untaught


@dataclass(slots=True)
class Kept:
    """One person's newest answer, and the ratings."""

    last: str | None = "t1"
    known: bool = True
    rated: list[tuple[str, int, Rating | None]] = field(default_factory=list)

    async def newest(self, chat: ChatKey, person_id: int) -> str | None:
        assert (chat, person_id) == (ChatKey("console", "1"), 1)
        return self.last

    async def rate(self, turn_id: str, person_id: int, rating: Rating | None) -> bool:
        self.rated.append((turn_id, person_id, rating))
        return self.known

    def command(self) -> RateCommand:
        stores: Any = self
        return RateCommand(stores, stores, untaught())

    async def say(self, text: str, button: Button | None = None, language: str = "en") -> str:
        ask = replace(asked(text, language=language), button=button)
        return (await self.command()(ask)).text


@pytest.mark.parametrize(
    ("word", "rating", "reply"),
    [
        ("👍", 1, "👍 Noted."),
        ("👍🏿", 1, "👍 Noted."),
        ("up", 1, "👍 Noted."),
        ("👎", -1, "👎 Noted."),
        ("Down", -1, "👎 Noted."),
        ("none", None, "Your rating was removed."),
    ],
)
async def test_the_newest_answer_is_rated(word: str, rating: Rating | None, reply: str) -> None:
    kept = Kept()
    assert await kept.say(f"/rate {word}") == reply
    assert kept.rated == [("t1", 1, rating)]


async def test_without_arguments_the_buttons_rate_the_newest_answer() -> None:
    kept = Kept()
    reply = await kept.command()(asked("/rate"))
    assert reply.buttons == ((Button("👍", "/rate 👍", "t1"), Button("👎", "/rate 👎", "t1")),)
    assert kept.rated == []
    kept.last = "t2"
    await kept.say("/rate 👎", reply.buttons[0][1])
    assert kept.rated == [("t1", 1, -1)]


@pytest.mark.parametrize("word", ["🔥", "5", "great"])
async def test_unknown_words_change_nothing(word: str) -> None:
    kept = Kept()
    with pytest.raises(Refused, match=r"Write /rate, /rate up, /rate down, /rate none\. Nothing was changed\."):
        await kept.say(f"/rate {word}")
    assert kept.rated == []


async def test_without_an_answer_there_is_nothing_to_rate() -> None:
    with pytest.raises(Refused, match="no recent answer"):
        await Kept(last=None).say("/rate up")
    with pytest.raises(Refused, match="no recent answer"):
        await Kept(known=False).say("/rate up")


@pytest.mark.parametrize(
    ("emoji", "found"), [("👍", "👍"), ("👎🏻", "👎"), ("👍️", "👍"), ("👌", ""), ("", ""), ("👍👎", "")]
)
def test_thumbs_of_any_skin_tone(emoji: str, found: str) -> None:
    assert thumb(emoji) == found
