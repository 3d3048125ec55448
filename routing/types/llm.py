"""Model calls and their results."""

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
    """A tool call by a model. `arguments` is the JSON text as written, valid or not; `signature` must be sent back to
    the provider with the call (Gemini's thought signature)."""

    id: str
    name: str
    arguments: str
    signature: str = ""


Speaker = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a prompt.

    An assistant's message may have `calls`; `made_by` is the `provider/model` that wrote it, `thinking` the provider's
    thinking blocks as a JSON list, to be sent back only to that provider. A tool's message is the result of call
    `call_id` of `tool`.
    """

    role: Speaker
    text: str
    pictures: tuple[Picture, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    made_by: str = ""
    thinking: str = ""
    call_id: str = ""
    tool: str = ""


NO_KEY = "none"
"""Sent to a provider that needs no key; otherwise LiteLLM would send the key from the environment."""


@dataclass(frozen=True, slots=True)
class ProviderProfile:
    """How to reach a provider. `variable` names the setting of its key, in the environment or runtime-config.json."""

    name: str
    api_type: ApiType | None
    base_url: str | None
    api_key: str | None = field(repr=False)
    timeout_seconds: float
    variable: str


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call to a model. `max_output` limits its output tokens, thinking included; None leaves it to the provider."""

    tier: Tier
    model: str
    messages: tuple[ChatMessage, ...]
    profile: ProviderProfile
    reasoning: str | None
    temperature: float | None
    tools: tuple[ToolSpec, ...] = ()
    max_output: int | None = None
    may_call: bool = True
    """False forbids calls but keeps the tools in the request, for the provider's cache."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens counted by the provider, and their cost in US dollars (None: unknown)."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    cost: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Recording:
    """A voice message. `language` is the ISO 639-1 code of the language that is probably spoken; empty if unknown."""

    name: str
    data: bytes
    language: str = ""


@dataclass(frozen=True, slots=True)
class Transcript:
    """The text of a voice message, and its length in seconds if the provider counted it."""

    text: str
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class GeneratedImage:
    """A picture that a model made, in any format, or else its `url`; and its tokens if the provider counted them."""

    data: bytes = b""
    url: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None


Finish = Literal["stop", "tools", "length", "cut", "late", "stopped", "policy"]


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The next characters of an answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """The model is thinking; the text is never shown."""


@dataclass(frozen=True, slots=True)
class CallDelta:
    """The model is writing a tool call, which arrives whole at the end."""


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """The end of a stream. `cut`: it broke off without an end. `calls` is empty unless `finish` is `tools`."""

    finish: Finish
    usage: Usage | None
    calls: tuple[ToolCall, ...] = ()
    thinking: str = ""


StreamEvent = TextDelta | ThinkingDelta | CallDelta | StreamEnd


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer and how it ended. `seconds` is the model's own time; `first_token` the time to its first sign of
    activity (None: there was none)."""

    text: str
    finish: Finish
    usage: Usage | None
    seconds: float
    calls: tuple[ToolCall, ...] = ()
    thinking: str = ""
    first_token: float | None = None
