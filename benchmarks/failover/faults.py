"""The plan of faults per attempt, and models that follow it: in this process, or behind the model server."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Mapping

from benchmarks.bots.servers import ANSWER, CHUNKS, Control
from routing.errors import (
    ContextOverflow,
    KeyRejected,
    ModelError,
    ModelUnknown,
    PolicyRefused,
    RateLimited,
    Unreachable,
)
from routing.types.llm import (
    ModelRequest,
    ProviderProfile,
    StreamEnd,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    Transcript,
    Usage,
)

SHARE = 0.3
SEED = 7
RETRY_AFTER = 30.0
_PIECE = len(ANSWER) // CHUNKS
_FAILURES: dict[str, tuple[type[ModelError], float | None]] = {
    "429": (RateLimited, RETRY_AFTER),
    "401": (KeyRejected, None),
    "404": (ModelUnknown, None),
    "500": (Unreachable, None),
    "content policy": (PolicyRefused, None),
    "context overflow": (ContextOverflow, None),
}
_WIRE: dict[str, dict[str, object]] = {
    "no first token": {"kind": "hang", "seconds": 120.0},
    "hang": {"kind": "reasoning", "thinking": "hm", "then": ANSWER, "chunks": 2, "gate_after": 1},
    "break after two chunks": {"kind": "break_stream", "after_chunks": 2, "text": ANSWER, "chunks": CHUNKS},
    "429": {"kind": "fail", "status": 429, "retry_after": RETRY_AFTER},
    "401": {"kind": "fail", "status": 401},
    "404": {"kind": "fail", "status": 404},
    "500": {"kind": "fail", "status": 500},
    "empty": {"kind": "empty"},
    "length": {"kind": "length_cut"},
    "content policy": {"kind": "fail", "status": 400, "message": "Declined: content_policy_violation."},
    "context overflow": {"kind": "fail", "status": 400, "code": "context_length_exceeded"},
}
"""Scripts for the model server. A hanging model is silent after its first thinking, one without a first token from the
beginning; `length` cuts an answer before its first token."""
FAULTS = tuple(_WIRE)

Plan = Mapping[int, tuple[str, ...]]
"""By turn number, the faults of its first attempts; later attempts succeed."""


def draw_plan(turns: int, share: float = SHARE, seed: int = SEED) -> Plan:
    """Each attempt meets a fault with this probability; all faults are equally likely."""
    rng = random.Random(seed)
    plan = {}
    for number in range(turns):
        faults = []
        while rng.random() < share:
            faults.append(rng.choice(FAULTS))
        plan[number] = tuple(faults)
    return plan


def text_of(number: int) -> str:
    """A question with its turn's number."""
    return f"Question {number}."


def number_of(request: ModelRequest) -> int:
    """The turn that a request belongs to."""
    return int(request.messages[-1].text.removeprefix("Question ").rstrip("."))


async def script(control: Control, plan: Plan) -> None:
    """Scripts the model server for each attempt of each turn."""
    for number, faults in plan.items():
        for fault in faults:
            when = {"user_contains": text_of(number)}
            await asyncio.to_thread(control.post, "script", when=when, **_WIRE[fault])


class Scripted:
    """`routing.ports.Llm`: answers at once, or with `pause` seconds before each piece, unless the plan has a fault for
    the attempt."""

    def __init__(self, plan: Plan, pause: float = 0.0) -> None:
        self._left = {number: list(faults) for number, faults in plan.items()}
        self._pause = pause

    async def ready(self) -> None: ...

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        left = self._left[number_of(request)] if self._left else []
        fault = left.pop(0) if left else ""
        await self._paused()
        if fault in _FAILURES:
            kind, wait = _FAILURES[fault]
            raise kind(request.model, fault, wait)
        match fault:
            case "hang" | "no first token":
                if fault == "hang":
                    yield ThinkingDelta()
                await asyncio.Event().wait()
            case "empty" | "length":
                yield StreamEnd("length" if fault == "length" else "stop", Usage(20, 0))
                return
        for at in range(CHUNKS):
            await self._paused()
            if fault == "break after two chunks" and at == 2:
                raise Unreachable(request.model, "it broke off")
            yield TextDelta(ANSWER[at * _PIECE : (at + 1) * _PIECE if at < CHUNKS - 1 else None])
        yield StreamEnd("stop", Usage(20, 55))

    async def _paused(self) -> None:
        if self._pause:
            await asyncio.sleep(self._pause)

    async def knows(self, model: str) -> bool:
        return True

    async def transcribe(self, model: str, profile: ProviderProfile, name: str, audio: bytes) -> Transcript:
        return Transcript("")
