"""What counts as a verdict, and how a model's reason is shown."""

from __future__ import annotations

import json

import pytest

from routing.config import jsonfile
from routing.config.sections import CriticConfig
from routing.critic.verdict import MAX_WORDS, parse_verdict, plain
from routing.errors import ConfigError


def doubts(why: object, **more: object) -> str:
    return json.dumps({"doubt": True, "why": why} | more)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (doubts("Canberra is the capital."), "Canberra is the capital."),
        ('```json\n{"doubt": true, "why": "no"}\n```', "no"),
        (' \n{"doubt": false}\n', ""),
        ('{"doubt": false, "why": "it is right"}', ""),
    ],
)
def test_a_verdict(text: str, found: str) -> None:
    assert parse_verdict(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I can't help with that.",
        "doubt: true",
        "true",
        "[]",
        '"doubt"',
        '{"why": "no verdict"}',
        '{"doubt": "true", "why": "a text"}',
        '{"doubt": 1, "why": "a number"}',
        doubts(""),
        doubts("\u202e \u200b"),
        doubts(None),
        doubts(["a", "list"]),
        '{"doubt": true}',
        doubts("x", button="Buy now"),
        doubts("x") + " and more",
        "Sure! " + doubts("x"),
        "[" * 100_000,
    ],
)
def test_other_text_is_no_verdict(text: str) -> None:
    assert parse_verdict(text) is None


@pytest.mark.parametrize(
    ("why", "shown"),
    [
        ("2*3 is not [7](8) <b>", "2*3 is not [7](8) <b>"),
        ("Node.js and U.S. law, 3.14", "Node.js and U.S. law, 3.14"),
        ("see [here](https://bad.example/x) now", "see … now"),
        ("ask @somebody or www.bad.example", "ask … or …"),
        ("# big\n\n> quote\n- list", "# big > quote - list"),
        ("<@123> `code` ``more``", "… 'code' ''more''"),
        ("see https:/\u200b/bad.example and ww\u2060w.bad.example", "see … and …"),
        ("\u200b\u200f\u202a\u202e\u2060\u2069\ufeffgpj.exe", "gpj.exe"),
        ("half \ud800 and \0nothing", "half \ufffd and nothing"),
        (" ".join(["word"] * MAX_WORDS), " ".join(["word"] * MAX_WORDS)),
        (" ".join(["word"] * (MAX_WORDS + 1)), " ".join(["word"] * MAX_WORDS) + " …"),
        ("x" * 10_000, "x" * 300),
    ],
)
def test_a_reason_is_plain_text(why: str, shown: str) -> None:
    assert plain(why) == shown


def section(text: str) -> jsonfile.JsonObject:
    found = jsonfile.parse(f'{{"critic": {text}}}', "runtime-config.json").root().child("critic")
    assert found is not None
    return found


def test_the_configuration() -> None:
    assert section("{}").fill(CriticConfig()) == CriticConfig(enabled=False, model=None)
    assert section('{"enabled": true, "model": null}').fill(CriticConfig()) == CriticConfig(True)
    assert section('{"enabled": true, "model": " a/x "}').fill(CriticConfig()) == CriticConfig(True, "a/x")


@pytest.mark.parametrize(
    "text", ['{"enabled": 1}', '{"model": "haiku"}', '{"model": 3}', '{"model": "/x"}', '{"model": ""}']
)
def test_a_typo_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"runtime-config\.json line 1.*critic"):
        section(text).fill(CriticConfig())
