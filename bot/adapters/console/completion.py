"""Completion of commands at the prompt, and the history file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory, ThreadedHistory

from bot.adapters.console.hints import CommandHint
from bot.adapters.console.speaker import ConsoleUser


class CommandCompleter(Completer):
    """Completes slash commands, then their arguments."""

    def __init__(self, commands: Sequence[CommandHint], console_user: ConsoleUser) -> None:
        self._commands = commands
        self._speaker = console_user

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """Completions of the word before the cursor; none for free text."""
        typed = document.text_before_cursor
        if not typed.startswith("/") or "\n" in typed:
            return
        *before, last = re.split(" +", typed)
        if before:
            words = dict.fromkeys(self._choices(before[0][1:].lower(), len(before) - 1), "")
        else:
            words = {f"/{each.name}": self._speaker.say(each.summary) for each in self._commands}
        for word, summary in words.items():
            if word.lower().startswith(last.lower()):
                yield Completion(word, start_position=-len(last), display_meta=summary)

    def _choices(self, command: str, argument: int) -> Sequence[str]:
        found = next((each.choices for each in self._commands if each.name.lower() == command), ())
        return found[argument] if argument < len(found) else ()


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


def forget_line(path: Path, line: str) -> None:
    """Remove the newest entry with this text from the history file, because it is a password."""
    entry = "".join(f"+{part}\n" for part in line.split("\n"))
    with suppress(OSError):
        before, found, after = path.read_text(encoding="utf-8", errors="replace").rpartition(f"\n{entry}")
        if found and not after.startswith("+"):
            path.write_text(f"{before}\n{after}", encoding="utf-8")
