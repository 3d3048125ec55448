"""Texts that are too long: what of them is kept, and the words that say so (routing specification, 22 and 23)."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from dataclasses import replace

from routing.turn.context_window import Window
from routing.types.llm import ChatMessage, ToolCall
from routing.types.tokens import CHARS_PER_TOKEN, weight

MOST_RESULT_CHARS = 100_000
"""The default of `tools.maxResultChars`."""
EMERGENCY_SHARE = 0.25
LEAST_EMERGENCY_CHARS = 10_000
_NARROWER = "Ask more narrowly: filter, search, or read one part at a time."
_SHORTER = "It was too long for the model; ask for a part of it."
_LONGEST_CLUSTER = 32
"""Code points looked at to find the end of what a reader takes for one sign."""
_MOST_VALUES = 100
"""A call with more arguments than these is shortened as one text."""
_JOINER = "\u200d"
_TEXT_BESIDE_PICTURES = 200
"""Characters that a message should keep before a picture is left out for them."""


def limit_result(text: str, most: int = MOST_RESULT_CHARS) -> str:
    """A tool's result within `most` characters, the marker included. The marker's second figure is the limit, as the
    specification writes it; the marker itself takes some of it. A limit too small for the advice has the figures
    alone, a smaller one the text alone."""
    figures = f"[OUTPUT TRUNCATED: {len(text)} chars total, showing first {most} chars."
    return _beginning(text, most, f"{figures} {_NARROWER}]", f"{figures}]")


def emergency_chars(limit_tokens: int) -> int:
    """How long a message may stay after a provider said that the whole is too long, for a model of so many tokens."""
    return max(int(limit_tokens * CHARS_PER_TOKEN * EMERGENCY_SHARE), LEAST_EMERGENCY_CHARS)


def emergency(text: str, most: int) -> str:
    """A text within `most` characters, the marker included."""
    figures = f"[EMERGENCY TRUNCATED: {len(text)} chars total."
    return _beginning(text, most, f"{figures} {_SHORTER}]", f"{figures}]")


def emergency_all(messages: Sequence[ChatMessage], limit_tokens: int) -> tuple[ChatMessage, ...]:
    """Every message above `emergency_chars` cut, roles, ids and calls kept; the others stay the same objects. A call's
    arguments above it are shortened and stay a JSON object."""
    most = emergency_chars(limit_tokens)
    return tuple(_with(message, emergency(message.text, most), most) for message in messages)


def shorten(text: str, most: int) -> str:
    """The beginning and the end of a text, `most` characters in all, and how long it was."""
    if len(text) <= most:
        return text
    marker = f"\n[… shortened: {len(text):,} characters …]\n"
    room = most - len(marker)
    if room < len(marker):
        return text[: _edge(text, most - 1)] + "…" if most > 0 else ""
    head, tail = _edge(text, room - room // 3), len(text) - room // 3
    while tail < len(text) and _joined(text, tail):
        tail += 1
    return text[:head] + marker + text[tail:]


def shorten_arguments(arguments: str, most: int) -> str:
    """A call's arguments within `most` characters (2 at least), still a JSON object: long values are shortened."""
    if len(arguments) <= most:
        return arguments
    try:
        values = json.loads(arguments)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict) or len(values) > _MOST_VALUES:
        values = {"shortened": arguments}
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in values.items()}
    room = most
    while room := room // 2:
        short = {name: shorten(text, room) if len(text) > room else values[name] for name, text in texts.items()}
        text = json.dumps(short, ensure_ascii=False)
        if len(text) <= most:
            return text.encode("utf-8", "replace").decode()
    return "{}"


def squeeze(messages: Sequence[ChatMessage], window: Window) -> tuple[ChatMessage, ...]:
    """The longest texts and arguments cut in the middle, all to one length, until everything fits; or, where that is
    impossible, as small as they get. Roles, ids and names stay. Pictures are left out, the oldest first, only where
    200 characters of each text would not fit beside them."""
    if window.takes(weight(messages)):
        return tuple(messages)
    messages = _fewer_pictures(messages, window)
    best = _cut_to(messages, 1)
    low, high = 2, max((len(text) for message in messages for text in _texts(message)), default=0)
    while low <= high:
        middle = (low + high) // 2
        tried = _cut_to(messages, middle)
        if not window.takes(weight(tried)):
            high = middle - 1
        else:
            best, low = tried, middle + 1
    return best


def _fewer_pictures(messages: Sequence[ChatMessage], window: Window) -> tuple[ChatMessage, ...]:
    kept = list(messages)
    for at, message in enumerate(messages):
        for gone in range(1, len(message.pictures) + 1):
            if window.takes(weight(_cut_to(kept, _TEXT_BESIDE_PICTURES))):
                return tuple(kept)
            text = f"{message.text}\n[pictures left out: {gone}]".lstrip()
            kept[at] = replace(message, text=text, pictures=message.pictures[gone:])
    return tuple(kept)


def _cut_to(messages: Sequence[ChatMessage], most: int) -> tuple[ChatMessage, ...]:
    return tuple(_with(message, shorten(message.text, most), most) for message in messages)


def _with(message: ChatMessage, text: str, most: int) -> ChatMessage:
    """The message with another text and arguments within `most`; the same object when nothing changes."""
    calls = tuple(_call(call, most) for call in message.calls)
    return message if text == message.text and calls == message.calls else replace(message, text=text, calls=calls)


def _call(call: ToolCall, most: int) -> ToolCall:
    return call if len(call.arguments) <= most else replace(call, arguments=shorten_arguments(call.arguments, most))


def _texts(message: ChatMessage) -> tuple[str, ...]:
    return (message.text, *(call.arguments for call in message.calls))


def _beginning(text: str, most: int, *markers: str) -> str:
    """The beginning of a text and the first marker that fits, `most` characters in all."""
    if len(text) <= most:
        return text
    marker = next((f"\n{marker}" for marker in markers if len(marker) < most), "")
    return text[: _edge(text, most - len(marker))] + marker


def _edge(text: str, at: int) -> int:
    """`at`, or a little before it where a cut would split a sign."""
    at = max(0, at)
    return next((end for end in range(at, max(0, at - _LONGEST_CLUSTER), -1) if not _joined(text, end)), at)


def _joined(text: str, at: int) -> bool:
    """Whether the code point at `at` belongs to the one before it: accents, joined emoji, skin tones, halves."""
    sign = text[at]
    return (
        unicodedata.category(sign)[0] == "M"
        or sign == _JOINER
        or text[at - 1] == _JOINER
        or "\U0001f3fb" <= sign <= "\U0001f3ff"
        or "\udc00" <= sign <= "\udfff"
        or (sign == "\n" and text[at - 1] == "\r")
    )
