"""/start: what a newcomer reads."""

from __future__ import annotations

from handlers.asking import Ask, CommandSpec, Handler, Reply
from handlers.needs import Needs
from routing.types import Button

SPEC = CommandSpec("start", "What this bot does", ("/start",), free_text=True, personal=True)


def build(_needs: Needs) -> Handler:
    """The command with its ports."""
    return start


async def start(ask: Ask) -> Reply:
    """The one idea, and where to go on."""
    words = (
        "👋 Write anything and a model answers. You choose which class of model:\n\n"
        "- **balanced** for most things\n- **smart** when it should think harder\n"
        "- **coding** for programs\n- **deep** for the hardest questions\n\n"
        "/tier chooses, `!smart` before a message does it once, /status says what is going on, /help lists the rest."
    )
    return Reply(ask.say(words), ((Button("/tier", "/tier"), Button("/help", "/help")),))
