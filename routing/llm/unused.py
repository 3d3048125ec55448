"""Leaves out data that LiteLLM loads at its import and that the bot never reads: 19 MB."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

TOKENIZER = "anthropic_tokenizer.json"
"""Of Claude 2. Only LiteLLM's token counter reads it, which is off."""


@contextmanager
def tokenizer_skipped() -> Iterator[None]:
    """Inside the block, LiteLLM's import gets an empty tokenizer."""
    load = json.load

    def load_others(file: Any, **options: Any) -> Any:
        return {} if Path(str(getattr(file, "name", ""))).name == TOKENIZER else load(file, **options)

    json.load = load_others  # type: ignore[assignment]
    try:
        yield
    finally:
        json.load = load


def drop_second_map(litellm: ModuleType) -> None:
    """Drop the copy of the price map that only LiteLLM's proxy reads."""
    litellm.litellm_core_utils.get_model_cost_map.GetModelCostMap._loaded_catalog = {}
