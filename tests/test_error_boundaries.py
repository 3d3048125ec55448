"""Exceptions of any kind are caught only at the boundaries listed here."""

from __future__ import annotations

import ast
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


def blind(source: str) -> int:
    """Counts the handlers that catch Exception or BaseException, and the context managers that may."""
    nodes = list(ast.walk(ast.parse(source)))
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


def test_every_blind_handler_is_a_named_boundary() -> None:
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    counts = {path.relative_to(ROOT).as_posix(): blind(path.read_text(encoding="utf-8")) for path in files}
    named = {path: len(what) for path, what in BOUNDARIES.items()}
    assert {path: count for path, count in counts.items() if count} == named


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
