"""`mcp.json`: valid entries and errors."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from handlers.tools.mcp.config import Command, Endpoint, Server, read_servers
from routing.errors import ConfigError

ENVIRONMENT = {"PATH": "/bin", "HOME": "/home/ann", "LANG": "C", "KEY": "sk-secret", "EMPTY": ""}


def read(tmp_path: Path, **servers: Any) -> dict[str, Server]:
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": servers}, indent=1))
    return dict(read_servers(tmp_path / "mcp.json", ENVIRONMENT).found)


def test_a_command_and_an_endpoint(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        a={"command": "npx", "args": ["-y", "x@${KEY}"], "env": {"K": "${KEY}"}, "role": "user", "timeout": 5},
        b={"url": "https://a.b/mcp?key=${env:KEY}", "headers": {"Authorization": "Bearer ${KEY}"}, "type": "http"},
    )
    base = {"PATH": "/bin", "HOME": "/home/ann", "LANG": "C"}
    assert found["a"].reached == Command(("npx", "-y", "x@sk-secret"), {**base, "K": "sk-secret"}, tmp_path)
    assert (found["a"].role, found["a"].seconds, found["b"].role, found["b"].seconds) == ("user", 5.0, "owner", 30.0)
    assert found["b"].reached == Endpoint("https://a.b/mcp?key=sk-secret", {"Authorization": "Bearer sk-secret"})
    for server in found.values():
        assert "sk-secret" not in repr(server)
        assert server.hidden("it is sk-secret.") == "it is •••."


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({}, "must have either command or url"),
        ({"command": "a", "url": "http://a"}, "must have either command or url"),
        ({"serverUrl": "http://a"}, "did you mean url?"),
        ({"command": ""}, "command must be a non-empty string"),
        ({"command": "a", "args": "b"}, "args must be a list of strings"),
        ({"command": "a", "env": {"A": 1}}, "env must only have strings; A is not one"),
        ({"command": "a", "env": {"A": "${MISSING}"}}, "names the variable MISSING, which is not set"),
        ({"command": "a", "env": {"A": "${EMPTY}"}}, "names the variable EMPTY, which is not set"),
        ({"command": "a", "role": "guest"}, "role must be one of user, admin, owner"),
        ({"command": "a", "timeout": 30000}, "timeout must be seconds, at most 3600"),
        ({"command": "a", "timeout": True}, "timeout must be seconds"),
        ({"command": "a", "disabled": "no"}, "disabled must be true or false"),
        ({"url": "ftp://a"}, "url must begin with http:// or https://"),
        ({"url": "http://a", "type": "sse"}, "is the old transport of 2024"),
        ({"url": "http://a", "type": "carrier"}, "type must be one of stdio, http"),
        ({"command": "a\0b"}, "has a NUL character in it"),
        ({"command": "a", "cwd": "\0"}, "has a NUL character in it"),
        ({"command": "a", "args": ["\ud800"]}, "contains half a character (a lone surrogate)"),
        ({"command": "a", "env": {"A=B": "x"}}, "env has a name that no variable has: 'A=B'"),
        ({"command": "a", "env": {"": "x"}}, "env has a name that no variable has: ''"),
        ({"url": "http://[::1"}, "url is not an address"),
        ({"url": "http://a:99999/x"}, "url is not an address"),
        ({"url": "http://a b/"}, "url contains a blank or a character that no address may contain"),
        ({"url": "http://:80/"}, "url names no host"),
        ({"url": "http://a", "headers": {"A\nB": "x"}}, "headers has a name that no header has: 'A\\nB'"),
        (
            {"url": "http://a", "headers": {"A": "x\ny"}},
            "headers has a value for A with characters that no header may contain",
        ),
        (
            {"url": "http://a", "headers": {"A": "“x”"}},
            "headers has a value for A with characters that no header may contain",
        ),
        (5, "must be an object"),
        (None, "must be an object"),
    ],
)
def test_a_wrong_entry_is_named_and_the_others_work(tmp_path: Path, entry: Any, reason: str) -> None:
    found = read(tmp_path, bad=entry, good={"command": "x"})
    assert reason in found["bad"].fault
    assert found["bad"].fault.startswith("mcp.json line ")
    assert "mcpServers.bad" in found["bad"].fault
    assert found["good"].fault == ""
    assert found["good"].reached is not None


def test_unknown_keys_are_named_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{"mcpServer": {},\n"mcpServers": {"a": {"command": "x",\n"enviroment": {}, "zzzz": 1}}}')
    assert read_servers(path, ENVIRONMENT).problems == (
        "mcp.json line 1: mcpServer is not known and has no effect; did you mean mcpServers?",
        "mcp.json line 3: mcpServers.a.enviroment is not known and has no effect; did you mean env?",
        "mcp.json line 3: mcpServers.a.zzzz is not known and has no effect.",
    )


def test_a_disabled_server_needs_no_variables(tmp_path: Path) -> None:
    found = read(tmp_path, a={"command": "x", "env": {"A": "${MISSING}"}, "disabled": True})
    assert (found["a"].disabled, found["a"].fault) == (True, "")


@pytest.mark.parametrize("text", ["", "[]", '{"mcpServers": []}', "{"])
def test_an_unreadable_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "mcp.json").write_text(text)
    with pytest.raises(ConfigError, match=r"mcp\.json"):
        read_servers(tmp_path / "mcp.json", ENVIRONMENT)


def test_an_invalid_name_is_refused(tmp_path: Path) -> None:
    found = read(tmp_path, **{"a\ud800": {"command": "x"}, "b": {"command": "x"}})
    assert list(found) == ["a\ufffd", "b"]
    assert found["b"].fault == ""
    assert "contains half a character (a lone surrogate)" in found["a\ufffd"].fault
    found["a\ufffd"].fault.encode()


def test_a_missing_or_too_long_file(tmp_path: Path) -> None:
    """Reading a pipe would never end, and the bot would never start."""
    path = tmp_path / "mcp.json"
    os.mkfifo(path)
    with pytest.raises(ConfigError, match=r"mcp\.json is not a file\."):
        read_servers(path, ENVIRONMENT)
    path.unlink()
    path.write_text('{"mcpServers": {}}' + " " * 1_000_000)
    with pytest.raises(ConfigError, match=r"mcp\.json is longer than 1,000 kB\."):
        read_servers(path, ENVIRONMENT)
