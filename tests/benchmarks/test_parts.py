"""The benchmarks of our bot alone: tiny runs, and verdicts that can fail."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import compaction, memory, soak, turns
from benchmarks.bots.contestants import OURS, prepare_workspace
from benchmarks.bots.measure import started_session
from benchmarks.bots.servers import servers
from benchmarks.phase_timers import PHASES
from benchmarks.reporting.section import Section, conclude, grid, percentile, show
from benchmarks.soak import Soak, State
from benchmarks.turns import KINDS, ONE_ROUND, PLAIN, THREE_ROUNDS


def test_a_table_is_as_wide_as_its_longest_cell() -> None:
    assert grid([("a", "limit"), ("long", "")]) == "| a    | limit |\n| ---- | ----- |\n| long |       |"


@pytest.mark.parametrize(("share", "value"), [(0.0, 1), (0.5, 3), (0.95, 4), (1.0, 4)])
def test_a_percentile_is_one_of_the_values(share: float, value: float) -> None:
    assert percentile([4, 1, 3, 2], share) == value


@pytest.mark.parametrize(("kept", "code"), [((True, True), 0), ((True, False), 1)])
def test_the_exit_code_is_1_if_a_limit_is_broken(
    kept: tuple[bool, ...], code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sections = [Section(f"part {n}", (("a",), ("b",)), ("note",), each, {"n": n}) for n, each in enumerate(kept)]
    assert conclude(sections, tmp_path / "figures.json") == code
    assert json.loads((tmp_path / "figures.json").read_text())["part 1"] == {"notes": ["note"], "n": 1}
    show(sections[0], None)
    assert "note" in capsys.readouterr().out
    show(sections[0], Path("-"))
    assert conclude(sections, Path("-")) == code
    assert set(json.loads(capsys.readouterr().out)) == {"part 0", "part 1"}


def _turns(**cpu: float) -> turns.Samples:
    """A plain turn of 10 ms, other kinds as given, and an outlier that must not count."""
    usual = {kind.name: 10.0 for kind in KINDS} | {kind.name: cpu[key] for key, kind in _NAMED.items() if key in cpu}
    return {name: [turns.Sample(each, each) for each in (ms, ms, 500.0)] for name, ms in usual.items()}


_NAMED = {"one": ONE_ROUND, "three": THREE_ROUNDS}


@pytest.mark.parametrize(
    ("cpu", "kept"),
    [({}, True), ({"one": 30.0, "three": 30.0}, True), ({"one": 30.1}, False), ({"three": 30.1}, False)],
)
def test_a_tool_turn_may_cost_three_plain_turns(cpu: dict[str, float], kept: bool) -> None:
    section = turns.report(_turns(**cpu), "")
    assert section.kept is kept
    assert section.text().count("✗") == (0 if kept else 1)


def test_kinds_of_turn_are_interleaved() -> None:
    assert [next(turns._turned(KINDS, by)) for by in range(4)] == [PLAIN, ONE_ROUND, THREE_ROUNDS, PLAIN]


@pytest.mark.parametrize(("wall", "kept"), [(50.0, True), (50.1, False)])
def test_the_limit_applies_to_1000_messages(wall: float, kept: bool) -> None:
    phases = dict.fromkeys(PHASES, 1.0)
    found = {size: [compaction.Sample(phases, wall * size / 1000, 1.0, size, 4)] for size in (1_000, 5_000)}
    section = compaction.report(found, "")
    assert section.kept is kept
    assert section.text().count("≤") == 1


def test_compaction_is_measured_from_the_store_to_the_store() -> None:
    section = compaction.run((40, 80), 1)
    samples = section.figures["samples"]
    assert isinstance(samples, dict)
    assert {size: each[0]["covered"] for size, each in samples.items()} == {"40": 20, "80": 60}
    assert all(each[0]["phases"][phase] > 0 for each in samples.values() for phase in PHASES)


@pytest.mark.parametrize(
    ("megabytes", "kept"),
    [([100.0] * 5, True), ([500.0, 100.0, 100.0, 107.0], True), ([100.0, 100.0, 100.0, 108.0], False)],
)
def test_memory_growth_is_measured_after_warm_up(megabytes: list[float], kept: bool) -> None:
    assert soaked(megabytes=megabytes).kept is kept


def test_a_leak_of_files_a_larger_database_and_slower_turns_are_noticed() -> None:
    assert soaked(descriptors=[20, 22, 22, 27]).kept
    assert not soaked(descriptors=[20, 22, 22, 28]).kept
    assert soaked(connections=[40, 50, 60, soak.CONNECTION_LIMIT]).kept
    assert not soaked(connections=[40, 50, 60, soak.CONNECTION_LIMIT + 1]).kept
    assert soaked(database=[1.0, 2.0, 3.0, 4.1]).kept
    assert not soaked(database=[1.0, 2.0, 3.0, 4.5]).kept
    assert not soaked(database=[1.0, 2.0, 3.0, 3.5]).kept
    assert soaked(plain=[0.1, 0.1, 0.1, 0.1, 0.12]).kept
    assert not soaked(plain=[0.1, 0.1, 0.1, 0.1, 0.13]).kept


def soaked(
    megabytes: Sequence[float] = (100.0,) * 4,
    descriptors: Sequence[int] = (20,) * 4,
    connections: Sequence[int] = (40,) * 4,
    database: Sequence[float] = (1.0, 2.0, 3.0, 4.0),
    plain: Sequence[float] = (0.1,) * 5,
) -> Section:
    sampled = enumerate(zip(megabytes, descriptors, connections, database, strict=False))
    states = [State(100 * number, *each) for number, each in sampled]
    return soak.report(Soak(states, list(plain)), 100 if len(set(megabytes)) > 1 else 0, "")


@pytest.mark.slow  # beside other tests, a late edit of one answer can be taken for the next
def test_turns_and_soak_run_through_one_bot(tmp_path: Path) -> None:
    with servers() as both:
        chats, workspace = itertools.count(90_000), tmp_path / "workspace"
        prepare_workspace(workspace, both)
        with started_session(OURS, both, workspace, chats) as session:
            found = turns.measure(session, 1)
            results = [message for message in both.model.last_messages() if message["role"] == "tool"]
            soaked = soak.talk(session, 120, 40)
    assert {name: len(each) for name, each in found.items()} == {kind.name: 1 for kind in KINDS}
    assert all(sample.cpu > 0 and sample.wall > 0 for each in found.values() for sample in each)
    assert [result["content"].startswith("Error") for result in results] == [False] * 3, results
    assert [each.turns for each in soaked.states] == [40, 80, 120]
    assert all(min(each.megabytes, each.descriptors, each.connections, each.database) > 0 for each in soaked.states)
    assert len(soaked.plain) == 85


@pytest.mark.parametrize(("ours", "kept"), [(130.0, True), (131.0, False)])
def test_memory_is_compared_with_the_floor_after_the_turns(ours: float, kept: bool) -> None:
    parts = [memory.Resident("Python", memory.START, 10.0), memory.Resident("httpx", memory.START, 2.0)]
    floor = [memory.Resident("when ready", "", 90.0), memory.Resident("after the turns", "", 100.0)]
    bots = {"floor": floor, "ours": [replace(floor[0], megabytes=120.0), replace(floor[1], megabytes=ours)]}
    section = memory.report(parts, bots, "")
    assert section.kept is kept
    assert [line[5] for line in section.lines[1:]] == ["10.0", "12.0", "120.0", f"{ours:.1f}"]
    assert section.figures["ours"] == {"when ready": 120.0, "after the turns": ours}


@pytest.mark.slow
def test_every_component_can_be_loaded() -> None:
    loaded = memory.components()
    assert [part.name for part in loaded[1:]] == [component.name for component in memory.COMPONENTS]
    assert all(part.megabytes > -1 for part in loaded)
