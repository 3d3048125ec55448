"""Token estimates of texts and messages."""

from __future__ import annotations

from collections.abc import Iterable

from routing.types.llm import ChatMessage

CHARACTERS_PER_TOKEN = 3.5
"""For Latin text. An estimate before the call; the provider's count is final."""
TOKENS_PER_PICTURE = 1000
UNITS = 28
"""Weights are in 28ths of a token, so that sums are exact integers: a Latin character weighs 8, or 7 in a tool
definition."""
_NARROW = 8
_NOTHING = bytes((0x00, 0x01, 0x1E, 0x20, *range(0xDC, 0xE0)))
"""High bytes in UTF-16 of Latin text and punctuation, and of low surrogates."""
_SCRIPTS: tuple[tuple[bytes, int], ...] = (
    (bytes((0x03, 0x04, 0x06)), 11),  # Greek, Cyrillic, Arabic
    (bytes((0x05, 0x09, 0x0C)), 14),  # Armenian, Hebrew, Devanagari, Bengali, Telugu, Kannada
    (bytes((0x0A, 0x0D, 0x0E, 0x10, 0x17)), 17),  # Gurmukhi, Sinhala, Thai, Burmese, Georgian, Khmer
    (bytes((*range(0x2F, 0x34), *range(0x4E, 0xA0), *range(0xAC, 0xD8), 0xFF)), 28),  # CJK, kana, Hangul
    (bytes((0x0B,)), 34),  # Odia
    (bytes((0x02, 0x07, 0x0F, 0x21, 0x22, *range(0x24, 0x28), 0xFE)), 58),  # phonetics, Tibetan, symbols
    (bytes((0x12,)), 66),  # Ethiopic
)
"""High bytes in UTF-16 and the weight of a character: the tokens of o200k (GPT-4o and later) in sentences about tools,
the maximum over the languages of a script, without the spaces. Counting bytes is 10 times as fast as classifying every
character."""
_OTHERS = 94
"""Other scripts: three tokens, plus their share of the spaces."""
_BLOCKS: tuple[tuple[int, bytes, int], ...] = (
    *((0x03, first, 47) for first in (b"\xcc", b"\xcd")),  # combining, beside Greek
    *((0x0B, first, -20) for first in (b"\xe0\xae", b"\xe0\xaf")),  # Tamil, beside Odia
    *((0x0E, first, 39) for first in (b"\xe0\xba", b"\xe0\xbb")),  # Lao, beside Thai
    (0xD8, b"\xf0\x9f", -36),  # emoji, beside all that lies beyond U+FFFF
)
"""High byte in UTF-16, first bytes in UTF-8, and the weight to add for characters that the high byte misjudges."""


def estimate(messages: Iterable[ChatMessage]) -> float:
    """Estimated tokens of messages: text, names and arguments of calls, pictures. Thinking blocks don't count, because
    providers may drop them."""
    return weight(messages) / UNITS


def weight(messages: Iterable[ChatMessage]) -> int:
    """Like `estimate`, in 28ths of a token."""
    texts: list[str] = []
    pictures = 0
    for message in messages:
        texts.append(message.text)
        for call in message.calls:
            texts += (call.name, call.arguments)
        pictures += len(message.pictures)
    return text_weight("".join(texts)) + UNITS * TOKENS_PER_PICTURE * pictures


def text_weight(text: str) -> int:
    """The weight of a text in 28ths of a token, by script: one token per CJK character or per 3.5 Latin ones."""
    signs, weighed = foreign(text)
    return _NARROW * (len(text) - signs) + weighed


def foreign(text: str) -> tuple[int, int]:
    """The number of non-Latin characters in a text, and their weight."""
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
