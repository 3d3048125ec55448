"""Counts model calls: attempts of each turn, and concurrent probes."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator

from benchmarks.failover.faults import number_of
from routing.health.breakers import BreakerKey, fingerprint
from routing.health.health import ModelHealth
from routing.ports import Llm
from routing.types.llm import ModelRequest, StreamEvent


class CallCounter:
    """`routing.ports.Llm`: forwards everything. A call to a model whose breaker is not closed is a probe until its
    first event."""

    def __init__(self, llm: Llm, health: ModelHealth) -> None:
        self._llm = llm
        self._health = health
        self._probes: Counter[BreakerKey] = Counter()
        self.tries: Counter[int] = Counter()
        self.probes = 0
        self.most_probes = 0
        self.busy = 0
        self.most_busy = 0

    async def ready(self) -> None:
        await self._llm.ready()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        self.tries[number_of(request)] += 1
        place = request.model, fingerprint(request.profile)
        probing = self._health.breakers.status(*place).state != "closed"
        self._begun(place, probing)
        try:
            async for event in self._llm.stream(request):
                if probing:
                    self._probes[place] -= 1
                    probing = False
                yield event
        finally:
            self.busy -= 1
            if probing:
                self._probes[place] -= 1

    def _begun(self, place: BreakerKey, probing: bool) -> None:
        self.busy += 1
        self.most_busy = max(self.most_busy, self.busy)
        if probing:
            self.probes += 1
            self._probes[place] += 1
            self.most_probes = max(self.most_probes, self._probes[place])

    async def knows(self, model: str) -> bool:
        return await self._llm.knows(model)
