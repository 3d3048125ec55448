"""`/metrics` for Prometheus."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import accumulate

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response

from bot.admin.access import is_local, require_token, services_of
from bot.admin.services import AdminServices
from handlers.metrics import BUCKETS, Durations, Metrics
from handlers.version import VERSION
from routing.errors import StorageFault
from routing.ports import Facts

_Values = Mapping[tuple[()], float] | Mapping[tuple[str], float] | Mapping[tuple[str, str], float]
"""A value for each combination of labels."""
LIMITS = [*map(str, BUCKETS), "+Inf"]


async def metrics(request: Request) -> Response:
    """All metrics. A program on this machine needs no token, so that Prometheus works without configuration; a proxy
    on it does, so with ADMIN_URL, everybody."""
    services = services_of(request)
    proxied = bool(services.environment.settings.admin_url)
    if "authorization" in request.headers or proxied or not is_local(request):
        require_token(request)
    families = [*_counted(services.messaging.metrics), *_gauges(services, await _state(services))]
    return Response(await asyncio.to_thread(_text, families), headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})


def _text(families: Iterable[Metric]) -> bytes:
    registry = CollectorRegistry()
    registry.register(_Collected(families))
    ProcessCollector(registry=registry)
    return generate_latest(registry)


class _Collected(Collector):
    """Passes on what is collected already."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def _counted(counts: Metrics) -> Iterator[Metric]:
    """What was counted since the start."""
    yield _counter("tierbot_turns", "Turns by outcome.", ("tier", "outcome"), counts.turns)
    durations = "Seconds from the question to the end of the turn."
    yield _histogram("tierbot_turn_seconds", durations, ("tier", "model"), counts.turn_seconds)
    first = "Seconds from the question to the first token."
    yield _histogram("tierbot_first_token_seconds", first, ("tier", "model"), counts.first_token_seconds)
    yield _counter("tierbot_model_calls", "Calls of models, failed ones too.", ("tier", "model"), counts.calls)
    yield _counter("tierbot_model_failures", "Failed attempts of turns.", ("model",), _single(counts.failures))
    yield _counter("tierbot_tokens", "Tokens as providers count them.", ("model", "direction"), counts.tokens)
    dollars = {(model,): float(amount) for model, amount in counts.dollars.items()}
    yield _counter("tierbot_cost_dollars", "Known cost of calls in US dollars.", ("model",), dollars)
    unpriced = "Calls of unknown cost."
    yield _counter("tierbot_unpriced_calls", unpriced, ("model",), _single(counts.unpriced))
    yield _counter("tierbot_tool_calls", "Calls of tools by outcome.", ("tool", "outcome"), counts.tools)


@dataclass(frozen=True, slots=True)
class _State:
    """What the database and the running bot say; None if they can't. `oldest` is in Unix seconds."""

    facts: Facts | None = None
    oldest: float | None = None
    readable: bool = True


async def _state(services: AdminServices) -> _State:
    app = services.app()
    try:
        oldest = await services.messaging.stores.inbox.oldest_unfinished()
        return _State(await app.engine.health.facts() if app is not None else None, oldest)
    except StorageFault:
        return _State(readable=False)


def _gauges(services: AdminServices, state: _State) -> Iterator[Metric]:
    """How things are now."""
    messaging, app, facts = services.messaging, services.app(), state.facts
    yield _gauge("tierbot_info", "The version.", ("version",), {(VERSION,): 1})
    yield _gauge("tierbot_ready", "1 if the bot takes messages.", (), {(): app is not None})
    yield _gauge("tierbot_database_up", "1 if the database can be read.", (), {(): state.readable})
    platforms = messaging.platforms.items()
    up = {(name,): not each.progress.problem and each.progress.last_step > 0 for name, each in platforms}
    yield _gauge("tierbot_platform_up", "1 if the platform is connected.", ("platform",), up)
    now = messaging.steady()
    ages = {(name,): max(0.0, now - each.progress.last_step) for name, each in platforms if each.progress.last_step}
    yield _gauge("tierbot_poller_age_seconds", "Seconds since receiving made progress.", ("platform",), ages)
    if state.readable:
        age = 0.0 if state.oldest is None else max(0.0, messaging.clock() - state.oldest)
        yield _gauge("tierbot_oldest_message_seconds", "Age of the oldest unanswered message.", (), {(): age})
    if facts is not None:
        yield _gauge("tierbot_turns_running", "Turns that run now.", (), {(): facts.running})
        yield _gauge("tierbot_messages_waiting", "Messages that wait for another turn.", (), {(): facts.queued})
        replies = {("pending",): facts.pending, ("dead",): facts.dead}
        yield _gauge("tierbot_outbox_replies", "Replies to send, and those that can't be.", ("state",), replies)
        yield _gauge("tierbot_database_bytes", "Size of the database.", (), {(): facts.database_bytes})
        yield _gauge("tierbot_config_fault", "1 if an edited file is not valid.", (), {(): bool(facts.config_fault)})
    if app is not None:
        health, names = app.engine.models.health, messaging.metrics.models
        open_ones = {(names.label(model),): 1 for model, _ in health.breakers.statuses()}
        yield _gauge("tierbot_breaker_open", "Models whose circuit breaker is open.", ("model",), open_ones)


def _single(counts: Mapping[str, int]) -> Mapping[tuple[str], float]:
    return {(name,): count for name, count in counts.items()}


def _family(
    kind: type[CounterMetricFamily] | type[GaugeMetricFamily],
    name: str,
    text: str,
    labels: tuple[str, ...],
    values: _Values,
) -> Metric:
    family = kind(name, text, labels=labels)
    for place, value in values.items():
        family.add_metric(place, value)
    return family


_counter = partial(_family, CounterMetricFamily)
_gauge = partial(_family, GaugeMetricFamily)


def _histogram(name: str, text: str, labels: tuple[str, ...], values: Mapping[tuple[str, str], Durations]) -> Metric:
    family = HistogramMetricFamily(name, text, labels=labels)
    for place, durations in values.items():
        family.add_metric(place, list(zip(LIMITS, accumulate(durations.counts), strict=True)), durations.seconds)
    return family
