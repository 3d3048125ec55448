"""Tool selection for other programs, without the bot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from handlers.tools.authoring.decorator import FunctionTool, tool
from handlers.tools.tool_router import ToolRouter
from routing.errors import ConfigError
from routing.types.decisions import SIZES
from routing.types.toolkits import ToolCard, Toolkit, ToolText


@tool(examples=["Will it rain in Oslo?"], parameters={"S": ("city",)})
def weather(city: str, days: int = 1) -> str:
    """Tell the weather of a city. Use it for rain, wind and temperature."""
    return f"{city} {days}"


@tool(examples=["Send Ann the report"])
def send_email(to: str, text: str) -> str:
    """Send an email to somebody. Use it for letters, too."""
    return f"{to} {text}"


def names(router: ToolRouter, query: str) -> list[str]:
    return [definition["function"]["name"] for definition in router.route(query)]


def test_a_large_model_gets_full_definitions() -> None:
    (definition,) = ToolRouter("openai/gpt-5.2", tools=[weather, send_email]).route("Is it going to rain in Rome?")
    assert definition["type"] == "function"
    function = definition["function"]
    assert function["name"] == "weather"
    assert "wind and temperature" in function["description"]
    assert set(function["parameters"]["properties"]) == {"city", "days"}


def test_a_small_model_gets_short_definitions_best_first() -> None:
    router = ToolRouter("ollama/qwen3:1.7b", tools=[weather, send_email])
    assert router.size == "S"
    assert names(router, "write an email to Bob") == ["send_email", "weather"]
    function = router.route("rain in Rome?")[0]["function"]
    assert function["description"] == "Tell the weather of a city."
    assert set(function["parameters"]["properties"]) == {"city"}
    assert "call it at once" in router.shown("rain in Rome?").hint


def test_the_size_can_be_set() -> None:
    assert ToolRouter("mine/unknown", tools=[weather]).size == "M"
    assert ToolRouter("mine/unknown", tools=[weather], size="XL").size == "XL"


def test_toolkits_are_shown_as_a_whole() -> None:
    text = ToolText("Write down what happens on a day.", {"type": "object", "properties": {}})
    cards = tuple(
        ToolCard(name, dict.fromkeys(("S", "M", "L", "XL"), text)) for name in ("create_event", "list_events")
    )
    diary = Toolkit("diary", "Appointments and events.", keywords=("appointment",), tools=cards)
    router = ToolRouter("openai/gpt-5.2", tools=[weather], toolkits=[diary])
    assert names(router, "make an appointment with the dentist") == ["create_event", "list_events"]


def test_our_tools_are_the_default() -> None:
    assert names(ToolRouter("ollama/qwen3:1.7b"), "what time is it in Tokyo?")[0] == "get_datetime"


def kit(name: str, *tools: str) -> Toolkit:
    text = ToolText("Tell of the sky.", {"type": "object", "properties": {}})
    return Toolkit(name, "The sky.", tools=tuple(ToolCard(each, dict.fromkeys(SIZES, text)) for each in tools))


@pytest.mark.parametrize("given", [{"tools": []}, {"toolkits": ()}, {"tools": iter(()), "toolkits": []}])
def test_an_empty_list_means_no_tools(given: dict[str, Any]) -> None:
    router = ToolRouter("ollama/qwen3:1.7b", **given)
    shown = router.shown("run ls in the shell")
    assert router.route("run ls in the shell") == []
    assert "run_command" not in shown.hint
    assert names(ToolRouter("ollama/qwen3:1.7b", tools=None, toolkits=None), "run ls in the shell")


@pytest.mark.parametrize(
    ("tools", "toolkits", "where"),
    [
        ([weather, weather], [], "tool weather already exists, twice in tools"),
        ([send_email, weather], [kit("sky", "stars", "weather")], "tool weather .* in tools and in the toolkit sky"),
        ([], [kit("sky", "stars"), kit("night", "stars")], "tool stars .* in the toolkit sky and in the toolkit night"),
        ([], [kit("sky", "stars", "stars")], "tool stars .* twice in the toolkit sky"),
        ([], [kit("sky", "stars"), kit("sky", "moon")], "toolkit sky .* twice in toolkits"),
        ([weather], [kit("weather", "stars")], "toolkit weather .* in tools and in toolkits"),
    ],
)
def test_a_duplicate_name_is_refused_with_both_positions(
    tools: Sequence[FunctionTool[..., Any]], toolkits: Sequence[Toolkit], where: str
) -> None:
    with pytest.raises(ConfigError, match=rf"^The {where}: rename one of the two\.$"):
        ToolRouter("openai/gpt-5.2", tools=tools, toolkits=toolkits)


def test_a_toolkit_may_have_the_name_of_its_tool() -> None:
    router = ToolRouter("openai/gpt-5.2", tools=[send_email], toolkits=[kit("sky", "sky")])
    assert names(router, "tell me of the sky") == ["sky"]


@pytest.mark.parametrize("size", ["XXL", "", "s", 3])
def test_an_unknown_size_is_refused(size: Any) -> None:
    with pytest.raises(ConfigError, match=rf"^The size {size!r} is none: the sizes are S, M, L, XL\.$"):
        ToolRouter("openai/gpt-5.2", tools=[weather], size=size)


def test_a_missing_discovery_tool_is_not_mentioned() -> None:
    text = ToolText("Write down what happens on a day.", {"type": "object", "properties": {}})
    cards = tuple(ToolCard(f"event_{at}", dict.fromkeys(("S", "M", "L", "XL"), text)) for at in range(20))
    router = ToolRouter("ollama/llama3.2:1b", toolkits=[Toolkit("diary", "Appointments.", tools=cards)])
    shown = router.shown("hello")
    assert len(router.route("hello")) == 8
    assert "called by name: event_" in shown.hint


def test_base_tools_stay_beside_a_large_toolkit() -> None:
    text = ToolText("Create an issue in jira.", {"type": "object", "properties": {}})
    many = tuple(ToolCard(f"jira_{at}", dict.fromkeys(("S", "M", "L", "XL"), text)) for at in range(156))
    plain = ToolCard("calculate", dict.fromkeys(("S", "M", "L", "XL"), ToolText("Work out a sum.", text.parameters)))
    kits = [Toolkit("basics", "Sums.", tools=(plain,), base=True), Toolkit("jira", "Issues in jira.", tools=many)]
    found = names(ToolRouter("openai/gpt-5.2", toolkits=kits), "create an issue in jira")
    assert "calculate" in found
    assert 1 < len(found) <= 128
