"""The LiteLLM adapter: calls models. The only importer of litellm."""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from functools import cache
from types import ModuleType
from typing import Any

import httpx

from routing.catalog.catalog import Catalog
from routing.lean_imports import import_lazily, without_collection
from routing.llm import embeddings, message_codec, patches
from routing.llm.endpoint import resolve_endpoint
from routing.llm.error_mapping import mapped_errors, response_errors, takes_no_tools
from routing.llm.local.runtime import LocalRuntime
from routing.llm.media import calls as media_calls
from routing.llm.parameters import Target, parameters
from routing.llm.price_map import PriceMap, cost
from routing.llm.streaming import chat_stream, thinking
from routing.ports import MediaKind
from routing.types.llm import (
    GeneratedImage,
    ModelRequest,
    ProviderProfile,
    Recording,
    StreamEnd,
    StreamEvent,
    TextDelta,
    Transcript,
    Usage,
)
from routing.types.model_names import LOCAL_PROVIDER
from routing.types.vectors import Vectors

_OFFLINE = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_OFFLINE_MODE": "true",
    "LITELLM_MODE": "PRODUCTION",
    "DISABLE_AIOHTTP_TRANSPORT": "True",
}
"""Set before the import. LiteLLM then fetches no price map and reads no .env; for aiohttp see `_transport`."""

_LOGGERS = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy")
_QUIET = {
    "suppress_debug_info": True,
    "turn_off_message_logging": True,
    "telemetry": False,
    "disable_token_counter": True,
    "DEFAULT_MAX_RETRIES": 0,  # embedding calls ignore max_retries=0
}
"""LiteLLM's settings. Its token counter would load 60 to 110 MB at the first streamed call."""
_LOCAL_OUTPUT = 1024
_LOCAL_EXTRA = {"extra_body": {"repeat_penalty": 1.1}}
"""Small models that start to repeat themselves would otherwise fill the whole context."""
_CLAUDES_CLOUDS = ("bedrock", "vertex_ai", "azure_ai")
_LEVELS, _FURTHER_LEVELS = ("low", "medium", "high"), ("minimal", "xhigh")
"""Reasoning levels that every reasoning model in LiteLLM's map accepts, and those that an entry must list."""
_FUNCTION = [{"type": "function", "function": {}}]
"""Stands for the tools when LiteLLM chooses between OpenAI's two wire formats."""

log = logging.getLogger("routing.llm.adapter")


