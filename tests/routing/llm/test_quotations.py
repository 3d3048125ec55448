"""A provider's error message keeps its own words and loses those that were sent."""

from __future__ import annotations

import pytest

from routing.llm.quotations import decoded, without_sent

SENT = ("Send the invoice 4711 to Zoë, my e-mail is zoe@example.org", '{"text": "caf\\u00e9"}', "路径是我的密码")


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
