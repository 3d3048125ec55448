"""Maps LiteLLM's exceptions to our errors, without secrets in the reasons."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import re
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC
from email.utils import parsedate_to_datetime
from types import ModuleType

from routing.errors import (
    BadModelRequest,
    ContextOverflow,
    KeyRejected,
    ModelError,
    ModelUnknown,
    OutOfCredit,
    PolicyRefused,
    RateLimited,
    Reason,
    Unreachable,
)
from routing.llm.quotations import decoded, without_sent
from routing.ports import Clock
from routing.redaction import Secrets, masked_words
from routing.types.llm import ProviderProfile
from routing.types.model_names import OLLAMA

OVERFLOW_WORDS = (
    "exceeds maximum input length",
    "context_length_exceeded",
    "maximum context length",
    "too many tokens",
    "request too large",
    "exceeds the available context size",
    "exceeds the context window",
    "exceed context limit",
    "maximum prompt length is",
    "input token count",
    "reduce the length of the messages",
    "prompt is too long",
    "input is too long for requested model",
    "request_too_large",
    "request exceeds the maximum size",
)
"""Searched in the whole cause chain, ignoring case. From the sixth on they come from llama.cpp, OpenAI, Anthropic,
xAI, Gemini, Groq, Anthropic, Bedrock and Anthropic's HTTP 413."""
_WINDOW = re.compile(
    r"(?:maximum context length is|maximum prompt length is|tokens >|context limit: \d{1,9} \+ \d{1,9} >|"
    r"maximum number of tokens allowed \(|available context size \(|\(tpm\): limit|\"n_ctx\":) ?(\d{1,9})"
)
"""The limit named in an overflow error: OpenAI and vLLM, xAI, Anthropic (two), Gemini, llama.cpp (two), Groq."""
CREDIT_WORDS = (
    "insufficient_quota",
    "billing_hard_limit_reached",
    "billing_not_active",
    "credit balance is too low",
    "insufficient balance",
    "insufficient credits",
    "requires more credits",
    "used all available credits",
    "doesn't have any credits",
    "exceeded_current_quota_error",
    "arrearage",
)
"""Vendors' errors for an account without credit: OpenAI (three), Anthropic, DeepSeek, OpenRouter (two), xAI (two),
Moonshot, Alibaba."""
_CREDIT_STATUSES = (400, 401, 403, 429)
_KEY_STATUSES = (401, 403)
_NO_PROVIDER = "llm provider not provided"
_NOT_PULLED = "try pulling it first"
_POLICY_WORDS = ("content_policy", "content_filter")
_MESSAGE = re.compile(r"""["']message["']: *(["'])((?:\\++.|(?!\1)[^\\])++)\1""")
_ESCAPED = re.compile(r"""(?<!\\)\\++(["'])""")
_ESCAPED_LINE_END = re.compile(r"(?<!\\)\\++n")
_CLASS = r"(?:litellm\.)?\w*(?:Exception|Error|Timeout)(?: \w*Error| Timeout)?(?: - |: )"
_STATE = r"[A-Z][A-Z_]+ - "
_PREAMBLE = re.compile(f"^(?:{_CLASS}|{_STATE})+")
"""LiteLLM's class names, and Gemini's prefix such as `INTERNAL - `."""
_POSTSCRIPT = re.compile(r"\.? (?:Handle with `litellm\.\w+`|Error_str: .*)\.?$")
_LINE_FAULTS = frozenset({"ConnectError", "ReadError", "WriteError", "RemoteProtocolError"})
"""The HTTP client's connection errors; some have no text."""
_MAX_REASON_CHARACTERS, _MAX_READ_CHARACTERS = 160, 600
_CODE = re.compile(r"[a-z]++(?:[_.-][a-z0-9]++){0,6}")
"""A provider's error code or type, such as `invalid_request_error`."""

