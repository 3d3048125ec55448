"""A conversation as Markdown: complete, with messages clearly separated."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from handlers.languages import Say
from handlers.replies.export import exported
from routing.types.history import Conversation, StoredMessage
from routing.types.llm import Speaker, ToolCall
from routing.types.messages import Attachment, ChatKey

BEGAN = datetime(2026, 3, 1, 23, 30, tzinfo=UTC).timestamp()
TALK = Conversation(7, ChatKey("telegram", "1001"), BEGAN)
ENGLISH = Say("en")


def stored(role: Speaker, text: str, minutes: int = 0, **more: Any) -> StoredMessage:
    return StoredMessage(minutes, role, text, BEGAN + 60 * minutes, **more)


def written(*messages: StoredMessage, zone: str = "UTC", say: Say = ENGLISH) -> str:
    return exported(TALK, messages, ZoneInfo(zone), say).text


def parsed(text: str) -> list[Token]:
    return MarkdownIt("commonmark").parse(text)


def headings(text: str) -> list[str]:
    tokens = parsed(text)
    return [tokens[n + 1].content for n, token in enumerate(tokens) if token.type == "heading_open" and not token.level]


def test_an_export_has_a_title_a_header_and_messages() -> None:
    text = written(stored("user", "What is *this*?"), stored("assistant", "A **test**.", 1, model="openai/gpt-5.1"))
    assert text == (
        "# What is *this*?\n\n"
        "2026-03-01 23:30 (UTC), 2 messages\n\n"
        "## Question · 2026-03-01 23:30\n\n"
        "What is *this*?\n\n"
        "## Answer · 2026-03-01 23:31 · `openai/gpt-5.1`\n\n"
        "A **test**.\n"
    )


def test_times_and_the_name_are_in_the_persons_zone() -> None:
    document = exported(TALK, [stored("user", "hi")], ZoneInfo("Europe/Berlin"), ENGLISH)
    assert document.name == "conversation-2026-03-02-7.md"
    assert "2026-03-02 00:30 (Europe/Berlin), 1 messages" in document.text
    assert "## Question · 2026-03-02 00:30" in document.text
    assert exported(TALK, [stored("user", "hi")], UTC, ENGLISH).name == "conversation-2026-03-01-7.md"


def test_an_export_is_in_the_persons_language() -> None:
    tool = stored("tool", "42", 1, tool="calculate")
    text = written(stored("user", ""), tool, stored("assistant", "42", 2), say=Say("de"))
    assert headings(text) == ["Unterhaltung", "Frage · 01.03.2026 23:30", "Antwort · 01.03.2026 23:32"]
    assert "3 Nachrichten" in text
    assert "Ergebnis von calculate" in text


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("one\n  two\tthree", "one two three"),
        ("x" * 60, "x" * 60),
        ("x" * 61, "x" * 59 + "…"),
        ("word " * 20, ("word " * 20)[:59].rstrip() + "…"),
        ("", "Conversation"),
    ],
)
def test_the_title_is_the_first_question_shortened(question: str, title: str) -> None:
    first = stored("assistant", "welcome")
    assert written(first, stored("user", question), stored("user", "later")).splitlines()[0] == f"# {title}"


def test_pictures_and_calls_are_lines() -> None:
    picture = Attachment("image", "my`cat.jpg", "image/jpeg", 1, "telegram:x")
    calls = (ToolCall("1", "search", '{"q":\n "a `b`"}'), ToolCall("2", "clock", ""))
    text = written(stored("user", "Look", pictures=(picture,)), stored("assistant", "", 1, calls=calls))
    assert "Look\n\n- 🖼 ``my`cat.jpg``\n\n## Answer" in text
    assert text.endswith('23:31\n\n- 🔧 `search` ``{"q": "a `b`"}``\n- 🔧 `clock`\n')


def test_a_result_is_folded_and_fenced() -> None:
    result = "```\n</details>\n## Not a heading\n````"
    text = written(stored("user", "go"), stored("tool", result, 1, tool="a<b>\nc"), stored("assistant", "done", 2))
    assert (
        f"<summary>Result of a&lt;b&gt; c · 2026-03-01 23:31</summary>\n\n`````\n{result}\n`````\n\n</details>" in text
    )
    assert headings(text) == ["go", "Question · 2026-03-01 23:30", "Answer · 2026-03-01 23:32"]
    assert [token.content for token in parsed(text) if token.type == "fence"] == [result + "\n"]


SWALLOWING = (
    "```python\nprint(1)",
    "````\n```\nstill open",
    "> ~~~\n> quoted\n\n~~~~ text\n``` not the end",
    "1. one\n   ```\n   code",
    "- one\n\n  ```\n  code\n\nafter\n\n```",
    "<!-- a comment",
    "a\n\n<script>\nlet x",
    "<pre>\n```",
    "```\n<!-- inside\n```\n<!-- outside",
    "<?php\n",
    "text\n<div>\nnever closed",
)


@pytest.mark.parametrize("text", SWALLOWING)
def test_unclosed_formatting_ends_with_its_message(text: str) -> None:
    document = written(stored("user", "go"), stored("assistant", text, 1), stored("user", "## and then?", 2))
    assert headings(document)[-3:] == ["Answer · 2026-03-01 23:31", "Question · 2026-03-01 23:32", "and then?"]
    assert text.strip("\n") in document


def test_an_unclosed_code_block_is_closed() -> None:
    text = written(stored("user", "go"), stored("assistant", "So:\n~~~~python\nprint(1)", 1), stored("user", "more", 2))
    assert "So:\n~~~~python\nprint(1)\n~~~~\n\n## Question" in text


@pytest.mark.parametrize("text", ["```\ncode\n```", "a < b", "<b>bold</b> text", "- ```\n  x\n  ```", "| a |\n|---|"])
def test_complete_markdown_is_unchanged(text: str) -> None:
    assert f"23:31\n\n{text}\n\n## Question" in written(stored("assistant", text, 1), stored("user", "more", 2))


def test_an_export_is_complete() -> None:
    messages = [stored("user" if n % 2 else "assistant", f"message {n}.", n) for n in range(1000)]
    found = re.findall(r"^message (\d+)\.$", written(*messages), re.MULTILINE)
    assert found == [str(n) for n in range(1000)]
