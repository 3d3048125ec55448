"""Runs the bot in the terminal."""

from __future__ import annotations

import sys
import time
from getpass import getuser

from bot import keyless
from bot.adapters.console import CommandHint, ConsolePlatform, ConsoleUser, PromptOptions, Streams
from bot.app import open_app
from bot.config.environment import Environment
from bot.config.workspace import Workspace
from bot.messaging import Messaging
from handlers.commands import COMMANDS
from routing.policy.models import Models
from routing.types.deadline import steady_clock
from routing.types.messages import UserKey
from routing.types.tiers import TIERS


async def chat(environment: Environment, workspace: Workspace, name: str | None) -> int:
    """Chat in the terminal or through a pipe. The person at the terminal is an owner."""
    async with (
        Messaging(environment.settings.database, workspace.outgoing, time.time, steady_clock()) as messaging,
        open_app(environment, workspace, messaging) as app,
    ):
        people = messaging.stores.people
        user_name = name or getuser()
        user = UserKey("console", user_name)
        if await people.find(user) is None:
            await people.admit(user, user_name, "owner", "terminal")

        async def chosen() -> str:
            person = await people.find(user)
            return person.language if person else ""

        platform = ConsolePlatform(
            ConsoleUser(user_name, messaging.clock, environment.language, chosen),
            app.inbox.accept,
            Streams(sys.stdin, sys.stdout, sys.stderr),
            PromptOptions(
                workspace.console_history,
                hints(app.engine.models),
                keyless.describe_keyless_model(app.engine.models) or "",
            ),
            messaging.outbox.no_replies.wait,
            messaging.steady,
        )
        app.engine.llm.load()
        await messaging.connect([platform])
        await app.start()
        return await platform.run()


def hints(models: Models) -> tuple[CommandHint, ...]:
    """Commands for completion at the prompt. /model completes callable models."""
    able = [card.name for card in models.catalog.models() if models.has_key(card.provider)]
    named = {"model": (TIERS, tuple(dict.fromkeys((*filter(None, [models.ollama]), *able))))}
    return tuple(CommandHint(spec.name, spec.summary, named.get(spec.name, spec.choices)) for spec in COMMANDS)
