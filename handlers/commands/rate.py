"""/rate: rates an answer on platforms without reactions."""

from __future__ import annotations

from handlers.context import CommandContext, CommandSpec, Handler, Reply
from handlers.dependencies import CommandDependencies
from handlers.learning import Learner
from handlers.ratings import THUMBS, thumb
from routing.errors import Refused
from routing.ports import RatingStore, TurnStore
from routing.types.messages import Button

SPEC = CommandSpec(
    "rate",
    "Rate my last answer",
    ("/rate", "/rate up", "/rate down", "/rate none"),
    choices=(("up", "down", "none"),),
    personal=True,
)
WORDS = {"up": "👍", "down": "👎"}


def build(dependencies: CommandDependencies) -> Handler:
    return RateCommand(dependencies.turns, dependencies.ratings, dependencies.learner)


class RateCommand:
    """Rates the person's newest answer in the chat. A button rates the answer it belongs to."""

    def __init__(self, turns: TurnStore, ratings: RatingStore, learner: Learner) -> None:
        self._turns = turns
        self._ratings = ratings
        self._learner = learner

    async def __call__(self, ask: CommandContext) -> Reply:
        turn = ask.button.about if ask.button and ask.button.about else None
        turn = turn or await self._ratings.newest(ask.message.chat, ask.person.id)
        if turn is None:
            raise Refused("There is no recent answer of mine to rate here.")
        if not ask.arguments:
            buttons = tuple(Button(each, f"/rate {each}", turn) for each in THUMBS)
            return Reply(ask.say("What do you think of my last answer?"), (buttons,))
        wanted = ask.arguments[0].lower()
        given = thumb(WORDS.get(wanted, wanted))
        if not given and wanted != "none":
            raise Refused("Write {usage}. Nothing was changed.", usage=", ".join(SPEC.usage))
        rating = THUMBS.get(given)
        if not await self._turns.rate(turn, ask.person.id, rating):
            raise Refused("There is no recent answer of mine to rate here.")
        await self._learner.rated(ask.message, ask.person.id, turn, rating)
        return Reply(ask.say("{thumb} Noted.", thumb=given) if given else ask.say("Your rating was removed."))
