"""The loopback Telegram server accepts valid entities and refuses others."""

import pytest
from telegram import Bot, MessageEntity

from tests.servers.sdk import Answer
from tests.servers.telegram import TelegramServer, check_entities
from tests.servers.telegram.typed import detect_entities

GOOD: list[tuple[str, list[Answer]]] = [
    ("plain", []),
    ("bold", [{"type": "bold", "offset": 0, "length": 4}]),
    ("🙂🙂", [{"type": "bold", "offset": 2, "length": 2}]),
    ("ab", [{"type": "bold", "offset": 0, "length": 2}, {"type": "italic", "offset": 1, "length": 1}]),
    ("ab", [{"type": "bold", "offset": 0, "length": 2}, {"type": "code", "offset": 0, "length": 2}]),
    ("ab", [{"type": "code", "offset": 0, "length": 1}, {"type": "code", "offset": 1, "length": 1}]),
    ("a b", [{"type": "italic", "offset": 0, "length": 2}]),
    ("x=1", [{"type": "pre", "offset": 0, "length": 3, "language": "python"}]),
    ("ab", [{"type": "text_link", "offset": 0, "length": 2, "url": "tg://user?id=1"}]),
    ("ab", [{"type": "blockquote", "offset": 0, "length": 2}, {"type": "pre", "offset": 0, "length": 2}]),
]
BAD: list[tuple[str, list[Answer], str]] = [
    ("abc", [{"type": "bold", "offset": 0, "length": 4}], "ends after the end of the text at UTF-16 offset 4"),
    ("abc", [{"type": "bold", "offset": 3, "length": 1}], "ends after the end"),
    ("abc", [{"type": "bold", "offset": 0, "length": 0}], "non-positive length"),
    ("abc", [{"type": "bold", "offset": -1, "length": 1}], "negative"),
    ("🙂", [{"type": "bold", "offset": 1, "length": 1}], "begins in a middle"),
    ("🙂", [{"type": "bold", "offset": 0, "length": 1}], "ends in a middle"),
    ("abc", [{"type": "shout", "offset": 0, "length": 1}], "unknown entity type"),
    ("abc", [{"type": "text_link", "offset": 0, "length": 1}], "needs url"),
    ("abc", [{"type": "text_link", "offset": 0, "length": 1, "url": "example.org/x"}], "no scheme"),
    ("abc", [{"type": "bold", "offset": 0, "length": 1, "url": "https://example.org"}], "url belongs to text_link"),
    ("abc", [{"type": "code", "offset": 0, "length": 1, "language": "c"}], "language belongs to pre"),
    ("abc", [{"type": "text_mention", "offset": 0, "length": 1}], "needs user"),
    (
        "abc",
        [{"type": "bold", "offset": 0, "length": 2}, {"type": "italic", "offset": 1, "length": 2}],
        "italic at UTF-16 offset 1 partly overlaps bold at 0",
    ),
    (
        "abc",
        [{"type": "italic", "offset": 1, "length": 1}, {"type": "code", "offset": 0, "length": 3}],
        "italic at UTF-16 offset 1 is inside code",
    ),
    ("ab", [{"type": "code", "offset": 0, "length": 2}, {"type": "pre", "offset": 0, "length": 2}], "inside"),
    (
        "abc",
        [{"type": "blockquote", "offset": 0, "length": 3}, {"type": "expandable_blockquote", "offset": 0, "length": 1}],
        "quotes do not nest",
    ),
]


@pytest.mark.parametrize(("text", "entities"), GOOD)
def test_valid_entities(text: str, entities: list[Answer]) -> None:
    assert check_entities(text, entities) == []


@pytest.mark.parametrize(("text", "entities", "problem"), BAD)
def test_invalid_entities(text: str, entities: list[Answer], problem: str) -> None:
    [found] = check_entities(text, entities)
    assert problem in found


def test_typed_commands_and_mentions_get_entities() -> None:
    found = detect_entities("🙂 /help@tierbot, mail bob@example.org or @bob; a/b 1/2 see https://x.org/y.")
    assert [(entity["type"], entity["offset"]) for entity in found] == [
        ("bot_command", 3),
        ("email", 23),
        ("mention", 42),
        ("url", 60),
    ]


async def test_the_server_trims_text_and_moves_entities(tg: TelegramServer, bot: Bot) -> None:
    await bot.send_message(tg.private().id, "  ab \n", entities=[MessageEntity("bold", 1, 3)])
    sent = await tg.reply()
    assert (sent.text, sent.entities) == ("ab", [{"type": "bold", "offset": 0, "length": 2}])
