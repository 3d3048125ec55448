"""The prompt's completion of commands, and the file that remembers its lines."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory, ThreadedHistory

from bot.adapters.console.hints import CommandHint, suggestions


class CommandCompleter(Completer):
    """Slash commands with their summaries, then the choices of their places."""

    def __init__(self, commands: Sequence[CommandHint]) -> None:
        self._commands = commands

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """What may stand before the cursor instead of the word there."""
        for each in suggestions(self._commands, document.text_before_cursor):
            yield Completion(each.word, start_position=-each.replaces, display_meta=each.summary)


class _Kept(FileHistory):
    """A full disk costs the memory of a line, never the line."""

    def store_string(self, string: str) -> None:
        """Append it to the file if that works."""
        with suppress(OSError):
            super().store_string(string)


def history(path: Path) -> History:
    """The lines of earlier conversations, readable by their owner only; of this one alone when the file fails."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_RDWR, 0o600))
    except OSError:
        return InMemoryHistory()
    return ThreadedHistory(_Kept(str(path)))
