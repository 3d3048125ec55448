"""Changes to LiteLLM and OpenAI's client at run time. They save 19 MB, a fifth of the CPU of each call, and 0.3 ms for
each message sent."""

from __future__ import annotations

import importlib
import json
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from routing.bounded import Bounded

COMPLETIONS = "openai.resources.chat.completions.completions"
"""The module that builds requests for /chat/completions. A test checks it against the installed client."""
TOKENIZER = "anthropic_tokenizer.json"
"""Of Claude 2. Only LiteLLM's token counter reads it, which is off."""


ERRORS = "litellm.litellm_core_utils.exception_mapping_utils"
LOGGING = "litellm.litellm_core_utils.litellm_logging"
MAIN = "litellm.main"
STREAMS = "litellm.litellm_core_utils.streaming_handler"
UTILS = "litellm.utils"
OPENAI_HANDLER = "litellm.llms.openai.openai"
OPENAI_REQUESTS = "litellm.llms.openai.chat.gpt_transformation"
MAPPED = frozenset({"openai", "anthropic", "gemini", "vertex_ai", "groq", "deepseek", "xai", "openrouter", "mistral"})
"""Providers whose models LiteLLM looks up in its map alone. It asks Ollama and others, whose answers change."""
_MODELS = 256
_SCHEMAS = 1_000


@contextmanager
def without_tokenizer() -> Iterator[None]:
    """Inside the block, LiteLLM's import gets an empty tokenizer."""
    library: Any = json
    load = json.load

    def load_others(file: Any, **options: Any) -> Any:
        return {} if Path(str(getattr(file, "name", ""))).name == TOKENIZER else load(file, **options)

    library.load = load_others
    try:
        yield
    finally:
        library.load = load


def drop_proxy_price_map(litellm: ModuleType) -> None:
    """Drop the copy of the price map that only LiteLLM's proxy reads."""
    litellm.litellm_core_utils.get_model_cost_map.GetModelCostMap._loaded_catalog = {}


def send_as_given() -> None:
    """Make OpenAI's client send chat requests as given, without the unset parameters.

    It would search every message for files and dates, which ours don't contain. That takes 0.3 ms of CPU per message
    on the event loop: 60 ms for a conversation of 200 (measured on 2 cores).
    """
    is_given = importlib.import_module("openai._utils").is_given

    async def as_given(parameters: Mapping[str, Any], _: object) -> dict[str, Any]:
        return {name: value for name, value in parameters.items() if is_given(value)}

    completions: Any = importlib.import_module(COMPLETIONS)
    completions.async_maybe_transform = as_given


def skip_metadata() -> None:
    """Leave out the cost and the address that LiteLLM adds to each answer. We read neither and price calls ourselves;
    they take a tenth of a call's CPU."""
    utils: Any = importlib.import_module(UTILS)
    streams: Any = importlib.import_module(STREAMS)
    utils.update_response_metadata = streams.get_api_base = _nothing


def skip_tracebacks() -> None:
    """Leave out the tracebacks that LiteLLM writes of each failed call. We don't read them, and Python keeps the whole
    source files that they quote: 5 MB. They take 8 of the call's 13 ms of CPU."""
    quiet = SimpleNamespace(**vars(traceback) | {"format_exc": str, "format_tb": lambda _: []})
    for name in (ERRORS, LOGGING, STREAMS, UTILS):
        module: Any = importlib.import_module(name)
        module.traceback = quiet


def make_pictures_once() -> None:
    """LiteLLM ignores `max_retries` for pictures: OpenAI's client would ask for a failed one twice more, each paid."""
    handler: Any = importlib.import_module(OPENAI_HANDLER).OpenAIChatCompletion
    make = handler.image_generation
    if make.__module__ == __name__:  # installed already
        return

    def once(self: Any, *, optional_params: Mapping[str, Any], **request: Any) -> Any:
        return make(self, optional_params={**optional_params, "max_retries": 0}, **request)

    handler.image_generation = once


def _nothing(**_: object) -> None:
    return None


def look_up_once() -> None:
    """Remember what LiteLLM's map says about a model until the map changes. LiteLLM looks it up eight times in a call,
    which takes a tenth of the call's CPU."""
    utils: Any = importlib.import_module(UTILS)
    main: Any = importlib.import_module(MAIN)
    look_up = utils.get_model_info_helper
    if look_up.__module__ == __name__:  # installed already
        return

    @lru_cache(_MODELS)
    def known(model: str, provider: str, _generation: int) -> dict[str, Any]:
        return dict(look_up(model, provider))

    def remembered(
        model: str, custom_llm_provider: str | None = None, api_base: str | None = None, api_key: str | None = None
    ) -> Any:
        if custom_llm_provider not in MAPPED:
            return look_up(model, custom_llm_provider, api_base, api_key)
        return known(model, custom_llm_provider, utils.get_model_cost_mutation_generation()).copy()

    utils.get_model_info_helper = main.get_model_info_helper = remembered


def clean_schemas_once() -> None:
    """Remember the schemas that LiteLLM has cleaned for OpenAI. It cleans those of all tools in each call, which takes
    2 % of a turn with 17 tools."""
    requests: Any = importlib.import_module(OPENAI_REQUESTS)
    clean = requests.tool_with_sanitized_parameters
    if clean.__module__ == __name__:  # installed already
        return
    cleaned: Bounded[tuple[int, Any], tuple[Any, Any]] = Bounded(_SCHEMAS)

    def remembered(tool: Mapping[str, Any], sanitize: Any) -> Mapping[str, Any]:
        function = tool.get("function") or {}
        schema = function.get("parameters")
        if not isinstance(schema, dict):
            return clean(tool, sanitize)  # type: ignore[no-any-return]  # LiteLLM is untyped here
        key = id(schema), sanitize
        known = cleaned.get(key)
        if known is None:  # kept with the schema, and so with its id
            known = cleaned[key] = schema, clean(tool, sanitize)["function"]["parameters"]
        parameters = known[1]
        return tool if parameters is schema else {**tool, "function": {**function, "parameters": parameters}}

    requests.tool_with_sanitized_parameters = remembered
