"""/skill: selects a skill for the conversation."""

from __future__ import annotations

from collections.abc import Callable

from handlers.access.roles import check_shared
from handlers.commands.tier import describe
from handlers.context import CommandContext, CommandSpec, Handler, Reply
from handlers.dependencies import CommandDependencies
from routing.errors import Refused
from routing.ports import HistoryStore
from routing.router import Router
from routing.types.skills import Skills

OFF = "off"
SPEC = CommandSpec(
    "skill",
    "Use a skill in this conversation, or turn it off",
    ("/skill", "/skill code-review", "/skill off"),
    changes=True,
)


def build(dependencies: CommandDependencies) -> Handler:
    return SkillCommand(dependencies.history, dependencies.router, dependencies.skills)


class SkillCommand:
    """A skill stays active until `/skill off` or `/new`. Its tier applies unless the person locked theirs."""

    def __init__(self, history: HistoryStore, router: Router, skills: Callable[[], Skills]) -> None:
        self._history = history
        self._router = router
        self._skills = skills

    async def __call__(self, ask: CommandContext) -> Reply:
        conversation = await self._history.current(ask.message.chat)
        if ask.arguments:
            check_shared(ask.person, ask.message)
            name = self._known(ask.arguments[0])
            await self._history.set_skill(conversation.id, name)
        else:
            name = (await self._history.switches(conversation.id)).skill
        if name not in self._skills().found:
            return Reply(ask.say("No skill is active. /skills lists them."))
        plan = await self._router.plan(ask.person, conversation.id)
        head = ask.say("The skill {name} is active in this conversation; /skill off turns it off.", name=f"**{name}**")
        return Reply("  \n".join([head, *describe(ask, plan)]))

    def _known(self, name: str) -> str:
        """The skill's exact name; empty for off. Raises Refused with the nearest name."""
        skills = self._skills()
        found = next((each for each in skills.found if each.lower() == name.lower()), None)
        if found is not None:
            return found
        if name.lower() == OFF:
            return ""
        if name in skills.broken:
            raise Refused(
                "The skill {name} can't be used: {reason} Nothing was changed.", name=name, reason=skills.broken[name]
            )
        nearest = skills.nearest(name)
        if nearest is None:
            raise Refused("There is no skill {name}; /skills lists them. Nothing was changed.", name=name)
        words = "There is no skill {name}; did you mean {nearest}? Nothing was changed."
        raise Refused(words, name=name, nearest=nearest)
