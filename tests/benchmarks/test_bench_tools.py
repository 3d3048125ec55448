"""The eighty tools: texts for each class, ranks, the ways to show them, what is counted of them, and the limits."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.bench_tools import limits, lines, picture, report
from benchmarks.bench_tools.asking import Asked, asked, score
from benchmarks.bench_tools.blocking import longest_block
from benchmarks.bench_tools.endpoint import Answer
from benchmarks.bench_tools.finding import Row, Showing, parts, recall_at, row, showings
from benchmarks.bench_tools.probe import probe
from benchmarks.bench_tools.ranking import Ranking, rankings
from benchmarks.bench_tools.strategies import OURS, PUBLISHED, WAYS, default, discovery, on_the_wire, told
from benchmarks.bench_tools.study import Prompt, Study, Unreadable, read
from benchmarks.bench_tools.tokenizer import counter
from benchmarks.intervals import Interval
from routing.presentation import DISCOVERY, PRESENTATIONS, Shown
from routing.sizes import SIZES, Size
from tests.benchmarks.test_tool_routing import CATALOGUE, EXAMPLES, ROWS

ROOT = Path(__file__).resolve().parents[2]
FAMILIES = ("files", "web", "mail", "clock")
TOOLS = [
    {
        "name": f"{family}_{number}",
        "category": family,
        "short": f"{family} {number}",
        "full": f"The tool {number} for {family}, told at length.",
        "parameters": {"path": "string", "names": "array", "deep": "boolean", "limit": "integer"},
    }
    for family in FAMILIES
    for number in range(5)
]
PROMPTS = [
    {"id": 0, "prompt": "the web please, number 3", "expected_tool": "web_3", "expected_family": "web"},
    {"id": 1, "prompt": "some mail", "expected_tool": "mail_0", "expected_family": "mail"},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A study of twenty tools in four families, and two prompts."""
    (tmp_path / "tools.json").write_text(json.dumps({"source": "x", "tools": TOOLS}), "utf-8")
    (tmp_path / "prompts.json").write_text(json.dumps({"source": "x", "prompts": PROMPTS}), "utf-8")
    return tmp_path


@pytest.fixture
def study(folder: Path) -> Study:
    return read(folder)


def ranking(study: Study, right: str, best: Sequence[str], chosen: Sequence[str]) -> Ranking:
    """`best` first, all others after them in their order."""
    order = [*best, *(card.name for card in study.cards if card.name not in best)]
    odds = {name: -float(place) for place, name in enumerate(order)}
    return Ranking(Prompt("do it", right, right.partition("_")[0]), odds, frozenset(chosen))


def test_a_class_is_told_what_the_study_has_for_it(study: Study) -> None:
    card = study.cards[0]
    assert [len(card.spec(size).parameters["properties"]) for size in SIZES] == [2, 3, 4, 4]
    assert [card.spec(size).description for size in SIZES][:2] == ["files 0", "The tool 0 for files, told at length."]
    assert card.spec("S").parameters["properties"]["names"] == {"type": "array", "items": {}}
    assert [len(toolkit["tools"]) for toolkit in study.toolkits()] == [5] * 4
    assert [tool["name"] for tool in study.tools()] == [card.name for card in study.cards]


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("tools.json", None, "cannot be read"),
        ("tools.json", "{", "not of the study's form"),
        ("tools.json", '{"tools": []}', "holds no tools"),
        ("prompts.json", "[]", "not of the study's form"),
        ("prompts.json", '{"prompts": [{"prompt": "x"}]}', "not of the study's form"),
        (
            "prompts.json",
            '{"prompts": [{"prompt": "x", "expected_tool": "fly", "expected_family": "air"}]}',
            "expects tools that are none: fly",
        ),
    ],
)
def test_a_study_that_cannot_be_read_is_one_sentence(
    folder: Path, name: str, content: str | None, complaint: str
) -> None:
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_text(content, "utf-8")
    with pytest.raises(Unreadable, match=complaint):
        read(folder)


@pytest.mark.parametrize(("odds", "rank"), [([3, 2, 1], 1), ([1, 2, 3], 3), ([2, 2, 1], 2), ([0, 0, 0], 3)])
def test_a_rank_counts_equals_against_the_right_tool(odds: list[float], rank: int) -> None:
    found = Ranking(Prompt("x", "right", "x"), dict(zip(("right", "b", "c"), odds, strict=True)), frozenset())
    assert found.rank() == rank


def test_recall_is_the_share_of_right_tools_among_the_first(study: Study) -> None:
    found = [ranking(study, "web_3", best, ()) for best in (["web_3"], ["web_1", "web_3"], ["web_1"])]
    values = {most: recall for most in (1, 2, 12) if (recall := recall_at(found, most)) is not None}
    assert [values[most].value for most in (1, 2, 12)] == pytest.approx([1 / 3, 2 / 3, 1])


