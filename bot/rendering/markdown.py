"""Markdown → text and spans, by telegramify-markdown 1.4.1 with what it loses put right.

Importing this module costs 45 ms of CPU and 6 MB (measured), so it is imported where it is first needed. The
library's plain `convert` is not used, because it drops raw HTML, the links in tables and link definitions that
nobody refers to, rewrites LaTeX inside code, leaks formulas out of tables, and hangs for exponential time on a
spoiler with deep quote marks inside. Its parser settings, LaTeX tables and event walker are.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

import pyromark
from telegramify_markdown.config import RenderConfig
from telegramify_markdown.converter import (
    STANDARD_OPTIONS,
    _escape_at,
    _literal_delimiters,
)

from bot.rendering.formulas import is_formula, unicode_formula
from bot.rendering.source import with_spoilers
from bot.rendering.spans import Span
from bot.rendering.split import utf16_offsets
from bot.rendering.walker import Walker

_EMPHASIS = ({"Start": "Emphasis"}, {"Start": "Strong"})
_MOST_TICKS = 8
_MOST_PASSES = 8
"""Each repeats the parsing, because a sign that is escaped may leave another one a partner."""
_LATEX = re.compile(
    r"\\\[((?:(?!\\[\[\]]|\n[ \t]*\n).){1,1000})\\\]|\\\(((?:(?!\\[()]|\n[ \t]*\n).){1,1000})\\\)", re.DOTALL
)


def render(markdown: str) -> tuple[str, list[Span]]:
    """The visible text and its formatting, not yet made to fit any rules; may end in whitespace.

    Raises whatever a third-party parser raises; on half a million random inputs that was UnicodeEncodeError on
    lone surrogates only.
    """
    source = _without_unused_definitions(_prepared(markdown))
    walker = Walker(_config(), source)
    text, entities, _ = walker.walk(events(source))
    offsets = utf16_offsets(text)
    return text, [
        Span(
            entity.type,
            bisect_left(offsets, entity.offset),
            bisect_left(offsets, entity.offset + entity.length),
            entity.url,
            entity.language or None,
        )
        for entity in entities
    ]


def events(source: str) -> tuple[Any, ...]:
    """The parser's events, each with its place in bytes of UTF-8."""
    return tuple(pyromark.events_with_range(source, options=STANDARD_OPTIONS))


def _config() -> Any:
    config = RenderConfig.isolated()
    config.cite_expandable = False
    symbols = config.markdown_symbol
    symbols.heading_level_1 = symbols.heading_level_2 = symbols.heading_level_3 = symbols.heading_level_4 = ""
    symbols.unordered_list_item, symbols.task_uncompleted, symbols.image = "•", "☐", "🖼 "
    return config


def with_unicode_formulas(markdown: str) -> str:
    """Markdown for a renderer that knows no TeX: formulas are code in Unicode, and prices and products keep their
    signs."""
    source = _with_formulas(_with_literal(markdown, "$~", _dollars))
    data, parts, cursor = source.encode(), [], 0
    ticks = _ticks(source) or "`"
    for payload, place in events(source):
        if isinstance(payload, dict) and (latex := payload.get("InlineMath") or payload.get("DisplayMath")):
            parts += [data[cursor : place["start"]], f"{ticks}{unicode_formula(latex)}{ticks}".encode()]
            cursor = place["end"]
    return _with_literal(b"".join([*parts, data[cursor:]]).decode(), "*", _stars)


def _prepared(markdown: str) -> str:
    """TeX delimiters and spoilers in the form that the walker knows; code and formulas are left as they are."""
    source = _with_literal(_with_formulas(_with_literal(markdown, "$~", _dollars)), "*", _stars)
    return with_spoilers(source, _literal)


def _with_literal(source: str, signs: str, find: Callable[[str, tuple[Any, ...]], Iterable[int]]) -> str:
    """Escapes the `signs` that `find` tells to be no markup, whatever the parser takes them for."""
    if not any(sign in source for sign in signs):
        return source
    for _ in range(_MOST_PASSES):
        if not (offsets := sorted(set(find(source, events(source))))):
            break
        source = _escape_at(source, offsets)
    return source


def _dollars(source: str, events: tuple[Any, ...]) -> Iterator[int]:
    """Offsets of ``$`` and ``~`` in prices, variables of a shell and estimates."""
    yield from _literal_delimiters(source, events)
    data = source.encode()
    for payload, place in events:
        if isinstance(payload, dict) and "InlineMath" in payload and data[place["end"] : place["end"] + 1].isalnum():
            yield from (place["start"], place["end"] - 1)


