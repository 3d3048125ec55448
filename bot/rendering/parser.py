"""The Markdown parser: CommonMark with tables, strikethrough, ||spoilers|| and formulas.

Importing this module takes 30 ms, so it is imported on first use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Delimiter
from markdown_it.token import Token

from bot.rendering.formulas import MAX_FORMULA_CHARACTERS, is_formula

_MAX_NESTING = 30
"""Maximum nesting of blocks, which limits the time. The library drops deeper ones."""
_SPOILER = ord("|")
_QUOTE = re.compile(r"^[ \t]*>[ \t>]*", re.MULTILINE)
_CLOSINGS = {"$$": "$$", "$": "$", "\\(": "\\)", "\\[": "\\]"}
_PRODUCT_LOOK_BACK = 20
"""How many delimiters are searched for an open star. Searching all would take quadratic time."""


def parse(source: str) -> tuple[list[Token], list[str]]:
    """Block tokens, and the lines that their `map` counts. Tokens of type `inline` have children; `math_inline` and
    `math_block` hold TeX as their content.

    Unused link definitions become text, because they are often a list of sources. Raises ValueError for blocks that
    are nested too deeply.
    """
    environment: dict[str, Any] = {}
    tokens, lines = _PARSER.parse(source, environment), source.split("\n")
    if max((token.level for token in tokens), default=0) >= _MAX_NESTING - 1:
        raise ValueError("nested too deeply")
    references = environment.get("references", {})
    used = {child.meta.get("label") for token in tokens for child in _descendants(token)}
    if references.keys() <= used:
        return tokens, lines
    starts = {each["map"][0] for label, each in references.items() if label in used}
    for label, definition in references.items():
        first, last = definition["map"]
        if label not in used:
            lines[first] = lines[first].replace("[", "\\[", 1)
            lines[last - 1] += "\n" * (last in starts)  # a definition can't follow text directly
    source = "\n".join(lines)
    return _PARSER.parse(source), source.split("\n")


def fences(source: str) -> list[Token]:
    """The fenced code blocks, with their lines as `map`."""
    return [token for token in _PARSER.parse(source) if token.type == "fence"]


def _descendants(token: Token) -> Iterator[Token]:
    for child in token.children or ():
        yield child
        yield from _descendants(child)


def _formula_block(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    r"""A formula in $$ or \[ \] on its own lines."""
    start, source = state.bMarks[first] + state.tShift[first], state.src
    opening = source[start : start + 2]
    if opening not in ("$$", "\\["):
        return False
    end = source.find(_CLOSINGS[opening], start + 2, start + 2 + MAX_FORMULA_CHARACTERS)
    if end < 0:
        return False
    latex = _QUOTE.sub("", source[start + 2 : end])
    following = first + source.count("\n", start, end) + 1
    if following > last or source[end + 2 : state.eMarks[following - 1]].strip():
        return False
    if not latex.strip() or "\n\n" in latex:
        return False
    if not silent:
        token = state.push("math_block", "", 0)
        token.content, token.map = latex, [first, following]
        state.line = following
    return True


def _formula(state: StateInline, silent: bool) -> bool:
    r"""$x$, $$x$$, \(x\) and \[x\]; prices such as $5, variables such as $HOME and escaped brackets stay text."""
    start, source = state.pos, state.src
    opening = source[start : start + 2] if source[start : start + 2] in _CLOSINGS else source[start]
    if opening not in _CLOSINGS:
        return False
    inside = start + len(opening)
    end = source.find(_CLOSINGS[opening], inside, inside + MAX_FORMULA_CHARACTERS)
    latex = source[inside:end]
    if end < 0 or end >= state.posMax or not latex.strip() or "`" in latex:
        return False
    after = end + len(opening)
    if opening == "$" and (latex[0].isspace() or latex[-1].isspace() or source[after : after + 1].isalnum()):
        return False
    if opening == "\\(" and not is_formula(latex):
        return False
    if opening == "\\[" and not is_formula(latex, block=True):
        return False
    if not silent:
        token = state.push("math_inline", "", 0)
        token.content = latex
        token.block = opening in ("$$", "\\[")
    state.pos = after
    return True


def _spoiler(state: StateInline, silent: bool) -> bool:
    """Spoiler marks without a space inside; `a || b` stays text."""
    start, source = state.pos, state.src
    if silent or not source.startswith("||", start) or source.startswith("|", start + 2):
        return False
    before, after = source[start - 1 : start], source[start + 2 : start + 3]
    state.push("text", "", 0).content = "||"
    opens, closes = bool(after) and not after.isspace(), bool(before) and not before.isspace()
    state.delimiters.append(Delimiter(_SPOILER, 0, len(state.tokens) - 1, -1, opens, closes))
    state.pos += 2
    return True


def _pair_spoilers(state: StateInline) -> None:
    groups = [state.delimiters, *(meta["delimiters"] for meta in state.tokens_meta if meta and "delimiters" in meta)]
    for delimiters in groups:
        for opening in delimiters:
            if opening.marker == _SPOILER and opening.end >= 0:
                for delimiter, kind, nesting in ((opening, "open", 1), (delimiters[opening.end], "close", -1)):
                    token = state.tokens[delimiter.token]
                    token.type, token.nesting, token.content = f"spoiler_{kind}", nesting, ""


def _product(state: StateInline, silent: bool) -> bool:
    """Stars of products and powers, such as 2*3*4, α*β*γ and x**2, which are not emphasis."""
    start, source = state.pos, state.src
    if silent or source[start] != "*":
        return False
    end = start
    while end < state.posMax and source[end] == "*":
        end += 1
    before, after = source[start - 1 : start], source[end : end + 1]
    if not (_is_operand(before, ")]") and _is_operand(after, "([")):
        return False
    if any(each.marker == ord("*") and each.open for each in state.delimiters[-_PRODUCT_LOOK_BACK:]):
        return False
    if end - start > 1:  # letters within a word, as in Hyper**T**ext, are bold
        closing = source.find("**", end, end + MAX_FORMULA_CHARACTERS)
        if closing > 0 and (before + source[end:closing]).isalpha():
            return False
    state.push("text", "", 0).content = source[start:end]
    state.pos = end
    return True


def _is_operand(sign: str, brackets: str) -> bool:
    """Whether a star next to this character may be a product. In scripts without capitals, which have no spaces between
    words, it is emphasis."""
    return sign.isdigit() or sign.lower() != sign.upper() or (sign != "" and sign in brackets)


class _Parser(MarkdownIt):
    """Keeps addresses as written; the renderer decides which of them it shows."""

    def validateLink(self, url: str) -> bool:
        return bool(url)

    def normalizeLink(self, url: str) -> str:
        return url

    def normalizeLinkText(self, link: str) -> str:
        return link


def _build() -> MarkdownIt:
    parser = _Parser("commonmark", {"store_labels": True, "maxNesting": _MAX_NESTING}).enable(
        ["strikethrough", "table"]
    )
    parser.inline.add_terminator_char("|")
    parser.inline.ruler.before("escape", "formula", _formula)
    parser.inline.ruler.before("emphasis", "product", _product)
    parser.inline.ruler.before("emphasis", "spoiler", _spoiler)
    parser.inline.ruler2.before("emphasis", "spoiler", _pair_spoilers)
    parser.block.ruler.before("fence", "formula", _formula_block, {"alt": ["paragraph", "reference", "blockquote"]})
    return parser


_PARSER = _build()
