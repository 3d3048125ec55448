"""Temporary folders, shared caches, garbage collection and Hypothesis for all tests."""

import gc
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.postgres import ON_POSTGRES, postgres, postgres_for_stories
from tests.shared_files import share_texts

__all__ = ["postgres", "postgres_for_stories"]

gc.disable()  # the objects of the test modules live until the end
SHARED_MEMORY = Path("/dev/shm")
ROOM_BYTES = 2**30
SYSTEM = "system"
YOUNG_OBJECTS = 20_000
"""Allocations between two collections. With Python's default of 700, collecting takes a sixth of the suite's CPU
time."""

settings.register_profile(
    "repeatable", derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeatable")
"""The same examples in every run, on a machine of any speed."""


def pytest_collection_finish() -> None:
    if preloaded := sys.modules.get("tests.stories.preloaded"):
        preloaded.start()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, 20, 20)
    gc.enable()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Refuses a test that make test-system would not find, because its mark is written in another folder."""
    if item.get_closest_marker(SYSTEM) and not any(map(_has_mark, (item.path, *_conftests(item.path)))):
        raise pytest.UsageError(f"Write mark.{SYSTEM} in {item.path} or in a conftest.py above it.")


def pytest_runtest_setup(item: pytest.Item) -> None:
    if ON_POSTGRES and (mark := item.get_closest_marker("sqlite_only")):
        pytest.skip(f"SQLite only: {mark.args[0]}")


def _conftests(path: Path) -> list[Path]:
    return [folder / "conftest.py" for folder in path.parents if folder.is_relative_to(Path(__file__).parent)]


@cache
def _has_mark(path: Path) -> bool:
    return path.exists() and f"mark.{SYSTEM}" in path.read_text()


@pytest.fixture(scope="session", autouse=True)
def texts_read_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        share_texts(patch)
        yield


@pytest.fixture(autouse=True)
def crash_hooks() -> Iterator[None]:
    """Keeps pytest's own hooks, which find threads that crash."""
    kept = sys.excepthook, threading.excepthook
    yield
    sys.excepthook, threading.excepthook = kept


@pytest.fixture
def in_memory(on_disk: Path) -> Iterator[Path]:
    """A folder in memory if there is room: SQLite waits for the disk at every commit."""
    if not SHARED_MEMORY.is_dir() or shutil.disk_usage(SHARED_MEMORY).free < ROOM_BYTES:
        yield on_disk
        return
    with tempfile.TemporaryDirectory(prefix="tierbot-test-", dir=SHARED_MEMORY, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture
def on_disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that a sandbox can hide, because it has its own /dev/shm."""
    return tmp_path_factory.mktemp("files")
