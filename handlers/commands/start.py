"""/start: introduces the bot."""

from __future__ import annotations

from collections.abc import Mapping

from handlers.access.codes import read_code
from handlers.context import CommandContext, CommandSpec, Handler, Reply
from handlers.demo_model import NOTE
from handlers.dependencies import CommandDependencies
from routing.policy.models import Models
from routing.policy.tiers import tiers_for
from routing.types.messages import Button
from routing.types.tiers import Tier

SPEC = CommandSpec("start", "What this bot does", ("/start",), free_text=True, personal=True)

WORDS = (
    "👋 Write anything and a model answers. You choose which class of model:\n\n{tiers}\n\n"
    "Choose with /tier, or put `!smart` before one message. /status shows what answers you, /help the commands."
)
PURPOSES: Mapping[Tier, str] = {
    "balanced": "**balanced** for most things",
    "smart": "**smart** when it should think harder",
    "coding": "**coding** for programs",
    "deep": "**deep** for the hardest questions",
}
OWNER = "👑 You are the owner now."
OLLAMA = "Ollama is running with {model}. It answers in every tier, because no API key is set."


def build(dependencies: CommandDependencies) -> Handler:
    return Start(dependencies.router.models)


class Start:
    """Explains the bot, the next steps, and what answers while no provider has a key. The link to the bot sends the
    owner code with it: `Access` has checked that."""

    def __init__(self, models: Models) -> None:
        self._models = models

    async def __call__(self, ask: CommandContext) -> Reply:
        tiers = "\n".join(f"- {ask.say(PURPOSES[tier])}" for tier in tiers_for(ask.person.role))
        parts = [ask.say(WORDS, tiers=tiers)]
        if read_code(ask.rest) and ask.person.role == "owner":
            parts.insert(0, ask.say(OWNER))
        if self._models.without_keys():
            found = self._models.ollama
            parts.append(ask.say(NOTE) if found is None else ask.say(OLLAMA, model=f"`{found.partition('/')[2]}`"))
        return Reply("\n\n".join(parts), ((Button("/tier", "/tier"), Button("/help", "/help")),))
