"""Each error of the model library becomes one of our errors, with a reason that can be shown."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from inspect import isclass

import pytest

from routing.errors import (
    BadModelRequest,
    ContextOverflow,
    KeyRejected,
    ModelError,
    ModelUnknown,
    PolicyRefused,
    RateLimited,
    Unreachable,
)
from routing.llm.error_mapping import BY_NAME, OVERFLOW_WORDS, map_error
from routing.types.llm import ProviderProfile
from tests.litellm_setup import litellm_without_clients

EIGHT = datetime(2026, 11, 22, 8, tzinfo=UTC)
ACME = ProviderProfile("acme", "openai", "http://h/v1", "sk-acme-0123456789", 30.0, "ACME_API_KEY")


def make(name: str, text: str = "", **attributes: object) -> Exception:
    """An exception as the library raises it; only its name and its attributes matter."""
    error: Exception = type(name, (Exception,), attributes)(text)
    return error


def test_every_exception_of_the_library_is_mapped() -> None:
    litellm = litellm_without_clients()
    classes = {each for space in (litellm, litellm.exceptions) for each in vars(space).values() if isclass(each)}
    raised = [each for each in classes if issubclass(each, Exception) and each.__module__.startswith("litellm")]
    assert len(raised) > 20
    assert sorted(each.__name__ for each in raised if each.__name__ not in BY_NAME) == []


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("AuthenticationError", KeyRejected),
        ("PermissionDeniedError", KeyRejected),
        ("NotFoundError", ModelUnknown),
        ("RateLimitError", RateLimited),
        ("Timeout", Unreachable),
        ("ServiceUnavailableError", Unreachable),
        ("ContextWindowExceededError", ContextOverflow),
        ("ContentPolicyViolationError", PolicyRefused),
        ("BadRequestError", BadModelRequest),
        ("SomethingNew", Unreachable),
    ],
)
def test_mapping_by_class_name(name: str, kind: type[ModelError]) -> None:
    error = map_error(make(name, "it said no"), "acme/m", ACME)
    assert type(error) is kind
    assert error.model == "acme/m"
    assert error.reason


def test_the_most_specific_class_decides() -> None:
    general = type("BadRequestError", (Exception,), {})
    special = type("ContentPolicyViolationError", (general,), {})
    unnamed = type("Unnamed", (special,), {})
    assert type(map_error(unnamed("no"), "m", ACME)) is PolicyRefused


def test_a_refused_key_names_the_variable_and_not_the_key() -> None:
    error = map_error(make("AuthenticationError", "Incorrect API key provided: sk-acme-0123456789"), "acme/m", ACME)
    assert error.reason == "acme refused the key in ACME_API_KEY"


@pytest.mark.parametrize("status", [401, 403])
def test_the_status_refines_a_plain_error(status: int) -> None:
    assert type(map_error(make("BadRequestError", "no", status_code=status), "acme/m", ACME)) is KeyRejected


@pytest.mark.parametrize("words", OVERFLOW_WORDS)
def test_an_overflow_is_found_anywhere_in_the_cause_chain_in_any_case(words: str) -> None:
    inner = ValueError(f"Sorry: {words.upper()} of 1000")
    outer = make("BadRequestError", "bad request")
    outer.__cause__ = inner
    assert type(map_error(outer, "m", ACME)) is ContextOverflow


OVERFLOWS = [
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "Please reduce the length of the messages or completion.",
    "Prompt is too long",
    "prompt is too long: 210000 tokens > 200000 maximum",
    "Input is too long for requested model.",
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    '{"type": "error", "error": {"type": "request_too_large", "message": "Too big"}}',
    "Request exceeds the maximum size",
]
NO_OVERFLOWS = [
    "max_tokens is too large: 100000. This model supports at most 16384 completion tokens.",
    "[Errno 36] File name too long: 'notes'",
    "Invalid 'user': string too long. Expected a string with maximum length 64.",
    "Tool description is too long.",
    "The input is too long a list of stop sequences.",
    "Your prompt was declined.",
    "The image exceeds the maximum size of 5 MB.",
    "Quota exceeded for metric: generate_content_free_tier_input_token_count, limit: 250000",
    "Requested maximum prompt length: not supported.",
]


@pytest.mark.parametrize("words", OVERFLOWS)
def test_overflows_are_recognised_by_each_providers_message(words: str) -> None:
    assert type(map_error(make("BadRequestError", words), "m", ACME)) is ContextOverflow


@pytest.mark.parametrize("words", NO_OVERFLOWS)
def test_other_length_errors_are_not_overflows(words: str) -> None:
    assert type(map_error(make("BadRequestError", words), "m", ACME)) is BadModelRequest


def test_a_cyclic_cause_chain_ends() -> None:
    one, other = ValueError("a"), ValueError("b")
    one.__cause__, other.__cause__ = other, one
    assert type(map_error(one, "m", ACME)) is Unreachable


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "-7"}, 0.0),
        ({"retry-after": "Sun, 22 Nov 2026 08:00:30 GMT"}, 30.0),
        ({"retry-after": "Sunday, 22-Nov-26 08:00:30 GMT"}, 30.0),
        ({"retry-after": "Sun Nov 22 08:00:30 2026"}, 30.0),
        ({"retry-after": "Sun, 22 Nov 2026 07:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "inf"}, None),
        ({}, None),
        (None, None),
    ],
)
def test_retry_after_comes_from_the_header(headers: dict[str, str] | None, wait: float | None) -> None:
    slow = make("RateLimitError", "slow down", litellm_response_headers=headers)
    error = map_error(slow, "m", ACME, EIGHT.timestamp)
    assert isinstance(error, RateLimited)
    assert error.retry_after == wait
    assert error.retryable


def test_the_error_inside_a_broken_stream_counts() -> None:
    broken = make("MidStreamFallbackError", original_exception=make("AuthenticationError", "no"))
    assert type(map_error(broken, "m", ACME)) is KeyRejected


@pytest.mark.parametrize("words", ["content_policy_violation", "finish: content_filter"])
def test_policy_refusals_are_recognised_by_message(words: str) -> None:
    assert type(map_error(make("BadRequestError", words), "m", ACME)) is PolicyRefused


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('litellm.BadRequestError: OpenAIException - {"error": {"message": "No such tool."}}', "No such tool"),
        ("litellm.BadRequestError: OpenAIException - It broke.\nTraceback …", "It broke"),
        ("the key sk-acme-0123456789 is bad", "the key *** is bad"),
        ("token abcdefghijklmnopqrstuvwxyz0123456789 seen", "token *** seen"),
        ("bell\x07 and\u202e turn", "bell and turn"),
        ("x" * 20 + " y" * 400, ("x" * 20 + " y" * 400)[:160]),
        ("", "it gave no reason"),
    ],
)
def test_a_reason_is_one_clause_without_secrets(text: str, reason: str) -> None:
    error = map_error(make("BadRequestError", text), "m", ACME)
    assert (error.raw or error.reason) == reason


OPENAI, CLAUDE, GEMINI = "OpenAIException", "AnthropicException", "Vertex_ai_betaException"
DOWN = "The server had an error"
SAID = [
    (f"InternalServerError: {OPENAI} - {DOWN}.", DOWN),
    (f"InternalServerError: {OPENAI} - Connection error.", "Connection error"),
    (f"Timeout Error: {OPENAI} - Request timed out.", "Request timed out"),
    ("APITimeoutError - Request timed out. Error_str: Request timed out.", "Request timed out"),
    (f"""{OPENAI} - {{'message': "This model's name is odd", 'param': 1}}""", "This model's name is odd"),
    (f"""{CLAUDE} - b'{{"message":"{DOWN}."}}'. Handle with `litellm.InternalServerError`.""", DOWN),
    (f"{CLAUDE} - {DOWN}.. Handle with `litellm.InternalServerError`.", DOWN),
    (f"{CLAUDE} - . Handle with `litellm.InternalServerError`.", "it gave no reason"),
    (f"""AnthropicError - b'{{"message":"{DOWN}"}}'""", DOWN),
    (rf"""{CLAUDE} - b'{{"message":"It\'s \\"odd\\"."}}'""", 'It\'s "odd"'),
    (f"""{GEMINI} InternalServerError - b'{{"message":"{DOWN}.","status":"INTERNAL"}}'""", DOWN),
    (f"{GEMINI} InternalServerError - INTERNAL - {DOWN}.", DOWN),
    (f"{GEMINI} - ", "it gave no reason"),
    (rf"""{GEMINI} - b'{{"message":"No such field.\\nOr so."}}'""", "No such field"),
]


@pytest.mark.parametrize(("text", "reason"), SAID)
def test_a_reason_is_the_vendors_message(text: str, reason: str) -> None:
    error = make("InternalServerError", f"litellm.InternalServerError: {text}")
    found = map_error(error, "acme/m", ACME)
    assert (found.raw or found.reason) == reason


@pytest.mark.parametrize("vendor", ["AnthropicException", GEMINI])
def test_a_broken_connection_is_named_as_such(vendor: str) -> None:
    for words in ("", "Cannot connect to host 127.0.0.1:9"):
        error = make("APIConnectionError", f"litellm.APIConnectionError: {vendor} - {words}")
        error.__cause__ = make("ReadError")
        assert map_error(error, "acme/m", ACME).reason == "Connection error"


def test_invalid_json_is_reported_as_unreadable() -> None:
    with pytest.raises(json.JSONDecodeError) as broken:
        json.loads('{"half')
    assert map_error(broken.value, "acme/m", ACME).reason == "its answer can't be read"
