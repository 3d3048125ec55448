"""Exports a conversation as a Markdown document."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from datetime import datetime, tzinfo
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

from handlers.languages import Say
from handlers.replies.fences import fenced
from routing.types.history import Conversation, StoredMessage
from routing.types.llm import ToolCall
from routing.types.messages import Document

MAX_BYTES = 20_000_000
"""The Bot API's getFile returns files up to this size, so the export can be sent back to the bot."""
TITLE_LENGTH = 60

_OPEN_BLOCK = re.compile(r"^[ \t>\-+*\d.)]*(?:```|~~~|<)", re.MULTILINE)
"""Only a code fence or HTML can continue after an empty line."""


@cache
def _blocks() -> MarkdownIt:
    """The Markdown parser. Loaded by the first export because that takes 20 ms."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").disable(["inline", "text_join"])


def exported(conversation: Conversation, messages: Sequence[StoredMessage], zone: tzinfo, say: Say) -> Document:
    """All messages, oldest first, with times in `zone`. The formatting of one message can't affect the next."""
    question = next((each.text for each in messages if each.role == "user"), "")
    title = _one_line(question)
    shortened = title if len(title) <= TITLE_LENGTH else title[: TITLE_LENGTH - 1].rstrip() + "…"
    parts = [
        f"# {shortened or say('Conversation')}",
        f"{_time(conversation.started_at, zone, say)} ({zone}), {say('{n} messages', n=len(messages))}",
        *(_message(each, zone, say) for each in messages),
    ]
    began = datetime.fromtimestamp(conversation.started_at, zone)
    return Document(f"conversation-{began:%Y-%m-%d}-{conversation.id}.md", "\n\n".join(parts) + "\n")


def _message(message: StoredMessage, zone: tzinfo, say: Say) -> str:
    if message.role == "tool":
        return _result(message, zone, say)
    who = say("Question") if message.role == "user" else say("Answer")
    heading = f"## {who} · {_time(message.at, zone, say)}"
    lines = [f"- 🖼 {_code(each.name)}" for each in message.pictures] + [_call(each) for each in message.calls]
    text = message.text.strip("\n")
    parts = (heading + (f" · {_code(message.model)}" if message.model else ""), _closed(text), "\n".join(lines))
    return "\n\n".join(part for part in parts if part.strip())


def _call(call: ToolCall) -> str:
    return f"- 🔧 {_code(call.name)} {_code(call.arguments)}".rstrip()


def _result(message: StoredMessage, zone: tzinfo, say: Say) -> str:
    """Folded where HTML is rendered. The fence separates it everywhere else."""
    what = say("Result of {tool}", tool=html.escape(_one_line(message.tool)))
    summary = f"<details>\n<summary>{what} · {_time(message.at, zone, say)}</summary>"
    return f"{summary}\n\n{fenced(message.text)}\n\n</details>"


def _closed(text: str) -> str:
    """Closes an open code fence, and fences the whole text if it leaves HTML open, so that it can't swallow what
    follows."""
    if not _OPEN_BLOCK.search(text) or _ends(text):
        return text
    fences = [token.markup for token in _blocks().parse(text) if token.type == "fence"]
    closed = f"{text}\n{fences[-1]}" if fences else text
    return closed if _ends(closed) else fenced(text)


def _ends(text: str) -> bool:
    """Whether a heading after the text is parsed as a heading."""
    return _blocks().parse(f"{text}\n\n## .\n")[-1].type == "heading_close"


def _code(text: str) -> str:
    """A code span on one line; empty for an empty text."""
    shown = " ".join(line.strip() for line in text.splitlines() if not line.isspace() and line)
    if not shown:
        return ""
    marks = "`" * max([1, *(len(run) + 1 for run in re.findall("`+", shown))])
    room = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{marks}{room}{shown}{room}{marks}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _time(at: float, zone: tzinfo, say: Say) -> str:
    return say.time(datetime.fromtimestamp(at, zone))
