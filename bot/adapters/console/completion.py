"""Completion of commands at the prompt, and the history file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory, ThreadedHistory

from bot.adapters.console.hints import CommandHint, suggestions
from bot.adapters.console.speaker import Speaker


class CommandCompleter(Completer):
    """Completes slash commands, then their arguments."""

    def __init__(self, commands: Sequence[CommandHint], speaker: Speaker) -> None:
        self._commands = commands
        self._speaker = speaker

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """Completions of the word before the cursor."""
        say = self._speaker.say
        for each in suggestions(self._commands, document.text_before_cursor):
            yield Completion(each.word, start_position=-each.replaces, display_meta=say(each.summary))


class _BestEffortHistory(FileHistory):
    """Ignores a full disk: the line is then missing from the history only."""

    def store_string(self, string: str) -> None:
        """Append the line to the file if possible."""
        with suppress(OSError):
            super().store_string(string)


def history(path: Path) -> History:
    """Lines of earlier conversations, readable only by the owner; in memory if the file can't be used."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_RDWR, 0o600))
    except OSError:
        return InMemoryHistory()
    return ThreadedHistory(_BestEffortHistory(str(path)))
