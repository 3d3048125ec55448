"""Token estimates of texts and messages."""

from __future__ import annotations

from collections.abc import Iterable

from routing.types.llm import ChatMessage

CHARS_PER_TOKEN = 3.5
"""Latin text; an estimate before the call, the provider's own count is the truth."""


TOKENS_PER_PICTURE = 1000


UNITS = 28
"""Weights are whole 28ths of a token, so that sums are exact: 8 a Latin character, 7 one of a tool's definition."""


_NARROW = 8


_NOTHING = bytes((0x00, 0x01, 0x1E, 0x20, *range(0xDC, 0xE0)))
"""First bytes in UTF-16 of Latin text with its punctuation, and of second halves of signs beyond U+FFFF."""


_SCRIPTS: tuple[tuple[bytes, int], ...] = (
    (bytes((0x03, 0x04, 0x06)), 11),  # Greek, Cyrillic, Arabic
    (bytes((0x05, 0x09, 0x0C)), 14),  # Armenian, Hebrew, Devanagari, Bengali, Telugu, Kannada
    (bytes((0x0A, 0x0D, 0x0E, 0x10, 0x17)), 17),  # Gurmukhi, Sinhala, Thai, Burmese, Georgian, Khmer
    (bytes((*range(0x2F, 0x34), *range(0x4E, 0xA0), *range(0xAC, 0xD8), 0xFF)), 28),  # CJK, kana, Hangul
    (bytes((0x0B,)), 34),  # Odia
    (bytes((0x02, 0x07, 0x0F, 0x21, 0x22, *range(0x24, 0x28), 0xFE)), 58),  # phonetics, Tibetan, symbols
    (bytes((0x12,)), 66),  # Ethiopic
)
"""First bytes in UTF-16 and the weight of a sign: the tokens of o200k (GPT-4o and later) in sentences about tools, the
highest among the languages of a script, with the spaces taken off. Counting bytes is 10 times as fast as looking at
every character."""


_OTHERS = 94
"""What is in no script above: three tokens, and what a space beside it is more than elsewhere."""


_BLOCKS: tuple[tuple[int, bytes, int], ...] = (
    *((0x03, first, 47) for first in (b"\xcc", b"\xcd")),  # combining, beside Greek
    *((0x0B, first, -20) for first in (b"\xe0\xae", b"\xe0\xaf")),  # Tamil, beside Odia
    *((0x0E, first, 39) for first in (b"\xe0\xba", b"\xe0\xbb")),  # Lao, beside Thai
    (0xD8, b"\xf0\x9f", -36),  # emoji, beside all that lies beyond U+FFFF
)
"""First byte in UTF-16, first bytes in UTF-8, and how much more a sign weighs than the first says."""


def estimate(messages: Iterable[ChatMessage]) -> float:
    """Tokens of some messages: their texts, the names and arguments of their calls, their pictures. Thinking blocks
    are not counted: they are the provider's to keep or to drop."""
    return weight(messages) / UNITS


def weight(messages: Iterable[ChatMessage]) -> int:
    """The same in 28ths of a token."""
    texts: list[str] = []
    pictures = 0
    for message in messages:
        texts.append(message.text)
        for call in message.calls:
            texts += (call.name, call.arguments)
        pictures += len(message.pictures)
    return text_weight("".join(texts)) + UNITS * TOKENS_PER_PICTURE * pictures


def text_weight(text: str) -> int:
    """A text in 28ths of a token, by script: a CJK sign is a token, 3.5 Latin characters are one."""
    signs, weighed = foreign(text)
    return _NARROW * (len(text) - signs) + weighed


def foreign(text: str) -> tuple[int, int]:
    """How many signs of a text are of other scripts than Latin, and what they weigh together."""
    if text.isascii():
        return 0, 0
    left = text.encode("utf-16-be", "surrogatepass")[::2].translate(None, _NOTHING)
    signs, weighed = len(left), 0
    blocks = [(first, more) for high, first, more in _BLOCKS if high in left]
    for script, each in _SCRIPTS:
        if left:
            rest = left.translate(None, script)
            weighed += each * (len(left) - len(rest))
            left = rest
    written = text.encode("utf-8", "surrogatepass") if blocks else b""
    return signs, weighed + _OTHERS * len(left) + sum(more * written.count(first) for first, more in blocks)
