"""The usage chart: bar heights match the values, in the legend's colours."""

from __future__ import annotations

import subprocess
import sys
from datetime import date, timedelta
from decimal import Decimal
from io import BytesIO

import pytest
from PIL import Image, ImageChops

from handlers.languages import Say
from handlers.replies.charts import BOTTOM, COLOURS, LEFT, OTHERS, RIGHT, TOP, Measure, usage_chart
from routing.types.usage import Day, Spending


def day(number: int, *rows: Spending) -> Day:
    return Day(date(2026, 11, 1) + timedelta(days=number), rows)


def used(model: str, cost: str, tokens: int = 1_000, unknown: int = 0) -> Spending:
    return Spending(model, 1 + unknown, tokens, 0, 0, Decimal(cost), unknown)


def drawn(days: list[Day], measure: Measure = "cost") -> Image.Image:
    png = usage_chart(days, Say("en"), measure)
    assert png.startswith(b"\x89PNG\r\n")
    return Image.open(BytesIO(png)).convert("RGB")


def heights(picture: Image.Image, days: int, colour: str) -> list[int]:
    """Number of pixels of a colour in the middle of each day, above the axis."""
    wanted = tuple(bytes.fromhex(colour[1:]))
    middles = [round(LEFT + (RIGHT - LEFT) * (number + 0.5) / days) for number in range(days)]
    return [sum(picture.getpixel((x, y)) == wanted for y in range(TOP, BOTTOM)) for x in middles]


def test_bar_heights_match_spending() -> None:
    picture = drawn([day(0, used("a/x", "4"), used("b/y", "1")), day(1), day(2, used("b/y", "2"))])
    first, second = heights(picture, 3, COLOURS[0]), heights(picture, 3, COLOURS[1])
    whole = BOTTOM - TOP  # the highest tick is at five dollars
    assert first == [pytest.approx(each, abs=2) for each in (0.8 * whole, 0, 0)]
    assert second == [pytest.approx(each, abs=2) for each in (0.2 * whole, 0, 0.4 * whole)]


def test_tokens_are_shown_on_request_or_without_prices() -> None:
    cheap, dear = used("a/x", "0.1", 1_000), used("a/x", "4", 500)
    by_cost = heights(drawn([day(0, cheap), day(1, dear)]), 2, COLOURS[0])
    by_tokens = heights(drawn([day(0, cheap), day(1, dear)], "tokens"), 2, COLOURS[0])
    assert by_cost[0] < by_cost[1]
    assert by_tokens[0] == pytest.approx(2 * by_tokens[1], abs=2)
    free = [day(0, used("a/x", "0", 1_000)), day(1, used("a/x", "0", 500))]
    assert heights(drawn(free), 2, COLOURS[0]) == by_tokens


def test_unknown_prices_are_marked_above_the_bar() -> None:
    known = drawn([day(0, used("a/x", "1")), day(1, used("a/x", "1"), used("a/z", "3"))])
    marked = drawn([day(0, used("a/x", "1", unknown=2)), day(1, used("a/x", "1"), used("a/z", "3"))])
    box = ImageChops.difference(known, marked).getbbox()
    assert box is not None
    assert box[2] < (LEFT + RIGHT) / 2, "above the first bar and nowhere else"


def test_further_models_share_one_colour() -> None:
    few = drawn([day(0, *(used(f"a/{n}", "1") for n in range(len(COLOURS))))])
    many = drawn([day(0, *(used(f"a/{n}", "1") for n in range(len(COLOURS) + 3)))])
    assert heights(few, 1, OTHERS) == [0]
    assert heights(few, 1, COLOURS[-1])[0] > 0
    assert heights(many, 1, OTHERS)[0] == pytest.approx(4 * heights(many, 1, COLOURS[0])[0], abs=4)
    assert many.height > drawn([day(0, used("a/x", "1"))]).height, "the legend has its own space"


@pytest.mark.parametrize("count", [1, 2, 7, 31, 92, 365])
def test_any_number_of_days_and_any_sum_can_be_drawn(count: int) -> None:
    sums = ("0", "0.000000001", "0.03", "12345678")
    for cost in sums:
        drawn([day(number, used("模型/" + "x" * 300, cost, unknown=number % 3)) for number in range(count)])
    drawn([day(number) for number in range(count)])


def test_chart_libraries_are_loaded_on_demand() -> None:
    asked = "import sys, handlers.replies.charts; print([name for name in sys.modules if name.startswith('PIL')])"
    run = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True, timeout=60)
    assert run.stdout.strip() == "[]"
