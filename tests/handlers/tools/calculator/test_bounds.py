"""The calculator is bounded: any input gets a result or a refusal quickly."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from handlers.tools.calculator.functions import CONSTANTS, FUNCTIONS
from routing.errors import ToolFailed
from tests.handlers.tools.calculator.expressions import TOO_LARGE, refusal, result


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os').system('id')",
        "__import__",
        "().__class__.__bases__",
        "pi.real",
        "lambda x: x",
        "(lambda: 1)()",
        "f'{1}'",
        "[x for x in 1]",
        "{1: 2}",
        "eval(1)",
        "open(1)",
        "exec",
        "sqrt.__globals__",
        "a := 1",
        "1 if 1 else 2",
        "1; 2",
        "@",
        "\\",
        "\0",
        "import os",
        "print(1)",
        "１+１",
    ],
)
def test_python_is_not_evaluated(expression: str) -> None:
    assert refusal(expression)


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("9**9**9", TOO_LARGE),
        ("9^9^9^9^9^9", TOO_LARGE),
        ("factorial(10**9)", TOO_LARGE),
        ("3!!!!!!!!", TOO_LARGE),
        ("10**10000", TOO_LARGE),
        ("10**9999 * 10", TOO_LARGE),
        ("10**9999 * 10**9999 * 10**9999", TOO_LARGE),
        ("10**9999 + 9 * 10**9999", TOO_LARGE),
        ("1e99999", TOO_LARGE),
        ("1e" + "9" * 990, TOO_LARGE),
        ("1 << 10**9", TOO_LARGE),
        ("exp(10**9)", TOO_LARGE),
        ("exp(23026)", TOO_LARGE),
        ("1.5^(10^9999)", TOO_LARGE),
        ("comb(10^15, 10^14)", TOO_LARGE),
        ("comb(10^9000, 2)", TOO_LARGE),
        ("comb(40000, 20000)", TOO_LARGE),
        ("perm(10^9000, 3000)", TOO_LARGE),
        ("perm(10^9, 10^8)", TOO_LARGE),
        ("lcm(" + ",".join(f"10^3000+{number}" for number in range(70)) + ")", TOO_LARGE),
        ("10^9999 ly in m", TOO_LARGE),
        ("2**-1e9", "The result is too small: it is nearer to 0 than 10^-10,000."),
        ("1e-99999", "The result is too small: it is nearer to 0 than 10^-10,000."),
        ("exp(-10**9)", "The result is too small: it is nearer to 0 than 10^-10,000."),
        ("round(1, 10**9)", "A number has at most 10,000 places."),
        ("(" * 400 + "1" + ")" * 400, "More than 40 nested brackets, signs or powers: use fewer."),
        ("-" * 900 + "1", "More than 40 nested brackets, signs or powers: use fewer."),
        ("2" + "^2" * 400, "More than 40 nested brackets, signs or powers: use fewer."),
        ("√" * 900 + "2", "More than 40 nested brackets, signs or powers: use fewer."),
        ("abs(" * 150 + "1" + ")" * 150, "More than 40 nested brackets, signs or powers: use fewer."),
        ("m^" * 400, "More than 40 nested brackets, signs or powers: use fewer."),
    ],
)
def test_too_large_results_are_refused(expression: str, said: str) -> None:
    assert refusal(expression) == said


LONG = {
    "10**9999": 10**9999,
    "2^33219 - 1": 2**33219 - 1,
    "factorial(3248)": math.factorial(3248),
    "comb(33000, 16500)": math.comb(33000, 16500),
    "perm(10^3000, 3)": math.perm(10**3000, 3),
    "9" * 1000: 10**1000 - 1,
    "1^(10^9999)": 1,
    "(-1)^(10^9999 - 1)": -1,
    "10^9999 mod 7": pow(10, 9999, 7),
}


@pytest.mark.parametrize("expression", LONG)
def test_long_integers_in_full(expression: str) -> None:
    assert result(expression) == f"= {long_text(LONG[expression])}"


def long_text(value: int) -> str:
    """Python converts no more than 4300 digits at once."""
    return str(value) if abs(value) < 10**4000 else long_text(value // 10**4000) + str(value % 10**4000).zfill(4000)


@pytest.mark.parametrize(
    "expression",
    [
        "+".join(["comb(16500,8250)"] * 55),
        "*".join(["(10^4999/(10^4999-1))"] * 45),
        "+".join(f"1/(10^4999+{number})" for number in range(60)),
        "+".join(["1e-9999"] * 110),
        "(1+1/10^9999)^(10^9999)",
        "round(1/10^9999, 9999)",
        "(1 km^15)^2 in mm^30",
        "(10^9999/3) h",
        "(2^33000/3^20000)^(1/3)",
    ],
)
def test_the_heaviest_allowed_expressions(expression: str) -> None:
    assert result(expression).startswith("= ")


SIGNS = "0123456789+-*/%^!()<>=,;.° "
WORDS = ["**", "//", "in", "to", "km", "°C", "of", "ft", "hex", "kg", "dB", "h 20 min", "1e9999", "10^9999"]
WORDS += ["1/3", "0.1", "((", "))", "sin(", "max(1,", "m^", "5 ", " in in "]
PIECES = st.sampled_from([*FUNCTIONS, *CONSTANTS, *SIGNS, *WORDS])


@settings(max_examples=400)
@given(st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=25).map("".join)))
@example("10^9999 h")
@example("1e-9999*1e-9999")
def test_any_text_gets_a_result_or_a_refusal(expression: str) -> None:
    refusal = None
    try:
        assert result(expression)
    except ToolFailed as error:
        refusal = str(error)
    assert refusal is None or 10 < len(refusal) < 400
