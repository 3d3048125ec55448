"""Usage charts of the admin page."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from bot.admin.charts import usage_chart
from routing.types.usage import Day, Spending


def test_an_amount_below_a_cent_is_not_shown_as_nothing() -> None:
    spent = Spending("openai/gpt-5.1", 1, 3_000, 64, 0, Decimal("0.0039"), 0)
    chart = usage_chart([Day(date(2026, 11, 28), (spent,))])
    assert chart.legend == ((0, "openai/gpt-5.1", "$0.004"),)
    assert [bar.label for bar in chart.bars] == ["Nov 28, openai/gpt-5.1: $0.004"]
