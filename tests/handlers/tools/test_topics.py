"""The toolkits and commands that match a topic."""

from __future__ import annotations

import pytest

from handlers.context import CommandSpec
from handlers.tools.help_search import find_commands, find_toolkits
from routing.types.decisions import SIZES
from routing.types.toolkits import ToolCard, Toolkit, ToolText

CARD = ToolCard("read_file", dict.fromkeys(SIZES, ToolText("…", {"type": "object", "properties": {}})))
FILES = Toolkit("files", "Files.", keywords=("files", "folder"), tools=(CARD,))
THEIRS, LONGER, SPACED = (Toolkit(f"mcp:{name}", "…", source="mcp") for name in ("files", "files too", "My Files"))
ALL = (FILES, THEIRS, LONGER, SPACED)


@pytest.mark.parametrize(
    ("topic", "found"),
    [
        ("files", [FILES]),
        ("read_file", [FILES]),
        ("what is in my folder?", [FILES]),
        ("mcp:files", [THEIRS]),
        ("mcp:files and files", [FILES, THEIRS]),
        ("MCP:Files", [THEIRS]),
        ("about mcp:files too", [LONGER]),
        ("mcp:my files", [SPACED]),
        ("mcp:nothing", []),
        ("about:nothing", []),
        ("files: how?", [FILES]),
    ],
)
def test_toolkits(topic: str, found: list[Toolkit]) -> None:
    assert find_toolkits(ALL, topic) == found


def test_an_unknown_server_is_not_matched_to_a_known_one() -> None:
    assert find_toolkits((FILES,), "mcp:files") == []
    assert find_toolkits((FILES,), "help with mcp:files") == []


def test_commands() -> None:
    spec = CommandSpec("export", "Your files as an archive", ())
    assert find_commands([spec], "files") == [spec]
    assert find_commands([spec], "mcp:files") == []
