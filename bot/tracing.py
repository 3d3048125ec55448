"""Sends traces to an OpenTelemetry collector, if OTEL_EXPORTER_OTLP_ENDPOINT names one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Self, cast

from bot.settings import Settings, parse_headers
from handlers.version import VERSION
from routing.lean_imports import without_collection
from routing.tracing import Attributes, Span, Tracer, trace_with

if TYPE_CHECKING:
    from opentelemetry import context, trace
    from opentelemetry.sdk.trace import TracerProvider

FLUSH_SECONDS = 3.0
"""Time to send the last spans at the end."""
NOT_INSTALLED = (
    "OTEL_EXPORTER_OTLP_ENDPOINT is set, but OpenTelemetry is not installed, so there are no traces: "
    "pip install 'tierbot[tracing]'"
)

log = logging.getLogger("bot.tracing")


@asynccontextmanager
async def traces(settings: Settings) -> AsyncIterator[None]:
    """Traces what happens in the block, if the setting is set."""
    provider = await asyncio.to_thread(_provider, settings) if settings.otel_exporter_otlp_endpoint else None
    if provider is None:
        yield
        return
    trace_with(OpenTelemetry(provider))
    try:
        yield
    finally:
        trace_with(None)
        await asyncio.to_thread(provider.shutdown)


def _provider(settings: Settings) -> TracerProvider | None:
    """Imports the SDK, which takes a second; None if it is not installed."""
    try:
        with without_collection():
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        log.warning(NOT_INSTALLED)
        return None
    address = f"{settings.otel_exporter_otlp_endpoint.rstrip('/')}/v1/traces"
    given = settings.otel_exporter_otlp_headers
    exporter = OTLPSpanExporter(address, headers=parse_headers(given.get_secret_value() if given else ""))
    resource = Resource.create({"service.name": "tierbot", "service.version": VERSION})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter, export_timeout_millis=FLUSH_SECONDS * 1000))
    log.info("Traces are sent to %s", settings.otel_exporter_otlp_endpoint)
    return provider


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
