"""/skills: lists the owner's skills."""

from __future__ import annotations

from collections.abc import Callable

from handlers.access.roles import may
from handlers.context import CommandContext, CommandSpec, Handler, Reply
from handlers.dependencies import CommandDependencies
from routing.ports import HistoryStore
from routing.types.messages import Button
from routing.types.skills import Skill, Skills

SPEC = CommandSpec("skills", "List the skills", ("/skills",), personal=True)
BUTTONS = 8


def build(dependencies: CommandDependencies) -> Handler:
    return SkillsCommand(dependencies.history, dependencies.skills)


class SkillsCommand:
    """Lists each skill with its description and tier. Admins also see the broken skills and the reasons."""

    def __init__(self, history: HistoryStore, skills: Callable[[], Skills]) -> None:
        self._history = history
        self._skills = skills

    async def __call__(self, ask: CommandContext) -> Reply:
        skills = self._skills()
        conversation = await self._history.current(ask.message.chat)
        active = (await self._history.switches(conversation.id)).skill
        lines = [_line(ask, skill, skill.name == active) for skill in skills.found.values()]
        if not lines:
            lines.append(ask.say("No skills installed. The owner can add them as skills/<name>/SKILL.md."))
        if may(ask.person, "admin"):
            lines += [ask.say("⚠️ {name} is skipped: {reason}", name=n, reason=r) for n, r in skills.broken.items()]
        return Reply("\n".join(lines), _keyboard(ask, skills, active))


def _line(ask: CommandContext, skill: Skill, active: bool) -> str:
    tier = f" ({ask.say('tier {tier}', tier=skill.model_tier)})" if skill.model_tier else ""
    keywords = f" · {', '.join(skill.keywords)}" if skill.keywords else ""
    return f"- {'✅ ' if active else ''}**{skill.name}**{tier}: {skill.description}{keywords}"


def _keyboard(ask: CommandContext, skills: Skills, active: str) -> tuple[tuple[Button, ...], ...]:
    """Two buttons per row. The button of the active skill switches it off."""
    names = [name for name in skills.found if name != active][:BUTTONS]
    buttons = [Button(name, f"/skill {name}") for name in names]
    rows = [tuple(buttons[at : at + 2]) for at in range(0, len(buttons), 2)]
    off = [(Button(ask.say("⏹ Off: {name}", name=active), "/skill off"),)] if active in skills.found else []
    return (*rows, *off)
