"""A module is one noun, a function fits on a screen."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MODULE_LINES, FUNCTION_LINES = 220, 40
LONG_MODULES = {"storage/schema.py": 300}
"""A list of tables, without any logic: to cut it would only add places to look."""
LONG_FUNCTIONS = {"bot/app.py:assembled": 69}
"""The composition root names everything once, in the order in which it is built."""


def product() -> list[Path]:
    return sorted(path for name in ("bot", "handlers", "routing", "storage") for path in (ROOT / name).rglob("*.py"))


def measured() -> tuple[dict[str, int], dict[str, int]]:
    """Lines of every module, and of every function from its `def` to its end."""
    modules, functions = {}, {}
    for path in product():
        name, text = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
        modules[name] = text.count("\n")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                functions[f"{name}:{node.name}"] = (node.end_lineno or node.lineno) - node.lineno + 1
    return modules, functions


def test_modules_are_short() -> None:
    modules, _ = measured()
    assert {name: n for name, n in modules.items() if n > LONG_MODULES.get(name, MODULE_LINES)} == {}


def test_functions_are_short() -> None:
    _, functions = measured()
    assert {name: n for name, n in functions.items() if n > LONG_FUNCTIONS.get(name, FUNCTION_LINES)} == {}


def test_every_exception_is_still_needed() -> None:
    modules, functions = measured()
    assert [name for name in LONG_MODULES if modules.get(name, 0) <= MODULE_LINES] == []
    assert [name for name in LONG_FUNCTIONS if functions.get(name, 0) <= FUNCTION_LINES] == []
