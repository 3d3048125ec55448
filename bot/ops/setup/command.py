"""Runs `tierbot setup`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

from bot.config.environment import Environment
from bot.ops.setup import service
from bot.ops.setup.draft import Draft, saved_lines
from bot.ops.setup.flags import Flags
from bot.ops.setup.prompts import TerminalPrompts, show, without_echo
from bot.ops.setup.unattended import answered
from bot.ops.setup.wizard import Conceal, Outcome, Wizard
from handlers.languages import Say
from routing.errors import ConfigError

Start = Callable[[asyncio.Runner, Outcome], bool]
"""Runs the bot, if a service follows only until its owner was answered; returns whether that happened."""


def setup(environment: Environment, flags: Flags, conceal: Conceal, start: Start) -> int:
    """Ask, check and save; returns the exit code. Raises ConfigError, having saved nothing new."""
    conceal(flags.secrets)
    draft = Draft.of(environment)
    with asyncio.Runner() as runner:  # one loop for all, because LiteLLM's connections belong to a loop
        if not flags.interactive:
            return _save(*runner.run(answered(draft, flags)))
        return _dialogue(runner, draft, flags, conceal, start)


def _save(draft: Draft, lines: list[str]) -> int:
    for line in lines:
        print(line)
    say = Say("en")
    for line in saved_lines(draft, draft.save(), say):
        print(line)
    if words := service.elsewhere(draft.saved, say):
        print(words)
    return 0


def _dialogue(runner: asyncio.Runner, draft: Draft, flags: Flags, conceal: Conceal, start: Start) -> int:
    say = Say(draft.saved.language)
    if flags.answers:
        raise ConfigError("Add --non-interactive to use the flags; without it, setup asks.")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ConfigError("setup asks questions, so it needs a terminal; or use --non-interactive and flags.")
    wizard = Wizard(draft, TerminalPrompts(say), say, conceal, service.available(), show)
    if words := service.elsewhere(draft.saved, say):
        show(words)
    try:
        with without_echo():
            outcome = runner.run(wizard.run(flags.bases))
    except (KeyboardInterrupt, EOFError):
        show("\n" + (say("Stopped. What was saved stays.") if wizard.saved else say("Stopped. Nothing was changed.")))
        return 130
    ready = start(runner, outcome) if outcome.start else True
    if not (outcome.service and ready):
        return 0
    return service.install(outcome.environment)
