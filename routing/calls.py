"""One call to a model and what comes of it: frozen, slotted, without I/O."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from routing.errors import ModelError
from routing.types import ModelChoice, PromptFit, Tier, TierDecision

ApiType = Literal["openai", "anthropic", "gemini"]


@dataclass(frozen=True, slots=True)
class Picture:
    """An image for a vision model."""

    mime: str
    data: bytes


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a prompt."""

    role: Literal["system", "user", "assistant"]
    text: str
    pictures: tuple[Picture, ...] = ()


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
    """Everything one call to a model needs."""

    tier: Tier
    model: str
    messages: tuple[ChatMessage, ...]
    profile: ProviderProfile
    reasoning: str | None
    temperature: float | None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counted them, and what they cost in US dollars; None is unknown, never 0."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cost: Decimal | None = None


Finish = Literal["stop", "length", "cut", "late", "stopped", "policy"]


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The next characters of an answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """The model is reasoning; its thoughts are never shown."""


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """The end of a stream; `cut` means that it broke off before the provider said so."""

    finish: Finish
    usage: Usage | None


StreamEvent = TextDelta | ThinkingDelta | StreamEnd


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered, and how it ended; `seconds` is the model's own time."""

    text: str
    finish: Finish
    usage: Usage | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """A finished turn: what was decided and what came of it; exactly one of `completion` and `error` is set."""

    decision: TierDecision
    choice: ModelChoice
    question: str
    fit: PromptFit
    completion: Completion | None
    error: ModelError | None = None
