"""The whole benchmark in a quick run, and verdicts that can fail."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.bots.contestants import FLOOR, FLOOR_STREAMING, OURS
from benchmarks.reporting.report import ROWS, Rounds, kept, report

ROOT = Path(__file__).resolve().parents[2]


def _rounds(**ours: float) -> Rounds:
    """Two rounds with equal figures, except for some of ours."""
    alike = {row.figure: 0.5 for row in ROWS}
    return {
        FLOOR.name: [alike, alike],
        FLOOR_STREAMING.name: [alike, alike],
        OURS.name: [alike | ours, alike | ours],
    }


def test_equal_figures_keep_every_limit() -> None:
    assert kept(_rounds())
    assert "✗" not in report(_rounds(), ()).text()
    assert report(_rounds(), ()).text().count("✓") == sum(1 for row in ROWS if row.limit())


@pytest.mark.parametrize(
    ("figure", "value"),
    [
        ("CPU a turn, ms", 1.1),
        ("CPU a turn with many chats, ms", 1.1),
        ("CPU a turn with a slow model, ms", 1.1),
        ("serial turn p50, ms", 1.3),
        ("serial turn p95, ms", 1.3),
        ("turns a second with many chats", 0.24),
        ("RSS at the end, MB", 0.75),
        ("start to first poll, s", 0.6),
        ("start to first poll, s", 1.1),
        ("request for hello without its tools, bytes", 2001),
    ],
)
def test_each_limit_can_be_broken(figure: str, value: float) -> None:
    broken = _rounds(**{figure: value})
    assert not kept(broken)
    assert report(broken, ()).text().count("✗") == 1


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_quick_run_prints_every_part(tmp_path: Path) -> None:
    figures, picture = tmp_path / "figures.json", tmp_path / "picture.png"
    command = [sys.executable, "-m", "benchmarks", "--quick", "--json", str(figures), "--plot", str(picture)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert ended.returncode in (0, 1), ended.stderr
    assert all(row.figure in ended.stdout for row in ROWS)
    written = json.loads(figures.read_text())
    assert list(written) == ["floor", "turns", "compaction", "autocomplete", "platforms"]
    assert set(written["floor"]["rounds"]) == {FLOOR.name, FLOOR_STREAMING.name, OURS.name}
    assert picture.stat().st_size > 1000
