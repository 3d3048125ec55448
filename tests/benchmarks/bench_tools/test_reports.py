"""Reports on the eighty tools: JSON lines, a chart, tables, and the command that writes them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.bench_tools import charts, lines, report
from benchmarks.bench_tools.calls import ModelAnswer, asked, score
from benchmarks.bench_tools.endpoint import Answer
from benchmarks.bench_tools.recall import Showing, row, showings
from benchmarks.bench_tools.strategies import WAYS
from benchmarks.bench_tools.study import Study
from benchmarks.bench_tools.tokenizer import counter
from benchmarks.reporting.intervals import Interval
from routing.types.decisions import SIZES
from tests.benchmarks.study import Scripted, ranking

ROOT = Path(__file__).resolve().parents[3]


def test_the_tokenizer_is_the_real_one() -> None:
    count = counter()
    assert count is not None
    assert count("hello world") == 2
    assert count("<|endoftext|>") > 1


def test_every_figure_is_a_line_of_json(tmp_path: Path, study: Study) -> None:
    path = tmp_path / "out.jsonl"
    found = ranking(study, "web_3", ["web_3"], ["web"])
    showing = next(showings(study, [found], ["top_k"], ["S"], len))
    with lines.Lines(path) as out:
        out.write("rank", lines.rank("tools", found))
        out.write("showing", lines.showing(showing))
        out.write("answer", lines.answer("m", ModelAnswer(showing, Answer("web_3", None, 0.1))))
        written = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert [each["kind"] for each in written] == ["rank", "showing", "answer"]
    assert written[0]["rank"] == 1
    assert written[1]["shown"] is True
    assert written[2]["right"] is True
    with lines.Lines(None) as out:
        out.write("rank", {})


def test_error_bars_are_never_negative() -> None:
    rounded = Interval(1.0, 0.9, 1.0 - 1e-12)
    assert charts.whiskers([rounded]) == [[pytest.approx(0.1)], [0.0]]


def test_the_command_writes_tables_jsonl_and_a_chart(folder: Path) -> None:
    out, draw_plan = folder / "out.jsonl", folder / "drawn.png"
    command = [sys.executable, "-m", "benchmarks.bench_tools", "--study", str(folder), "--rounds", "0"]
    ended = subprocess.run(
        [*command, "--out", str(out), "--plot", str(draw_plan)],
        cwd=ROOT,
        env={**os.environ, "MPLCONFIGDIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    kinds = [json.loads(line)["kind"] for line in out.read_text("utf-8").splitlines()]
    assert kinds.count("rank") == 6
    assert kinds.count("showing") == len(WAYS) * len(SIZES) * 2
    assert all(f"| {way}" in ended.stdout for way in WAYS)
    assert draw_plan.stat().st_size > 1_000


def test_a_missing_study_is_reported_in_one_sentence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from benchmarks.bench_tools.__main__ import main

    assert main(["--study", str(folder / "absent"), "--rounds", "0"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "tools.json cannot be read" in err


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
        assert {len(line) for line in section.lines} == {len(section.lines[0])}
        assert len(section.lines) == 2
