"""The size class of a model: which source wins, and how digits in a name are read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from routing.catalog import sizes
from routing.catalog.sizes import size_of
from routing.types.decisions import SIZES, Size, SizeSource

NAMES = Path(__file__).with_name("data") / "model_sizes.jsonl"
"""Names as people write them, with the classes that their published or estimated size allows."""
TABLE = Path(sizes.__file__).with_name("sizes.json")


def test_informal_model_names() -> None:
    rows = [json.loads(line) for line in NAMES.read_text(encoding="utf-8").splitlines()]
    assert len({row["model"] for row in rows}) == len(rows) >= 600
    assert [row["model"] for row in rows if size_of(row["model"]).size not in row["accept"]] == []
    assert [row["model"] for row in rows if not size_of(row["model"]).known] == []


@pytest.mark.parametrize(
    ("model", "owner", "metadata", "size", "source"),
    [
        ("gpt-4o", "S", "8.0B", "S", "owner"),
        ("nobody-knows-me", "XL", None, "XL", "owner"),
        ("gpt-4o", None, "8.0B", "XL", "family"),
        ("llama3.1:70b", None, "8.0B", "XL", "name"),
        ("llama3.1", None, "70.6B", "M", "family"),
        ("nobody-knows-me", None, "70.6B", "XL", "metadata"),
        ("nobody-knows-me", None, None, "M", "default"),
        ("meta.llama4-scout-17b-instruct-v1:0", None, None, "XL", "family"),
        ("some-llama4-tune-3b-of-scout-17b", None, None, "XL", "family"),
    ],
)
def test_owner_then_table_then_digits_then_provider(
    model: str, owner: Size | None, metadata: str | None, size: Size, source: SizeSource
) -> None:
    decision = size_of(model, owner, metadata)
    assert (decision.size, decision.source) == (size, source)
    assert decision.evidence
    assert decision.known is (source != "default")


def test_digits_override_the_family_default() -> None:
    assert size_of("qwen3").size == "M"
    assert size_of("qwen3:32b").size == "L"
    assert size_of("Qwen3.5-27B-Claude-4.6-Opus-Distilled").size == "L"


@pytest.mark.parametrize(
    ("name", "size", "evidence"),
    [
        ("x:3.9b", "S", "3.9b"),
        ("x:4b", "M", "4b"),
        ("x:13.9b", "M", "13.9b"),
        ("x:14b", "L", "14b"),
        ("x:34.9b", "L", "34.9b"),
        ("x:35b", "XL", "35b"),
        ("X-7B-Instruct", "M", "7b"),
        ("x7b", "M", "7b"),
        ("x-270m", "S", "270m"),
        ("x-2.4t-a95b", "XL", "2.4t"),
        ("x-1.5-b", "S", "1.5-b"),
        ("x-0_5b", "S", "0_5b"),
        ("x-1_6b", "S", "1_6b"),
        ("x-3_1-8b", "M", "8b"),
        ("x-3_0-8b", "M", "8b"),
        ("x-3-0-8b", "M", "8b"),
        ("x2p5-0p5b", "S", "0p5b"),
        ("x-30b-a3b", "L", "30b"),
        ("x-3n-e4b", "M", "4b"),
        ("x-2x8b", "M", "2x8b"),
        ("x-4x7b", "L", "4x7b"),
        ("x-8x7b", "XL", "8x7b"),
        ("x-17b-16e", "XL", "17b-16e"),
        ("x-1.1b-step-1431k-3t", "S", "1.1b"),
        ("x-7b-instruct-1m", "M", "7b"),
        ("x-30b-480b-distill", "L", "30b"),
        ("x:8b-instruct-2507-q4_K_M", "M", "8b"),
        ("x-8b.Q4_K_M.gguf", "M", "8b"),
        ("x-70b-00001-of-00002.gguf", "XL", "70b"),
        ("x-32b:free", "L", "32b"),
        ("hf.co/bartowski/X-3B-GGUF:Q4_K_M", "S", "3b"),
        ("/models/X-8B/model.gguf", "M", "8b"),
    ],
)
def test_digits_that_mean_a_size(name: str, size: Size, evidence: str) -> None:
    decision = size_of(name)
    assert (decision.size, decision.source) == (size, "name")
    assert decision.evidence == f"{evidence} in its name"


@pytest.mark.parametrize(
    "name",
    [
        "x-128k",
        "x-2507",
        "x-0905",
        "x-v0.3",
        "x-1m",
        "x-a3b",
        "x-4bit",
        "x-4.0bpw",
        "x-q8_0",
        "x-q1t",
        "x-v2b",
        "x@20250514",
        "x:02e509c789964a7ea8736978a43525956ef40397be9033abf9fd2badfe68c97b",
        "llama-70b/x",
        "x.i",
        "my-deployment",
        "mistral/x",
        "",
        " ",
        "/",
        ":latest",
    ],
)
def test_digits_that_do_not_mean_a_size(name: str) -> None:
    decision = size_of(name)
    assert (decision.size, decision.known) == ("M", False)


@pytest.mark.parametrize(
    "name",
    [
        "claude-3-5-haiku-latest",
        "anthropic/claude-3.5-haiku",
        "openrouter/anthropic/claude-3.5-haiku:beta",
        "us.anthropic.claude-3-5-haiku-20241022-v1:0",
        "bedrock/us-west-2/us.anthropic.claude-3-5-haiku-20241022-v1:0",
        "vertex_ai/claude-3-5-haiku@20241022",
        "databricks-claude-haiku-4-5",
        "Claude 3.5 Haiku",
    ],
)
def test_prefix_and_spelling_do_not_matter(name: str) -> None:
    assert size_of(name) == size_of("haiku")
    assert size_of(name).size == "L"


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("deepseek-r1", "XL"),
        ("deepseek/deepseek-r1", "XL"),
        ("ollama/deepseek-r1", "M"),
        ("ollama_chat/deepseek-r1", "M"),
        ("deepseek-r1:latest", "M"),
        ("ollama/deepseek-r1:671b", "XL"),
        ("ollama/deepseek-r1:1.5b", "S"),
        ("ollama/deepseek-v3", "XL"),
    ],
)
def test_ollama_means_its_default_tag(name: str, size: Size) -> None:
    assert size_of(name).size == size


def test_file_extensions_are_ignored() -> None:
    assert size_of("/models/yi.gguf") == size_of("yi")
    assert size_of("yi").known


def test_the_folder_name_is_used_if_the_name_says_nothing() -> None:
    assert size_of("novita/deepseek/deepseek-r1/community").size == "XL"


@pytest.mark.parametrize(
    ("metadata", "size", "evidence"),
    [
        ("8.0B", "M", "8B"),
        ("134.52M", "S", "0.135B"),
        ("30.5b", "L", "30.5B"),
        ("1.1T", "XL", "1.1e+03B"),
        (" 4 B ", "M", "4B"),
        ("30532122624", "L", "30.5B"),
        (30532122624, "L", "30.5B"),
        (3_999_999_999, "S", "4B"),
    ],
)
def test_sizes_given_by_a_provider(metadata: str | int, size: Size, evidence: str) -> None:
    decision = size_of("nobody-knows-me", metadata=metadata)
    assert (decision.size, decision.source) == (size, "metadata")
    assert decision.evidence == f"{evidence}, says the provider"


@pytest.mark.parametrize("metadata", ["", "big", "-8B", "8.B", "0", "0B", 0, -5, "nan", "8x7B", "9" * 400])
def test_invalid_provider_sizes_are_ignored(metadata: str | int) -> None:
    assert size_of("nobody-knows-me", metadata=metadata).source == "default"


def _rows() -> list[tuple[str, str, Size, str]]:
    document = json.loads(TABLE.read_text(encoding="utf-8"))
    return [
        (part, name, row["size"], row["evidence"])
        for part, rows in document.items()
        for row in rows
        for name in row["names"].split(", ")
    ]


def test_every_row_of_the_table_is_reached_by_each_of_its_names() -> None:
    lost = []
    for _, name, size, evidence in _rows():
        model = name.strip("= ").replace(" * ", " any ") + ("" if name.endswith("=") else " zz")
        decision = size_of(model)
        if (decision.size, decision.evidence) != (size, evidence):
            lost.append((name, decision))
    assert lost == []


def test_every_row_of_the_table_has_a_class_and_evidence() -> None:
    assert {part for part, *_ in _rows()} == {"misleading", "families"}
    assert [name for _, name, size, evidence in _rows() if size not in SIZES or not evidence or not name.strip()] == []


@given(st.text(max_size=80), st.none() | st.text(max_size=12) | st.integers())
@example("²b ٣b", "٣B")
@example("9" * 400 + "b", "9" * 400 + "B")
def test_any_name_gets_a_class(model: str, metadata: str | int | None) -> None:
    assert size_of(model, None, metadata).size in SIZES