class LiteLlm:
    """`routing.ports.Llm`. Imports litellm in a thread, after the platforms have started; earlier calls wait for it.
    API keys are passed with each call, never through the environment."""

    def __init__(self, local: LocalRuntime, catalog: Catalog, proxy: str | None = None) -> None:
        self._local = local
        self._proxy = {"HTTPS_PROXY": proxy} if proxy else {}
        self._catalog = catalog
        self._loading: asyncio.Task[ModuleType] | None = None
        self._prices: PriceMap | None = None

    def load(self) -> asyncio.Task[ModuleType]:
        """Start the import (about 2 s) if it is not running yet."""
        if self._loading is None:
            self._loading = asyncio.create_task(asyncio.to_thread(_import, self._catalog, _OFFLINE | self._proxy))
        return self._loading

    async def ready(self) -> None:
        await asyncio.shield(self.load())

    async def close(self) -> None:
        """Close the connections; later calls would open new ones."""
        if self._library() is not None:
            await _transport().aclose()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        litellm = await asyncio.shield(self.load())
        if request.profile.name == LOCAL_PROVIDER:
            request = replace(request, max_output=min(request.max_output or _LOCAL_OUTPUT, _LOCAL_OUTPUT))
        adapted = message_codec.adapt(request.messages, request.model, request.tools)
        request = replace(request, messages=adapted.messages, tools=adapted.tools)
        async with self._endpoint(request) as where:
            received: list[str] = []
            with mapped_errors(request.model, request.profile, _texts(request, received)):
                async with aclosing(chat_stream.reader(await _begin(litellm, request, where))) as reader:
                    async for event in reader:
                        if isinstance(event, TextDelta):
                            received.append(event.text)
                        yield event
            counted = litellm.Usage(**reader.usage) if isinstance(reader.usage, dict) else reader.usage
            usage = _usage(litellm, request, counted) if counted else None
            if reader.finish == "tools" and not request.may_call:
                yield StreamEnd("stop", usage)
                return
            calls = tuple([replace(call, name=adapted.ours.get(call.name, call.name)) for call in reader.calls])
            yield StreamEnd(reader.finish, usage, calls, reader.thinking)

    @asynccontextmanager
    async def _endpoint(self, request: ModelRequest) -> AsyncIterator[dict[str, Any]]:
        """LiteLLM's arguments for the model and its provider. A local model is started and kept for the context."""
        if request.profile.name != LOCAL_PROVIDER:
            yield resolve_endpoint(request.model, request.profile)
            return
        async with self._local.serve(request.model.partition("/")[2]) as address:
            where = {"model": f"openai/{address.model_name}", "api_base": address.base_url, "api_key": address.api_key}
            yield where | _LOCAL_EXTRA

    async def knows(self, model: str) -> bool:
        """Whether LiteLLM's bundled map contains the model, with or without its provider."""
        litellm = await asyncio.shield(self.load())
        provider, _, name = model.partition("/")
        plain = litellm.model_cost.get(name, {})
        return model in litellm.model_cost or plain.get("litellm_provider") == provider

    def levels(self, model: str) -> tuple[str, ...]:
        """Reasoning levels of a model from the bundled map; none until litellm is imported."""
        litellm = self._library()
        if litellm is None:
            return ()
        known = litellm.model_cost
        entry = known.get(model) or known.get(model.partition("/")[2], {})
        if not entry.get("supports_reasoning"):
            return ()
        more = [level for level in _FURTHER_LEVELS if entry.get(f"supports_{level}_reasoning_effort")]
        return (*_LEVELS, *more)

    def _library(self) -> ModuleType | None:
        """litellm once it is imported."""
        if self._loading is None or not self._loading.done() or self._loading.exception() is not None:
            return None
        return self._loading.result()

    async def prices(self, profile: Callable[[str], ProviderProfile]) -> PriceMap:
        """Return the price map once litellm is imported; `profile` resolves a provider."""
        litellm = await asyncio.shield(self.load())
        if self._prices is None:
            self._prices = PriceMap(litellm, profile)
        return self._prices

    async def offered(self, kind: MediaKind, names: Sequence[str]) -> tuple[str, ...]:
        """`routing.ports.MediaLlm`."""
        return media_calls.offered((await asyncio.shield(self.load())).model_cost, kind, names)

    async def transcribe(self, model: str, profile: ProviderProfile, recording: Recording) -> Transcript:
        """`routing.ports.MediaLlm`. The result includes the length if the provider counts it."""
        litellm = await asyncio.shield(self.load())
        return await media_calls.transcribe(litellm, resolve_endpoint(model, profile), model, profile, recording)

    async def speak(self, model: str, profile: ProviderProfile, text: str, voice: str) -> bytes:
        """`routing.ports.MediaLlm`."""
        litellm = await asyncio.shield(self.load())
        return await media_calls.speak(litellm, resolve_endpoint(model, profile), model, profile, text, voice)

    async def generate_image(self, model: str, profile: ProviderProfile, prompt: str) -> GeneratedImage:
        """`routing.ports.MediaLlm`."""
        litellm = await asyncio.shield(self.load())
        return await media_calls.generate_image(litellm, resolve_endpoint(model, profile), model, profile, prompt)

    async def embed(self, model: str, profile: ProviderProfile, texts: Sequence[str]) -> Vectors:
        """`routing.ports.EmbeddingModel`."""
        litellm = await asyncio.shield(self.load())
        return await embeddings.ask(litellm, resolve_endpoint(model, profile), model, profile, texts)


def _texts(request: ModelRequest, received: Sequence[str]) -> Iterator[str]:
    """All texts of a request, and the answer as far as it was received."""
    for message in request.messages:
        yield message.text
        yield thinking.readable(message.thinking)
        yield from (call.arguments for call in message.calls)
    yield "".join(received)


