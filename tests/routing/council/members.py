"""Scripted members of a council."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random

from routing.council.council import Council
from routing.council.prompts import ANSWERING, CHAIRING, RANKING
from routing.council.seats import Seat
from routing.council.verdict import Progress, Stage, Verdict
from routing.errors import ModelError
from routing.types.llm import ChatMessage, Usage
from routing.types.stop import Stop
from routing.types.tiers import Tier
from routing.types.usage import CallRecord
from tests.routing.simulated_time import elapsed, run_instantly

SUN, MOON, STAR = "openai/sun", "anthropic/moon", "gemini/star"
SEATS = (Seat(SUN, "openai", "deep"), Seat(MOON, "anthropic", "deep"), Seat(STAR, "gemini", "coding"))
NEVER = 1e9
BEGAN = 1_700_000_000.0
BLOCK = re.compile(
    r'<answer-(?P<mark>[0-9a-f]{16}) label="(?P<label>[A-Z])">\n(?P<text>.*?)\n</answer-(?P=mark)>', re.S
)


def stage_of(messages: Sequence[ChatMessage]) -> Stage:
    system = messages[0].text
    if system == ANSWERING:
        return "answers"
    assert system[:40] in (RANKING[:40], CHAIRING[:40])
    return "ranking" if system[:40] == RANKING[:40] else "synthesis"


@dataclass(frozen=True, slots=True)
class Call:
    """One recorded call."""

    model: str
    stage: Stage
    text: str
    system: str
    seconds: float
    at: float


@dataclass(slots=True)
class Members:
    """A scripted `AskModel`. By default a model answers "<model> says yes", ranks the others in the order of their
    names, and as the chair writes "All agree.", each after one second. A ballot is given as models in order, or as the
    text of the reply. Costs are given by model; the default is a tenth of a cent."""

    answers: Mapping[str, str | ModelError] = field(default_factory=dict)
    ballots: Mapping[str, Sequence[str] | str | ModelError] = field(default_factory=dict)
    synthesis: str | ModelError | Callable[[Call], str] = "All agree."
    after: Mapping[tuple[str, Stage], float] = field(default_factory=dict)
    costs: Mapping[str, Decimal | None] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    cancelled: list[tuple[str, Stage]] = field(default_factory=list)
    paid_calls: list[CallRecord] = field(default_factory=list)

    async def __call__(self, model: str, tier: Tier, messages: tuple[ChatMessage, ...], seconds: float) -> str:
        stage = stage_of(messages)
        began = elapsed()
        self.calls.append(Call(model, stage, messages[1].text, messages[0].text, seconds, began))
        reply = self._reply(self.calls[-1])
        took = self.after.get((model, stage), 1.0)
        try:
            await asyncio.sleep(took)
        except asyncio.CancelledError:
            self.cancelled.append((model, stage))
            self.paid_calls.append(CallRecord(tier, model, None, elapsed() - began))
            raise
        if isinstance(reply, ModelError):
            raise reply
        counted = Usage(10, 20, cost=self.costs.get(model, Decimal("0.001")))
        self.paid_calls.append(CallRecord(tier, model, counted, took))
        return reply

    def made(self, stage: Stage) -> list[Call]:
        return [call for call in self.calls if call.stage == stage]

    def answer(self, model: str) -> str | ModelError:
        return self.answers.get(model, f"{model} says yes")

    def _reply(self, call: Call) -> str | ModelError:
        if call.stage == "answers":
            return self.answer(call.model)
        if call.stage == "synthesis":
            return self.synthesis(call) if callable(self.synthesis) else self.synthesis
        told = self.ballots.get(call.model, sorted({SUN, MOON, STAR} - {call.model}))
        if isinstance(told, str | ModelError):
            return told
        labels = {block["text"].partition("\n")[0]: block["label"] for block in BLOCK.finditer(call.text)}
        return json.dumps({"ranking": [labels[str(self.answer(model)).partition("\n")[0]] for model in told]})


@dataclass(slots=True)
class CouncilRun:
    """Runs a council and records its events."""

    members: Members
    stop: Stop = field(default_factory=Stop)
    shown: list[Progress] = field(default_factory=list)
    seed: int = 1
    on_progress: Callable[[Progress], None] = lambda progress: None

    async def run(self, seats: Sequence[Seat] = SEATS, question: str = "Is it so?") -> Verdict:
        council = Council(question, seats, self.members, lambda: BEGAN + elapsed(), Random(self.seed), self._see)
        return await council.run(self.stop)

    def _see(self, progress: Progress) -> None:
        self.shown.append(progress)
        self.on_progress(progress)


def verdict_of(members: Members, seats: Sequence[Seat] = SEATS, seed: int = 1) -> Verdict:
    """The verdict of a council that runs undisturbed."""
    return run_instantly(CouncilRun(members, seed=seed).run(seats))
