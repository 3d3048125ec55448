"""The verdicts of the small machine can fail."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.small_machine import CORES, FREE, MEMORY_BYTES, ROWS, SMALL, Rounds, cgroup, report


def _rounds(**small: float) -> Rounds:
    """Two rounds that keep every limit, except for what is given."""
    figures = {row.figure: row.least or 0.0 for row in ROWS}
    return {FREE: [figures] * 2, SMALL: [figures, {**figures, **small}]}


def test_good_figures_keep_every_limit() -> None:
    section = report(_rounds(), "")
    assert section.kept
    assert section.text().count("✓") == len([row for row in ROWS if row.limit()])


@pytest.mark.parametrize(
    ("figure", "value"),
    [
        ("swapped, MB", 0.1),
        ("start to first reply, s", 30.1),
        ("turn p50, ms", 1000.1),
        ("turns answered", 1.0),
        ("tools for a question about the weather", 0.0),
        ("resident memory at its highest, MB", 512.1),
    ],
)
def test_each_limit_is_checked_in_every_round(figure: str, value: float) -> None:
    section = report(_rounds(**{figure: value}), "")
    assert not section.kept
    assert section.text().count("✗") == 1


def test_the_cgroup_has_the_limits_and_leaves_nothing() -> None:
    try:
        with cgroup(MEMORY_BYTES, CORES) as limits:
            names = ("memory.max", "memory.limit_in_bytes", "cpu.cfs_quota_us", "cpu.max")
            paths = [folder / name for folder in limits.folders for name in names]
            values = {path.name: path.read_text().strip() for path in paths if path.exists()}
            assert str(MEMORY_BYTES) in (values.get("memory.max"), values.get("memory.limit_in_bytes"))
            assert "25000" in (values.get("cpu.cfs_quota_us"), (values.get("cpu.max") or "-").split()[0])
    except OSError as error:
        pytest.skip(f"this machine makes no cgroups: {error.strerror}")
    assert not [path for path in Path("/sys/fs/cgroup").glob(f"*/tierbot-benchmark-{os.getpid()}")]
