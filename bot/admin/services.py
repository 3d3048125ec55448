"""What the pages know of the running bot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.config.environment import Environment
from bot.config.workspace import Workspace

if TYPE_CHECKING:  # imported after the listener has started
    from bot.app import App
    from bot.messaging import Messaging


@dataclass(frozen=True, slots=True)
class AdminServices:
    """`app` returns None until the bot is built, and again once it ends. `token` is ADMIN_TOKEN or the generated one;
    `host` is where the listener is bound."""

    environment: Environment
    workspace: Workspace
    messaging: Messaging
    token: str
    host: str
    app: Callable[[], App | None]