def test_each_tool_has_its_own_odds_in_both_forms() -> None:
    words = ("umbrella", "violin", "harbour", "passport", "elephant", "mountain")
    tools = [{"name": word, "category": f"of {word[0]}", "description": f"All about a {word}."} for word in words]
    toolkits = [{"name": f"of {tool['name'][0]}", "description": "", "tools": [tool]} for tool in tools]
    prompts = [Prompt(f"an {word}, please", word, f"of {word[0]}") for word in words]
    for catalogue in (toolkits[::-1], tools):
        found = rankings(catalogue, prompts)
        assert [set(each.odds) for each in found] == [set(words)] * len(words)
        assert [each.rank() for each in found] == [1] * len(words)


def shown_by(way: str, study: Study, size: Size = "M") -> tuple[int, set[str], set[str], str]:
    """Of a prompt whose five best are of the web, and whose families are web and mail."""
    order = [f"web_{number}" for number in range(5)]
    found = told(way, ranking(study, "web_3", order, ["web", "mail"]), study.cards, size, discovery())
    return len(found.shown.specs), set(found.detailed), set(found.named), found.shown.hint


def test_the_published_ways_show_what_was_published(study: Study) -> None:
    everything = {card.name for card in study.cards}
    best = {f"web_{number}" for number in range(5)}
    eight = best | {"files_0", "files_1", "files_2"}
    assert shown_by("all in full", study) == (20, everything, set(), "")
    count, detailed, named, hint = shown_by("all, reordered", study)
    assert (count, detailed, named) == (20, everything, set()) and hint.startswith("Kinds of tools here: ")
    assert shown_by("8 + stubs", study) == (20, eight, everything - eight, "")
    count, detailed, named, hint = shown_by("top 8 + names", study)
    assert on_the_wire(Shown((), (), hint)) == f"[]{hint}"
    assert (count, detailed, named) == (9, eight, everything - eight) and DISCOVERY in hint
    assert shown_by("top 5 + discovery", study) == (6, best, set(), "")
    assert set(PUBLISHED) | set(OURS) == set(WAYS)


def test_our_ways_show_what_was_selected_within_the_limits_of_the_class(study: Study) -> None:
    selected = {f"{family}_{number}" for family in ("web", "mail") for number in range(5)}
    assert shown_by("full", study, "XL")[:3] == (11, selected, set())
    assert shown_by("reorder", study, "L")[:2] == (11, selected)
    count, detailed, named, _ = shown_by("top_k", study, "S")
    assert count == PRESENTATIONS["S"].most_tools and {f"web_{number}" for number in range(5)} < detailed < selected
    assert detailed | named == {card.name for card in study.cards}
    assert [default(size) for size in SIZES] == [PRESENTATIONS[size].strategy for size in SIZES]


def test_a_name_that_was_cut_is_not_told() -> None:
    tools = [{**TOOLS[0], "name": f"a_tool_with_quite_a_long_name_{number}"} for number in range(400)]
    cards = Study((), ()).cards + tuple(map(_card, tools))
    found = Ranking(
        Prompt("x", cards[0].name, "x"), {card.name: -float(at) for at, card in enumerate(cards)}, frozenset()
    )
    named = told("top_k", found, cards, "S", discovery()).named
    assert 0 < len(named) < 390


def _card(tool: Mapping[str, Any]) -> Any:
    from benchmarks.bench_tools.study import _card as made

    return made(tool)


def test_the_parts_multiply_to_the_whole() -> None:
    found = parts([(True, True)] * 6 + [(True, False)] * 2 + [(False, False)] * 2)
    assert found.tool and found.family and found.within
    assert (found.tool.value, found.family.value, found.within.value) == (0.6, 0.8, 0.75)
    assert found.within.high - found.within.low > found.family.high - found.family.low
    nothing = parts([(False, False)])
    assert nothing.within is None and nothing.family is not None


def test_a_row_counts_what_is_shown_named_and_paid(study: Study) -> None:
    found = [
        ranking(study, "web_3", ["web_3"], ["web"]),
        ranking(study, "clock_4", ["web_1"], ["web"]),
        ranking(study, "files_4", ["web_1"], []),
    ]
    showing = list(showings(study, found, ["8 + stubs"], ["S"], len))
    counted = row(showing, study.families())
    assert counted.tools.value == 20 and counted.reachable.value == 1
    assert counted.parts.tool and counted.parts.family and counted.parts.within
    assert [each.shown for each in showing] == [True, False, True]
    assert counted.parts.tool.value == pytest.approx(2 / 3) and counted.parts.family.value == pytest.approx(2 / 3)
    assert counted.parts.within.value == 1
    assert counted.tokens and counted.tokens.value == len(on_the_wire(showing[0].told.shown))
    assert counted.most_tokens == counted.tokens.value > counted.estimate.value
    assert row(list(showings(study, found, ["8 + stubs"], ["S"], None)), study.families()).tokens is None


