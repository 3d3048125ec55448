"""Code blocks too long for messages, which become files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count

from bot.rendering.guard import guarded
from bot.rendering.plain import clean
from handlers.fences import fenced
from routing.types.messages import Document

MOST_MESSAGES = 2
"""A code block that needs more becomes a file."""
MOST_FILES = 8
"""Discord takes 10 with a message, and a reply may have a picture and a document of its own."""
_NAME = "main"
_LONGEST_EXTENSION = 4
"""Characters of a language that is taken for an extension, where no table knows it."""


@dataclass(frozen=True, slots=True)
class CodeFile:
    """A code block as a file, and as the Markdown that stands for it where files are refused."""

    document: Document
    markdown: str


def with_code_files(
    markdown: str, attached: str, room: int, messages: Callable[[str], int]
) -> tuple[str, tuple[CodeFile, ...]]:
    """The Markdown without the code blocks that need more than two messages, and those as files. `attached` is the line
    in place of a block, with `{name}`; empty keeps all of them. `room` is the length of a message, `messages` counts
    those that a Markdown text becomes."""
    if not attached or len(markdown) <= room:
        return markdown, ()
    source = clean(markdown)
    data, parts, files, cursor = source.encode(), list[bytes](), list[CodeFile](), 0
    refused: tuple[_Block, ...] = ()
    for block in guarded(lambda: tuple(_blocks(source)), refused):
        if len(block.code) <= room or len(files) == MOST_FILES:
            continue
        written = fenced(block.code.removesuffix("\n"), block.language)
        if len(block.code.strip()) <= MOST_MESSAGES * room and messages(written) <= MOST_MESSAGES:
            continue
        document = Document(_name(block.language, files), block.code)
        files.append(CodeFile(document, written))
        parts += [data[cursor : block.start], attached.replace("{name}", f"`{document.name}`").encode()]
        cursor = block.end
    return (b"".join([*parts, data[cursor:]]).decode() if files else markdown), tuple(files)


@dataclass(frozen=True, slots=True)
class _Block:
    """A fenced code block; its place is in bytes of UTF-8."""

    language: str
    code: str
    start: int
    end: int


def _blocks(source: str) -> Iterator[_Block]:
    from bot.rendering.markdown import events  # which takes 45 ms

    language, code = None, list[str]()
    for payload, place in events(source):
        if not isinstance(payload, dict):
            continue
        started = payload.get("Start")
        if isinstance(started, dict) and isinstance(kind := started.get("CodeBlock"), dict):
            language, code = (str(kind.get("Fenced", "")).replace("`", "").split() or [""])[0], []
        elif language is not None and "Text" in payload:
            code.append(payload["Text"])
        elif language is not None and payload.get("End") == "CodeBlock":
            yield _Block(language, "".join(code), place["start"], place["end"])
            language = None


def _name(language: str, files: list[CodeFile]) -> str:
    """A file's name that none of the files has."""
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
    short = len(language) <= _LONGEST_EXTENSION and language.isascii() and language.isalnum()
    return language.lower() if short else known