BY_NAME: dict[str, type[ModelError]] = {
    "AuthenticationError": KeyRejected,
    "PermissionDeniedError": KeyRejected,
    "NotFoundError": ModelUnknown,
    "RateLimitError": RateLimited,
    "BudgetExceededError": RateLimited,
    "RouterRateLimitError": RateLimited,
    "RouterRateLimitErrorBasic": RateLimited,
    "Timeout": Unreachable,
    "APIConnectionError": Unreachable,
    "InternalServerError": Unreachable,
    "ServiceUnavailableError": Unreachable,
    "BadGatewayError": Unreachable,
    "MidStreamFallbackError": Unreachable,
    "APIResponseValidationError": Unreachable,
    "JSONSchemaValidationError": Unreachable,
    "MockException": Unreachable,
    "APIError": Unreachable,
    "OpenAIError": Unreachable,
    "LiteLLMUnknownProvider": ModelUnknown,
    "ContextWindowExceededError": ContextOverflow,
    "ContentPolicyViolationError": PolicyRefused,
    "BlockedPiiEntityError": PolicyRefused,
    "GuardrailRaisedException": PolicyRefused,
    "RejectedRequestError": BadModelRequest,
    "ModifyResponseException": PolicyRefused,
    "SensitiveDataRouteException": PolicyRefused,
    "ModelNotMappedError": ModelUnknown,
    "PaymentRequiredError": OutOfCredit,
    "VectorStoreSearchError": Unreachable,
    "ImageFetchError": BadModelRequest,
    "UnsupportedParamsError": BadModelRequest,
    "UnprocessableEntityError": BadModelRequest,
    "ToolLoopMaxRoundsExceeded": BadModelRequest,
    "InvalidRequestError": BadModelRequest,
    "BadRequestError": BadModelRequest,
}
"""Every exception class of LiteLLM by name; a test compares it with the library."""
REPEATS = "its error message ({details}) repeats what was sent, so it is not shown"
OUT_OF_CREDIT = "its account is out of credit"
NO_CONNECTION = "Connection error"
PLAIN: dict[type[ModelError], str] = {
    ModelUnknown: "it does not know this model",
    PolicyRefused: "its content rules",
    BadModelRequest: "it can't use this request",
    Unreachable: "it reported an error",
}
"""Shown to people who are not owners. A provider's own message may contain account names, addresses and key parts."""


log = logging.getLogger("routing.llm")


@contextmanager
def mapped_errors(model: str, profile: ProviderProfile, sent: Iterable[str] = ()) -> Iterator[None]:
    """Raises the ModelError for any exception. LiteLLM also raises the exceptions of its providers' libraries. `sent`
    are the texts of the request, which errors must not repeat; they are read once, after an error."""
    try:
        yield
    except ModelError:
        raise
    except Exception as error:  # LiteLLM raises whatever its providers' libraries raise
        raise map_error(error, model, profile, sent=sent) from error


@asynccontextmanager
async def time_limit(model: str, profile: ProviderProfile, sent: Iterable[str] = ()) -> AsyncIterator[None]:
    """`mapped_errors`, with the provider's time limit."""
    with mapped_errors(model, profile, sent):
        try:
            async with asyncio.timeout(profile.timeout_seconds):
                yield
        except TimeoutError as error:
            seconds = profile.timeout_seconds
            raise Unreachable(model, Reason("no answer within {seconds:g} s", seconds=seconds)) from error


def response_errors(litellm: ModuleType) -> tuple[type[Exception], ...]:
    """What LiteLLM raises for a response that is an error."""
    return litellm.exceptions.openai.OpenAIError, litellm.llms.base_llm.chat.transformation.BaseLLMException


def map_error(
    error: BaseException, model: str, profile: ProviderProfile, clock: Clock = time.time, sent: Iterable[str] = ()
) -> ModelError:
    """Map an exception to a ModelError by the most specific known class."""
    error = getattr(error, "original_exception", None) or error
    text = " ".join(str(each) for each in _chain(error)).lower()
    kind = _kind(error, text, profile)
    if known := _known_reason(kind, text, model, profile):
        mapped = kind(model, known)
        if isinstance(mapped, ContextOverflow) and (window := _WINDOW.search(text)):
            mapped.window = int(window.group(1))
        return mapped
    wait = _retry_after(error, clock)
    if kind is RateLimited:
        words = Reason("too many requests") if wait is None else Reason("try again in {seconds:g} s", seconds=wait)
        return RateLimited(model, words, wait)
    if kind is Unreachable:
        return _unreachable(error, model, profile, wait, sent)
    plain, raw = PLAIN[kind], _reason(error, model, profile, sent)
    return kind(model, Reason(plain) if raw else _reason_without_message(error), wait, raw)


def _unreachable(
    error: BaseException, model: str, profile: ProviderProfile, wait: float | None, sent: Iterable[str]
) -> Unreachable:
    plain = PLAIN[Unreachable]
    if _broken(error):
        if profile.name == OLLAMA:
            return Unreachable(model, Reason("Ollama is not running"), wait)
        if type(error).__name__ != "Timeout":
            plain = NO_CONNECTION
    raw = _reason(error, model, profile, sent)
    mapped = Unreachable(model, Reason(plain) if raw else _reason_without_message(error), wait, raw)
    mapped.own = _status(error) >= 500
    return mapped


