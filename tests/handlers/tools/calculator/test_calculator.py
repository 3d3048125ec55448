"""The calculator is exact, and its refusals say what to change."""

from __future__ import annotations

import asyncio
import operator
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.tools.calculator.calculator import calculate
from tests.handlers.tools.calculator.expressions import refusal, result


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("0.1 + 0.2", "= 0.3"),
        ("2 + 3 * 4", "= 14"),
        ("10 - 4 - 3", "= 3"),
        ("2^3^2", "= 512"),
        ("-2^2", "= -4"),
        ("2**-2", "= 0.25"),
        ("10^3 - 1", "= 999"),
        ("7 // 2", "= 3"),
        ("-7 // 2", "= -4"),
        ("10 % 3", "= 1"),
        ("-7 mod 3", "= 2"),
        ("1/3", "= 0.333333333333333 (exactly 1/3)"),
        ("1/3 * 3", "= 1"),
        ("2/7 + 0.5", "= 0.785714285714286 (exactly 11/14)"),
        ("1e15/7", "= 142857142857143"),
        ("1/8", "= 0.125"),
        ("3 × 4 ÷ 2 − 1", "= 5"),
        ("2 x 3", "= 6"),
        ("√16 + 1", "= 5"),
        ("2³", "= 8"),
        ("0xff + 0b11 + 0o17", "= 273"),
        ("255 in hex", "= 0xff"),
        ("5 to binary", "= 0b101"),
        ("1 << 10", "= 1024"),
        ("1025 >> 1", "= 512"),
        ("1.5e3 + .5", "= 1500.5"),
        ("10^20", "= 100000000000000000000"),
        ("10^-8", "= 1e-8"),
        ("0.000123", "= 0.000123"),
        ("1.05^30", "= 4.32194237515066"),
        ("2(3 + 4)", "= 14"),
        ("2 pi", "= 6.28318530717959"),
        ("2 PI", "= 6.28318530717959"),
        ("e", "= 2.71828182845905"),
        ("tau / pi", "= 2"),
        ("5!", "= 120"),
        ("0 * -1", "= 0"),
        ("sin(-0.0)", "= 0"),
        ("1 +\n 1", "= 2"),
    ],
)
def test_arithmetic(expression: str, said: str) -> None:
    assert result(expression) == said


def test_an_equals_sign_at_the_end_is_ignored() -> None:
    assert calculate("  2+2 = ?") == "2+2 = 4"


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("15% of 80", "= 12"),
        ("15 percent of 80", "= 12"),
        ("200 + 10%", "= 220"),
        ("200 - 10%", "= 180"),
        ("5 km + 10%", "= 5.5 km"),
        ("200 * 10%", "= 20"),
        ("10% + 5%", "= 0.15"),
        ("50%", "= 0.5"),
        ("20/80 in %", "= 25%"),
        ("5%3", "= 2"),
    ],
)
def test_percent(expression: str, said: str) -> None:
    assert result(expression) == said


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("1,234.5 * 2", "= 2469"),
        ("1,234,567", "= 1234567"),
        ("1 234 + 1", "= 1235"),
        ("1\u202f234\u202f567", "= 1234567"),
        ("1'234", "= 1234"),
        ("1_000", "= 1000"),
        ("max(1,234)", "= 234"),
        ("max((1,234), 5)", "= 1234"),
    ],
)
def test_thousands(expression: str, said: str) -> None:
    assert result(expression) == said


