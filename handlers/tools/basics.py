"""The toolkit `basics`: date and time, calculations."""

from __future__ import annotations

from handlers.tools.authoring.decorator import Tools, tool, tools_of
from handlers.tools.clock import ClockTools
from handlers.tools.dependencies import ToolDependencies
from routing.types.tools import Traits

NAME = "basics"


def build(dependencies: ToolDependencies) -> Tools:
    return (*tools_of(ClockTools(dependencies.clock)), calculate)


@tool(role="guest", traits=Traits(outside=False))
def calculate(expression: str) -> str:
    """Imports the calculator on first use, which takes 40 ms, and 0.5 s for units."""
    from handlers.tools.calculator.calculator import calculate

    return calculate(expression)
