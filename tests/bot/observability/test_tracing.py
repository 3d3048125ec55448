"""Traces reach a collector with the steps of a message, and without what people write."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from bot.config.environment import load
from bot.config.settings import Settings
from bot.observability.tracing import NOT_INSTALLED, traces
from routing import tracing
from routing.errors import ConfigError
from tests.servers.listener import listening
from tests.stories.harness import BotHarness, ask, bot_harness, running, settled

SECRET = "what-nobody-else-may-read"


class Collector:
    """Receives spans over OTLP/HTTP."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.raw = b""
        self.headers: list[str] = []

    async def handle(self, request: web.BaseRequest) -> web.Response:
        import gzip

        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        assert request.path == "/v1/traces"
        body = await request.read()
        body = gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body
        self.raw += body
        self.headers.append(request.headers.get("Authorization", ""))
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.spans += [each for scope in resource.scope_spans for each in scope.spans]
        return web.Response()

    def one(self, name: str) -> Any:
        (found,) = [each for each in self.spans if each.name == name]
        return found


@pytest.fixture
async def on(in_memory: Path) -> Any:
    pytest.importorskip("opentelemetry.sdk")
    async with bot_harness(in_memory / "workspace") as made:
        yield made


async def test_a_message_is_traced_from_its_arrival_to_its_reply(on: BotHarness) -> None:
    collector = Collector()
    on.ms.call_tools([("calculate", {"expression": "6*7"})])
    on.ms.reply(f"It is 42. {SECRET}")
    async with listening(collector.handle) as address:
        on.env |= {"OTEL_EXPORTER_OTLP_ENDPOINT": address, "OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Bearer abc"}
        async with running(on):
            await ask(on, f"How much is 6*7? {SECRET}")
            await settled(on)
    message, turn, send, tool = map(collector.one, ("message", "turn", "send", "execute_tool calculate"))
    calls = [each for each in collector.spans if each.name.startswith("chat ")]
    assert turn.parent_span_id == send.parent_span_id == message.span_id
    assert not message.parent_span_id
    assert len(calls) == 2
    assert {each.parent_span_id for each in (*calls, tool)} == {turn.span_id}
    assert len({each.trace_id for each in collector.spans}) == 1
    assert set(collector.headers) == {"Bearer abc"}
    for private in (SECRET, "6*7", "Alice", str(on.tg.token)):
        assert private.encode() not in collector.raw


async def test_a_failed_model_is_marked_without_its_words(on: BotHarness) -> None:
    collector = Collector()
    async with listening(collector.handle) as address:
        on.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = f"{address}/"
        on.ms.fail(401, times=None)
        async with running(on):
            await ask(on, "hello")
            await settled(on)
    failed = [each for each in collector.spans if each.name.startswith("chat ") and each.status.code == 2]
    assert failed
    assert {(each.status.message, len(each.events)) for each in failed} == {("", 0)}


async def test_a_collector_that_is_down_disturbs_nothing(on: BotHarness, caplog: pytest.LogCaptureFixture) -> None:
    on.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = "http://127.0.0.1:9"
    async with running(on):
        assert "hello" in (await ask(on, "hello")).text
    lines = [
        each.getMessage()
        for each in caplog.records
        if each.name.startswith(("bot.observability.tracing", "opentelemetry"))
    ]
    assert lines == ["Traces can't be sent to http://127.0.0.1:9/v1/traces; they are dropped until that works again"]


async def test_without_the_packages_a_warning_says_so(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    async with traces(Settings.model_validate({"otel_exporter_otlp_endpoint": "http://127.0.0.1:9"})):
        assert tracing.current_span() is None
    assert [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING] == [NOT_INSTALLED]


async def test_without_the_setting_nothing_is_imported_or_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    async with traces(Settings.model_validate({})):
        assert tracing.span("a") is tracing.span("b", {"c": 1})
        assert tracing.current_span() is None


def test_wrong_settings_are_refused_without_their_values(tmp_path: Path) -> None:
    environ = {"WORKSPACE": str(tmp_path)}
    with pytest.raises(ConfigError, match=r"^OTEL_EXPORTER_OTLP_ENDPOINT must begin with http"):
        load(environ | {"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4317"})
    with pytest.raises(ConfigError, match=r"^OTEL_EXPORTER_OTLP_HEADERS must look like") as refused:
        load(environ | {"OTEL_EXPORTER_OTLP_HEADERS": f"a=b,{SECRET}"})
    assert SECRET not in str(refused.value)
    assert f"a={SECRET}" in load(environ | {"OTEL_EXPORTER_OTLP_HEADERS": f"a={SECRET}"}).secrets()
