"""Long code blocks as files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from bot.rendering.plain import clean, guarded
from handlers.replies.fences import fenced
from routing.types.messages import Document

if TYPE_CHECKING:
    from markdown_it.token import Token

MAX_MESSAGES = 2
"""A longer code block becomes a file."""
MAX_FILES = 8
"""Discord allows 10 per message, and a reply may also have a picture and a document."""
_NAME = "main"
_MAX_EXTENSION_CHARACTERS = 4
"""Length of an unknown language that is used as an extension."""


@dataclass(frozen=True, slots=True)
class CodeFile:
    """A code block as a file, and as Markdown in case the file is refused."""

    document: Document
    markdown: str


def with_code_files(
    markdown: str, attached: str, room: int, messages: Callable[[str], int]
) -> tuple[str, tuple[CodeFile, ...]]:
    """The Markdown without code blocks longer than two messages, and these as files.

    `attached` is the line that replaces a block, with `{name}`; if it is empty, all blocks stay. `room` is the length
    of a message; `messages` counts the messages of a Markdown text.
    """
    if not attached or len(markdown) <= room:
        return markdown, ()
    from bot.rendering import parser

    lines, kept, files, cursor = clean(markdown).split("\n"), list[str](), list[CodeFile](), 0
    none: list[Token] = []
    for block in guarded(lambda: parser.fences("\n".join(lines)), none):
        language, code = (block.info.replace("`", "").split() or [""])[0], block.content
        if len(code) <= room or len(files) == MAX_FILES:
            continue
        written = fenced(code.removesuffix("\n"), language)
        if len(code.strip()) <= MAX_MESSAGES * room and messages(written) <= MAX_MESSAGES:
            continue
        document = Document(_name(language, files), code)
        files.append(CodeFile(document, written))
        first, last = block.map or (0, 0)
        before = lines[first].partition(block.markup)[0]
        kept += [*lines[cursor:first], before + attached.replace("{name}", f"`{document.name}`")]
        cursor = last
    return ("\n".join([*kept, *lines[cursor:]]).rstrip("\n") if files else markdown), tuple(files)


def _name(language: str, files: list[CodeFile]) -> str:
    """A name that none of the files has."""
    used, extension = {each.document.name for each in files}, _extension(language)
    names = (f"{_NAME}{f'-{number}' if number > 1 else ''}.{extension}" for number in count(1))
    return next(name for name in names if name not in used)


def _extension(language: str) -> str:
    from pygments.lexers import get_all_lexers
    from telegramify_markdown.code_file import get_ext

    known = str(get_ext(language))
    if known != "txt" or not language:
        return known
    for _, aliases, patterns, _ in get_all_lexers(plugins=False):
        if language.lower() in aliases:
            plain = (pattern.removeprefix("*.") for pattern in patterns)
            return next((each for each in plain if each.isalnum()), known)
    short = len(language) <= _MAX_EXTENSION_CHARACTERS and language.isascii() and language.isalnum()
    return language.lower() if short else known
