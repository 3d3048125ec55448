"""Counts what the bot does, for monitoring. Recording is a few dictionary updates; reports are made elsewhere."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from types import TracebackType

from routing.errors import BadArguments
from routing.ports import Ledger
from routing.tracing import span
from routing.types.history import TurnFacts, TurnRecord
from routing.types.messages import OutboundMessage
from routing.types.queues import OutboxEntry
from routing.types.tools import NeedsConfirmation
from routing.types.usage import CallRecord

BUCKETS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0)
"""Upper limits in seconds. The deadlines of the tiers are among them."""
MAX_NAMES = 100
"""Different models, and different tools, that are counted by name. People can choose any model of a provider, and MCP
servers bring their own tools, but each name is one more time series for the monitoring."""
OTHER = "other"


class Names:
    """Names for labels: the first MAX_NAMES, and OTHER for the rest."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def add(self, names: Iterable[str]) -> None:
        """Reserve places for these names."""
        for name in names:
            self.label(name)

    def label(self, name: str) -> str:
        if name not in self._known:
            if len(self._known) >= MAX_NAMES:
                return OTHER
            self._known.add(name)
        return name


@dataclass(slots=True)
class Durations:
    """How many durations fell below each of BUCKETS and above all, and their sum in seconds."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.seconds += seconds


class Metrics:
    """Counters since the start of the process."""

    def __init__(self) -> None:
        self.models = Names()
        self.turns: Counter[tuple[str, str]] = Counter()
        """By tier and outcome."""
        self.turn_seconds: dict[tuple[str, str], Durations] = {}
        """By tier and model."""
        self.first_token_seconds: dict[tuple[str, str], Durations] = {}
        self.calls: Counter[tuple[str, str]] = Counter()
        """Calls of models by tier, or kind of media, and model."""
        self.unpriced: Counter[str] = Counter()
        """Calls of unknown cost by model."""
        self.failures: Counter[str] = Counter()
        """Failed attempts by model."""
        self.tokens: Counter[tuple[str, str]] = Counter()
        """By model and direction."""
        self.dollars: dict[str, Decimal] = {}
        self.tools: Counter[tuple[str, str]] = Counter()
        """Calls of tools by tool and outcome."""
        self._tool_names = Names()

    def turn(self, record: TurnRecord) -> None:
        """Count what was stored at the end of a turn."""
        for call in record.calls:
            self._call(call)
        if record.facts is not None:
            self._facts(record.facts)

    def tool(self, name: str) -> ToolCallCounter:
        """A context manager around one call of a tool, which must exist: models also make names up."""
        return ToolCallCounter(self.tools, self._tool_names.label(name))

    def _facts(self, facts: TurnFacts) -> None:
        self.turns[facts.tier, outcome(facts)] += 1
        for failed in facts.failed:
            self.failures[self.models.label(failed)] += 1
        if facts.model:
            place = facts.tier, self.models.label(facts.model)
            self.turn_seconds.setdefault(place, Durations()).add(facts.seconds)
            if facts.first_token_seconds is not None:
                self.first_token_seconds.setdefault(place, Durations()).add(facts.first_token_seconds)

    def _call(self, call: CallRecord) -> None:
        model, usage = self.models.label(call.model), call.usage
        self.calls[call.tier, model] += 1
        if usage is not None:
            self.tokens[model, "input"] += usage.input_tokens
            self.tokens[model, "output"] += usage.output_tokens
            self.tokens[model, "cached"] += usage.cached_tokens
        if usage is None or usage.cost is None:
            self.unpriced[model] += 1
        else:
            self.dollars[model] = self.dollars.get(model, Decimal(0)) + usage.cost


def outcome(facts: TurnFacts) -> str:
    """How a turn ended, in one word; the worst that applies."""
    if not facts.model:
        return "failed"
    if facts.timed_out:
        return "late"
    return "fallback" if facts.fallback else "answered"


class ToolCallCounter:
    """Counts one call when it ends, by the error that ended it, and traces it."""

    def __init__(self, counts: Counter[tuple[str, str]], name: str) -> None:
        self._counts = counts
        self._name = name
        self._span = span(f"execute_tool {name}", {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name})

    def __enter__(self) -> None:
        self._span.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._counts[self._name, tool_outcome(kind)] += 1
        self._span.__exit__(kind, error, trace)


def tool_outcome(kind: type[BaseException] | None) -> str:
    """How a call of a tool ended, by the class of its error."""
    if kind is None:
        return "ok"
    if issubclass(kind, NeedsConfirmation):
        return "asked"
    if issubclass(kind, BadArguments):
        return "refused"
    return "failed" if issubclass(kind, Exception) else "stopped"


class CountingLedger:
    """A ledger that counts what it has stored."""

    def __init__(self, ledger: Ledger, metrics: Metrics) -> None:
        self._ledger = ledger
        self._metrics = metrics

    async def finish(
        self, inbox_ids: Sequence[int], replies: Sequence[OutboundMessage], record: TurnRecord | None = None
    ) -> tuple[OutboxEntry, ...]:
        kept = await self._ledger.finish(inbox_ids, replies, record)
        if record is not None:
            self._metrics.turn(record)
        return kept
