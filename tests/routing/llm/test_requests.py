"""The requests that LiteLLM sends for us, and how it reads the answers; through its real code."""

from typing import cast

import pytest

from routing.catalog.catalog import BUNDLED, Catalog
from routing.config import jsonfile
from routing.config.runtime import DEFAULT_SLOTS, read_config
from routing.errors import BadModelRequest, ContextOverflow, KeyRejected, ModelError, ModelUnknown, RateLimited
from routing.llm.adapter import LiteLlm
from routing.llm.error_mapping import map_error
from routing.policy.models import Models
from routing.types.llm import (
    ApiType,
    ChatMessage,
    Finish,
    Picture,
    ProviderProfile,
    StreamEnd,
    TextDelta,
    ThinkingDelta,
    Usage,
)
from routing.types.llm import ModelRequest as Request
from routing.types.model_names import provider_of
from routing.types.tiers import TIERS, Tier
from tests.routing.turn.conversations import base, profile
from tests.servers.model import ModelServer

CATALOG = Catalog.load(BUNDLED)
WIRES: tuple[tuple[ApiType, str], ...] = (
    ("openai", "gpt-4.1"),
    ("anthropic", "claude-haiku-4-5"),
    ("gemini", "gemini-2.5-flash"),
)


def request(
    model: str, where: ProviderProfile, reasoning: str | None = None, temperature: float | None = None
) -> Request:
    messages = (ChatMessage("system", "Be brief."), ChatMessage("user", "hi"))
    return Request("balanced", model, messages, where, reasoning, temperature)


async def collect(llm: LiteLlm, asked: Request) -> tuple[str, Finish, Usage | None]:
    text = ""
    end: StreamEnd | None = None
    async for event in llm.stream(asked):
        assert end is None, "something came after the end"
        if isinstance(event, TextDelta):
            text += event.text
        elif isinstance(event, StreamEnd):
            end = event
    assert end is not None
    return text, end.finish, end.usage


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("own_address", [True, False])
async def test_each_bundled_default_reaches_the_wire_as_configured(
    llm: LiteLlm, ms: ModelServer, monkeypatch: pytest.MonkeyPatch, tier: Tier, own_address: bool
) -> None:
    """At a custom address, and at the vendor's (set through the library's own variable)."""
    monkeypatch.setenv("OPENAI_API_BASE", ms.openai_base)
    document = f'{{"llm": {{"providers": {{"openai": {{"baseUrl": "{ms.openai_base}"}}}}}}}}' if own_address else "{}"
    config = read_config(jsonfile.parse(document, "x.json"), {"openai": "sk-mine"}, {})
    model, level = DEFAULT_SLOTS[tier]
    models = Models(config, CATALOG)
    sent = models.reasoning(model, config.reasoning[tier])
    said = await collect(llm, request(model, config.profile("openai"), sent))
    assert said[:2] == ("You said: hi", "stop")
    assert ms.last.model == model.partition("/")[2]
    assert ms.last.key == "sk-mine"
    assert ms.last.reading.effort == (None if level == "none" else level)
    assert ms.last.reading.temperature is None


ALL_LEVELS = [
    (card.name, level)
    for card in CATALOG.models()
    for level in card.levels
    if card.provider in ("openai", "anthropic", "gemini") and level != "none"
]


async def test_every_level_of_every_model_of_the_three_reaches_the_wire(llm: LiteLlm, ms: ModelServer) -> None:
    lost = []
    for model, level in ALL_LEVELS:
        kind = cast(ApiType, provider_of(model))
        where = profile(kind, kind, base(ms, kind))
        try:
            await collect(llm, request(model, where, level))
        except ModelError as error:
            lost.append((model, level, error.reason))
            continue
        reading = ms.last.reading
        exact = kind == "openai" and reading.effort != level
        if exact or (reading.effort is None and not reading.thinking_budget):
            lost.append((model, level, f"effort {reading.effort}, budget {reading.thinking_budget}"))
    assert lost == []


@pytest.mark.parametrize(("kind", "name"), WIRES)
async def test_without_reasoning_a_temperature_is_sent(llm: LiteLlm, ms: ModelServer, kind: ApiType, name: str) -> None:
    where = profile(kind, kind, base(ms, kind))
    await collect(llm, request(f"{kind}/{name}", where, None, 0.3))
    assert (ms.last.reading.temperature, ms.last.reading.effort, ms.last.reading.thinking_budget) == (0.3, None, None)
    await collect(llm, request(f"{kind}/{name}", where))
    assert ms.last.reading.temperature is None


