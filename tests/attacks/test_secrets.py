"""No key reaches a log, a reply or the doctor's report, and what providers say goes to owners only."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from urllib.parse import quote

import pytest

from bot.logs import Redactor
from handlers.tools.mcp.servers import read_servers
from routing.calls import ProviderProfile
from routing.door.failures import explain
from tests.stories.harness import Stage, ask, running

_TAIL = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0"
PREFIXED = (
    f"sk-{_TAIL}", f"sk-proj-{_TAIL}_{_TAIL}-x", f"sk-ant-api03-{_TAIL}-AA", f"sk-or-v1-{_TAIL}", f"AIzaSy{_TAIL[:33]}",
    f"gsk_{_TAIL}", f"xai-{_TAIL}", f"hf_{_TAIL[:34]}", f"pplx-{_TAIL}", f"tgp_v1_{_TAIL}", "AKIAIOSFODNN7EXAMPLE",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", f"123456789:AA{_TAIL[:33]}", f"ghp_{_TAIL[:36]}",
    f"MTIzNDU2Nzg5MDEyMzQ1Njc4.Gabcde.{_TAIL[:38]}", f"github_pat_11ABCDE_{_TAIL}", f"xoxb-1234567890-{_TAIL[:20]}",
    "sk-p****abcd", "sk-…abcd", "sk-proj-********************abcd",
)  # fmt: skip
"""OpenAI, Anthropic, OpenRouter, Google, Groq, xAI, Hugging Face, Perplexity, Together, AWS, Telegram, GitHub,
Discord, Slack, and what providers repeat of a key."""
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


def told(text: str) -> str:
    """What an owner is told of a provider's error."""
    return explain(ValueError(text), "openai/m", PROFILE).raw


@pytest.mark.parametrize("key", (*PREFIXED, *BARE))
def test_a_providers_words_hold_no_key(key: str) -> None:
    said = told(f"Incorrect API key provided: {key}. You can find it there.")
    assert key not in said and said.startswith("Incorrect API key provided: ***")


@pytest.mark.parametrize("key", PREFIXED)
def test_a_log_line_holds_no_key(key: str) -> None:
    assert key not in Redactor(()).clean(f"POST failed for {key}, again")


@pytest.mark.parametrize(("text", "secret"), AROUND)
def test_what_stands_around_a_key_tells_of_it(text: str, secret: str) -> None:
    assert secret not in told(text) and secret not in Redactor(()).clean(text)


def test_a_configured_key_is_known_in_every_spelling() -> None:
    key = PROFILE.api_key or ""
    for spelt in (key, quote(key), quote(key, safe=""), base64.b64encode(key.encode()).decode(), "a co****ue 1"):
        assert spelt not in told(f"refused {spelt} here") and spelt not in Redactor([key]).clean(f"sent {spelt} there")


@pytest.mark.parametrize(
    "text",
    (
        "at most 8192 tokens, 9000 were requested",
        "the model gpt-4o-2024-08-06 does not exist",
        "Unknown keyword: temperature",
    ),
)
def test_plain_words_stay(text: str) -> None:
    assert told(text) == text


def test_everything_that_mcp_json_expands_is_a_secret(tmp_path: Path) -> None:
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


async def test_what_the_provider_says_is_for_owners(on: Stage) -> None:
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
        assert "acme-secret-project" not in answer, "others read what an owner is told in a group"
        assert "refused the request" in answer