class Scripted:
    """A model that calls what it was told to."""

    def __init__(self, calls: Sequence[str | None]) -> None:
        self.calls = list(calls)
        self.asked: list[tuple[str, Shown]] = []

    def ask(self, prompt: str, shown: Shown) -> Answer:
        self.asked.append((prompt, shown))
        return Answer(self.calls.pop(0), 100, 0.5)


def test_the_score_of_a_model_tells_wrong_calls_from_none(study: Study) -> None:
    found = list(showings(study, [ranking(study, "web_3", ["web_3"], ["web"])] * 5, ["8 + stubs"], ["S"], None))
    model = Scripted(["web_3", "web_2", None, DISCOVERY, "fly"])
    scored = score(list(asked(model, found)), study.families())
    assert [prompt for prompt, _ in model.asked] == ["do it"] * 5 and model.asked[0][1] == found[0].told.shown
    assert scored.parts.tool and scored.parts.family and scored.parts.within and scored.tokens
    assert (scored.parts.tool.value, scored.parts.family.value, scored.parts.within.value) == (0.2, 0.4, 0.5)
    assert (scored.silent.value, scored.discovering.value, scored.invented.value) == (0.2, 0.2, 0.2)
    assert (scored.tokens.value, scored.seconds.value) == (100, 0.5)


@pytest.mark.parametrize(("way", "right"), [("8 + stubs", True), ("top 5 + discovery", False)])
def test_a_call_by_name_alone_is_right_and_one_out_of_the_blue_is_not(study: Study, way: str, right: bool) -> None:
    found = list(showings(study, [ranking(study, "clock_4", ["web_3"], ["web"])], [way], ["S"], None))
    assert [each.right for each in asked(Scripted(["clock_4"]), found)] == [right]


def tokens(way: str, size: Size, most: int) -> Row:
    one = Interval(1.0, 1.0, 1.0)
    return Row(way, size, one, one, one, most, parts([(True, True)]), one)


@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        ([tokens(default("S"), "S", 800), tokens("all in full", "S", 4_000), tokens(default("M"), "M", 2_000)], True),
        ([tokens(default("S"), "S", 801)], False),
    ],
)
def test_the_smallest_class_is_held_to_eight_hundred_tokens(rows: list[Row], kept: bool) -> None:
    section = report.ways(rows)
    assert section.kept is kept
    assert section.text().count("✓" if kept else "✗") == 1


FIGURES = {"build_s": 2.0, "build_cpu_s": 1.0, "added_mb": 50.0, "p50_ms": 1.0, "p95_ms": 5.0, "p95_cpu_ms": 5.0}
PROBE = {**FIGURES, "block_ms": 9.0, "block_cpu_ms": 5.0}


@pytest.mark.parametrize(
    ("probe_name", "figure", "value"),
    [
        *((limits.LARGE, figure, value) for figure, value in (("build_s", 2.1), ("p95_ms", 5.1), ("added_mb", 51))),
        *((limits.SMALL, figure, value) for figure, value in (("block_cpu_ms", 5.1), ("p95_ms", 5.1))),
        (limits.CACHED, "build_s", 0.21),
    ],
)
def test_each_limit_can_be_broken_by_its_median(probe_name: str, figure: str, value: float) -> None:
    kept = {limits.SMALL: [PROBE] * 3, limits.LARGE: [PROBE] * 3, limits.CACHED: [{**PROBE, "build_s": 0.2}] * 3}
    assert limits.report(kept).kept
    outlier = {**kept, probe_name: [*kept[probe_name][:2], {**kept[probe_name][0], figure: value}]}
    assert limits.report(outlier).kept
    broken = {**kept, probe_name: [{**kept[probe_name][0], figure: value}] * 3}
    assert not limits.report(broken).kept and limits.report(broken).text().count("✗") == 1


def test_what_was_not_measured_breaks_no_limit() -> None:
    section = limits.report({limits.SMALL: [{**PROBE, "added_mb": None}]})
    assert section.kept and section.text().count("not measured") == 11


