"""A valid toolkit file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def schema(*names: str, required: tuple[str, ...] = ()) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
    return {**found, "required": list(required)} if required else found


def document() -> dict[str, Any]:
    """A valid toolkit."""
    weather = {"name": "get_weather", "description": "Weather, in full.", "parameters": schema("city", "day")}
    hints = {
        "tiers": {
            "small": {"description": "Weather", "inputSchema": schema("city")},
            "medium": {"description": "Weather of a day"},
        },
        "category": "outdoors",
        "priority": 2,
    }
    return {
        "name": "weather",
        "tier": "free",
        "description": "The weather.",
        "category": "nature",
        "keywords": ["rain", "Regen", "rain", "비"],
        "examples": {"get_weather": ["Will it rain?"], "get_tide": ["When is high tide?"]},
        "tasks": [
            {
                "type": "function",
                "function": weather,
                "capabilityHints": hints,
                "execute": {"command": ["python3", "-c", "x"]},
            },
            {"name": "get_tide", "description": "Tides.", "execute": {"mcp": "sea/tide/now"}},
        ],
    }


def written(folder: Path, content: object, name: str = "weather.json") -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1), encoding="utf-8")
    return path
