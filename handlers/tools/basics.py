"""The toolkit of what any answer may need: the time, and numbers."""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import Any

from handlers.tools.clock import ClockTools
from handlers.tools.needs import ToolNeeds
from handlers.tools.tool import Tool
from routing.types.tools import ToolScope

NAME = "basics"


def build(needs: ToolNeeds) -> tuple[Tool, ...]:
    """The functions behind the manifest."""
    clock = ClockTools(needs.clock)
    return (
        Tool("get_datetime", clock.get_datetime, role="guest"),
        Tool("calculate", _Calculator().calculate, role="guest"),
    )


class _Calculator:
    """The arithmetic, loaded at the first expression: 40 ms that no start should wait for."""

    def __init__(self) -> None:
        self._tools: Any = None

    async def calculate(self, scope: ToolScope, expression: str) -> str:
        if self._tools is None:
            self._tools = (await asyncio.to_thread(import_module, "handlers.tools.calculator")).CalculatorTools()
        return str(await self._tools.calculate(scope, expression))
