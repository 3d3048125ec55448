"""Everything that any toolkit needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from handlers.context import CommandSpec
from handlers.council.council import CouncilSessions
from handlers.tools.mcp.client import McpClient
from handlers.tools.sandbox import Sandbox
from handlers.tools.toolbox import Toolbox
from handlers.tools.workspace import WorkspaceToolkits
from routing.policy.models import Models
from routing.ports import Clock, Embedder, Health, HistoryStore, PreferenceStore
from routing.tools.chooser import ToolChooser
from routing.types.decisions import TierSource
from routing.types.skills import Skills


class Stock(Protocol):
    """All tools, where they come from, and what chooses among them."""

    @property
    def toolbox(self) -> Toolbox: ...
    @property
    def chooser(self) -> ToolChooser: ...
    @property
    def toolkits(self) -> WorkspaceToolkits: ...
    @property
    def mcp(self) -> McpClient: ...
    @property
    def embedder(self) -> Embedder | None: ...


@dataclass(frozen=True, slots=True)
class About:
    """What can be told of the bot: its commands, why a tier is in effect (a template for each source), the variables
    that may be shown, by name, the owner's, and how it is. `stock` is made after the tools that tell of it."""

    specs: tuple[CommandSpec, ...]
    why: Mapping[TierSource, str]
    models: Models
    variables: Mapping[str, str]
    health: Health
    stock: Callable[[], Stock]


@dataclass(frozen=True, slots=True)
class ToolNeeds:
    """The bot's parts, by name; `files` holds a folder for each person. Without `about` no tool tells of the bot
    itself, without `council` none asks several models."""

    files: Path
    sandbox: Sandbox
    history: HistoryStore
    preferences: PreferenceStore
    skills: Callable[[], Skills]
    clock: Clock
    about: About | None = None
    council: CouncilSessions | None = None
