"""Unfinished answers as the prompt shows them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Literal

from handlers.languages import Say
from routing.ports import Clock

LINGER_SECONDS = 1.0
"""How long a finished answer stays visible until its reply is printed, to avoid flicker."""
STOP_HINT_SECONDS = 10.0
"""The spinner says how to stop after this time without text."""
MAX_FILE_BYTES = 50 * 2**20
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


class View:
    """A LiveReply: empty until `working` or `show`, then a spinner, then the text."""

    max_file_bytes = MAX_FILE_BYTES

    def __init__(self, views: Views, streaming: bool, forget: Callable[[], object]) -> None:
        """`forget` removes the line from the history of the prompt."""
        self._views = views
        self._forget = forget
        self._streaming = streaming
        self.state: Literal["new", "open", "closed"] = "new"
        self.since = 0.0
        self.text = ""

    async def working(self) -> None:
        """Start the spinner."""
        self._views.open(self)

    def show(self, text: str) -> None:
        """The answer so far; only the spinner when streaming is off."""
        self._views.open(self)
        if self._streaming:
            self.text = text

    async def acknowledge(self, text: str = "", spent: bool = False) -> None:
        """Does nothing: a terminal has no buttons."""

    async def erase(self) -> bool:
        """The line stays on the screen, but not in the history file."""
        await asyncio.to_thread(self._forget)
        return True

    async def close(self) -> str:
        """The reply follows as a separate message."""
        self._views.closed(self)
        return ""


class Views:
    """The unfinished answers of one terminal; `shown` is set while there are any."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._views: list[View] = []
        self._frames: Iterator[str] = cycle(SPINNER)
        self.shown = asyncio.Event()

    def new(self, streaming: bool, forget: Callable[[], object] = lambda: None) -> View:
        """A new view, not shown yet."""
        return View(self, streaming, forget)

    def open(self, view: View) -> None:
        """Show this view from now on."""
        if view.state == "new":
            view.state, view.since = "open", self._clock()
            self._views.append(view)
            self.shown.set()

    def closed(self, view: View) -> None:
        """Note that this view's reply is about to be printed."""
        view.state, view.since = "closed", self._clock()

    def drop_closed(self, older_than: float = 0.0) -> None:
        """Remove views that were closed at least `older_than` seconds ago."""
        now = self._clock()
        self._views = [each for each in self._views if each.state == "open" or now - each.since < older_than]
        if not self._views:
            self.shown.clear()

    @property
    def answering(self) -> bool:
        """Whether there is an answer to stop."""
        return any(view.state == "open" for view in self._views)

    @property
    def text(self) -> str:
        """The text of the newest answer; empty before its first words."""
        return self._views[-1].text if self._views else ""

    def status(self, say: Say) -> str:
        """The spinner's text; empty without an unfinished answer."""
        if not self.answering:
            return ""
        seconds = max(0, int(self._clock() - self._views[-1].since))
        words = "{spinner} thinking… {seconds} s"
        if seconds > STOP_HINT_SECONDS:
            words = "{spinner} thinking… {seconds} s (still working; Ctrl-C stops it)"
        return say(words, spinner=next(self._frames), seconds=seconds)
