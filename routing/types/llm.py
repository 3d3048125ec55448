"""One call to a model and what comes of it: frozen, slotted, without I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

from routing.types.tiers import Tier

ApiType = Literal["openai", "anthropic", "gemini"]


@dataclass(frozen=True, slots=True)
class Picture:
    """An image for a vision model."""

    mime: str
    data: bytes


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model sees it; `parameters` is a JSON Schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that a model wants to be run. `arguments` is the JSON text as the model wrote it, legal or not;
    `signature` is what its provider demands back with the call (Gemini's thought signature)."""

    id: str
    name: str
    arguments: str
    signature: str = ""


Speaker = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a prompt.

    An assistant's may hold `calls`; `made_by` is the `provider/model` that wrote it, `thinking` the provider's own
    thinking blocks as a JSON list, to be given back to that provider alone. A tool's is the result of the call
    `call_id` of the tool `tool`.
    """

    role: Speaker
    text: str
    pictures: tuple[Picture, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    made_by: str = ""
    thinking: str = ""
    call_id: str = ""
    tool: str = ""


@dataclass(frozen=True, slots=True)
class ProviderProfile:
    """How a provider is reached. `variable` is where its key is set: in the environment or in runtime-config.json."""

    name: str
    api_type: ApiType | None
    base_url: str | None
    api_key: str | None = field(repr=False)
    timeout_seconds: float
    variable: str


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """Everything one call to a model needs. `max_output` is how many tokens it may write, its thinking in; None
    leaves that to the provider."""

    tier: Tier
    model: str
    messages: tuple[ChatMessage, ...]
    profile: ProviderProfile
    reasoning: str | None
    temperature: float | None
    tools: tuple[ToolSpec, ...] = ()
    max_output: int | None = None
    may_call: bool = True
    """False keeps the tools in the request, for the provider's cache, and forbids their use."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counted them, and what they cost in US dollars; None is unknown, never 0."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cost: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Transcript:
    """The words of a voice message, and its length in seconds as the provider counted them (None: it did not)."""

    text: str
    seconds: float | None = None


Finish = Literal["stop", "tools", "length", "cut", "late", "stopped", "policy"]


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The next characters of an answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """The model is reasoning; its thoughts are never shown."""


@dataclass(frozen=True, slots=True)
class CallDelta:
    """The model is writing a tool call; it comes whole with the end."""


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """The end of a stream; `cut` means that it broke off before the provider said so. `calls` are whole: with any
    other finish than `tools` there are none."""

    finish: Finish
    usage: Usage | None
    calls: tuple[ToolCall, ...] = ()
    thinking: str = ""


StreamEvent = TextDelta | ThinkingDelta | CallDelta | StreamEnd


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered, and how it ended; `seconds` is the model's own time, `first_token` those to its first sign
    of life (None: there was none)."""

    text: str
    finish: Finish
    usage: Usage | None
    seconds: float
    calls: tuple[ToolCall, ...] = ()
    thinking: str = ""
    first_token: float | None = None
