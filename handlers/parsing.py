"""A message's text as a command, and several messages as one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from routing.errors import Refused
from routing.policy.tiers import split_prefix
from routing.types.messages import InboundMessage, UserKey
from routing.types.tiers import Tier

_COMMAND = re.compile(r"\s*/([^\W\d_][^\s/@]*)(?:@(\w+))?(?:\s+(.*))?\s*", re.DOTALL)
"""A slash and a word; what has a second slash is a path, not a command."""
_MARKS = {'"': '"', "'": "'", "“": "”", "„": "“”", "«": "»"}
"""Quotation marks, with those that end what they begin."""
_CLOSING = {opening: re.compile(rf"[{closing}](?!\S)") for opening, closing in _MARKS.items()}
_WORD = re.compile(r"\S+")
CUT_UNITS = 4096
"""A Telegram message of this many UTF-16 units was cut wherever it stood."""
STOP_WORDS = frozenset({"stop", "stopp", "halt"})


@dataclass(frozen=True, slots=True)
class Typed:
    """A command as typed: its name in lower case, the words behind it, all of them as written. `elsewhere`: it is
    meant for another bot."""

    name: str
    arguments: tuple[str, ...]
    rest: str
    elsewhere: bool = False


def parse_account(text: str) -> UserKey:
    """`telegram:123`. Raises Refused."""
    platform, colon, user_id = text.partition(":")
    if not (platform and colon and user_id):
        raise Refused("Write an account like telegram:123; /whoami shows yours. Nothing was changed.")
    return UserKey(platform.lower(), user_id)


def parse_command(text: str, bot_name: str) -> Typed | None:
    """`  /Tier@ThisBot smart ` → the command `tier`; None when the text is no command."""
    found = _COMMAND.fullmatch(text)
    if found is None:
        return None
    name, bot, rest = found.group(1), found.group(2), (found.group(3) or "").strip()
    elsewhere = bot is not None and bot.lower() != bot_name.lower()
    return Typed(name.lower().rstrip("?!.,:;"), _words(rest), rest, elsewhere)


def _words(rest: str) -> tuple[str, ...]:
    """The words; quotation marks around several of them keep them together. Backslashes and apostrophes stay."""
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
    """The word as it is typed behind a command, so that it is read as one."""
    if _words(word) == (word,):
        return word
    tried = (opening + word + closing[0] for opening, closing in _MARKS.items())
    return next((each for each in tried if _words(each) == (word,)), word)


def typed_command(message: InboundMessage) -> Typed | None:
    """The command that the sender of a message typed; None for anything else."""
    return None if message.kind == "press" else parse_command(message.own_text, message.bot_name)


def typed_prefix(message: InboundMessage) -> tuple[Tier | None, str]:
    """The tier that the sender of a message put before it, and the text without it."""
    return split_prefix(message.text) if message.forwarded_from is None else (None, message.text)


def is_stop(text: str) -> bool:
    """A plain "stop", which ends a running turn as /stop does."""
    return text.strip().rstrip("!.").lower() in STOP_WORDS


def _joint(text: str) -> str:
    """A part of what was cut, ready for the next: the platform drops the blank or newline that it cuts at."""
    return text if not text or text[-1].isspace() or len(text.encode("utf-16-le")) >= 2 * CUT_UNITS else text + "\n"


def merge(messages: Sequence[InboundMessage]) -> InboundMessage:
    """The pictures of an album, or the parts of a long text that the platform cut, as one message."""
    first = messages[0]
    if len(messages) == 1:
        return first
    text = "".join(_joint(message.text) for message in messages[:-1]) + messages[-1].text
    attachments = tuple(each for message in messages for each in message.attachments)
    authors = (message.forwarded_from for message in messages if message.forwarded_from is not None)
    return replace(
        first,
        text=text,
        attachments=attachments,
        parts=len(messages),
        forwarded_from=next(authors, None),  # what was forwarded in part is nobody's command
    )
