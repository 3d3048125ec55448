"""Runs the bot that `tierbot setup` has set up, until its owner was answered."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from bot.config.workspace import Workspace
from bot.ops.setup.first_message import RunningBot, first_message
from bot.ops.setup.prompts import show
from bot.ops.setup.wizard import Outcome
from bot.running import run
from handlers.languages import Say
from storage.database.migrate import migrate

if TYPE_CHECKING:
    from bot.app import App


def run_until_answered(runner: asyncio.Runner, outcome: Outcome, workspace: Workspace) -> bool:
    """Run the bot until its owner was answered if a service follows, else until it is stopped. Returns whether the
    owner was answered."""
    say = Say(outcome.environment.language)
    answered = False

    async def attend(app: App) -> bool:
        nonlocal answered
        stores, outbox = app.messaging.stores, app.messaging.outbox
        bot = RunningBot(
            app.messaging.platforms,
            stores.people,
            stores.turns,
            app.access.new_owner_code,
            lambda: outbox.chats,
            app.running.stopped,
            app.messaging.clock,
        )
        await first_message(bot, outcome.accounts, say, show)
        answered = True
        if not outcome.service:
            show(say("The bot runs until you press Ctrl-C. Later, start it with: tierbot run"))
        return not outcome.service

    show(say("Starting the bot …"))
    migrate(outcome.environment.settings.database, workspace.backups)
    runner.run(run(outcome.environment, workspace, attend))
    return answered
