"""What the inside needs of the outside while a turn runs. Implemented in `bot` and by the model library's door."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from routing.calls import Heard, ModelRequest, ProviderProfile, StreamEvent, ToolCall
from routing.outcome import ToolScope, Traits
from routing.tools.toolkits import Toolkit
from routing.types import Person


class Clock(Protocol):
    """Unix seconds; injected so that stories can move time. Dates and what the database keeps come from the system's
    clock; waits, deadlines and pauses from a steady one (`routing.deadline`)."""

    def __call__(self) -> float: ...


class Llm(Protocol):
    """The door to every model."""

    async def ready(self) -> None:
        """The library is there: what waits for it is no fault of a model."""

    def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        """Answer `request` piece by piece; the last event is a StreamEnd. Raises ModelError before it."""

    async def knows(self, model: str) -> bool:
        """Whether `provider/model` is in the library's bundled map of models."""

    async def transcribe(self, model: str, profile: ProviderProfile, name: str, audio: bytes) -> Heard:
        """The words of a voice message. Raises ModelError."""


class LiveReply(Protocol):
    """What a person sees before the final text: best effort, never an error."""

    async def working(self) -> None:
        """Show that an answer is being made."""

    def show(self, text: str) -> None:
        """The answer so far, in Markdown; returns at once."""

    async def acknowledge(self, text: str = "", spent: bool = False) -> None:
        """A pressed button was taken; one that is `spent` disappears, with those beside it."""

    async def close(self) -> str:
        """Stop; the id of a message that the final text should replace, or empty."""


class Tools(Protocol):
    """What runs the tools that a model calls."""

    def traits(self, name: str) -> Traits:
        """How a tool may be run; unknown names have the plainest."""

    async def run(self, call: ToolCall, scope: ToolScope) -> str:
        """The result for the model. Raises ToolFailed; BadArguments when it was not called as its schema says. Ends in
        time: a tool has a limit of its own."""


class Toolbox(Tools, Protocol):
    """The tools that there are."""

    def toolkits(self) -> tuple[Toolkit, ...]:
        """All, whoever may use them; the same tuple until one of them is another."""

    async def offered(self, person: Person) -> tuple[Toolkit, ...]:
        """What this person's role permits and this machine can run, in a stable order."""
