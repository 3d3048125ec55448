"""Names of tools are legal, unique, and independent of the order."""

from __future__ import annotations

import hashlib
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from handlers.tools.mcp.naming import prefixes, tool_names


def signs(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:6]


def test_prefixes_are_unique_and_independent_of_order() -> None:
    names = ("git", "git_hub", "my server", "my.server", "web", "1st", "x" * 40)
    made = prefixes(names)
    assert made == prefixes(tuple(reversed(names)))
    assert (made["git"], made["git_hub"], made["web"], made["1st"]) == ("git", "git-hub", "web", "_1st")
    assert made["my server"] != made["my.server"]
    assert made["my server"].startswith("my_server-")
    assert len(set(made.values())) == len(names)
    assert all(len(prefix) <= 31 for prefix in made.values())


def test_a_name_without_legal_characters_gets_a_prefix() -> None:
    made = prefixes(("日本", "сервер", "__", "vault"))
    assert made["日本"] == f"server-{signs('日本')}"
    assert len(set(made.values())) == 4
    assert tool_names(made["日本"], ["vault_open"]) == {"vault_open": f"server-{signs('日本')}_vault_open"}


def test_prefix_collisions_are_detected_in_any_order() -> None:
    for names in permutations(("a", "a_b", "a-b_c")):
        made = prefixes(names)
        assert made == {"a": "a", "a_b": "a-b", "a-b_c": "a-b-c"}


@given(st.lists(st.text("aB1_-.é日", max_size=8), max_size=6, unique=True), st.lists(st.text("aB1_-.é日", max_size=8)))
def test_tool_names_are_unique_across_servers(servers: list[str], tools: list[str]) -> None:
    made = prefixes(servers)
    names = [name for server in servers for name in tool_names(made[server], [*dict.fromkeys(tools)]).values()]
    assert len(names) == len(set(names))
    assert all(len(name) <= 64 for name in names)
    assert all(name.isascii() and not name[0].isdigit() for name in names)


def test_tool_names_are_legal_unique_and_stable() -> None:
    tools = ["a.b", "a_b", "a/b", "ü", "", "y" * 70, "y" * 71]
    made = tool_names("s", tools, taken=())
    assert made["a_b"] == "s_a_b"
    assert len(set(made.values())) == len(tools)
    assert made == tool_names("s", tools[::-1])
    assert all(name.isascii() and name.replace("-", "_").isidentifier() and len(name) <= 64 for name in made.values())
    assert tool_names("s", ["a_b"], taken={"s_a_b"})["a_b"] != "s_a_b"


def test_a_tool_that_collides_after_cleaning_is_dropped() -> None:
    clash = f"a_b_{signs('a.b')}"
    for tools in permutations(("a.b", "a b", clash)):
        assert tool_names("s", tools) == {"a b": f"s_a_b_{signs('a b')}", clash: f"s_{clash}"}
