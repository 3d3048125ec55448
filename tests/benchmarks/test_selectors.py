"""The comparison of selectors: contestants, threshold, slices, tables, and agreement with tool_routing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from benchmarks.selectors import scorers, table
from benchmarks.selectors.__main__ import main
from benchmarks.selectors.contestants import BM25, CONTESTANTS, MINILM, OURS, SIMPLE, Contestant
from benchmarks.selectors.scorers import Bm25, Cosine, Gated, shown
from benchmarks.selectors.sets import ALL, ALL_OTHERS, SEVEN_OTHERS, Set, read, slices
from benchmarks.selectors.simple import Simple
from benchmarks.selectors.threshold import Floats, threshold
from benchmarks.selectors.trial import trial
from benchmarks.tool_routing import Query, measure
from routing.tools.selection.entries import entries
from tests.benchmarks.test_tool_routing import CATALOGUE, EXAMPLES, ROWS, SCORE

ROOT = Path(__file__).resolve().parents[2]
TIMES = {"load_s", "rss_mb", "p50_ms", "p95_ms", "p99_ms"}
EXTRA = {"wanted", "none"}


class Directions:
    """An encoder with given vectors, looked up by the first word of a text."""

    name = "told"

    def __init__(self, vectors: Mapping[str, Sequence[float]]) -> None:
        self._vectors = vectors

    def encode(self, texts: Sequence[str]) -> Floats:
        rows = [self._vectors.get(text.split()[0].strip(".").lower(), (0.0, 0.0, 1.0)) for text in texts]
        return np.array(rows, np.float32).reshape(len(texts), 3)


def gated(catalogue: Sequence[Mapping[str, Any]], examples: Mapping[str, Sequence[str]]) -> Gated:
    """Used by score.py in a separate process."""
    return Gated(scorers.bm25(catalogue, examples), float(os.environ["LEAST"]))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder like the data sets', with a set named small."""
    (tmp_path / "dev").mkdir()
    (tmp_path / "small.catalog.json").write_text(json.dumps(CATALOGUE, ensure_ascii=False), "utf-8")
    (tmp_path / "small.examples.json").write_text(json.dumps(EXAMPLES), "utf-8")
    (tmp_path / "dev" / "small.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS), "utf-8")
    return tmp_path


def query(language: str, kind: str = "single") -> Query:
    return Query("x", language, frozenset({"a"}), kind)


def test_a_set_of_one_language_is_one_slice() -> None:
    assert slices([query("en")] * 30 + [query("zh")] * 19) == {ALL: list(range(49))}


def test_languages_are_separate_slices_and_pooled_english_first() -> None:
    queries = [query("pl")] * 40 + [query("de")] * 20 + [query("en")] * 30 + [query("ja")] * 19
    found = slices(queries)
    assert list(found) == ["en", "pl", "de", SEVEN_OTHERS, ALL_OTHERS]
    assert found["en"] == list(range(60, 90))
    assert found["de"] == list(range(40, 60))
    assert found[SEVEN_OTHERS] == [*range(40, 60), *range(90, 109)]
    assert found[ALL_OTHERS] == [*range(60), *range(90, 109)]


def test_multi_tool_queries_are_a_slice_if_there_are_enough() -> None:
    queries = [query("en")] * 10 + [query("en", "multi")] * 20 + [query("de", "multi")] * 5
    assert slices(queries)["en multi"] == list(range(10, 30))
    assert "en multi" not in slices(queries[:29])


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Have you a CARD for me", {"car"}),
        ("near it", {"near"}),
        ("far from it", set()),
        ("near a car", {"car", "near"}),
        ("edge", {"near", "car"}),
    ],
)
def test_the_simple_algorithm_uses_substrings_and_a_cosine_of_0_4(message: str, expected: set[str]) -> None:
    catalogue = [
        {"name": "car", "description": "Drives.", "keywords": ["Car"]},
        {"name": "near", "description": "Close.", "keywords": []},
    ]
    vectors = {
        **{"drives": (0.0, 1.0, 0.0), "close": (1.0, 0.0, 0.0), "near": (0.5, 0.0, 0.866), "have": (0.0, 0.0, 1.0)},
        **{"far": (0.39, 0.39, 0.834), "edge": (0.41, 0.41, 0.815)},
    }
    assert set(Simple(catalogue, Directions(vectors)).select(message)) == expected


