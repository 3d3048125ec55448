"""The methods with which a test scripts the model's answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Unpack

from tests.servers.model.failures import failure
from tests.servers.model.request import ModelRequest
from tests.servers.model.script import BEFORE_HEADERS, Gate, Script, ToolCall, Usage
from tests.servers.model.terms import Terms

Default = Callable[[ModelRequest], str | Script]
Call = tuple[str, dict[str, Any] | str] | tuple[str, dict[str, Any] | str, str]


def echo(request: ModelRequest) -> str:
    """The default answer if nothing is scripted."""
    return f"You said: {request.last_user_text}"


class Scripting:
    """A queue of scripts, first in first out; a script with `when` waits for a request that fits it.
    A script without `when` does not answer requests for vectors or media.

    Every method takes the keywords of `Terms` and returns the script's gate, which matters only with
    `gate_after`. With an empty queue `default` answers, at the pace of `pace`.
    """

    def __init__(self) -> None:
        self.default: Default = echo
        self.pace = Script()
        self._queue: list[Script] = []

    @property
    def pending(self) -> tuple[Script, ...]:
        """Scripts that no request has used yet; empty at the end of a complete story."""
        return tuple(self._queue)

    def clear(self) -> None:
        """Drops every script and restores the default."""
        self._queue.clear()
        self.default, self.pace = echo, Script()

    def script(self, script: Script) -> Gate:
        """Adds a hand-made script to the queue."""
        self._queue.append(script)
        return script.gate

    def reply(self, text: str, **terms: Unpack[Terms]) -> Gate:
        return self.script(Script(text=text, **built(terms)))

    def call_tools(self, calls: Sequence[Call], text: str = "", thinking: str = "", **terms: Unpack[Terms]) -> Gate:
        """`(name, arguments)` or `(name, arguments, id)`; arguments an object, or JSON text sent as it is."""
        made = tuple(map(tool_call, calls))
        return self.script(Script(text=text, thinking=thinking, calls=made, **built(terms)))

    def reasoning(self, thinking: str, then: str = "", **terms: Unpack[Terms]) -> Gate:
        return self.script(Script(thinking=thinking, text=then, **built(terms)))

    def vectors(self, rows: Sequence[Sequence[float]], **terms: Unpack[Terms]) -> Gate:
        """Returns these vectors instead of one per text, legal or not."""
        return self.script(Script(vectors=tuple(map(tuple, rows)), **{"when": _embeds, **built(terms)}))

    def hear(self, text: str, seconds: float | None = None, **terms: Unpack[Terms]) -> Gate:
        """The transcript of a recording; `seconds` is its length if the provider counts it."""
        return self.script(Script(text=text, seconds=seconds, **{"when": hears, **built(terms)}))

    def speak(self, sound: bytes, **terms: Unpack[Terms]) -> Gate:
        """A spoken text."""
        return self.script(Script(media=sound, **{"when": speaks, **built(terms)}))

    def draw(self, picture: bytes = b"", url: str = "", **terms: Unpack[Terms]) -> Gate:
        """A picture, or its address."""
        return self.script(Script(media=picture or None, text=url, **{"when": draws, **built(terms)}))

    def empty(self, **terms: Unpack[Terms]) -> Gate:
        """Finishes normally, without text."""
        return self.script(Script(**built(terms)))

    def length_cut(self, text: str = "", **terms: Unpack[Terms]) -> Gate:
        """Ends because the output limit is reached."""
        return self.script(Script(text=text, **{**built(terms), "finish": "length"}))

    def fail(
        self,
        status: int,
        code: str | None = None,
        message: str | None = None,
        retry_after: float | None = None,
        **terms: Unpack[Terms],
    ) -> Gate:
        """An error answer; `retry_after` in seconds."""
        error = failure(status, code, message, retry_after)
        return self.script(Script(fault="status", failure=error, **built(terms)))

    def break_stream(self, status: int = 500, *, after_chunks: int, text: str = "", **terms: Unpack[Terms]) -> Gate:
        """A stream with status 200 that starts normally and then contains the provider's error event."""
        error = failure(status)
        return self.script(
            Script(fault="break", failure=error, fault_after=after_chunks, text=text or _LONG, **built(terms))
        )

    def truncate(self, after_chunks: int = 2, text: str = "", abrupt: bool = False, **terms: Unpack[Terms]) -> Gate:
        """Closes with neither finish reason nor end mark. The HTTP body ends properly, as behind a proxy
        whose upstream died; with `abrupt` the connection closes inside it."""
        fault: Any = "abort" if abrupt else "truncate"
        return self.script(Script(fault=fault, fault_after=after_chunks, text=text or _LONG, **built(terms)))

    def garbage(self, after_chunks: int = 1, text: str = "", **terms: Unpack[Terms]) -> Gate:
        """An event that is not JSON; a whole answer is cut JSON under status 200."""
        return self.script(Script(fault="garbage", fault_after=after_chunks, text=text or _LONG, **built(terms)))

    def hang(self, seconds: float, **terms: Unpack[Terms]) -> Gate:
        """Sends nothing for this long, then the default answer. Ends when the client disconnects."""
        return self.script(Script(fault="hang", hang_seconds=seconds, **built(terms)))

    def reset(self, **terms: Unpack[Terms]) -> Gate:
        """A TCP reset before the answer."""
        return self.script(Script(fault="reset", **built(terms)))

    def gate(self, text: str | None = None, **terms: Unpack[Terms]) -> Gate:
        """Sends nothing, not even headers, until the gate opens; then `text` or the default answer."""
        held = {**built(terms), "gate_after": BEFORE_HEADERS}
        if text is None:
            return self.script(Script(fault="hang", **held))
        return self.script(Script(text=text, **held))

    def take(self, request: ModelRequest) -> Script:
        """Called by the server: the first script that matches, used once, or else the default answer."""
        for index, script in enumerate(self._queue):
            if not _fits(script, request):
                continue
            if script.times == 1:
                del self._queue[index]
            elif script.times is not None:
                self._queue[index] = replace(script, times=script.times - 1)
            return script
        return self.by_default(request)

    def by_default(self, request: ModelRequest) -> Script:
        if request.is_media:
            return self.pace
        answer = self.default(request)
        return replace(self.pace, text=answer) if isinstance(answer, str) else answer


_LONG = "This answer was meant to be longer than what arrives of it."


def hears(request: ModelRequest) -> bool:
    """Whether it asks for a transcript."""
    return request.endpoint == "transcriptions"


def speaks(request: ModelRequest) -> bool:
    """Whether it asks for a spoken text."""
    return request.endpoint == "speech"


def draws(request: ModelRequest) -> bool:
    """Whether it asks for a picture."""
    return request.endpoint == "images"


def _embeds(request: ModelRequest) -> bool:
    return request.embeds


def _fits(script: Script, request: ModelRequest) -> bool:
    return script.when(request) if script.when is not None else not (request.embeds or request.is_media)


def tool_call(call: Call) -> ToolCall:
    arguments = call[1] if isinstance(call[1], str) else json.dumps(call[1], ensure_ascii=False)
    return ToolCall(call[0], arguments, call[2] if len(call) == 3 else None)


def built(terms: Terms) -> dict[str, Any]:
    """Terms as fields of a script: usage given as (input, output, cached, reasoning) becomes a value."""
    fields: dict[str, Any] = dict(terms)
    if isinstance(fields.get("usage"), tuple):
        fields["usage"] = Usage(*fields["usage"])
    return fields
