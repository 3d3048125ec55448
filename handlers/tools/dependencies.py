"""The dependencies that toolkits can ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from handlers.accounts.accounts import Accounts
from handlers.accounts.dav import DavServers
from handlers.accounts.reachable import Reachable
from handlers.context import CommandSpec
from handlers.council.council import CouncilSessions
from handlers.http.addresses import PrivateHosts
from handlers.metrics import Metrics
from handlers.schedules.schedules import Schedules
from handlers.tools.mcp.client import McpClient
from handlers.tools.packages import PYPI, PackageIndex
from handlers.tools.sandbox import Sandbox
from handlers.tools.toolbox import Toolbox
from handlers.tools.workspace import WorkspaceToolkits
from routing.llm.media.image_generation import ImageGenerator
from routing.memory.recall import Memory
from routing.policy.models import Models
from routing.ports import Clock, Embedder, Health, HistoryStore, PreferenceStore
from routing.tools.selector import ToolSelector
from routing.types.decisions import TierSource
from routing.types.people import Person
from routing.types.skills import Skills


class ToolServices(Protocol):
    """All tools, their sources, and the tool selection."""

    @property
    def toolbox(self) -> Toolbox: ...
    @property
    def selector(self) -> ToolSelector: ...
    @property
    def toolkits(self) -> WorkspaceToolkits: ...
    @property
    def mcp(self) -> McpClient: ...
    @property
    def embedder(self) -> Embedder | None: ...


@dataclass(frozen=True, slots=True)
class About:
    """What the bot may tell about itself: its commands, the reasons for a tier (a template per source), the visible
    environment variables by name, those for owners, and its health. `tooling` is created after its users."""

    specs: tuple[CommandSpec, ...]
    why: Mapping[TierSource, str]
    models: Models
    variables: Callable[[], Mapping[str, str]]
    health: Health
    tooling: Callable[[], ToolServices]


@dataclass(frozen=True, slots=True)
class WeatherAddresses:
    """Base addresses of Open-Meteo's APIs, and the proxy for HTTPS."""

    forecast: str = "https://api.open-meteo.com"
    geocoding: str = "https://geocoding-api.open-meteo.com"
    https_proxy: str | None = None


PUBLIC_WEATHER = WeatherAddresses()


@dataclass(frozen=True, slots=True)
class WebSettings:
    """`engine` is `auto`, `off`, or the only search engine to use. `duckduckgo_url` replaces the address of the search
    without a key. `private_hosts` may be fetched besides public ones. `proxy` is for https."""

    engine: str = "auto"
    searxng_url: str = ""
    brave_root: str = ""
    brave_key: str = field(default="", repr=False)
    tavily_root: str = ""
    tavily_key: str = field(default="", repr=False)
    duckduckgo_url: str = ""
    private_hosts: PrivateHosts = field(default_factory=PrivateHosts)
    proxy: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class ToolDependencies:
    """`files` contains one folder per person. Without `about` there are no tools about the bot; without `council` there
    is no council tool, without `images` none for pictures, without `memory` none that remembers, without `schedules`
    no scheduler.
    `accounts` are those that people have connected; `reachable` says where a person's servers may be, `dav` opens those
    of calendars. `web` is read for each search and each page. `desktop` are the bot's environment variables; without
    them the tools for its desktop are off. `shared_folder` is a path, or empty; it is read for each call. `metrics`
    counts the calls."""

    files: Path
    sandbox: Sandbox
    history: HistoryStore
    preferences: PreferenceStore
    skills: Callable[[], Skills]
    clock: Clock
    about: About | None = None
    council: CouncilSessions | None = None
    images: ImageGenerator | None = None
    weather: WeatherAddresses = PUBLIC_WEATHER
    accounts: Accounts | None = None
    reachable: Callable[[Person], Reachable] = lambda person: Reachable()
    web: Callable[[], WebSettings] = WebSettings
    memory: Memory | None = None
    schedules: Schedules | None = None
    dav: DavServers | None = None
    packages: PackageIndex = PYPI
    desktop: Mapping[str, str] = field(default_factory=dict)
    shared_folder: Callable[[], str] = str
    metrics: Metrics = field(default_factory=Metrics)
