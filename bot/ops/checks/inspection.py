"""The input of every check."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.config.environment import Environment
from bot.config.workspace import Workspace
from bot.findings import Finding
from routing.ports import Clock

NETWORK_SECONDS = 5.0
"""Timeout for a service."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """What to check. `clock` is the machine's time in Unix seconds."""

    environment: Environment
    workspace: Workspace
    clock: Clock
    network_seconds: float = NETWORK_SECONDS


Check = Callable[[Inspection], Awaitable[list[Finding]]]