def test_bm25_scores_an_entry_by_its_best_tool() -> None:
    catalogue: list[dict[str, Any]] = [
        {
            "name": "home",
            "description": "",
            "tools": [{"name": "lamp", "description": "Light."}, {"name": "door", "description": "Lock it."}],
        },
        {"name": "mail", "description": "Letters and parcels.", "parameters": {"properties": {"stamp": {}}}},
    ]
    scorer = Bm25(entries(catalogue, {"mail": ["post this"]}))
    assert scorer.names == ("home", "mail")
    lock, stamp, post, nothing = map(scorer.scores, ("locks", "stamp", "post", "zebra"))
    assert lock[0] > lock[1] == 0
    assert stamp[1] > stamp[0] == 0
    assert post[1] > 0
    assert not nothing.any()


def test_cosine_takes_the_best_of_descriptions_and_examples() -> None:
    catalogue = [{"name": "one", "description": "Far."}, {"name": "two", "description": "Far."}]
    vectors = {"one": (0.0, 1.0, 0.0), "two": (0.6, 0.8, 0.0), "said": (1.0, 0.0, 0.0), "ask": (1.0, 0.0, 0.0)}
    scorer = Cosine(entries(catalogue, {"one": ["said it"]}), Directions(vectors))
    assert scorer.scores("ask").tolist() == pytest.approx([1.0, 0.6])


@pytest.mark.parametrize(
    ("scores", "share", "expected"),
    [
        ([[0.9, 0.1], [0.8, 0.3]], 0.5, 2),
        ([[0.9, 0.1], [0.8, 0.3]], 0.25, 1),
        ([[0.9, 0.1], [0.8, 0.3]], 0.49, 1),
        ([[0.9, 0.1], [0.8, 0.3]], 1.0, 4),
        ([[0.9, 0.1], [0.8, 0.3]], 0.0, 0),
        ([[1.0, 1.0], [1.0, 0.0]], 0.5, 0),
        ([[1.0, 1.0], [1.0, 0.0]], 0.75, 3),
    ],
)
def test_the_threshold_shows_as_much_as_allowed(scores: list[list[float]], share: float, expected: int) -> None:
    found = np.array(scores, np.float32)
    assert int((found > threshold(found, share)).sum()) == expected


@given(arrays(np.float32, (5, 4), elements=st.integers(0, 6).map(float)), st.floats(0, 1))
def test_a_lower_threshold_would_show_too_much(scores: Floats, share: float) -> None:
    least = threshold(scores, share)
    assert (scores > least).mean() <= share + 1e-9
    if np.isfinite(least):
        assert (scores >= least).mean() > share - 1e-9


def test_only_scores_above_the_threshold_are_shown() -> None:
    assert shown(["a", "b", "c"], np.array([0.5, 0.6, 0.7], np.float32), 0.6000000238418579) == ["c"]


@pytest.mark.parametrize("contestant", [OURS, SIMPLE])
def test_figures_match_tool_routing(contestant: Contestant, data: Path) -> None:
    measured = read(data, "small")
    found = trial(contestant, measured, {})
    built: Any = contestant.build(CATALOGUE, measured.examples)
    assert bare(found["slices"][ALL]) == bare(measure(built, CATALOGUE, measured.queries))
    assert (found["slices"][ALL]["wanted"], found["slices"][ALL]["none"]) == (3, 2)
    assert 0 < found["whole"]["p50_cpu_ms"] <= found["whole"]["p95_cpu_ms"]
    assert found["whole"]["p95_ms"] > 0
    assert found["whole"]["megabytes"] is None or found["whole"]["megabytes"] > 10


def test_a_scorer_shows_as_much_as_ours_in_each_slice(data: Path) -> None:
    small = read(data, "small")
    measured = Set(small.catalogue, small.examples, small.queries, {"one": [0, 1], "two": [2, 3, 4], "none": [3]})
    found = trial(BM25, measured, {"one": 0.25, "two": 0.5})["slices"]
    assert set(found) == {"one", "two"}
    assert found["one"]["shown"] <= 0.25
    assert found["two"]["shown"] == 0.5
    assert found["two"]["recall"] == 1
    assert found["one"]["recall"] == 0.5
    assert found["two"]["false_activation"] == 0


