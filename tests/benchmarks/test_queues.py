"""The queue benchmark: what it concludes from events, and a small run of our own claims."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from benchmarks.queues import contender
from benchmarks.queues.board import END, START, Event
from benchmarks.queues.compare import main
from benchmarks.queues.contender import PAYLOAD_BYTES, Message
from benchmarks.queues.crash import FROZEN, KILLED, Crash
from benchmarks.queues.crash import judge as crashed
from benchmarks.queues.order import Order, judge
from benchmarks.queues.server import unavailable
from benchmarks.queues.size import code_lines
from benchmarks.queues.work import Load
from tests.postgres import missing

ONE = Load(messages=3, conversations=1)
VICTIM, OTHER = 0, 1


def test_payloads_are_equally_long() -> None:
    texts = {Message(index, index % 7).text() for index in (0, 9, 99_999)}
    assert {len(text) for text in texts} == {PAYLOAD_BYTES}
    assert [json.loads(text)["index"] for text in sorted(texts, key=lambda text: json.loads(text)["index"])] == [
        0,
        9,
        99_999,
    ]


def test_a_conversation_belongs_to_one_front_and_all_take_turns() -> None:
    load = Load(messages=1_000, conversations=100, burst=5)
    messages = [load.message(index) for index in range(1_000)]
    assert all(each.conversation % 2 == each.index % 2 for each in messages)
    assert {each.conversation for each in messages} == set(range(100))
    assert len({each.conversation for each in messages[:10]}) == 2


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ("S0 E0 S1 E1 S2 E2", Order(3, 0, 0)),
        ("S0 S1 E0 E1 S2 E2", Order(3, 1, 0)),
        ("S0 S0 E0 S1 E1 S2 E2", Order(3, 0, 0)),
        ("S2 E2 S0 E0 S1 E1", Order(3, 1, 0)),
        ("S0 S1 E1 S2 E2", Order(3, 2, 1)),
    ],
)
def test_a_message_is_early_if_it_starts_before_an_earlier_one_has_ended(events: str, expected: Order) -> None:
    kinds = {"S": START, "E": END}
    found = [Event(float(at), int(each[1]), kinds[each[0]], 0) for at, each in enumerate(events.split())]
    assert judge(found, ONE, 3) == expected


def test_a_crash_is_judged_by_the_jobs_of_its_victim() -> None:
    events = [
        *(Event(1.0, 0, START, VICTIM), Event(1.5, 0, END, VICTIM), Event(1.6, 1, START, VICTIM)),
        *(Event(1.7, 2, START, OTHER), Event(2.7, 2, END, OTHER), Event(8.0, 1, START, OTHER)),
        Event(9.0, 1, END, OTHER),
    ]
    stored = {0: 1, 1: 1, 2: 1}
    assert crashed(events, stored, KILLED, (VICTIM, 2.0, 3), (7.5, 0)) == Crash(1, 6.0, 6.0, 7.5, 0, 0, 0, 0)
    late = [*events, Event(12.0, 1, END, VICTIM)]
    assert crashed(late, stored | {1: 2}, FROZEN, (VICTIM, 2.0, 4), (None, 0)) == Crash(1, 6.0, 6.0, None, 1, 1, 1, 0)
    assert crashed(events[:5], {0: 1, 2: 1}, KILLED, (VICTIM, 2.0, 3), (None, 0)).longest is None


def test_comments_and_docstrings_are_no_code() -> None:
    lines = ('"""Doc."""', "", "import re  # what", "", "def f():", '    """Doc.', "", '    More."""', "    # no")
    source = "\n".join((*lines, '    return """a', "", 'b"""', ""))
    assert code_lines(source) == 5


def test_a_queue_that_is_not_installed_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if unavailable():
        missing(unavailable())
    monkeypatch.setitem(contender.PACKAGES, "DBOS", ("json", "absent_package"))
    assert main(["--queues", "DBOS"]) == 2
    assert "not installed: absent_package" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.system
def test_our_claims_lose_nothing_and_keep_the_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if unavailable():
        missing(unavailable())
    if importlib.util.find_spec("asyncpg") is None:
        missing("asyncpg (the extra postgres)")
    figures = tmp_path / "figures.json"
    arguments = ["--quick", "--parts", "cost", "order", "--queues", "plain", "--json", str(figures)]
    assert main(arguments) == 0
    found = json.loads(figures.read_text("utf-8"))
    assert found["order"]["plain"] == {failing: {"messages": 200, "early": 0, "missing": 0} for failing in ("0", "10")}
    (cost,) = found["cost"]["plain"]
    assert all(value > 0 for value in cost.values())
    assert "| plain | 0 " in capsys.readouterr().out
