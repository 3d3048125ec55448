"""A chat platform as the rest of the bot knows it: settings, timing, how to build it, how the doctor checks it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from bot.findings import Finding
from bot.platform import Accept, Platform
from routing.errors import ConfigError
from routing.ports import ChatStore, Clock, KnownChats, StateStore
from routing.types.messages import InboundMessage, UserKey

if TYPE_CHECKING:  # imported after the platforms are connected
    from handlers.context import CommandSpec
    from handlers.suggestions import Suggestions

LOOPBACK = ("localhost", "127.0.0.1", "::1")


class CommonSettings(BaseModel):
    """Settings that every platform can read."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    https_proxy: str | None = Field(None, description="Proxy for every HTTPS connection.")


@dataclass(frozen=True, slots=True)
class CommonPace:
    """All in seconds.

    Pauses between attempts to connect grow from `backoff` to `longest_backoff`; after a refused token it is `revoked`.
    Every `watch` seconds the connection is checked, and replaced if nothing was heard for `max_silence`. `typing_after`
    and `preview_after` count from the start of a turn.
    """

    backoff: float = 1.0
    longest_backoff: float = 30.0
    revoked: float = 60.0
    watch: float = 5.0
    max_silence: float = 120.0
    typing_after: float = 0.4
    typing_every: float = 4.0
    preview_after: float = 1.0


class Tell(Protocol):
    """Sends a sentence to the owners, in their language."""

    async def __call__(self, template: str, /, **values: object) -> None: ...


class Chats(ChatStore, KnownChats, Protocol):
    """Everything that is stored about chats."""


@dataclass(frozen=True, slots=True)
class Commands:
    """The commands for a platform's menu, and suggestions for their arguments."""

    specs: Sequence[CommandSpec]
    suggestions: Suggestions


@dataclass(frozen=True, slots=True)
class Services:
    """What the bot offers a platform. `accept` makes messages durable. `unanswered` returns only when it is certain
    that a message gets no reply. `accept` and `commands` wait until the bot has started. `may_show` tells whether
    previews may be shown now: another process may have taken over."""

    accept: Accept
    state: StateStore
    chats: Chats
    commands: Callable[[], Awaitable[Commands]]
    unanswered: Callable[[InboundMessage], Coroutine[None, None, None]]
    tell: Tell
    clock: Clock
    steady: Clock
    may_show: Callable[[], bool] = lambda: True


@dataclass(frozen=True, slots=True)
class CheckContext:
    """What the doctor's check of a platform needs: the machine's time in Unix seconds, the timeout for a service, and
    whether the bot is running."""

    clock: Clock
    network_seconds: float
    running: bool


@dataclass(frozen=True, slots=True)
class BotAccount:
    """The bot that a token belongs to. `link` opens or installs it; the owner code replaces `CODE` in it. `owner` is
    the account to which the bot belongs on the platform, with its name; None if the platform does not tell. `lacks`
    says what the owner should change there, in one sentence; empty if nothing."""

    name: str
    link: str
    owner: UserKey | None = None
    owner_name: str = ""
    lacks: str = ""


CODE = "{code}"
"""The place of the owner code in a link."""


@dataclass(frozen=True, slots=True)
class PlatformDescriptor:
    """`enabled_by` is the settings field that switches the platform on; it is off while that is None. `steps` tells a
    newcomer how to get its value.

    `build`, `check` and `identify` get settings of the platform's own class and import its SDK only when they are
    called. `identify` asks whose token it is, within a number of seconds; it raises ConfigError for a refused token and
    PlatformSilent if there is no answer."""

    name: str
    title: str
    enabled_by: str
    steps: str
    build: Callable[[Any, Services], Platform]
    check: Callable[[Any, CheckContext], Awaitable[list[Finding]]]
    identify: Callable[[Any, float], Awaitable[BotAccount]]

    def configured(self, settings: CommonSettings) -> bool:
        """Whether the platform is switched on."""
        return getattr(settings, self.enabled_by) is not None

    def token(self, settings: CommonSettings) -> str:
        """The bot's token; empty if the platform is off."""
        return secret(getattr(settings, self.enabled_by))


def proxy_for(address: str, *proxies: str | None) -> str | None:
    """The first of the proxies that is set; None for a server on this machine."""
    return None if urlsplit(address).hostname in LOOPBACK else next(filter(None, proxies), None)


def check_address(variable: str, address: str, *schemes: str) -> None:
    """Raises ConfigError for an address that begins with none of the schemes."""
    if not address.startswith(schemes):
        raise ConfigError(f"{variable} must begin with {' or '.join(schemes)}, not {address!r}.")


def secret(value: SecretStr | None) -> str:
    """The text of a secret; empty if it is not set."""
    return value.get_secret_value() if value is not None else ""
