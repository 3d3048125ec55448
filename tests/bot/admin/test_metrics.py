"""Counters, their labels and the page for Prometheus."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.requests import Request

from bot.admin.access import is_local
from bot.admin.listener import Listener
from bot.config.environment import Environment
from handlers.metrics import MAX_NAMES, OTHER, Metrics, outcome, tool_outcome
from routing.errors import BadArguments, StorageFault, ToolFailed
from routing.types.history import TurnFacts, TurnRecord
from routing.types.llm import Usage
from routing.types.usage import CallRecord
from storage.inbox import SqlInbox
from tests.bot.admin.conftest import Served

FACTS = TurnFacts("smart", "default", "openai/a", 7.0, 0.7)


def record(*calls: CallRecord, facts: TurnFacts | None = FACTS) -> TurnRecord:
    return TurnRecord("t", 1, 1, "a secret question", calls=calls, facts=facts)


async def samples(served: Served, **headers: str) -> dict[tuple[str, ...], float]:
    """Every sample by its name and sorted label values."""
    answer = await served.http.get("/metrics", headers=headers)
    assert answer.status_code == 200, answer.text
    families = text_string_to_metric_families(answer.text)
    return {(each.name, *sorted(each.labels.values())): each.value for family in families for each in family.samples}


async def test_a_turn_is_counted_with_its_calls(served: Served) -> None:
    counts = served.services.messaging.metrics
    call = CallRecord("smart", "openai/a", Usage(100, 20, 50, Decimal("0.001")), 6.0)
    await served.services.messaging.stores.ledger.finish((), (), None)
    counts.turn(record(call, call, CallRecord("smart", "openai/b", None, 1.0)))
    counts.turn(record(facts=replace(FACTS, model="", failed=("openai/b", "openai/c"))))
    found = await samples(served)
    assert found["tierbot_turns_total", "answered", "smart"] == 1
    assert found["tierbot_turns_total", "failed", "smart"] == 1
    assert found["tierbot_turn_seconds_bucket", "5.0", "openai/a", "smart"] == 0
    assert found["tierbot_turn_seconds_bucket", "10.0", "openai/a", "smart"] == 1
    assert found["tierbot_turn_seconds_bucket", "+Inf", "openai/a", "smart"] == 1
    assert found["tierbot_turn_seconds_sum", "openai/a", "smart"] == 7.0
    assert found["tierbot_first_token_seconds_bucket", "1.0", "openai/a", "smart"] == 1
    assert found["tierbot_model_calls_total", "openai/a", "smart"] == 2
    assert found["tierbot_tokens_total", "input", "openai/a"] == 200
    assert found["tierbot_tokens_total", "openai/a", "output"] == 40
    assert found["tierbot_tokens_total", "cached", "openai/a"] == 100
    assert found["tierbot_cost_dollars_total", "openai/a"] == pytest.approx(0.002)
    assert found["tierbot_unpriced_calls_total", "openai/b"] == 1
    assert found["tierbot_model_failures_total", "openai/c"] == 1


@pytest.mark.parametrize(
    ("facts", "word"),
    [
        (FACTS, "answered"),
        (replace(FACTS, fallback=True), "fallback"),
        (replace(FACTS, fallback=True, timed_out=True), "late"),
        (replace(FACTS, model="", timed_out=True), "failed"),
    ],
)
def test_outcomes_of_turns(facts: TurnFacts, word: str) -> None:
    assert outcome(facts) == word


def test_outcomes_of_tools() -> None:
    assert tool_outcome(None) == "ok"
    assert tool_outcome(ToolFailed) == tool_outcome(ValueError) == "failed"
    assert tool_outcome(BadArguments) == "refused"
    assert tool_outcome(KeyboardInterrupt) == "stopped"


def test_names_that_people_choose_are_bounded_and_configured_ones_are_kept() -> None:
    counts = Metrics()
    counts.models.add(["openai/configured"])
    for number in range(10 * MAX_NAMES):
        counts.turn(record(facts=replace(FACTS, model=f"openrouter/{number}")))
        with counts.tool(f"server__{number}"):
            pass
    counts.turn(record(facts=replace(FACTS, model="openai/configured")))
    assert len(counts.turn_seconds) == MAX_NAMES + 1
    assert len(counts.tools) == MAX_NAMES + 1
    assert counts.turn_seconds["smart", OTHER].counts[4] == 9 * MAX_NAMES + 1
    assert counts.turn_seconds["smart", "openai/configured"].counts[4] == 1


async def test_label_values_are_escaped(served: Served) -> None:
    served.services.messaging.metrics.turn(record(facts=replace(FACTS, model='a"} 1\nevil{x="\\')))
    assert (await samples(served))["tierbot_turn_seconds_count", 'a"} 1\nevil{x="\\', "smart"] == 1


async def test_on_this_machine_no_token_is_needed_but_a_wrong_one_is_refused(served: Served) -> None:
    assert (await served.http.get("/metrics")).status_code == 200
    assert (await served.http.head("/metrics")).status_code == 200
    assert (await served.http.get("/metrics", headers=served.bearer)).status_code == 200
    for wrong in ("Bearer wrong", "Bearer", "Basic YWRtaW46YWRtaW4=", "", f"Bearer {served.services.token}x"):
        answer = await served.http.get("/metrics", headers={"Authorization": wrong})
        assert (answer.status_code, answer.headers.get("WWW-Authenticate")) == (401, "Bearer")
        assert served.services.token not in answer.text


@pytest.mark.parametrize("name", ["X-Forwarded-For", "Forwarded", "X-Real-IP", "Via"])
async def test_through_a_proxy_the_token_is_needed(served: Served, name: str) -> None:
    assert (await served.http.get("/metrics", headers={name: "127.0.0.1"})).status_code == 401
    assert (await served.http.get("/metrics", headers={name: "127.0.0.1"} | served.bearer)).status_code == 200


async def test_a_proxy_that_says_nothing_of_itself_needs_the_token_too(served: Served) -> None:
    settings = served.services.environment.settings.model_copy(update={"admin_url": "https://bot.example.org"})
    environment = Environment(settings, {}, {})
    async with Listener(0, replace(served.services, environment=environment)) as behind:
        address = f"http://127.0.0.1:{behind.port}/metrics"
        assert (await served.http.get(address)).status_code == 401
        assert (await served.http.get(address, headers=served.bearer)).status_code == 200


async def test_a_page_of_another_site_can_not_read_the_metrics(served: Served) -> None:
    """Its name may resolve to this machine (DNS rebinding), and only the loopback refuses such names altogether."""
    async with Listener(0, replace(served.services, host="0.0.0.0")) as everywhere:
        address = f"http://127.0.0.1:{everywhere.port}/metrics"
        assert (await served.http.get(address, headers={"Host": "evil.example"})).status_code == 401
        assert (await served.http.get(address)).status_code == 200


@pytest.mark.parametrize(
    ("client", "local"), [(("127.0.0.1", 1), True), (("::1", 1), True), (("10.0.0.7", 1), False), (None, False)]
)
def test_only_the_loopback_is_this_machine(client: tuple[str, int] | None, local: bool) -> None:
    assert is_local(Request({"type": "http", "client": client, "headers": [(b"host", b"localhost")]})) is local


@pytest.mark.parametrize("accept", ["application/openmetrics-text;version=x", "text/plain;version=;;", "\xff", "*/*"])
async def test_the_format_is_the_same_for_everyone(served: Served, accept: str) -> None:
    answer = await served.http.get("/metrics", headers={b"Accept": accept.encode("latin-1")})
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"


async def test_a_broken_database_leaves_the_other_metrics(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(_inbox: SqlInbox) -> None:
        raise StorageFault("the disk is full")

    monkeypatch.setattr(SqlInbox, "oldest_unfinished", fail)
    found = await samples(served)
    assert found[("tierbot_database_up",)] == 0
    assert found[("process_open_fds",)] > 0
    assert ("tierbot_oldest_message_seconds",) not in found
