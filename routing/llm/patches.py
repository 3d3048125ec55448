"""A step of OpenAI's client left out: it looks into every message for files and dates to rewrite, of which ours hold
none. Measured on 2 cores: 0.3 ms of CPU a message, on the event loop, 60 ms for a conversation of 200."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

COMPLETIONS = "openai.resources.chat.completions.completions"
"""Where the client builds a request for /chat/completions. A test holds this against the installed client."""


def install() -> None:
    """Let chat requests go out as they are given, less the parameters that are not set."""
    is_given = importlib.import_module("openai._utils").is_given

    async def as_given(parameters: Mapping[str, Any], _: object) -> dict[str, Any]:
        return {name: value for name, value in parameters.items() if is_given(value)}

    completions: Any = importlib.import_module(COMPLETIONS)
    completions.async_maybe_transform = as_given
