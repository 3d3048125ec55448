"""Markdown → text and spans, by telegramify-markdown 1.4.1 with what it loses put right.

Importing this module costs 45 ms of CPU and 6 MB (measured), so it is imported where it is first needed. The
library's plain `convert` is not used, because it drops raw HTML, the links in tables and link definitions that
nobody refers to, rewrites LaTeX inside code, leaks formulas out of tables, and hangs for exponential time on a
spoiler with deep quote marks inside. Its parser settings, LaTeX tables and event walker are.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import pairwise
from typing import Any

import pyromark
from telegramify_markdown.config import RenderConfig
from telegramify_markdown.converter import (
    STANDARD_OPTIONS,
    _escape_at,
    _literal_delimiters,
)

from bot.rendering.source import with_spoilers
from bot.rendering.spans import Span
from bot.rendering.split import utf16_offsets
from bot.rendering.walker import Walker, is_formula, unicode_formula

_LATEX = re.compile(
    r"\\\[((?:(?!\\[\[\]]|\n[ \t]*\n).){1,1000})\\\]|\\\(((?:(?!\\[()]|\n[ \t]*\n).){1,1000})\\\)", re.DOTALL
)


def render(markdown: str) -> tuple[str, list[Span]]:
    """The visible text and its formatting, not yet made to fit any rules; may end in whitespace.

    Raises whatever a third-party parser raises; on half a million random inputs that was UnicodeEncodeError on
    lone surrogates only.
    """
    source = _without_unused_definitions(_prepared(markdown))
    events = _events(source)
    while literal := _literal_delimiters(source, events):
        source = _escape_at(source, literal)
        events = _events(source)
    walker = Walker(_config(), source)
    text, entities, _ = walker.walk(events)
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


def _events(source: str) -> tuple[Any, ...]:
    return tuple(pyromark.events_with_range(source, options=STANDARD_OPTIONS))


def _config() -> Any:
    config = RenderConfig.isolated()
    config.cite_expandable = False
    symbols = config.markdown_symbol
    symbols.heading_level_1 = symbols.heading_level_2 = symbols.heading_level_3 = symbols.heading_level_4 = ""
    symbols.unordered_list_item, symbols.task_uncompleted, symbols.image = "•", "☐", "🖼 "
    return config


def _prepared(markdown: str) -> str:
    """LaTeX delimiters and spoilers in the form that the walker knows; code and formulas are left as they are."""
    if "||" not in markdown and "\\(" not in markdown and "\\[" not in markdown:
        return markdown
    return with_spoilers(_with_formulas(markdown), _literal)


def _literal(source: str) -> list[tuple[int, int]]:
    """The extents of code and formulas in bytes of UTF-8; a norm in a formula is no spoiler."""
    return [(place["start"], place["end"]) for payload, place in _events(source) if _is_literal(payload)]


def _is_literal(payload: Any) -> bool:
    if not isinstance(payload, dict):
        return False
    started = payload.get("Start")
    in_block = isinstance(started, dict) and "CodeBlock" in started
    return in_block or not payload.keys().isdisjoint(("Code", "InlineMath", "DisplayMath"))


def _with_formulas(source: str) -> str:
    if "\\(" not in source and "\\[" not in source:
        return source
    data, parts, cursor = source.encode(), [], 0
    for start, end in [*_literal(source), (len(data), len(data))]:
        parts += [_LATEX.sub(_formula, data[cursor:start].decode()), data[start:end].decode()]
        cursor = end
    return "".join(parts)


def _formula(match: re.Match[str]) -> str:
    block, inline = match.groups()
    latex = block or inline
    if not is_formula(latex):
        return match[0]
    sign = "$$" if block else "$"
    return f"{sign}{unicode_formula(latex)}{sign}"


def _without_unused_definitions(source: str) -> str:
    """`[1]: address` lines that nothing refers to become text: often they are the list of sources."""
    if "]:" not in source:
        return source
    used = {
        kind.get("id", "").casefold()
        for payload, _ in _events(source)
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
