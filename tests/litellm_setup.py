"""LiteLLM for tests: it keeps HTTP clients for ever, but each test has its own event loop."""

from __future__ import annotations

import importlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from routing.catalog.catalog import BUNDLED, Catalog
from routing.lean_imports import without_collection
from routing.llm.adapter import LiteLlm
from routing.llm.local.runtime import LocalRuntime

OFFLINE = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_OFFLINE_MODE": "true",
    "LITELLM_MODE": "PRODUCTION",
}


def litellm_without_clients() -> Any:
    """The library, kept from the network and from any `.env`, holding no client of an earlier loop."""
    os.environ.update(OFFLINE)
    with without_collection():
        library = importlib.import_module("litellm")
    library.in_memory_llm_clients_cache.flush_cache()
    vars(library).pop("module_level_aclient", None)  # made again when it is asked for
    return library


@asynccontextmanager
async def loaded_adapter(folder: Path) -> AsyncIterator[LiteLlm]:
    """The LiteLLM adapter, loaded, with the bundled catalogue; local models would be in `folder`."""
    local = LocalRuntime(folder)
    made = LiteLlm(local, Catalog.load(BUNDLED))
    await made.load()
    litellm_without_clients()
    yield made
    await made.close()
    await local.close()


@pytest.fixture
async def llm(tmp_path: Path) -> AsyncIterator[LiteLlm]:
    """The LiteLLM adapter, loaded."""
    async with loaded_adapter(tmp_path) as made:
        yield made
