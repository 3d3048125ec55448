"""The toolkit of what any answer may need: the time, and numbers."""

from __future__ import annotations

from handlers.tools.calculator import CalculatorTools
from handlers.tools.clock import ClockTools
from handlers.tools.needs import ToolNeeds
from handlers.tools.tool import Tool

NAME = "basics"


def build(needs: ToolNeeds) -> tuple[Tool, ...]:
    """The functions behind the manifest."""
    clock = ClockTools(needs.clock)
    return (
        Tool("get_datetime", clock.get_datetime, role="guest"),
        Tool("calculate", CalculatorTools().calculate, role="guest"),
    )