async def _begin(litellm: ModuleType, request: ModelRequest, where: dict[str, Any]) -> Any:
    """Start the stream. If the provider can't verify earlier thinking or the model can't use tools, calls again without
    them."""
    target = _target(litellm, request, where)
    try:
        return await litellm.acompletion(**where, **parameters(request, target))
    except response_errors(litellm) as error:
        if request.tools and takes_no_tools(error):
            log.info("[LLM] %s can't use tools; calling again without them", request.model)
            return await litellm.acompletion(**where, **parameters(replace(request, tools=()), target))
        bare = thinking.without(request.messages)
        if bare == request.messages or not thinking.refused(error):
            raise
        log.info("[LLM] %s refused earlier thinking; calling again without it", request.model)
    return await litellm.acompletion(**where, **parameters(replace(request, messages=bare), target))


def _target(litellm: ModuleType, request: ModelRequest, where: dict[str, Any]) -> Target:
    """The wire format that LiteLLM will choose, and what its map says about the model."""
    kind, _, name = where["model"].partition("/")
    most = litellm.model_cost.get(name, litellm.model_cost.get(request.model, {})).get("max_output_tokens")
    if kind == "anthropic" or (kind in _CLAUDES_CLOUDS and "claude" in name):
        adaptive = litellm.AnthropicConfig.is_adaptive_thinking_model(name, kind)
        return Target("anthropic", adaptive, most)
    if kind in ("gemini", "vertex_ai"):
        return Target("gemini", most_output=most)
    if kind == "openai" and "_skip_responses_api_bridge" not in where:
        found, _ = litellm.main.responses_api_bridge_check(
            model=name, custom_llm_provider=kind, tools=_FUNCTION if request.tools else None,
            reasoning_effort=request.reasoning,
        )  # fmt: skip
        if found.get("mode") == "responses":
            return Target("responses", most_output=most)
    return Target("chat", most_output=most, keeps_schemas=kind == "openai")


def _usage(litellm: ModuleType, request: ModelRequest, counted: Any) -> Usage:
    prompt = getattr(counted, "prompt_tokens_details", None)
    return Usage(
        input_tokens=counted.prompt_tokens or 0,
        output_tokens=counted.completion_tokens or 0,
        cached_tokens=(prompt and prompt.cached_tokens) or 0,
        cost=cost(litellm, request.model, request.profile, counted),
    )


def _import(catalog: Catalog, environment: Mapping[str, str]) -> ModuleType:
    os.environ.update(environment)
    with without_collection():
        import_lazily("openai.resources")
        with patches.without_tokenizer():
            litellm = importlib.import_module("litellm")
        patches.send_as_given()
        patches.skip_metadata()
        patches.skip_tracebacks()
        patches.look_up_once()
        patches.make_pictures_once()
        patches.clean_schemas_once()
    patches.drop_proxy_price_map(litellm)
    for logger in _LOGGERS:
        # Their handlers would write to stderr and bypass our log, which masks secrets.
        logging.getLogger(logger).handlers.clear()
    client = httpx.AsyncClient(transport=_transport(), trust_env=False, follow_redirects=True)
    for name, value in (_QUIET | {"aclient_session": client}).items():
        setattr(litellm, name, value)
    _add_levels(litellm, catalog)
    return litellm


@cache
def _transport() -> Any:
    """The connections to providers that LiteLLM calls with OpenAI's client: LiteLLM's own, on aiohttp.

    A call takes a fifth less CPU than on httpx's. LiteLLM would use them for all providers, but then an answer of
    Anthropic or Gemini that breaks off looks complete.
    """
    handlers = importlib.import_module("litellm.llms.custom_httpx.http_handler")
    return handlers.AsyncHTTPHandler.create_aiohttp_transport(ssl_context=handlers.get_ssl_configuration())


def _add_levels(litellm: ModuleType, catalog: Catalog) -> None:
    """Add xhigh to the models that support it in our catalogue: LiteLLM drops levels that its map doesn't list."""
    for card in catalog.models():
        entry = litellm.model_cost.get(card.id)
        if entry is not None and "xhigh" in card.levels and not entry.get("supports_xhigh_reasoning_effort"):
            litellm.register_model({card.id: {**entry, "supports_xhigh_reasoning_effort": True}})