@pytest.mark.parametrize("expression", ["1,5 + 1", "1.234,5", "1,23", "1,2345", "12,34,567"])
def test_an_ambiguous_comma_is_refused(expression: str) -> None:
    assert "A comma only groups thousands (1,234)" in refusal(expression)


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("sqrt(2)", "= 1.4142135623731"),
        ("sqrt(2)^2", "= 2"),
        ("sqrt(10^400)", "= " + "1" + "0" * 200),
        ("8^(1/3)", "= 2"),
        ("(4/9)^0.5", "= 0.666666666666667 (exactly 2/3)"),
        ("cbrt(-27)", "= -3"),
        ("log(1000)", "= 3"),
        ("log(8, 2)", "= 3"),
        ("log2(1024)", "= 10"),
        ("ln(e^2)", "= 2"),
        ("exp(1)", "= 2.71828182845905"),
        ("exp(10000)", "= 8.80681822566292e4342"),
        ("sin(pi)", "= 0"),
        ("cos(pi/2)", "= 0"),
        ("sin(1e-20)", "= 1e-20"),
        ("sin(30°)", "= 0.5"),
        ("cos(60 deg)", "= 0.5"),
        ("sin(180 deg * 10^20)", "= 0"),
        ("tan(45 degrees)", "= 1"),
        ("asin(0.5) in deg", "= 30 deg"),
        ("atan2(1, 1) * 4", "= 3.14159265358979"),
        ("round(2.5)", "= 3"),
        ("round(-2.5)", "= -3"),
        ("round(2.675, 2)", "= 2.68"),
        ("round(1234, -2)", "= 1200"),
        ("floor(-1.5)", "= -2"),
        ("ceil(1.2)", "= 2"),
        ("abs(-3)", "= 3"),
        ("min(3, 1, 2)", "= 1"),
        ("mean(1; 2; 4)", "= 2.33333333333333 (exactly 7/3)"),
        ("gcd(12, 18)", "= 6"),
        ("lcm(4, 6, 10)", "= 60"),
        ("comb(5, 2)", "= 10"),
        ("comb(2, 5)", "= 0"),
        ("perm(5, 2)", "= 20"),
        ("hypot(3, 4)", "= 5"),
        ("mod(-7, 3)", "= 2"),
        ("degrees(pi)", "= 180"),
    ],
)
def test_functions(expression: str, said: str) -> None:
    assert result(expression) == said


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("0.1 + 0.2 == 0.3", "is true"),
        ("sqrt(2)^2 = 2", "is true"),
        ("2/3 > 0.6666", "is true"),
        ("10^9999/(10^9999-1) == 1", "is false"),
        ("5 km > 3 miles", "is true"),
        ("5 °C < 40 °F", "is false"),
        ("1 != 1", "is false"),
        ("2 ≤ 2", "is true"),
        ("3 >= 4", "is false"),
    ],
)
def test_comparisons(expression: str, said: str) -> None:
    assert result(expression) == said


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("", "The expression is empty."),
        ("(1+2", "A ( is not closed."),
        ("1+2)", "There is a ) too many."),
        ("1+", "The expression ends after +: a value is missing."),
        ("2 * (3 + )", "A value is missing between + and )."),
        ("*3", "Nothing begins with *."),
        ("2 3", "An operator such as * or + is missing before 3."),
        ("1/0", "Division by zero: it has no result."),
        ("5 mod 0", "Division by zero: it has no result."),
        ("0^-1", "Division by zero: it has no result."),
        ("sqrt(-1)", "A negative number has no real square root."),
        ("(-8)^(1/3)", "A negative number has no real power with a fraction: cbrt(x) takes its third root."),
        ("log(0)", "A logarithm takes a number above 0, and a base above 0 other than 1."),
        ("log(8, 1)", "A logarithm takes a number above 0, and a base above 0 other than 1."),
        ("asin(2)", "This function has no real result there: the number is outside its domain."),
        ("tan(90°)", "tan has no result there: it is infinite."),
        ("sin(10^20)", "1e+15 is the maximum for this function."),
        ("factorial(2.5)", "What is counted must be a whole number."),
        ("factorial(-1)", "What is counted can't be negative."),
        ("squrt(4)", "squrt is not a function, constant or unit. Did you mean sqrt"),
        ("sqrt 4", "sqrt is a function and needs brackets: sqrt(2)."),
        ("sqrt(1,234)", "sqrt takes 1 argument, not 2. Inside a function a comma separates arguments"),
        ("6/2(1+2)", "The order is unclear: write a * sign and brackets, as in 6/(2*(1+2))."),
        ("1.5 in hex", "Only a whole number can be written in hex."),
        *(
            (expression, "e is an incomplete number: write ")
            for expression in ("1e", "2E + 1", "3.5e", "(1e)", "1e km")
        ),
        ("1e", "1e is an incomplete number: write 1e6, or 1*e for Euler's number."),
        ("1 < 2 < 3", "< is not expected after 2."),
        ("$5 * 3", "'$' is not valid in an expression: leave it out."),
        ("x" * 1001, "The expression is longer than 1,000 characters: do it in steps."),
    ],
)
def test_a_refusal_says_what_to_change(expression: str, said: str) -> None:
    assert said in refusal(expression)


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("min(pi, 1/3)", "= 0.333333333333333 (exactly 1/3)"),
        ("1/3 + floor(sqrt(2))", "= 1.33333333333333 (exactly 4/3)"),
        ("10^20 + round(pi)", "= 100000000000000000003"),
        ("10^20 + pi - pi", "= 100000000000000000000"),
        ("10^21 + 1 + 0 * pi", "= 1e21"),
        ("floor(pi * 10^20)", "= 314159265358979000000"),
        ("max(2.5 h, sqrt(2) * 1 h)", "= 2.5 h (2 h 30 min)"),
        ("sqrt(2)% * sqrt(2)% = 0.0002", "is true"),
        ("10^1000 * pi%", "= 3.14159265358979e998"),
        ("10^1000 * -pi%", "= -3.14159265358979e998"),
        ("10^1000 * (5% * pi)", "= 1.5707963267949e999"),
        ("10^40 * sin(30°)%", "= 5e37"),
        ("10^40 * sin(30°) << 1", "= 1e40"),
        ("1 << cos(0) * 100", "= 1.26765060022823e30"),
        ("hypot(0 * pi, 1/3)", "= 0.333333333333333"),
        ("10^30 * 8^(1/3) + lcm(8^(1/3), 3)", "= 2e30"),
        ("10^40 * comb(8^(1/3), 1)", "= 2e40"),
        ("10^21 + 50%", "= 1500000000000000000000"),
    ],
)
def test_only_numbers_that_depend_on_a_rounded_one_are_rounded(expression: str, said: str) -> None:
    assert result(expression) == said


