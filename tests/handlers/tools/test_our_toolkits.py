"""The texts of our toolkits in each size."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest

from handlers.tools import TOOLKITS, ToolkitModule
from handlers.tools.authoring.manifests import FOLDER, our_toolkit, read_toolkit
from handlers.tools.dependencies import ToolDependencies
from handlers.tools.sandbox import Sandbox, SandboxLimits
from handlers.tools.tool_router import ToolRouter
from routing.config.presentation import PRESENTATIONS
from routing.llm.message_codec import MAX_DESCRIPTION_CHARACTERS
from routing.tools.presentation import Candidate, Shown, present
from routing.types.decisions import SIZES, Size

DOCS = Path(__file__).parents[3] / "docs"
OURS = sorted(path.stem for path in FOLDER.glob("*.json"))
WHEN_RELEVANT = (
    "calendar",
    "contacts",
    "council",
    "email",
    "git",
    "host_pc",
    "images",
    "meta",
    "scheduler",
    "shared_folder",
    "weather",
)
"""Toolkits that are shown only for relevant messages."""


@pytest.mark.parametrize("name", OURS)
def test_our_toolkits_are_valid_in_every_size(name: str) -> None:
    manifest = read_toolkit(FOLDER / f"{name}.json", "ours")
    assert manifest == read_toolkit(FOLDER / f"{name}.json", "ours", proven=True)
    assert manifest.toolkit.name == name
    assert manifest.warnings == ()
    assert manifest.implementations == {}
    assert manifest.toolkit.base == (name not in WHEN_RELEVANT)
    assert manifest.toolkit.category
    for tool in manifest.toolkit.tools:
        small, medium, large = (tool.texts[size] for size in ("S", "M", "XL"))
        lengths = [len(json.dumps([text.description, text.parameters])) for text in (small, medium, large)]
        assert lengths == sorted(lengths)
        assert len(set(lengths)) == 3
        assert lengths[0] <= 190
        assert len(large.description) <= MAX_DESCRIPTION_CHARACTERS
        assert "description" not in json.dumps(small.parameters)
        assert tool.texts["L"] == large
        assert all("description" in each for each in large.parameters["properties"].values())
        assert len(tool.examples) >= 5


def dependencies(folder: Path) -> ToolDependencies:
    """Enough to build all tools."""
    unused = cast(Any, object())
    more = {
        "about": unused,
        "council": unused,
        "accounts": unused,
        "dav": unused,
        "memory": unused,
        "schedules": unused,
        "images": unused,
    }
    return ToolDependencies(folder, Sandbox(folder, SandboxLimits()), unused, unused, unused, time.time, **more)


@pytest.mark.parametrize("module", TOOLKITS, ids=lambda module: module.NAME)
def test_a_manifest_describes_the_functions_of_its_module(module: ToolkitModule, tmp_path: Path) -> None:
    tools = module.build(dependencies(tmp_path))
    described = {card.name: typed(card.texts["XL"].parameters) for card in our_toolkit(module.NAME).tools}
    assert {each.name: typed(each.parameters["XL"]) for each in tools} == described


def test_only_these_tools_return_no_text_by_others(tmp_path: Path) -> None:
    """After the result of any other tool, a person confirms what is remembered about them."""
    built = [each for module in TOOLKITS for each in module.build(dependencies(tmp_path))]
    trusted = {each.name for each in built if not each.traits.outside}
    assert trusted == {
        *("get_datetime", "calculate", "set_tier", "use_skill", "discover_tools", "help", "show_config", "health"),
        *("remember", "recall", "forget"),
        *("write_file", "send_file", "send_email", "create_reminder", "create_task", "make_image"),
        *("find_free_time", "create_event", "delete_event", "create_contact", "delete_contact"),
        *("host_open_url", "host_open_app", "host_screenshot", "host_notify", "vm_to_host", "host_to_vm"),
    }


def test_the_documentation_lists_the_tools_that_ask(tmp_path: Path) -> None:
    built = [each for module in TOOLKITS for each in module.build(dependencies(tmp_path))]
    asking = {each.name for each in built if each.asks is not None or each.traits.confirm}
    section = (DOCS / "using-tools.md").read_text("utf-8").partition("## Confirmations")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == asking


def typed(schema: Mapping[str, Any]) -> dict[str, object]:
    """For each parameter: its type, its choices, and whether it is required."""
    return {
        name: (each["type"], each.get("enum"), name in schema.get("required", ()))
        for name, each in schema["properties"].items()
    }


def test_every_manifest_has_its_module() -> None:
    assert sorted(module.NAME for module in TOOLKITS) == OURS


def test_our_toolkits_have_keywords_in_many_scripts_and_unique_names() -> None:
    toolkits = [read_toolkit(FOLDER / f"{name}.json", "ours", proven=True).toolkit for name in OURS]
    names = [tool.name for toolkit in toolkits for tool in toolkit.tools]
    assert len(names) == len(set(names))
    assert {"discover_tools", "help", "show_config", "health"} <= set(names)
    for toolkit in toolkits:
        words = " ".join(toolkit.keywords)
        for first, last in ("az", "ая", "أي", "가힣", "ぁヿ", "一鿿"):
            assert any(first <= sign <= last for sign in words), (toolkit.name, first)


LANGUAGES = {
    "Arabic": r"[أ-ي]{2}",
    "Chinese": r"^[一-鿿]{2,}$",
    "English": r"\b[a-z]{3,}\b",
    "French": r"[çèéêœûî]",
    "German": r"[äöüß]|\b[A-Z][a-z]{3,}",
    "Italian": r"zione\b|[àìò]\b",
    "Japanese": r"[ぁ-ヿ]",
    "Korean": r"[가-힣]{2}",
    "Polish": r"[ąćęłńśźż]",
    "Portuguese": r"[ãõ]|ções",
    "Russian": r"[а-я]{3}",
    "Spanish": r"[ñáíóú]|ción",
    "Turkish": r"[ğış]",
}
"""Signs and endings that tell a language among the others here, not among all."""


@pytest.mark.parametrize("name", OURS)
def test_our_toolkits_have_keywords_in_ten_languages(name: str) -> None:
    words = "\n".join(our_toolkit(name).keywords)
    found = [language for language, signs in LANGUAGES.items() if re.search(signs, words, re.MULTILINE)]
    assert len(found) >= 10, sorted(LANGUAGES.keys() - found)


KITS = tuple(our_toolkit(name) for name in OURS)


def candidates(size: Size, *selected: str) -> list[Candidate]:
    """All tools of all toolkits; those of the selected toolkits are the most relevant, the longest text first."""
    return [
        Candidate(card, kit.name in selected, float(card.weights[size]) + 1e6 * (kit.name in selected), kit.base)
        for kit in KITS
        for card in kit.tools
    ]


def names(shown: Shown) -> set[str]:
    return {spec.name for spec in shown.specs}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("selected", [kit.name for kit in KITS])
def test_a_toolkit_is_shown_whole_within_the_limits(size: Size, selected: str) -> None:
    limits = PRESENTATIONS[size]
    shown = present(candidates(size, selected), size, limits)
    assert len(shown.specs) <= limits.most_tools
    assert shown.tokens <= limits.most_tokens
    wanted = {card.name for kit in KITS if kit.name == selected for card in kit.tools}
    assert len(names(shown) & wanted) >= min(len(wanted), limits.most_tools - 1), "these texts are too long"


@pytest.mark.parametrize("size", ["S", "M"])
def test_the_longest_texts_and_all_names_fit(size: Size) -> None:
    limits = PRESENTATIONS[size]
    shown = present(candidates(size, *(kit.name for kit in KITS)), size, limits)
    assert len(shown.specs) == limits.most_tools, "some texts are too long"
    assert "more." not in shown.hint, "there are too many tools to name all"
    assert shown.tokens <= limits.most_tokens


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("greeting", ["hello", "Hallo!", "bonjour", "안녕", "привет", "thanks a lot"])
def test_a_greeting_shows_only_base_tools(size: Size, greeting: str) -> None:
    base = {card.name for kit in KITS if kit.base for card in kit.tools}
    router = routers(size)
    shown = router.shown(greeting)
    assert names(shown) <= base
    assert shown.tokens <= PRESENTATIONS[size].most_tokens
    if size in ("L", "XL"):
        assert names(shown) == base, "the texts of base tools are too long"


@cache
def routers(size: Size) -> ToolRouter:
    """One for all greetings: building the index takes longer than choosing."""
    return ToolRouter("any", size=size)
