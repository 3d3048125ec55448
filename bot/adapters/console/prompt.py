"""An interactive prompt, usable while answers grow above it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from functools import partial
from typing import TextIO

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app, get_app_session, in_terminal
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.patch_stdout import patch_stdout

from bot.adapters.console.completion import CommandCompleter, forget_line, history
from bot.adapters.console.hints import (
    LEAVE,
    LEAVE_NAMES,
    CommandHint,
    PromptOptions,
    is_mistyped_exit,
    typed_equivalent,
)
from bot.adapters.console.markdown import dim, rendered
from bot.adapters.console.printable import one_line
from bot.adapters.console.saving import save_note
from bot.adapters.console.speaker import ConsoleUser, Take, body, exit_hint, not_saved_notice
from bot.adapters.console.views import LINGER_SECONDS, View, Views
from routing.bounded import Bounded
from routing.errors import StorageFault
from routing.types.messages import Document, InboundMessage, OutboundMessage, OutgoingFile

BANNER = "tierbot in your terminal · /help lists the commands · Alt-Enter: new line · /exit or Ctrl-D: quit"
EXIT = CommandHint("exit", "Leave the terminal")
REFRESH_SECONDS = 0.125
"""Minimum time between two redraws of a growing answer."""
MENU_ROWS = 8
"""Rows that prompt_toolkit reserves for its completion menu."""


LINES_KEPT = 100
"""Lines that can still be removed from the history file."""


class Prompt:
    """A line editor with the end of the unfinished answer above it; finished replies are printed above both."""

    def __init__(self, console_user: ConsoleUser, take: Take, options: PromptOptions, stderr: TextIO) -> None:
        self._options = options
        self._speaker = console_user
        self._take = take
        self._stderr = stderr
        self._views = Views(console_user.clock)
        self._drawn: StyleAndTextTuples = []
        self._stopped = False
        self._lines = Bounded[str, str](LINES_KEPT)
        self._tasks: set[asyncio.Task[None]] = set()
        self._session: PromptSession[str] = PromptSession(
            self._message,
            completer=CommandCompleter((*options.commands, EXIT), console_user),
            complete_while_typing=Condition(lambda: get_app().current_buffer.text.startswith("/")),
            history=history(options.history_file),
            key_bindings=self._keys(),
            enable_suspend=True,
        )

    async def run(self) -> int:
        """Run until Ctrl-D, `/exit` or end of input; always returns 0."""
        await self._note(self._speaker.say(BANNER))
        if self._options.notice:
            await self._note(self._speaker.say(self._options.notice).replace("`", ""))
        drawing = asyncio.create_task(self._draw())
        try:
            with patch_stdout(raw=True):
                while not self._stopped:
                    line = (await self._read()).strip()
                    if line.lower() in (*LEAVE_NAMES, *LEAVE):
                        break
                    if is_mistyped_exit(line, self._options.commands):
                        await self._note(exit_hint(line, self._speaker.say))
                    elif line:
                        await self._ask(line)
        except EOFError:
            pass
        finally:
            drawing.cancel()
            await asyncio.gather(drawing, *self._tasks, return_exceptions=True)
        return 0

    async def say(self, message: OutboundMessage, recovered: bool) -> None:
        """Print a reply above the prompt in place of its live view."""
        width, say = self._width(), self._speaker.say
        text = await asyncio.to_thread(rendered, body(message, recovered, say), width)
        files: list[Document | OutgoingFile] = [message.document] if message.document else []
        for file in files + list(message.files):
            note = await asyncio.to_thread(save_note, file, self._options.exports, say)
            text += dim(note, max(width, 2 * len(note)))  # people copy the path, so only the terminal may wrap it
        if commands := typed_equivalent(message.buttons):
            text += dim(say("You can type: {commands}", commands=commands), width)
        self._views.drop_closed()
        self._drawn = await self._picture()
        await self._above(text + "\n")

    def live(self, message: InboundMessage, streaming: bool) -> View:
        """A spinner, then the answer as it grows."""
        line = self._lines.pop(message.message_id, None) or ""
        return self._views.new(streaming, partial(forget_line, self._options.history_file, line))

    async def waiting(self, message: InboundMessage) -> None:
        """Say that the line waits for the running turn."""
        await self._note(self._speaker.say("queued: {text}", text=one_line(message.text)))

    def stop(self) -> None:
        """End the prompt, even while something is typed."""
        self._stopped = True
        self._end_if_stopped()

    def close(self) -> None:
        """Does nothing: there are no threads."""

    async def _read(self) -> str:
        # prompt_toolkit's own exception handler would print a traceback and wait for Enter.
        return await self._session.prompt_async(pre_run=self._end_if_stopped, set_exception_handler=False)

    def _end_if_stopped(self) -> None:
        end = self._session.app.future
        if self._stopped and end is not None and not end.done():
            self._session.app.exit(exception=EOFError)

    async def _ask(self, line: str) -> None:
        try:
            message = self._speaker.says(line)
            self._lines[message.message_id] = line
            await self._take(message)
        except StorageFault as error:
            async with in_terminal():
                self._stderr.write(not_saved_notice(error, self._speaker.say) + "\n")
                self._stderr.flush()

    async def _note(self, text: str) -> None:
        await self._above(dim(text, self._width()))

    async def _above(self, text: str) -> None:
        async with in_terminal():
            output = get_app_session().output
            output.write_raw(text)
            output.flush()

    def _width(self) -> int:
        return max(20, get_app_session().output.get_size().columns)

    def _message(self) -> StyleAndTextTuples:
        # After Enter the line stays on the screen without the unfinished answer.
        return [*([] if get_app().is_done else self._drawn), ("bold", "› ")]

    async def _draw(self) -> None:
        """Redraw unfinished answers; less often if drawing takes long."""
        loop = asyncio.get_running_loop()
        while True:
            await self._views.shown.wait()
            begun = loop.time()
            self._views.drop_closed(LINGER_SECONDS)
            self._drawn = await self._picture()
            self._session.app.invalidate()
            await asyncio.sleep(max(REFRESH_SECONDS, 4 * (loop.time() - begun)))

    async def _picture(self) -> StyleAndTextTuples:
        """The last lines of the newest unfinished answer, with room left for typing."""
        if not self._views.text:
            status = self._views.status(self._speaker.say)
            return [("fg:ansibrightblack", status + "\n")] if status else []
        size = get_app_session().output.get_size()
        text = await asyncio.to_thread(rendered, self._views.text, self._width())
        below = MENU_ROWS if self._session.default_buffer.text.startswith("/") else 1
        room = max(3, size.rows - below - 3)
        return to_formatted_text(ANSI("".join(text.splitlines(keepends=True)[-room:])))

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("c-c")
        @keys.add("<sigint>")
        def interrupt(event: KeyPressEvent) -> None:
            if self._views.answering:
                self._begin(self._ask("/stop"))
            elif event.current_buffer.text:
                event.current_buffer.reset()
            else:
                self._begin(self._note(self._speaker.say("Type /exit or press Ctrl-D to quit.")))

        @keys.add("escape", "enter")
        def another_line(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        return keys

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