def _kind(error: BaseException, text: str, profile: ProviderProfile) -> type[ModelError]:
    statuses = {getattr(each, "status_code", None) for each in _chain(error)}
    if 402 in statuses or (statuses.intersection(_CREDIT_STATUSES) and any(words in text for words in CREDIT_WORDS)):
        return OutOfCredit
    if any(words in text for words in OVERFLOW_WORDS):
        return ContextOverflow
    if _NO_PROVIDER in text:
        return BadModelRequest
    kind = next((BY_NAME[each.__name__] for each in type(error).__mro__ if each.__name__ in BY_NAME), Unreachable)
    if kind is Unreachable and getattr(error, "status_code", None) == 403:
        return KeyRejected  # OpenAI-compatible endpoints: LiteLLM has no class for 403
    if kind is BadModelRequest and any(words in text for words in _POLICY_WORDS):
        return PolicyRefused
    if kind is BadModelRequest and statuses.intersection(_KEY_STATUSES):
        return KeyRejected  # LiteLLM maps Gemini's 403 to a 400
    is_missing = profile.name == OLLAMA and _NOT_PULLED in text and kind not in (KeyRejected, RateLimited)
    return ModelUnknown if is_missing else kind


def _known_reason(kind: type[ModelError], text: str, model: str, profile: ProviderProfile) -> Reason | None:
    """The reason of an error that needs none of the provider's own words."""
    if kind is OutOfCredit:
        return Reason(OUT_OF_CREDIT)
    if kind is ContextOverflow:
        return Reason("the conversation is longer than its context window")
    if kind is KeyRejected:
        words = "{provider} refused the key in {variable}"
        return Reason(words, provider=profile.name, variable=profile.variable)
    if kind is BadModelRequest and _NO_PROVIDER in text:
        words = "an unknown provider needs an address: llm.providers.{provider}.baseUrl"
        return Reason(words, provider=profile.name)
    if kind is ModelUnknown and profile.name == OLLAMA and _NOT_PULLED in text:
        return Reason("run: ollama pull {name}", name=model.partition("/")[2])
    return None


def _status(error: BaseException) -> int:
    """The HTTP status of the provider's response; 0 if there was none."""
    if any(type(each).__name__ in _LINE_FAULTS | {"APIConnectionError", "Timeout"} for each in _chain(error)):
        return 0
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else 0


def takes_no_tools(error: BaseException) -> bool:
    """Whether Ollama refused a request because its model can't use tools."""
    return getattr(error, "status_code", None) == 400 and "does not support tools" in str(error)


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    each: BaseException | None = error
    while each is not None and id(each) not in seen:
        seen.add(id(each))
        yield each
        each = each.__cause__ or each.__context__


def _reason(error: BaseException, model: str, profile: ProviderProfile, sent: Iterable[str]) -> str:
    """The first line of the provider's message, without LiteLLM's prefix, keys, control characters and words that were
    sent; a sentence instead if nothing remains. Empty if the provider gave no message."""
    if isinstance(error, json.JSONDecodeError):
        return ""
    text = str(getattr(error, "message", "") or error)
    quoted = _MESSAGE.search(text)
    if quoted:
        text = _ESCAPED.sub(r"\1", _ESCAPED_LINE_END.split(quoted.group(2))[0])
    else:
        text = _POSTSCRIPT.sub("", _PREAMBLE.sub("", text.partition("\n")[0])).strip()
    known = Secrets([profile.api_key] if profile.api_key else ())
    text = masked_words(known.hidden(decoded(text[:_MAX_READ_CHARACTERS])))
    if not text:
        return ""
    log.debug("[LLM] %s failed with: %s", model, text)
    text = without_sent(text, sent, model)
    text = "".join(sign for sign in text if sign.isprintable())[:_MAX_REASON_CHARACTERS].rstrip(" .")
    return text or Reason(REPEATS, details=_details(error))


def _details(error: BaseException) -> str:
    """The HTTP status and the codes of an error, which are not words that were sent."""
    status = _status(error)
    codes = (str(getattr(error, name, "")) for name in ("type", "code"))
    found = (f"HTTP {status}" if status else type(error).__name__, *filter(_CODE.fullmatch, codes))
    return ", ".join(dict.fromkeys(found))


def _reason_without_message(error: BaseException) -> Reason:
    """The reason for an error without a message."""
    if isinstance(error, json.JSONDecodeError):
        return Reason("its answer can't be read")
    return Reason(NO_CONNECTION if _broken(error) else "it gave no reason")


def _broken(error: BaseException) -> bool:
    return any(isinstance(each, OSError) or type(each).__name__ in _LINE_FAULTS for each in _chain(error))


def _retry_after(error: BaseException, clock: Clock) -> float | None:
    """Seconds from the Retry-After header: a number or a date (RFC 9110, 10.2.3)."""
    for each in _chain(error):
        headers = getattr(each, "litellm_response_headers", None) or {}
        value = headers.get("retry-after")
        if value is not None:
            seconds = _seconds(str(value), clock)
            return max(0.0, seconds) if math.isfinite(seconds) else None
    return None


def _seconds(value: str, clock: Clock) -> float:
    """Seconds from now; NaN if the value is neither a number nor a date."""
    try:
        return float(value)
    except ValueError:
        pass
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return math.nan
    return float(math.ceil((date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - clock()))
