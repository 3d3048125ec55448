"""Exceptions of any kind are caught, or read from a task, only in the places listed here."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("bot", "handlers", "routing", "storage", "migrations")
BOUNDARIES = {
    "bot/adapters/console/streams.py": ["thread"],
    "bot/adapters/shared/connection.py": ["receive loop"],
    "handlers/dispatch.py": ["dispatch"],
    "handlers/tools/toolbox.py": ["tool execution"],
    "routing/error_boundary.py": ["worker tasks, receive loop, MCP server"],
    "routing/llm/error_mapping.py": ["LiteLLM"],
    "routing/tools/embedding/worker_process.py": ["child"],
}
"""What each handler protects. LiteLLM raises whatever its providers' libraries raise."""

USES = {
    "bot/admin/listener.py": ["import of the admin page"],
    "bot/adapters/discord/connection.py": ["gateway connection"],
    "bot/adapters/discord/receiving.py": ["accepting messages"],
    "bot/adapters/shared/keyed_queue.py": ["item of a queue"],
    "bot/cluster.py": ["heartbeat", "look at what waits", "chats given back"],
    "bot/app.py": ["step of the sweep"],
    "bot/live_config.py": ["edit of the configuration"],
    "bot/ops/daily_check.py": ["daily check"],
    "bot/running.py": ["reload of the configuration"],
    "bot/ops/backup/schedule.py": ["scheduled backup"],
    "bot/scheduler.py": ["due schedules", "start of a schedule", "tasks that were started"],
    "handlers/tools/mcp/server.py": ["call from an MCP client"],
    "routing/learning/learning.py": ["comparison with examples"],
    "routing/tools/index_builder.py": ["tool index", "vectors of the tools"],
    "routing/tools/embedding/message_vectors.py": ["vector of a message"],
    "routing/tools/selector.py": ["selection"],
}
"""What each ErrorBoundary protects."""

OUTCOMES = {
    "bot/adapters/discord/receiving.py": ["start of the backfill: logged"],
    "bot/adapters/shared/background.py": ["background task: logged"],
    "bot/adapters/shared/connection.py": ["receive loop: logged and restarted"],
    "bot/admin/loading.py": ["import of the admin page: raised to those who wait"],
    "bot/messaging.py": ["start of a platform: raised unless a ConfigError"],
    "bot/ops/doctor.py": ["check: a failed finding"],
    "handlers/post_turn.py": ["check after a turn: logged"],
    "handlers/tools/mcp/connection.py": ["session with a server: a bug is logged"],
    "handlers/tools/sandbox/sandbox.py": ["command of a cancelled caller: dropped"],
    "routing/llm/adapter.py": ["import of LiteLLM: raised to those who wait"],
    "routing/process.py": ["start of a worker: raised to those who wait"],
    "routing/tools/embedding/static.py": ["weights: raised to those who wait"] * 3,
    "routing/tools/embedding/worker.py": ["start of the worker: kept for the next call"],
    "storage/database/async_engine.py": [
        "group of steps: each runs again",
        "the same, alone: raised to those who wait",
    ],
    "storage/database/sqlite.py": ["batch of steps: raised to those who wait"],
}
"""Errors of any kind that are read from a task or from `gather`, and what becomes of them."""


@cache
def nodes_of(source: str) -> list[ast.AST]:
    return list(ast.walk(ast.parse(source)))


def blind(source: str) -> int:
    """Counts the handlers that catch Exception or BaseException, and the context managers that may."""
    nodes = nodes_of(source)
    caught = [node.type for node in nodes if isinstance(node, ast.ExceptHandler)]
    return sum(each is None or _names_any(each) for each in caught) + sum(map(_suppresses, nodes))


def _names_any(kinds: ast.expr) -> bool:
    return any(isinstance(part, ast.Name) and part.id in ("Exception", "BaseException") for part in ast.walk(kinds))


def _suppresses(node: ast.AST) -> bool:
    """Whether this is an `__exit__` that may return True, or `suppress(Exception)`."""
    match node:
        case ast.FunctionDef(name="__exit__", returns=ast.Name("bool")):
            return True
        case ast.AsyncFunctionDef(name="__aexit__", returns=ast.Name("bool")):
            return True
        case ast.Call(ast.Name("suppress") | ast.Attribute(attr="suppress"), args=kinds):
            return any(map(_names_any, kinds))
    return False


def boundaries(source: str) -> int:
    """Counts the ErrorBoundaries that are made."""
    calls = [node.func for node in nodes_of(source) if isinstance(node, ast.Call)]
    return sum(ast.unparse(each).endswith("ErrorBoundary") for each in calls)


def outcomes(source: str) -> int:
    """Counts `.exception()` of tasks, and `return_exceptions=True` whose result is not thrown away."""
    nodes = nodes_of(source)
    unread = [node.value.value for node in nodes if isinstance(node, ast.Expr) and isinstance(node.value, ast.Await)]
    return sum(_reads(node) for node in nodes if isinstance(node, ast.Call) and node not in unread)


def _reads(call: ast.Call) -> bool:
    match call:
        case ast.Call(ast.Attribute(attr="exception"), args=[], keywords=[]):
            return True
        case ast.Call(keywords=options):
            return any(each.arg == "return_exceptions" for each in options)
    return False


@pytest.mark.parametrize(("count", "places"), [(blind, BOUNDARIES), (boundaries, USES), (outcomes, OUTCOMES)])
def test_every_place_is_named(count: Callable[[str], int], places: dict[str, list[str]]) -> None:
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    counts = {path.relative_to(ROOT).as_posix(): count(path.read_text(encoding="utf-8")) for path in files}
    named = {path: len(what) for path, what in places.items()}
    assert {path: number for path, number in counts.items() if number} == named


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("async def f():\n    await gather(a, return_exceptions=True)", 0),
        ("async def f():\n    found = await asyncio.gather(a, return_exceptions=True)", 1),
        ("async def f():\n    return await gather(a, return_exceptions=True)", 1),
        ("if (error := task.exception()) is not None: ...", 1),
        ("future.exception()", 1),
        ("log.exception('failed')", 0),
    ],
)
def test_an_outcome_that_is_read_is_counted(source: str, count: int) -> None:
    assert outcomes(source) == count


@pytest.mark.parametrize("handler", ["except:", "except Exception:", "except (OSError, BaseException) as error:"])
def test_a_blind_handler_is_counted(handler: str) -> None:
    assert blind(f"try:\n    pass\n{handler}\n    pass\nexcept ValueError:\n    pass\n") == 1


@pytest.mark.parametrize(
    "source",
    [
        "with suppress(OSError, Exception):\n    pass",
        "with contextlib.suppress(Exception):\n    pass",
        "def __exit__(self, *error: object) -> bool: ...",
        "async def __aexit__(self, *error: object) -> bool: ...",
    ],
)
def test_a_blind_context_manager_is_counted(source: str) -> None:
    assert blind(source) == 1


def test_there_are_few() -> None:
    assert sum(map(len, BOUNDARIES.values())) < 8
