"""Sends traces to an OpenTelemetry collector, if OTEL_EXPORTER_OTLP_ENDPOINT names one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Self, cast

from bot.config.settings import Settings, parse_headers
from handlers.version import VERSION
from routing.lean_imports import without_collection
from routing.tracing import Attributes, Span, Tracer, trace_with

if TYPE_CHECKING:
    from opentelemetry import context, trace
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

FLUSH_SECONDS = 3.0
"""Time to send a batch of spans, with all attempts."""
NOT_INSTALLED = (
    "OTEL_EXPORTER_OTLP_ENDPOINT is set, but OpenTelemetry is not installed, so there are no traces: "
    "pip install 'tierbot[tracing]'"
)

log = logging.getLogger("bot.observability.tracing")


@asynccontextmanager
async def traces(settings: Settings) -> AsyncIterator[None]:
    """Traces what happens in the block, if the setting is set."""
    exporter = await asyncio.to_thread(_exporter, settings) if settings.otel_exporter_otlp_endpoint else None
    if exporter is None:
        yield
        return
    provider = exporter.provider()
    trace_with(OpenTelemetry(provider))
    try:
        yield
    finally:
        trace_with(None)
        if exporter.failing:
            exporter.shutdown()  # nobody waits for a collector that is down
        await asyncio.to_thread(provider.shutdown)


def _exporter(settings: Settings) -> _Exporter | None:
    """Imports the SDK, which takes a second; None if it is not installed."""
    try:
        with without_collection():
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    except ImportError:
        log.warning(NOT_INSTALLED)
        return None
    address = f"{settings.otel_exporter_otlp_endpoint.rstrip('/')}/v1/traces"
    given = settings.otel_exporter_otlp_headers
    headers = parse_headers(given.get_secret_value() if given else "")
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # it writes several lines for each failed attempt
    return _Exporter(OTLPSpanExporter(address, headers=headers, timeout=FLUSH_SECONDS), address)


class _Exporter:
    """Logs once that the collector can't be reached, and once that it can be again. Called in a thread of the SDK."""

    def __init__(self, exporter: SpanExporter, address: str) -> None:
        self._exporter = exporter
        self._address = address
        self.failing = False
        self.shutdown = exporter.shutdown
        self.force_flush = exporter.force_flush

    def provider(self) -> TracerProvider:
        """A provider of tracers that sends spans in batches."""
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        resource = Resource.create({"service.name": "tierbot", "service.version": VERSION})
        made = TracerProvider(resource=resource, shutdown_on_exit=False)
        made.add_span_processor(BatchSpanProcessor(cast("SpanExporter", self)))
        return made

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send a batch; it is dropped if that fails."""
        result = self._exporter.export(spans)
        failing = result.name != "SUCCESS"
        if failing and not self.failing:
            log.warning("Traces can't be sent to %s; they are dropped until that works again", self._address)
        elif self.failing and not failing:
            log.info("Traces are sent to %s again", self._address)
        self.failing = failing
        return result


class OpenTelemetry(Tracer):
    """Creates spans with the SDK."""

    def __init__(self, provider: trace.TracerProvider) -> None:
        from opentelemetry import context, trace

        self.context, self.trace = context, trace
        self.tracer = provider.get_tracer("tierbot", VERSION)

    def span(self, name: str, attributes: Attributes, parent: object | None) -> _Span:
        return _Span(self, name, attributes, cast("context.Context | None", parent))

    def current(self) -> context.Context:
        return self.context.get_current()


class _Span(Span):
    """Records the class of an error, and not its words."""

    def __init__(
        self, tracer: OpenTelemetry, name: str, attributes: Attributes, parent: context.Context | None
    ) -> None:
        self._tracer = tracer
        self._name = name
        self._attributes = attributes
        self._parent = parent

    def __enter__(self) -> Self:
        self._span = self._tracer.tracer.start_span(self._name, self._parent, attributes=self._attributes)
        self._token = self._tracer.context.attach(self._tracer.trace.set_span_in_context(self._span, self._parent))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._span.set_attribute("error.type", kind.__name__)
            if issubclass(kind, Exception):
                self._span.set_status(self._tracer.trace.StatusCode.ERROR)
        self._tracer.context.detach(self._token)
        self._span.end()

    def set(self, attributes: Attributes) -> None:
        self._span.set_attributes(attributes)
