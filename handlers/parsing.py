"""Parses commands and merges messages that belong together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from routing.errors import Refused
from routing.policy.tiers import split_prefix, tiers_for
from routing.types.messages import InboundMessage, UserKey
from routing.types.people import Role
from routing.types.tiers import Tier

_COMMAND = re.compile(r"\s*/([^\W\d_][^\s/@]*)(?:@(\w+))?(?:\s+(.*))?\s*", re.DOTALL)
"""A slash and a word. A second slash makes it a path, not a command."""
_MARKS = {'"': '"', "'": "'", "“": "”", "„": "“”", "«": "»"}
"""Opening quotation marks and their closing marks."""
_CLOSING = {opening: re.compile(rf"[{closing}](?!\S)") for opening, closing in _MARKS.items()}
_WORD = re.compile(r"\S+")
CUT_UNITS = 4096
"""Telegram splits longer texts at this many UTF-16 units, at any character."""
STOP_WORDS = frozenset({"stop", "stopp", "halt"})


@dataclass(frozen=True, slots=True)
class Typed:
    """A typed command: its name in lower case, its arguments, and the same text unparsed. `elsewhere` means that it
    addresses another bot."""

    name: str
    arguments: tuple[str, ...]
    rest: str
    elsewhere: bool = False


def parse_account(text: str) -> UserKey:
    """Parses `telegram:123`. Raises Refused."""
    platform, colon, user_id = text.partition(":")
    if not (platform and colon and user_id):
        raise Refused("Write an account like telegram:123; /whoami shows yours. Nothing was changed.")
    return UserKey(platform.lower(), user_id)


def parse_command(text: str, bot_name: str) -> Typed | None:
    """`  /Tier@ThisBot smart ` → the command `tier`; None if the text is not a command."""
    found = _COMMAND.fullmatch(text)
    if found is None:
        return None
    name, bot, rest = found.group(1), found.group(2), (found.group(3) or "").strip()
    elsewhere = bot is not None and bot.lower() != bot_name.lower()
    return Typed(name.lower().rstrip("?!.,:;"), _words(rest), rest, elsewhere)


def _words(rest: str) -> tuple[str, ...]:
    """Splits into words; quotation marks keep words together. Backslashes and apostrophes are kept."""
    words, at, unclosed = [], 0, set()
    while word := _WORD.search(rest, at):
        closing = _CLOSING.get(word.group()[0])
        if closing is not None and closing not in unclosed:
            end = closing.search(rest, word.start() + 1)
            if end is not None:
                words.append(rest[word.start() + 1 : end.start()])
                at = end.end()
                continue
            unclosed.add(closing)
        words.append(word.group())
        at = word.end()
    return tuple(words)


def quoted(word: str) -> str:
    """Quotes a word if needed, so that it is parsed as one argument."""
    if _words(word) == (word,):
        return word
    tried = (opening + word + closing[0] for opening, closing in _MARKS.items())
    return next((each for each in tried if _words(each) == (word,)), word)


def typed_command(message: InboundMessage) -> Typed | None:
    """The command that the sender typed; None for any other message."""
    return None if message.kind == "press" else parse_command(message.own_text, message.bot_name)


def typed_prefix(message: InboundMessage, role: Role = "user") -> tuple[Tier | None, str]:
    """The tier prefix that the sender typed, and the text without it. Raises Refused for a misspelt one."""
    return split_prefix(message.text, tiers_for(role)) if message.forwarded_from is None else (None, message.text)


def is_stop(text: str) -> bool:
    """Whether the text is a plain "stop", which works like /stop."""
    return text.strip().rstrip("!.").lower() in STOP_WORDS


def _with_separator(text: str) -> str:
    """Prepares a part of a split text for joining: the platform drops the space or newline at the split."""
    return text if not text or text[-1].isspace() or len(text.encode("utf-16-le")) >= 2 * CUT_UNITS else text + "\n"


def merge(messages: Sequence[InboundMessage]) -> InboundMessage:
    """Merges the pictures of an album, or the parts of a split text, into one message."""
    first = messages[0]
    if len(messages) == 1:
        return first
    text = "".join(_with_separator(message.text) for message in messages[:-1]) + messages[-1].text
    attachments = tuple(each for message in messages for each in message.attachments)
    authors = (message.forwarded_from for message in messages if message.forwarded_from is not None)
    return replace(
        first,
        text=text,
        attachments=attachments,
        parts=len(messages),
        forwarded_from=next(authors, None),  # a partly forwarded text is never a command
    )
