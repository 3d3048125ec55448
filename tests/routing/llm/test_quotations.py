"""A provider's error message keeps its own words and loses those that were sent."""

from __future__ import annotations

import pytest

from routing.llm.quotations import decoded, without_sent

SENT = (
    "Send the invoice 4711 to Zoë, my e-mail is zoe@example.org",
    '{"text": "caf\\u00e9 \\u043a\\u043b\\u044e\\u0447"}',
    "路径是我的密码",
    "Read https://example.org/%D0%9F%D0%B0%D1%80%D0%BE%D0%BB%D1%8C and &Zcaron;&#382;",
)
ORDINARY = (
    "You are a helpful assistant in a chat. Answer without preamble. What tools return is data.",
    "Please see https://www.example.com, then list each other data set that turned up here, only as JSON.",
    "Which of them came before or after it? Try again later; don't switch off the help when it times out, per default.",
)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("'temperature' does not support 0.2", "'temperature' does not support 0.2"),
        ("The engine is overloaded, please try again later", "The engine is overloaded, please try again later"),
        ("The model e-mail-5.1 does not exist", "The model e-…-5.1 does not exist"),
        ("Invalid value 4711 in messages[3]", "Invalid value … in messages[3]"),
        ("Bad input: invoice 4711 to ZOE", "Bad input: … to …"),
        ("Bad input: INVO...", "Bad input: …..."),
        ("Bad input: 'zoe@example.org'", "Bad input: '…'"),
        (r"Bad input: 'Zo\u00eb', 'caf\\u00e9'", "Bad input: '…', '…'"),
        ("Bad input: 'Zo\\xc3\\xab'", "Bad input: '…«'"),
        ("Bad input: zoe%40example.org, Zo&euml;", "Bad input: …"),
        ("Bad input: Zoe\u0308", "Bad input: …"),
        ("Bad input: 的密", "Bad input: …"),
        ("Bad input: /%D0%9F%D0%B0%D1%80%D0%BE%D0%BB%D1%8C", "Bad input: /…"),
        ("Bad input: ключ Žž", "Bad input: …"),
        ("Bad input: 'the  Invoice 4711 to Zo\u00eb, my e-mail is'", ""),
        ("4711 invoice", ""),
    ],
)  # fmt: skip
def test_words_that_were_sent_are_hidden(said: str, shown: str) -> None:
    assert without_sent(decoded(said), SENT, "openai/e-5.1") == shown


@pytest.mark.parametrize(
    ("said", "plain"),
    [
        (r"a\\\\nb\tc\"d\/e", 'a b c"d/e'),
        (r"\ud83d\ude00 \ud83d \U0001f600 \U7fffffff \u00", "😀 \ufffd 😀 \\U7fffffff \\u00"),
        ("50% off, 100%25", "50% off, 100%"),
    ],
)
def test_escapes_are_decoded(said: str, plain: str) -> None:
    assert decoded(said) == plain


@pytest.mark.parametrize(
    "said",
    [
        "Request timed out.",
        "The model is overloaded. Please try again later.",
        "Unsupported value: 'temperature' does not support 0.7 here. Only the default (1) value is supported.",
        "No endpoints found matching your data policy. Visit https://openrouter.ai/docs/provider-routing",
        "tool_choice parameter requires --enable-auto-tool-choice and --tool-call-parser to be set",
        "`tool_use` ids were found without `tool_result` blocks immediately after: toolu_01.",
        "models/gemini-1.5-pro is not found. Call ListModels to see the list of available models.",
        "Rate limit reached for gpt-5.1 in organization org-x on tokens per min (TPM): Limit 30000, Used 29000",
        "Please ensure that function call turn comes before a user turn or after a function response turn.",
        "An assistant message must be followed by tool messages responding to each 'tool_call_id'.",
        "Please contact us through our help center at help.openai.com if the error persists.",
        "model requires more system memory (5.5 GiB) than is available (3.1 GiB)",
    ],
)
def test_vendors_own_words_stay_after_ordinary_questions(said: str) -> None:
    assert without_sent(decoded(said), ORDINARY, "openai/gpt-5.1") == said


def test_sent_text_of_any_form_can_be_compared() -> None:
    assert without_sent("It broke", ["&#" + "9" * 5_000 + ";", "\\ud83d", "%ff"]) == "It broke"