def test_the_share_counts_queries_that_need_a_tool(data: Path) -> None:
    wanted = Query("the forecast for zebras, lions and tigers", "en", frozenset({"weather"}), "single")
    queries = [wanted, *(Query("alarm mail", "en", frozenset(), "none"),) * 3]
    measured = Set(read(data, "small").catalogue, {}, queries, {ALL: range(4)})
    figures = trial(BM25, measured, {ALL: 0.25})["slices"][ALL]
    assert (figures["recall"], figures["shown"], figures["false_activation"]) == (1, 0.25, 1)


@pytest.mark.slow
@pytest.mark.parametrize("contestant", [SIMPLE, BM25])
def test_score_py_agrees(contestant: Contestant, data: Path) -> None:
    measured, share = read(data, "small"), 0.25
    scorer = scorers.bm25(measured.catalogue, measured.examples)
    wanted = np.stack([scorer.scores(each.text) for each in measured.queries if each.gold])
    factories = {SIMPLE: "benchmarks.selectors.simple:build", BM25: "tests.benchmarks.test_selectors:gated"}
    command = [sys.executable, str(SCORE), factories[contestant], "--data", str(data / "small"), "--examples", "5"]
    ended = subprocess.run(
        [*command, "--queries", str(data / "dev" / "small.jsonl")],
        env=os.environ | {"LEAST": repr(threshold(wanted, share))},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    ours = trial(contestant, measured, {ALL: share})["slices"][ALL]
    assert bare(json.loads(ended.stdout)) == bare(ours)


def bare(figures: Mapping[str, Any]) -> dict[str, Any]:
    return {name: figure for name, figure in figures.items() if name not in TIMES | EXTRA}


def test_only_what_is_not_installed_is_missing() -> None:
    assert {each.name for each in CONTESTANTS if each.missing()} <= {MINILM.name}
    assert [each.name for each in CONTESTANTS] == ["ours", "simple", "BM25", "MiniLM"]


def results(ours: float, simple: float) -> table.Results:
    def one(recall: float, **more: float) -> dict[str, Any]:
        whole = {"p95_ms": 1.234, "p95_cpu_ms": 1.0, "load_s": 0.5, "megabytes": 70}
        figures = {"recall": recall, "shown": 0.04, "n": 9, "wanted": 7, "none": 2, **more}
        return {"whole": whole, "slices": {"en": figures, "de": {"n": 3, "wanted": 0, "none": 0}}}

    return {"set": {"ours": one(ours, false_activation=0.5), "simple": one(simple), "BM25": one(0.8)}}


def test_the_tables_show_recall_false_positives_and_cost() -> None:
    made = results(0.95, 0.7)
    assert table.found(made)[1:] == [("set", "en", "7", "0.950", "4.0%", "0.700", "4.0%", "0.800", "–")]
    assert table.false_activations(made)[1:] == [("set", "en", "2", "0.500", "–", "–", "–")]
    cost = ("1.23", "1.00", "0.50", "70")
    assert table.costs(made)[1:] == [("set", name, *cost) for name in ("ours", "simple", "BM25")]
    assert all(len(line) == len(part[0]) for part in (table.found(made), table.costs(made)) for line in part)
    assert "MiniLM: not installed (torch)." in table.tables(made, {"MiniLM": "torch"})


@pytest.mark.parametrize(("simple", "expected"), [(0.95, []), (0.951, ["set en"])])
def test_slices_where_the_simple_algorithm_wins_are_named(simple: float, expected: list[str]) -> None:
    assert table.worse(results(0.95, simple)) == expected


@pytest.mark.slow
def test_the_command_compares_all_selectors(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", str(data), "--sets", "small", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    names = [each.name for each in CONTESTANTS if each.name not in document["missing"]]
    assert list(document["sets"]["small"]) == names
    ours, bm25 = (document["sets"]["small"][name]["slices"][ALL]["shown"] for name in ("ours", "BM25"))
    assert bm25 <= ours


def test_a_missing_set_is_reported_in_one_sentence(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", str(data), "--sets", "absent"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "ours absent" in err.splitlines()[-1]
    assert "ended with code 1: FileNotFound" in err
