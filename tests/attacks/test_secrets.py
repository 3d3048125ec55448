"""No key reaches a log, a reply or the doctor's report. Provider errors are shown to owners only."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from bot.observability.logs import Redactor
from handlers.tools.mcp.config import read_servers
from routing.llm.error_mapping import map_error
from routing.types.llm import ProviderProfile
from tests.handlers.tools.mcp.test_http import UNRULY
from tests.polling import until
from tests.servers.model.request import ModelRequest
from tests.servers.model.script import Script, ToolCall
from tests.stories.harness import BotHarness, BotProcess, ask, running

_TAIL = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0"
PREFIXED = (
    f"sk-{_TAIL}", f"sk-proj-{_TAIL}_{_TAIL}-x", f"sk-ant-api03-{_TAIL}-AA", f"sk-or-v1-{_TAIL}", f"AIzaSy{_TAIL[:33]}",
    f"gsk_{_TAIL}", f"xai-{_TAIL}", f"hf_{_TAIL[:34]}", f"pplx-{_TAIL}", f"tgp_v1_{_TAIL}", "AKIAIOSFODNN7EXAMPLE",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", f"123456789:AA{_TAIL[:33]}", f"ghp_{_TAIL[:36]}",
    f"MTIzNDU2Nzg5MDEyMzQ1Njc4.Gabcde.{_TAIL[:38]}", f"github_pat_11ABCDE_{_TAIL}", f"xoxb-1234567890-{_TAIL[:20]}",
    "sk-p****abcd", "sk-…abcd", "sk-proj-********************abcd",
)  # fmt: skip
"""OpenAI, Anthropic, OpenRouter, Google, Groq, xAI, Hugging Face, Perplexity, Together, AWS, Telegram, GitHub, Discord,
Slack, and keys repeated in provider errors."""
BARE = ("0123456789abcdef0123456789abcdef", _TAIL[:32], _TAIL, f"{_TAIL}{_TAIL[:24]}")
"""Azure, Mistral, Cohere, Together's older ones."""
AROUND = (
    ("Authorization: Bearer abcdefgh12345", "abcdefgh12345"),
    ("authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
    ("GET https://me:hunter22@host/v1?key=abc123456&x=1", "hunter22"),
    ("GET https://host/v1?key=abc123456&x=1", "abc123456"),
    ("{'api_key': 'abcdef123456'}", "abcdef123456"),
)
PROFILE = ProviderProfile("openai", "openai", None, "a configured/key+value 1", 60.0, "OPENAI_API_KEY")


def shown_error(text: str) -> str:
    """What an owner sees of a provider's error."""
    return map_error(ValueError(text), "openai/m", PROFILE).raw


@pytest.mark.parametrize("key", [*PREFIXED, *BARE])
def test_provider_errors_are_redacted(key: str) -> None:
    said = shown_error(f"Incorrect API key provided: {key}. You can find it there.")
    assert key not in said
    assert said.startswith("Incorrect API key provided: ***")


@pytest.mark.parametrize("key", PREFIXED)
def test_log_lines_are_redacted(key: str) -> None:
    assert key not in Redactor(()).clean(f"POST failed for {key}, again")


@pytest.mark.parametrize(("text", "secret"), AROUND)
def test_unknown_keys_are_recognised_by_context(text: str, secret: str) -> None:
    assert secret not in shown_error(text)
    assert secret not in Redactor(()).clean(text)


def test_a_configured_key_is_known_in_every_spelling() -> None:
    key = PROFILE.api_key or ""
    for spelt in (key, quote(key), quote(key, safe=""), base64.b64encode(key.encode()).decode(), "a co****ue 1"):
        assert spelt not in shown_error(f"refused {spelt} here")
        assert spelt not in Redactor([key]).clean(f"sent {spelt} there")


@pytest.mark.parametrize(
    "text",
    [
        "at most 8192 tokens, 9000 were requested",
        "the model gpt-4o-2024-08-06 does not exist",
        "Unknown keyword: temperature",
    ],
)
def test_plain_words_are_not_redacted(text: str) -> None:
    assert shown_error(text) == text


def test_variables_expanded_in_mcp_json_are_secrets(tmp_path: Path) -> None:
    given = {"TOKEN": "value-of-token", "KEY": "value-of-key", "HEADER": "value-of-header", "QUERY": "value of query"}
    servers = {
        "one": {
            "command": "x",
            "args": ["--token=${TOKEN}", "--api-key", "written-there", "-y"],
            "env": {"K": "${KEY}"},
        },
        "two": {"url": "https://user:password-1@host/?q=${QUERY}", "headers": {"X-Key": "Bearer ${HEADER}"}},
    }
    servers["two"]["url"] = "https://user:password-1@host/?q=${QUOTED}"
    given["QUOTED"] = quote(given["QUERY"])
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    found = read_servers(tmp_path / "mcp.json", given).found
    shown = found["one"].hidden("value-of-token value-of-key written-there -y") + found["two"].hidden(
        "value-of-header password-1 value%20of%20query"
    )
    assert not [value for value in ("value-of", "written-there", "password-1", "of%20query") if value in shown]
    assert "-y" in shown


SPILT = {
    "SPILT_ARGUMENT": "argument-of-the-server" * 20,
    "SPILT_VARIABLE": "variable of the server",
    "SPILT_HEADER": "header-x1",
}


@contextmanager
def listening() -> Iterator[str]:
    """The URL of an MCP server that reports the headers it receives."""
    with subprocess.Popen([sys.executable, str(UNRULY), "0"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"
        finally:
            process.kill()


async def test_secrets_leaked_by_an_mcp_server_are_redacted(on: BotHarness) -> None:
    on.env |= SPILT

    def answer(request: ModelRequest) -> Script | str:
        role, text = request.reading.turns[-1]
        if role == "tool" and "was not run yet" not in text:
            return f"Done: {text}"
        return Script(calls=(ToolCall(request.reading.last_user_text, "{}"),))

    on.ms.default = answer
    with listening() as address:
        child: dict[str, Any] = {
            "command": sys.executable,
            "args": [str(Path(__file__).with_name("leaking_server.py")), "--with=${SPILT_ARGUMENT}"],
            "env": {"SPILT_KEY": "${SPILT_VARIABLE}"},
            "allow": True,
        }
        dead = {**child, "args": [*child["args"], "--die"]}
        remote = {
            "url": address,
            "headers": {"X-Key": "Bearer ${SPILT_HEADER}"},
            "allow": True,
        }
        on.workspace.mkdir(parents=True, exist_ok=True)
        (on.workspace / "mcp.json").write_text(
            json.dumps({"mcpServers": {"child": child, "dead": dead, "remote": remote}})
        )
        async with BotProcess(on, env={"LOG_LEVEL": "DEBUG"}) as bot:
            await until(lambda: bot.log.count(": connected") == 2 and "last output" in bot.log)
            told = [(await ask(on, tool)).text for tool in ("child_echo", "child_refuse", "remote_headers")]
            told += [(await ask(on, "child_crash")).text]
            told += [(await ask(on, "/tools")).text, (await ask(on, "/status full")).text]
            kept = b"".join(path.read_bytes() for path in on.workspace.glob("tierbot.db*"))
    assert all("•••" in text for text in told[:3])
    assert "Done: " in told[3], told
    for secret in SPILT.values():
        assert secret[-40:] not in "\n".join(told)
        assert secret[-40:] not in bot.log, secret
        assert secret[-40:].encode() not in kept, secret
        assert not any(secret[-40:] in json.dumps(call.body) for call in on.ms.calls), "nor to the model"


async def test_raw_provider_errors_are_for_owners(on: BotHarness) -> None:
    on.env["BOT_ACCESS"] = "open"
    words = "Your organization acme-secret-project may not do this"
    async with running(on):
        for user in (None, "bob"):
            on.ms.fail(400, message=words, times=8)
            answer = (await ask(on, "hi", user=user)).text
            on.ms.clear()
            assert ("acme-secret-project" in answer) == (user is None)
            assert "refused the request" in answer
        on.ms.fail(400, message=words, times=8)
        answer = (await ask(on, "@tierbot hi", group="Team")).text
        assert "acme-secret-project" not in answer, "a group also sees what its owner is told"
        assert "refused the request" in answer
