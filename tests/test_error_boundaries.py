"""Exceptions of any kind are caught only at the boundaries listed here."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("bot", "handlers", "routing", "storage", "migrations")
BOUNDARIES = {
    "bot/adapters/console/streams.py": ["thread"],
    "bot/adapters/discord/connection.py": ["receive loop"],
    "bot/adapters/discord/receiving.py": ["receive loop"],
    "bot/adapters/shared/keyed_queue.py": ["worker task"],
    "bot/adapters/shared/parsing.py": ["receive loop"],
    "bot/adapters/shared/streaming.py": ["worker task"],
    "bot/live_config.py": ["worker task"],
    "handlers/dispatch.py": ["dispatch", "dispatch"],
    "handlers/tools/mcp/connection.py": ["worker task"],
    "handlers/tools/mcp/server.py": ["tool execution"],
    "handlers/tools/toolbox.py": ["tool execution"],
    "routing/llm/error_mapping.py": ["LiteLLM"],
    "routing/tools/embedding/static.py": ["tokenizers"],
    "routing/tools/embedding/worker_process.py": ["child"],
    "routing/tools/index_builder.py": ["worker task", "worker task"],
    "routing/tools/selector.py": ["worker task", "worker task"],
    "storage/sqlite.py": ["thread"],
}
"""What each handler protects. LiteLLM and tokenizers raise a bare Exception."""


def blind(source: str) -> int:
    """Counts the handlers that catch Exception or BaseException."""
    handlers = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ExceptHandler)]
    return sum(
        each.type is None
        or any(isinstance(part, ast.Name) and part.id in ("Exception", "BaseException") for part in ast.walk(each.type))
        for each in handlers
    )


def test_every_blind_handler_is_a_named_boundary() -> None:
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    counts = {path.relative_to(ROOT).as_posix(): blind(path.read_text(encoding="utf-8")) for path in files}
    named = {path: len(what) for path, what in BOUNDARIES.items()}
    assert {path: count for path, count in counts.items() if count} == named


@pytest.mark.parametrize("handler", ["except:", "except Exception:", "except (OSError, BaseException) as error:"])
def test_a_blind_handler_is_counted(handler: str) -> None:
    assert blind(f"try:\n    pass\n{handler}\n    pass\nexcept ValueError:\n    pass\n") == 1