@pytest.mark.parametrize("kind", ["openai", "anthropic", "gemini"])
async def test_a_custom_provider_can_use_any_protocol(llm: LiteLlm, ms: ModelServer, kind: ApiType) -> None:
    where = profile("myrouter", kind, base(ms, kind, "myrouter"))
    text, finish, usage = await collect(llm, request("myrouter/llama-99", where, None, 0.5))
    assert text.endswith("hi")
    assert finish == "stop"
    assert usage is not None
    assert (ms.last.vendor, ms.last.provider, ms.last.model) == ("myrouter", kind, "llama-99")
    assert usage.cost is None  # its price is unknown


@pytest.mark.parametrize("kind", ["openai", "anthropic", "gemini"])
async def test_a_url_without_a_path_gets_the_default_path(llm: LiteLlm, ms: ModelServer, kind: ApiType) -> None:
    text, *_ = await collect(llm, request("house/x", profile("house", kind, f"{ms.root}/")))
    assert text.endswith("hi")


async def test_a_level_reaches_a_custom_model_that_the_library_does_not_know(llm: LiteLlm, ms: ModelServer) -> None:
    await collect(llm, request("house/brandnew", profile("house", "openai", base(ms, "openai", "house")), "high"))
    assert ms.last.reading.effort == "high"


