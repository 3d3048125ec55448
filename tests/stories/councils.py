"""Scripted members of a council, and checks on their calls."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from routing.council.prompts import ANSWERING, CHAIRING, RANKING
from routing.council.verdict import Stage as Part
from tests.servers.model.request import ModelRequest
from tests.servers.model.script import Script, When
from tests.stories.harness import BotHarness
from tests.stories.vendors import vendors

GPT, CLAUDE, GEMINI = "openai/gpt-5.2", "anthropic/claude-opus-4-5", "gemini/gemini-2.5-pro"
IN_A_CIRCLE = {"openai": ["anthropic", "gemini"], "anthropic": ["gemini", "openai"], "gemini": ["openai", "anthropic"]}
"""A tie in any order of ballots; no lead is certain before the last ballot."""
MEMBERS = {"openai": GPT, "anthropic": CLAUDE, "gemini": GEMINI}
ASKED = "/council Tabs or spaces?"
WRITER = GPT
"""Among equally strong models the first writes the synthesis."""
_BLOCK = re.compile(
    r'<answer-(?P<mark>[0-9a-f]{16}) label="(?P<label>[A-C])">\n(?P<text>.*?)\n</answer-(?P=mark)>', re.S
)


def part_of(request: ModelRequest) -> Part | None:
    """The part of a council that a request belongs to; None for other requests."""
    system = request.reading.system_text
    if system == ANSWERING:
        return "answers"
    if system.startswith(RANKING[:40]):
        return "ranking"
    return "synthesis" if system.startswith(CHAIRING[:40]) else None


def at(vendor: str, part: Part) -> When:
    """Matches only this member in this part."""
    return lambda request: request.vendor == vendor and part_of(request) == part


def blocks(request: ModelRequest) -> dict[str, str]:
    """The answers shown to a voter or the chair, by label."""
    return {found["label"]: found["text"] for found in _BLOCK.finditer(request.last_user_text)}


@dataclass(slots=True)
class Members:
    """Defaults: answers "<vendor> says yes", ballots in a circle, and "All agree." from the chair. A ballot is given as
    vendors in order, or as the text of the reply. `otherwise` answers requests outside a council."""

    answers: Mapping[str, str] = field(default_factory=dict)
    ballots: Mapping[str, Sequence[str] | str] = field(default_factory=dict)
    synthesis: str = "All agree."
    otherwise: Callable[[ModelRequest], str | Script] = lambda request: f"You said: {request.last_user_text}"

    def __call__(self, request: ModelRequest) -> str | Script:
        match part_of(request):
            case "answers":
                return self.answer(request.vendor)
            case "ranking":
                return self._ballot(request)
            case "synthesis":
                return self.synthesis
        return self.otherwise(request)

    def answer(self, vendor: str) -> str:
        return self.answers.get(vendor, f"{vendor} says yes")

    def _ballot(self, request: ModelRequest) -> str:
        ballot = self.ballots.get(request.vendor, IN_A_CIRCLE[request.vendor])
        if isinstance(ballot, str):
            return ballot
        shown = {text: label for label, text in blocks(request).items()}
        return json.dumps(
            {"ranking": [shown[self.answer(vendor)] for vendor in ballot if self.answer(vendor) in shown]}
        )


def enable_council(
    on: BotHarness, *names: str, members: Members | None = None, above: float = 100.0, tool_above: float = 100.0
) -> Members:
    """Gives keys to these vendors (default: all), with scripted answers. `above` and
    `tool_above` are the costs in US dollars from which a council asks first, by command and by tool."""
    vendors(on, *names, **{"deep": {"trySeconds": 100.0, "firstTokenSeconds": 100.0, "deadlineSeconds": 300.0}})
    tiers = on.config["tiers"]
    assert isinstance(tiers, dict)
    tiers["coding"] |= {"trySeconds": 100.0, "firstTokenSeconds": 100.0, "deadlineSeconds": 299.0}
    on.config["council"] = {"confirmAboveUsd": above, "toolConfirmAboveUsd": tool_above}
    on.ms.default = members or Members()
    return on.ms.default


def made(on: BotHarness, part: Part) -> list[ModelRequest]:
    """The calls of one part, in order."""
    return [call for call in on.ms.calls if part_of(call) == part]