NUMBERS = st.fractions(min_value=-1000, max_value=1000, max_denominator=50)


@given(NUMBERS, NUMBERS, st.sampled_from("+-*/"))
def test_results_agree_with_fractions(left: Fraction, right: Fraction, sign: str) -> None:
    expression = f"({left}) {sign} ({right})"
    if sign == "/" and not right:
        assert refusal(expression) == "Division by zero: it has no result."
        return
    wanted = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}[sign](left, right)
    assert result(f"({expression}) == ({wanted})") == "is true"
    shown = Fraction(result(expression).removeprefix("= ").partition(" ")[0])
    assert abs(shown - wanted) <= abs(wanted) / 10**14


@given(st.decimals(-(10**6), 10**6, places=6), st.decimals(-(10**6), 10**6, places=6), st.sampled_from("+-*"))
def test_decimals_are_exact(left: object, right: object, sign: str) -> None:
    one, other = Fraction(str(left)), Fraction(str(right))
    wanted = one + other if sign == "+" else one - other if sign == "-" else one * other
    assert Fraction(result(f"{left} {sign} ({right})").removeprefix("= ")) == wanted


async def test_several_expressions() -> None:
    asked = [f"{number} km in miles" for number in range(1, 30)]
    said = await asyncio.gather(*(asyncio.to_thread(calculate, each) for each in asked))
    assert said == [calculate(each) for each in asked]
