"""The toolkit `basics`: date and time, calculations."""

from __future__ import annotations

import asyncio

from handlers.tools.authoring.tool import Tool
from handlers.tools.clock import ClockTools
from handlers.tools.dependencies import ToolDependencies
from routing.types.tools import ToolScope

NAME = "basics"


def build(dependencies: ToolDependencies) -> tuple[Tool, ...]:
    clock = ClockTools(dependencies.clock)
    return (
        Tool("get_datetime", clock.get_datetime, role="guest"),
        Tool("calculate", calculate, role="guest"),
    )


async def calculate(scope: ToolScope, expression: str) -> str:
    return await asyncio.to_thread(_calculate, expression)


def _calculate(expression: str) -> str:
    """Imports the calculator on first use, which takes 40 ms, and 0.5 s for units."""
    from handlers.tools.calculator.calculator import calculate

    return calculate(expression)
