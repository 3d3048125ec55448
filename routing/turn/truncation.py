"""Shortens long texts and marks what was cut."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from dataclasses import replace

from routing.config.sections import MAX_RESULT_CHARACTERS
from routing.turn.context_window import Window
from routing.types.llm import ChatMessage, ToolCall
from routing.types.tokens import CHARACTERS_PER_TOKEN, weight

EMERGENCY_SHARE = 0.25
MIN_EMERGENCY_CHARACTERS = 10_000
_NARROWER = "Ask more narrowly: filter, search, or read one part at a time."
_SHORTER = "It was too long for the model; ask for a part of it."
_MAX_CODE_POINTS = 32
"""Maximum number of code points to search back for a grapheme boundary."""
_MAX_VALUES = 100
"""Arguments with more values than this are shortened as one text."""
_JOINER = "\u200d"
_TEXT_BESIDE_PICTURES = 200
"""Minimum text per message, in characters, before pictures are dropped."""


def limit_result(text: str, most: int = MAX_RESULT_CHARACTERS) -> str:
    """Cut a tool result to `most` characters, marker included. The marker names `most` as its limit. If the marker does
    not fit, a shorter one is used, or none."""
    figures = f"[OUTPUT TRUNCATED: {len(text)} chars total, showing first {most} chars."
    return _beginning(text, most, f"{figures} {_NARROWER}]", f"{figures}]")


def emergency_chars(limit_tokens: int) -> int:
    """Maximum message length, in characters, after a provider rejected the prompt of a model with this window."""
    return max(int(limit_tokens * CHARACTERS_PER_TOKEN * EMERGENCY_SHARE), MIN_EMERGENCY_CHARACTERS)


def emergency(text: str, most: int) -> str:
    """Cut a text to `most` characters, marker included."""
    figures = f"[EMERGENCY TRUNCATED: {len(text)} chars total."
    return _beginning(text, most, f"{figures} {_SHORTER}]", f"{figures}]")


def emergency_all(messages: Sequence[ChatMessage], limit_tokens: int) -> tuple[ChatMessage, ...]:
    """Cut every message and every call's arguments to `emergency_chars`. Arguments stay valid JSON objects; unchanged
    messages stay the same objects."""
    most = emergency_chars(limit_tokens)
    return tuple(_with(message, emergency(message.text, most), most) for message in messages)


def shorten(text: str, most: int) -> str:
    """Keep the beginning and the end of a text, `most` characters in all, with a marker between them."""
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
    """Cut a call's arguments to `most` characters (at least 2) by shortening long values; the result stays a JSON
    object."""
    if len(arguments) <= most:
        return arguments
    try:
        values = json.loads(arguments)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict) or len(values) > _MAX_VALUES:
        values = {"shortened": arguments}
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in values.items()}
    room = most
    while room := room // 2:
        short = {name: shorten(text, room) if len(text) > room else values[name] for name, text in texts.items()}
        text = json.dumps(short, ensure_ascii=False)
        if len(text) <= most:
            return text.encode("utf-8", "replace").decode()
    return "{}"


def shrink_to_fit(messages: Sequence[ChatMessage], window: Window) -> tuple[ChatMessage, ...]:
    """Cut the longest texts and arguments in the middle, all to the same length, until everything fits or is as small
    as possible. Roles, ids and names stay. Pictures are dropped, oldest first, only if 200 characters of each text
    would not fit beside them."""
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
    """Return the message with this text and shortened arguments; the same object if nothing changes."""
    calls = tuple(_call(call, most) for call in message.calls)
    return message if text == message.text and calls == message.calls else replace(message, text=text, calls=calls)


def _call(call: ToolCall, most: int) -> ToolCall:
    return call if len(call.arguments) <= most else replace(call, arguments=shorten_arguments(call.arguments, most))


def _texts(message: ChatMessage) -> tuple[str, ...]:
    return (message.text, *(call.arguments for call in message.calls))


def _beginning(text: str, most: int, *markers: str) -> str:
    """Keep the beginning of a text and add the first marker that fits, `most` characters in all."""
    if len(text) <= most:
        return text
    marker = next((f"\n{marker}" for marker in markers if len(marker) < most), "")
    return text[: _edge(text, most - len(marker))] + marker


def _edge(text: str, at: int) -> int:
    """`at`, or the nearest grapheme boundary before it."""
    at = max(0, at)
    return next((end for end in range(at, max(0, at - _MAX_CODE_POINTS), -1) if not _joined(text, end)), at)


def _joined(text: str, at: int) -> bool:
    """Whether the code point at `at` belongs to the one before it: accents, joined emoji, skin tones, surrogates."""
    sign = text[at]
    return (
        unicodedata.category(sign)[0] == "M"
        or sign == _JOINER
        or text[at - 1] == _JOINER
        or "\U0001f3fb" <= sign <= "\U0001f3ff"
        or "\udc00" <= sign <= "\udfff"
        or (sign == "\n" and text[at - 1] == "\r")
    )
