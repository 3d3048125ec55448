"""The tool routing benchmark: figures of a handmade selector, and the command."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks import tool_routing
from benchmarks.bench_tools.__main__ import STUDY
from benchmarks.selectors.__main__ import DATA
from benchmarks.tool_routing import Query, measure, read_catalogue, read_examples, read_queries

ROOT = Path(__file__).resolve().parents[2]
SCORE = DATA / "score.py"
"""The same figures, computed without our code."""
CATALOGUE: list[dict[str, Any]] = [
    {"name": "weather", "description": "The forecast.", "keywords": ["forecast"], "category": "", "parameters": {}},
    {"name": "alarm", "description": "Ring at a time.", "keywords": ["alarm"], "category": "", "parameters": {}},
    {
        "name": "music",
        "description": "Songs.",
        "keywords": [],
        "tools": [{"name": "play_song", "description": "Play a song — any.", "parameters": {}}],
    },
    {"name": "mail", "description": "Letters.", "keywords": ["mail"], "category": "", "parameters": {}},
]
EXAMPLES = {"weather": [f"will it rain on day {day}" for day in range(9)], "__none__": ["hello"] * 9}
ROWS: list[dict[str, Any]] = [
    {"query": "the forecast", "lang": "en", "gold": ["weather"], "kind": "single"},
    {"query": "der Wecker", "lang": "de", "gold": ["alarm"], "kind": "single"},
    {"query": "the forecast and an alarm", "lang": "en", "gold": ["weather", "alarm"], "kind": "multi"},
    {"query": "how are you", "lang": "en", "gold": [], "kind": "none"},
    {"query": "thanks", "lang": "en", "gold": [], "kind": "none"},
    {"query": "book a flight", "lang": "en", "gold": [], "kind": "oos"},
    {"query": "nobody's matter", "lang": "en", "gold": [], "kind": "irrelevant_own"},
]
TIMES = {"load_s", "rss_mb", "p50_ms", "p95_ms", "p99_ms"}


class Answers:
    """A selector that gives fixed answers and counts its calls."""

    def __init__(self, answers: Mapping[str, Sequence[str]]) -> None:
        self.answers = answers
        self.asked: list[str] = []

    def select(self, query: str) -> Sequence[str]:
        self.asked.append(query)
        return self.answers.get(query, ())


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """`small.catalog.json`, `small.examples.json` and `queries.jsonl` in one folder."""
    (tmp_path / "small.catalog.json").write_text(json.dumps(CATALOGUE, ensure_ascii=False), "utf-8")
    (tmp_path / "small.examples.json").write_text(json.dumps(EXAMPLES), "utf-8")
    (tmp_path / "queries.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS), "utf-8")
    return tmp_path


def asked(files: Path, *more: str) -> list[str]:
    return ["--catalog", str(files / "small.catalog.json"), "--queries", str(files / "queries.jsonl"), *more]


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


def test_figures_of_a_handmade_selector(files: Path) -> None:
    queries = read_queries(files / "queries.jsonl")
    answers = {
        "the forecast": ["weather", "music"],
        "der Wecker": ["mail"],
        "the forecast and an alarm": ["alarm"],
        "thanks": ["mail"],
        "book a flight": ["mail"],
    }
    selector = Answers(answers)
    figures = measure(selector, CATALOGUE, queries)
    assert selector.asked == [query.text for query in (*queries[:3], *queries)]
    lengths = [len(json.dumps(row.get("tools") or row, ensure_ascii=False)) for row in CATALOGUE]
    shown = (lengths[0] + lengths[2] + lengths[3] + lengths[1]) / sum(lengths) / 3
    assert {name: figure for name, figure in figures.items() if name not in TIMES} == {
        **{"recall": 0.3333, "gold_fraction": 0.5, "shown": 0.3333, "payload": round(shown, 4)},
        **{"false_activation": 0.5, "oos_activation": 1.0, "n": 6},
        "by": {"en": [0.5, 2], "kind:single": [0.5, 2], "de": [0.0, 1], "kind:multi": [0.0, 1]},
    }
    assert 0 <= figures["p50_ms"] <= figures["p95_ms"] <= figures["p99_ms"]


def test_kinds_without_queries_have_no_figure() -> None:
    figures = measure(Answers({}), CATALOGUE, [Query("hello", "en", frozenset(), "none")])
    assert figures["false_activation"] == 0
    assert figures["by"] == {}
    assert {"recall", "shown", "oos_activation"}.isdisjoint(figures)


def test_examples_are_limited_except_those_without_a_tool(files: Path) -> None:
    path = files / "small.examples.json"
    assert {name: len(examples) for name, examples in read_examples(path).items()} == {"weather": 5, "__none__": 9}
    assert len(read_examples(path, 2)["weather"]) == 2
    assert read_examples(None) == {}


def test_a_query_may_contain_any_character(files: Path) -> None:
    path = files / "odd.jsonl"
    rows = [{"query": f"one{mark}two", "gold": []} for mark in "\u2028\u0085\x1c\n😶"]
    path.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), "utf-8")
    assert [query.text for query in read_queries(path)] == [row["query"] for row in rows]


def test_null_fields_are_ignored(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nothing = {"keywords": None, "description": None, "category": None, "tools": None}
    rows = [{**CATALOGUE[0], "keywords": None}, {"name": "alarm", **nothing}]
    (files / "small.catalog.json").write_text(json.dumps(rows), "utf-8")
    (files / "queries.jsonl").write_text('{"query": "forecast", "gold": ["weather"], "lang": null, "kind": null}')
    assert tool_routing.main(asked(files)) == 0
    assert json.loads(capsys.readouterr().out)["by"] == {"en": [1.0, 1], "kind:single": [1.0, 1]}


def test_lone_surrogates_are_replaced(files: Path) -> None:
    half = "\ud800"
    row = {"name": f"alarm{half}", "description": f"Ring {half}.", "keywords": [half], "category": half}
    (files / "small.catalog.json").write_text(json.dumps([*CATALOGUE, {**row, "tools": [row]}]), "utf-8")
    (files / "small.examples.json").write_text(json.dumps({half: [half], "__none__": [half]}), "utf-8")
    asks = {"query": f"forecast {half}", "gold": ["weather", f"alarm{half}"], "lang": half}
    (files / "queries.jsonl").write_text(json.dumps(asks), "utf-8")
    ended = run("-m", "benchmarks.tool_routing", *asked(files, "--examples", str(files / "small.examples.json")))
    assert (ended.returncode, ended.stderr) == (0, "")
    assert {*json.loads(ended.stdout)["by"]} == {"?", "kind:single"}


def test_a_file_may_start_with_a_bom(files: Path) -> None:
    for name in ("small.catalog.json", "small.examples.json", "queries.jsonl"):
        (files / name).write_bytes(b"\xef\xbb\xbf" + (files / name).read_bytes())
    assert read_catalogue(files / "small.catalog.json") == CATALOGUE
    assert len(read_examples(files / "small.examples.json")) == 2
    assert len(read_queries(files / "queries.jsonl")) == 6


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_json_output_is_one_object(files: Path, form: tuple[str, ...]) -> None:
    ended = run("-m", "benchmarks.tool_routing", *asked(files, "--examples", str(files / "small.examples.json"), *form))
    assert (ended.returncode, ended.stderr) == (0, "")
    figures = json.loads(ended.stdout)
    assert {*TIMES, "recall", "shown", "false_activation", "by"} <= {*figures}
    assert figures["n"] == 6
    assert (ended.stdout.count("\n") == 1) is bool(form)


def test_the_language_option_filters_queries(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tool_routing.main(asked(files, "--language", "de", "--json")) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["n"] == 1
    assert {*figures["by"]} == {"de", "kind:single"}


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("small.catalog.json", None, "No such file"),
        ("small.catalog.json", b"{", "is not JSON"),
        ("small.catalog.json", b"\xff", "invalid start byte"),
        ("small.catalog.json", b"[" * 100_000, "is not JSON"),
        ("small.catalog.json", b"{}", "is not a list of named entries"),
        ("small.catalog.json", b'["weather"]', "is not a list of named entries"),
        ("small.catalog.json", b'[{"description": "x"}]', "is not a list of named entries"),
        ("small.catalog.json", b'[{"name": 5, "description": "x"}]', "is not a list of named entries"),
        ("small.catalog.json", b"[]", "holds no entry"),
        ("small.catalog.json", b'[{"name": "x", "tools": [{"description": "y"}]}]', "small.catalog.json"),
        ("small.catalog.json", b'[{"name": "x", "description": 5}]', "the description of 'x' is not a string"),
        ("small.catalog.json", b'[{"name": "x", "category": 5}]', "the category of 'x' is not a string"),
        ("small.catalog.json", b'[{"name": "x", "keywords": "y"}]', "the keywords of 'x' are not a list of strings"),
        ("small.catalog.json", b'[{"name": "x", "keywords": [5]}]', "the keywords of 'x' are not a list of strings"),
        ("small.catalog.json", b'[{"name": "x", "tools": 5}]', "the tools of x are not a list of named tools"),
        (
            "small.catalog.json",
            b'[{"name": "x", "tools": [{"name": "y", "description": 5}]}]',
            "of 'y' is not a string",
        ),
        ("small.examples.json", b"[]", "is no object of examples by name"),
        ("small.examples.json", b'{"weather": 5}', "is no object of examples by name"),
        ("small.examples.json", b'{"weather": "rain"}', "is no object of examples by name"),
        ("small.examples.json", b"nonsense", "is not JSON"),
        ("queries.jsonl", None, "No such file"),
        ("queries.jsonl", b"", "holds no query to measure"),
        ("queries.jsonl", b'{"query": "x", "gold": []}\n{"query"', "line 2 is no query"),
        ("queries.jsonl", b"[]", "line 1 is no query"),
        ("queries.jsonl", b'{"gold": []}', "line 1 is no query"),
        ("queries.jsonl", b'{"query": "x"}', "line 1 is no query"),
        ("queries.jsonl", b'{"query": 5, "gold": []}', "line 1 is no query"),
        ("queries.jsonl", b'{"query": "x", "gold": 5}', "line 1 is no query"),
        ("queries.jsonl", b'{"query": "x", "gold": "weather"}', "line 1 is no query"),
        ("queries.jsonl", b'{"query": "x", "gold": [], "lang": ["en"]}', "lang or kind is not a string"),
        ("queries.jsonl", b'{"query": "x", "gold": [], "kind": 5}', "lang or kind is not a string"),
        ("queries.jsonl", b"[" * 100_000, "line 1 is no query"),
        ("queries.jsonl", b"\xff", "invalid start byte"),
        ("queries.jsonl", b'{"query": "x", "gold": [], "kind": "irrelevant_own"}', "holds no query to measure"),
    ],
)
def test_a_malformed_file_is_reported_in_one_sentence(
    files: Path, capsys: pytest.CaptureFixture[str], name: str, content: bytes | None, problem: str
) -> None:
    if content is None:
        (files / name).unlink()
    else:
        (files / name).write_bytes(content)
    assert tool_routing.main(asked(files, "--examples", str(files / "small.examples.json"))) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert name in err
    assert problem in err


def test_our_catalogue_is_readable(files: Path) -> None:
    assert read_catalogue(files / "small.catalog.json") == CATALOGUE


def test_an_independent_implementation_agrees(files: Path) -> None:
    score = [str(SCORE), "routing.tools.selection:build_selector", "--data", str(files / "small")]
    theirs = run(*score, "--queries", str(files / "queries.jsonl"), "--examples", "5")
    ours = run("-m", "benchmarks.tool_routing", *asked(files, "--examples", str(files / "small.examples.json")))
    assert (theirs.returncode, ours.returncode) == (0, 0), theirs.stderr
    expected, found = json.loads(theirs.stdout), json.loads(ours.stdout)
    assert {*expected} == {*found}
    assert {name: found[name] for name in found if name not in TIMES} == {
        name: expected[name] for name in expected if name not in TIMES
    }


@pytest.mark.parametrize("name", ["assistant", "bfcl_live", "functionchat_ko", "metatool", "sealtools"])
def test_every_set_is_in_the_repository(name: str) -> None:
    assert DATA.is_relative_to(ROOT)
    entries = {entry["name"] for entry in read_catalogue(DATA / f"{name}.catalog.json")}
    queries = read_queries(DATA / "dev" / f"{name}.jsonl")
    assert queries
    assert all(query.gold <= entries for query in queries)


def test_every_set_has_its_licence() -> None:
    licences = (DATA.parent / "LICENCES.md").read_text("utf-8")
    sets = {path.name.partition(".")[0] for path in DATA.rglob("*.json*")}
    missing = [name for name in sorted(sets) if f"/{name}." not in licences]
    assert missing == []
    assert STUDY.name in licences