def _stars(source: str, events: tuple[Any, ...]) -> Iterator[int]:
    """Offsets of stars in products and powers, as in ``2*3*4``, ``α*β*γ`` and ``x**2 + y**2``."""
    data = source.encode()
    for payload, place in events:
        start, end = place["start"], place["end"]
        if payload not in _EMPHASIS or data[start : start + 1] != b"*" or start == 0:
            continue
        before, after = _decoded(data[max(0, start - 4) : start])[-1:], _decoded(data[end : end + 4])[:1]
        if _is_operand(before, ")]") and _is_operand(after, "(["):
            size = _EMPHASIS.index(payload) + 1
            # Letters that stand out within a word, as in Hyper**T**ext, are bold.
            if size == 1 or not (before + _decoded(data[start + size : end - size]) + after).isalpha():
                yield from (*range(start, start + size), *range(end - size, end))


def _is_operand(sign: str, brackets: str) -> bool:
    """Whether a product may continue with this sign. Scripts without capitals write words without spaces between them,
    where a star is emphasis."""
    return sign.isdigit() or sign.lower() != sign.upper() or (sign != "" and sign in brackets)


def _decoded(part: bytes) -> str:
    """Text in UTF-8, cut anywhere."""
    return part.decode(errors="ignore")


def _ticks(source: str) -> str:
    """A short run of backticks that does not occur in the source; empty where all short ones do."""
    used = {len(run) for run in re.findall("`+", source)}
    return "`" * next((length for length in range(1, _MOST_TICKS + 1) if length not in used), 0)


def _literal(source: str) -> list[tuple[int, int]]:
    """The extents of code and formulas in bytes of UTF-8; a norm in a formula is no spoiler."""
    return [(place["start"], place["end"]) for payload, place in events(source) if _is_literal(payload)]


def _is_literal(payload: Any) -> bool:
    if not isinstance(payload, dict):
        return False
    started = payload.get("Start")
    in_block = isinstance(started, dict) and "CodeBlock" in started
    return in_block or not payload.keys().isdisjoint(("Code", "InlineMath", "DisplayMath"))


def _with_formulas(source: str) -> str:
    if "\\(" not in source and "\\[" not in source:
        return source
    if not (ticks := _ticks(source)):
        return source

    def formula(match: re.Match[str]) -> str:
        block, inline = match.groups()
        latex = " ".join((block or inline).split())
        if block and "$" not in latex and (is_formula(latex, block=True) or _alone(match)):
            return f"$${latex}$$"
        return f"{ticks}{unicode_formula(latex)}{ticks}" if is_formula(latex, block=bool(block)) else match[0]

    data, parts, cursor = source.encode(), [], 0
    for start, end in [*_literal(source), (len(data), len(data))]:
        parts += [_LATEX.sub(formula, data[cursor:start].decode()), data[start:end].decode()]
        cursor = end
    return "".join(parts)


def _alone(match: re.Match[str]) -> bool:
    """Whether nothing else stands on the lines of the match."""
    before, after = match.string[match.start() - 1 : match.start()], match.string[match.end() : match.end() + 1]
    return before in ("", "\n") and after in ("", "\n")


def _without_unused_definitions(source: str) -> str:
    """`[1]: address` lines that nothing refers to become text: often they are the list of sources."""
    if "]:" not in source:
        return source
    used = {
        kind.get("id", "").casefold()
        for payload, _ in events(source)
        if isinstance(payload, dict) and isinstance(payload.get("Start"), dict)
        for name, kind in payload["Start"].items()
        if name in ("Link", "Image")
    }
    found = pyromark.reference_definitions(source, options=STANDARD_OPTIONS).items()
    lines = sorted((d["span"]["start"], d["span"]["end"], label.casefold() in used) for label, d in found)
    data, parts, cursor = source.encode(), [], 0
    for (start, end, is_used), (_, _, next_used) in pairwise([*lines, (0, 0, False)]):
        if not is_used:
            # A definition cannot follow text directly, so an empty line parts the two.
            parts += [data[cursor:start], b"\\", data[start:end], b"\n" if next_used else b""]
            cursor = end
    return b"".join([*parts, data[cursor:]]).decode()
