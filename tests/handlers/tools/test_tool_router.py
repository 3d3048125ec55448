"""The choice of tools for programs of one's own, without the bot."""

from __future__ import annotations

import pytest

from handlers.tools.authoring import tool
from handlers.tools.tool_router import ToolRouter
from routing.errors import ConfigError
from routing.toolkits import ToolCard, Toolkit, ToolText


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


def test_a_large_model_is_given_what_fits_in_full() -> None:
    (definition,) = ToolRouter("openai/gpt-5.2", tools=[weather, send_email]).route("Is it going to rain in Rome?")
    assert definition["type"] == "function"
    function = definition["function"]
    assert function["name"] == "weather" and "wind and temperature" in function["description"]
    assert set(function["parameters"]["properties"]) == {"city", "days"}


def test_a_small_model_is_given_the_best_first_in_few_words() -> None:
    router = ToolRouter("ollama/qwen3:1.7b", tools=[weather, send_email])
    assert router.size == "S" and names(router, "write an email to Bob") == ["send_email", "weather"]
    function = router.route("rain in Rome?")[0]["function"]
    assert function["description"] == "Tell the weather of a city." and set(function["parameters"]["properties"]) == {
        "city"
    }
    assert "call it at once" in router.shown("rain in Rome?").hint


def test_the_size_can_be_given() -> None:
    assert ToolRouter("mine/unknown", tools=[weather]).size == "M"
    assert ToolRouter("mine/unknown", tools=[weather], size="XL").size == "XL"


def test_a_toolkit_is_shown_together() -> None:
    text = ToolText("Write down what happens on a day.", {"type": "object", "properties": {}})
    cards = tuple(
        ToolCard(name, dict.fromkeys(("S", "M", "L", "XL"), text)) for name in ("create_event", "list_events")
    )
    diary = Toolkit("diary", "Appointments and events.", keywords=("appointment",), tools=cards)
    router = ToolRouter("openai/gpt-5.2", tools=[weather], toolkits=[diary])
    assert names(router, "make an appointment with the dentist") == ["create_event", "list_events"]


def test_without_tools_ours_are_chosen_from() -> None:
    assert names(ToolRouter("ollama/qwen3:1.7b"), "what time is it in Tokyo?")[0] == "get_datetime"


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigError, match="weather is there already"):
        ToolRouter("openai/gpt-5.2", tools=[weather, weather])


def test_the_search_is_not_told_of_where_it_is_missing() -> None:
    text = ToolText("Write down what happens on a day.", {"type": "object", "properties": {}})
    cards = tuple(ToolCard(f"event_{at}", dict.fromkeys(("S", "M", "L", "XL"), text)) for at in range(20))
    router = ToolRouter("ollama/llama3.2:1b", toolkits=[Toolkit("diary", "Appointments.", tools=cards)])
    shown = router.shown("hello")
    assert len(router.route("hello")) == 8 and "called by name: event_" in shown.hint


def test_what_is_always_there_stays_beside_a_toolkit_of_many() -> None:
    text = ToolText("Create an issue in jira.", {"type": "object", "properties": {}})
    many = tuple(ToolCard(f"jira_{at}", dict.fromkeys(("S", "M", "L", "XL"), text)) for at in range(156))
    plain = ToolCard("calculate", dict.fromkeys(("S", "M", "L", "XL"), ToolText("Work out a sum.", text.parameters)))
    kits = [Toolkit("basics", "Sums.", tools=(plain,), base=True), Toolkit("jira", "Issues in jira.", tools=many)]
    found = names(ToolRouter("openai/gpt-5.2", toolkits=kits), "create an issue in jira")
    assert "calculate" in found and 1 < len(found) <= 128