def test_a_cache_is_filled_before_it_is_measured() -> None:
    asked_for: list[tuple[str, Path | None]] = []
    cache = Path("index")

    def measured(data: Path, catalogue: str, kept: Path | None) -> Mapping[str, Any]:
        asked_for.append((catalogue, kept))
        return PROBE

    found = limits.probes(Path(), cache, 2, measured)
    assert {name: len(each) for name, each in found.items()} == {limits.SMALL: 2, limits.LARGE: 2, limits.CACHED: 2}
    assert asked_for == [(limits.SMALL, None)] * 2 + [(limits.LARGE, None)] * 2 + [(limits.LARGE, cache)] * 3
    assert limits.CACHED not in limits.probes(Path(), None, 1, measured)


def worked(milliseconds: float) -> None:
    """Until this thread has had so much time of a processor."""
    until = time.thread_time() + milliseconds / 1e3
    while time.thread_time() < until:
        pass


async def test_the_longest_block_is_that_of_one_stretch() -> None:
    async def at_once(query: str) -> None:
        worked(30)

    async def in_slices(query: str) -> None:
        for _ in range(30):
            worked(1)
            await asyncio.sleep(0)

    whole, sliced = await longest_block(at_once, ["a", "b"]), await longest_block(in_slices, ["a"])
    assert whole.cpu >= 30 and whole.wall >= 30
    assert sliced.cpu < 30


def test_a_probe_builds_asks_and_weighs(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "small.catalog.json").write_text(json.dumps(CATALOGUE), "utf-8")
    (tmp_path / "small.examples.json").write_text(json.dumps(EXAMPLES), "utf-8")
    (tmp_path / "dev" / "small.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in ROWS), "utf-8")
    found = probe(tmp_path, "small", 1.0)
    assert (found["entries"], found["queries"]) == (len(CATALOGUE), 6)
    assert found["added_mb"] is None or found["added_mb"] > 10
    assert probe(tmp_path, "small", None)["added_mb"] is None
    assert (probe(tmp_path, "small", 1e6)["added_mb"] or -1) < 0
    assert {limit.figure for limit in limits.LIMITS} <= found.keys()
    assert found["block_cpu_ms"] > 0 and found["p50_ms"] <= found["p95_ms"]


def test_the_tokenizer_is_the_real_one() -> None:
    count = counter()
    assert count is not None
    assert count("hello world") == 2 and count("<|endoftext|>") > 1


def test_every_figure_is_a_line_of_json(tmp_path: Path, study: Study) -> None:
    path = tmp_path / "out.jsonl"
    found = ranking(study, "web_3", ["web_3"], ["web"])
    showing = next(showings(study, [found], ["top_k"], ["S"], len))
    with lines.Lines(path) as out:
        out.write("rank", lines.rank("tools", found))
        out.write("showing", lines.showing(showing))
        out.write("answer", lines.answer("m", Asked(showing, Answer("web_3", None, 0.1))))
        written = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert [each["kind"] for each in written] == ["rank", "showing", "answer"]
    assert written[0]["rank"] == 1 and written[1]["shown"] is True and written[2]["right"] is True
    with lines.Lines(None) as out:
        out.write("rank", {})


def test_a_whisker_is_never_turned_round() -> None:
    rounded = Interval(1.0, 0.9, 1.0 - 1e-12)
    assert picture.whiskers([rounded]) == [[pytest.approx(0.1)], [0.0]]


def test_the_command_writes_tables_lines_and_a_picture(folder: Path) -> None:
    out, drawn = folder / "out.jsonl", folder / "drawn.png"
    command = [sys.executable, "-m", "benchmarks.bench_tools", "--study", str(folder), "--rounds", "0"]
    ended = subprocess.run(
        [*command, "--out", str(out), "--plot", str(drawn)],
        cwd=ROOT,
        env={**os.environ, "MPLCONFIGDIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    kinds = [json.loads(line)["kind"] for line in out.read_text("utf-8").splitlines()]
    assert kinds.count("rank") == 4 and kinds.count("showing") == len(WAYS) * len(SIZES) * 2
    assert all(f"| {way}" in ended.stdout for way in WAYS) and drawn.stat().st_size > 1_000


def test_a_missing_study_is_one_sentence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from benchmarks.bench_tools.__main__ import main

    assert main(["--study", str(folder / "absent"), "--rounds", "0"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "tools.json cannot be read" in err


def found_for(study: Study) -> Sequence[Showing]:
    return list(showings(study, [ranking(study, "web_3", [], [])], ["full"], ["XL"], None))


def test_the_tables_have_a_cell_for_each_heading(study: Study) -> None:
    rows = [row(found_for(study), study.families())]
    scored = [score(list(asked(Scripted([None]), found_for(study))), study.families())]
    sections = (
        report.ranks({"x": [ranking(study, "web_3", [], [])]}),
        report.ways(rows),
        report.answers(scored, "m", "S"),
    )
    for section in sections:
        assert {len(line) for line in section.lines} == {len(section.lines[0])} and len(section.lines) == 2
