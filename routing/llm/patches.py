"""Skips a step in OpenAI's client that searches every message for files and dates, which our messages don't contain.

The step takes 0.3 ms of CPU per message on the event loop: 60 ms for a conversation of 200 (measured on 2 cores).
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

COMPLETIONS = "openai.resources.chat.completions.completions"
"""The module that builds requests for /chat/completions. A test checks it against the installed client."""


def install() -> None:
    """Send chat requests as given, without the unset parameters."""
    is_given = importlib.import_module("openai._utils").is_given

    async def as_given(parameters: Mapping[str, Any], _: object) -> dict[str, Any]:
        return {name: value for name, value in parameters.items() if is_given(value)}

    completions: Any = importlib.import_module(COMPLETIONS)
    completions.async_maybe_transform = as_given
