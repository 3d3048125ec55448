"""Toolkits in a workspace, and a bot with a complete index of them."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from bot.app import App
from tests.polling import until
from tests.stories.harness import BotHarness, running

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
EVENT = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "day": {"type": "string"}},
    "required": ["title"],
}
NOTE = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def task(
    name: str, description: str, small: str, parameters: Mapping[str, Any], prints: str, more: Mapping[str, Any] = {}
) -> dict[str, Any]:
    """A tool that prints a text and its arguments; only larger models see the parameters `more`."""
    few = {"description": small, "inputSchema": parameters}
    return {
        "name": name,
        "description": description,
        "parameters": {**parameters, "properties": {**parameters["properties"], **more}},
        "capabilityHints": {"tiers": {"small": few}},
        "execute": {"command": ["sh", "-c", f"echo {prints}; cat"]},
    }


WEATHER: dict[str, Any] = {
    "name": "weather",
    "description": "The weather and its forecast for any place.",
    "keywords": ["weather", "forecast", "temperature", "rain", "Wetter", "Wettervorhersage", "Temperatur", "Regen"],
    "examples": {"get_forecast": ["What's the weather in Rome?", "Will it rain tomorrow?", "How cold is it outside?"]},
    "tasks": [task("get_forecast", "Tell the weather at a place, now and for a week.", "Weather", CITY, "sunny")],
}
DIARY: dict[str, Any] = {
    "name": "diary",
    "description": "The person's diary: meetings and appointments.",
    "keywords": ["diary", "meeting", "appointment", "Tagebuch", "Besprechung"],
    "examples": {
        "plan_meeting": ["Put a meeting with Bob into my diary", "Schedule the dentist for Friday"],
        "list_appointments": ["What is in my diary?", "Do I have any appointments this week?"],
    },
    "tasks": [
        task("plan_meeting", "Put an appointment into the diary.", "Add an appointment", EVENT, "added"),
        task("list_appointments", "List the appointments in the diary.", "List appointments", CITY, "none"),
    ],
}
NOTES: dict[str, Any] = {
    "name": "notes",
    "description": "Short notes that the person keeps.",
    "keywords": ["note", "notes", "jot down", "Notiz", "Notizen"],
    "examples": {"take_note": ["Make a note that the rent is due", "Jot this down: buy milk"]},
    "tasks": [
        task("take_note", "Keep a note of something.", "Keep a note", NOTE, "noted", {"tag": {"type": "string"}}),
        task("find_note", "Find a note by its words.", "Find a note", NOTE, "found"),
    ],
}
OWN = ("get_forecast", "plan_meeting", "list_appointments", "take_note", "find_note")


def write(on: BotHarness, document: object, name: str = "") -> None:
    """Writes a toolkit's file into the workspace atomically."""
    title = name or (document["name"] if isinstance(document, dict) else "")
    path = on.workspace / "toolkits" / f"{title}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(document if isinstance(document, str) else json.dumps(document, indent=1), encoding="utf-8")
    os.replace(new, path)


def shown(on: BotHarness) -> set[str]:
    """The workspace's tools that the newest request defines."""
    return {*on.ms.last.reading.tool_names} & {*OWN}


@asynccontextmanager
async def ready(on: BotHarness, fallback_reason: str = "") -> AsyncIterator[App]:
    """Starts a bot and waits for its complete index."""
    async with running(on) as app:
        await indexed(app, fallback_reason)
        yield app


async def indexed(app: App, fallback_reason: str = "") -> None:
    """Waits until these are the only fallback reasons."""
    selector = app.engine.tooling.selector
    await until(
        lambda: (
            selector.fallback_reason.startswith(fallback_reason) if fallback_reason else not selector.fallback_reason
        )
    )