async def test_keys_never_go_to_another_providers_url(
    llm: LiteLlm, ms: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in ("openai", "anthropic", "gemini"):
        monkeypatch.setenv(f"{kind.upper()}_API_KEY", f"sk-env-{kind}")
    for kind, name in WIRES:
        for vendor in ("north", "south"):
            where = profile(vendor, kind, base(ms, kind, vendor), f"sk-of-{vendor}")
            await collect(llm, request(f"{vendor}/{name}", where))
    seen = {(call.vendor, call.key) for call in ms.calls}
    assert seen == {("north", "sk-of-north"), ("south", "sk-of-south")}
    assert "sk-env" not in str([(call.headers, call.query, call.body) for call in ms.calls])


@pytest.mark.parametrize(("kind", "name"), WIRES)
async def test_a_keyless_url_never_gets_the_environments_key(
    llm: LiteLlm, ms: ModelServer, monkeypatch: pytest.MonkeyPatch, kind: ApiType, name: str
) -> None:
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.setenv(variable, "sk-leak")
    await collect(llm, request(f"house/{name}", profile("house", kind, base(ms, kind, "house"), None)))
    assert ms.last.vendor == "house"
    assert ms.last.key == "none"
    assert "sk-leak" not in str((ms.last.headers, ms.last.query, ms.last.body))


async def test_without_key_and_url_the_variable_is_named_and_nothing_sent(
    llm: LiteLlm, ms: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-leak")
    monkeypatch.setenv("OPENAI_API_BASE", ms.openai_base)
    with pytest.raises(KeyRejected, match="OPENAI_API_KEY"):
        await collect(llm, request("openai/gpt-5.1", profile("openai", "openai", None, None)))
    assert ms.calls == []


@pytest.mark.parametrize(("kind", "name"), WIRES)
async def test_errors_are_mapped_with_a_reason_and_no_key(
    llm: LiteLlm, ms: ModelServer, kind: ApiType, name: str
) -> None:
    where = profile(kind, kind, base(ms, kind), "sk-mine-0123456789abcdef")
    model = f"{kind}/{name}"
    expected: list[tuple[int, type[ModelError]]] = [
        (401, KeyRejected), (403, KeyRejected), (404, ModelUnknown), (429, RateLimited), (400, BadModelRequest),
    ]  # fmt: skip
    for status, error in expected:
        ms.fail(status, message=f"no, not with sk-mine-0123456789abcdef ({status})")
        with pytest.raises(error) as refused:
            await collect(llm, request(model, where))
        assert refused.value.model == model
        assert "0123456789abcdef" not in str(refused.value)
        if error is KeyRejected:
            assert f"{kind.upper()}_API_KEY" in refused.value.reason
    for status in (500, 503):
        ms.fail(status)
        with pytest.raises(ModelError) as broken:
            await collect(llm, request(model, where))
        assert broken.value.retryable
    ms.fail(429, retry_after=7)
    with pytest.raises(RateLimited) as limited:
        await collect(llm, request(model, where))
    assert limited.value.retry_after == 7
    ms.reset()
    with pytest.raises(ModelError) as cut:
        await collect(llm, request(model, where))
    assert cut.value.retryable


@pytest.mark.parametrize(
    ("wire", "status", "code", "words"),
    [
        (0, 400, "context_length_exceeded", "This model's maximum context length is 128000 tokens."),
        (0, 400, "invalid_request_error", "Your input exceeds the context window of this model."),
        (0, 400, "x", "This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
        (1, 400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
        (1, 413, "request_too_large", "Request exceeds the maximum size"),
        (2, 400, "INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum of 1048576."),
    ],
)
async def test_an_overflow_is_recognised_by_its_message(
    llm: LiteLlm, ms: ModelServer, wire: int, status: int, code: str, words: str
) -> None:
    kind, name = WIRES[wire]
    ms.fail(status, code, words)
    with pytest.raises(ContextOverflow):
        await collect(llm, request(f"{kind}/{name}", profile(kind, kind, base(ms, kind))))


@pytest.mark.parametrize(("kind", "name"), WIRES)
async def test_a_broken_stream_is_cut_off_not_finished(llm: LiteLlm, ms: ModelServer, kind: ApiType, name: str) -> None:
    ms.truncate(after_chunks=2, text="one two three four five six seven eight")
    text, finish, _ = await collect(llm, request(f"{kind}/{name}", profile(kind, kind, base(ms, kind))))
    assert text
    assert "eight" not in text
    assert finish == "cut"


@pytest.mark.parametrize(("kind", "name"), WIRES)
async def test_finish_reasons_and_usage_are_kept(llm: LiteLlm, ms: ModelServer, kind: ApiType, name: str) -> None:
    asked = request(f"{kind}/{name}", profile(kind, kind, base(ms, kind)))
    ms.reply("done", usage=(1000, 200))
    text, finish, usage = await collect(llm, asked)
    assert (text, finish) == ("done", "stop")
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens) == (1000, 200)
    assert usage.cost is not None
    assert usage.cost > 0
    ms.length_cut("too lo")
    assert (await collect(llm, asked))[:2] == ("too lo", "length")
    ms.reply("I can", finish="content_filter")
    assert (await collect(llm, asked))[:2] == ("I can", "policy")


@pytest.mark.parametrize(
    ("kind", "name"), [("openai", "gpt-5.2"), ("anthropic", "claude-opus-4-5"), ("gemini", "gemini-2.5-pro")]
)
async def test_thoughts_are_never_part_of_the_text(llm: LiteLlm, ms: ModelServer, kind: ApiType, name: str) -> None:
    ms.reasoning("secret thoughts", then="the answer")
    asked = request(f"{kind}/{name}", profile(kind, kind, base(ms, kind)), "high")
    events = [event async for event in llm.stream(asked)]
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "the answer"
    assert all(isinstance(event, TextDelta | ThinkingDelta | StreamEnd) for event in events)


@pytest.mark.parametrize(("kind", "name"), WIRES)
async def test_pictures_are_sent(llm: LiteLlm, ms: ModelServer, kind: ApiType, name: str) -> None:
    seen = ChatMessage("user", "what?", (Picture("image/png", b"\x89PNG picture"),))
    where = profile(kind, kind, base(ms, kind))
    await collect(llm, Request("balanced", f"{kind}/{name}", (seen,), where, None, None))
    assert "iVBORyBwaWN0dXJl" in str(ms.last.body)  # base64 of the bytes, without their padding
    assert ms.last.last_user_text == "what?"


async def test_the_bundled_map_knows_a_model_only_under_its_own_provider(llm: LiteLlm) -> None:
    assert await llm.knows("openai/gpt-3.5-turbo")
    assert await llm.knows("anthropic/claude-sonnet-4-5")
    assert not await llm.knows("anthropic/gpt-3.5-turbo")
    assert not await llm.knows("openai/brandnew")


def test_an_unknown_host_is_unreachable() -> None:
    error = map_error(OSError("nobody home"), "house/x", profile("house", "openai", "http://h"))
    assert (type(error).__name__, error.raw) == ("Unreachable", "nobody home")
