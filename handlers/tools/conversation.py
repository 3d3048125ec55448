"""The tools with which a model changes how the conversation goes on: its tier, its skill."""

from __future__ import annotations

import logging
from collections.abc import Callable

from handlers.tools.needs import ToolNeeds
from handlers.tools.tool import Tool
from routing.errors import ToolFailed
from routing.outcome import ToolScope, Traits
from routing.records import HistoryStore
from routing.skills import Skills
from routing.stores import PreferenceStore
from routing.types import Tier, TierSource

NAME = "conversation"
ONE_BY_ONE = Traits(parallel=False, changes=True, seconds=10.0)
LOCKED: tuple[TierSource, ...] = ("forced", "prefix")
OFF = "off"

log = logging.getLogger("handlers.tools")


def build(needs: ToolNeeds) -> tuple[Tool, ...]:
    """The functions behind the manifest."""
    tools = ConversationTools(needs.history, needs.preferences, needs.skills)
    return (
        Tool("set_tier", tools.set_tier, role="guest", traits=ONE_BY_ONE),
        Tool(
            "use_skill",
            tools.use_skill,
            role="guest",
            traits=ONE_BY_ONE,
            off=tools.without_skills,
        ),
    )


class ConversationTools:
    """What they set lasts for the conversation and never reaches what the person stored."""

    def __init__(self, history: HistoryStore, preferences: PreferenceStore, skills: Callable[[], Skills]) -> None:
        self._history = history
        self._preferences = preferences
        self._skills = skills

    async def set_tier(self, scope: ToolScope, tier: Tier) -> str:
        """The next call to a model already uses the tier."""
        stored = await self._preferences.get(scope.person.id)
        if scope.decision.source in LOCKED or (stored.force and stored.tier is not None):
            locked = stored.tier if stored.force and stored.tier else scope.decision.tier
            raise ToolFailed(
                f"Tier is locked by user ({locked}). Only they can unlock it, with /tier {locked}. Go on in this tier."
            )
        if tier not in scope.tiers:
            raise ToolFailed(f"No model of the {tier} tier can be used here. There are: {', '.join(scope.tiers)}.")
        await self._history.set_conversation_tier(scope.conversation_id, tier)
        log.info("[TierTool] Tier changed to: %s", tier)
        return f"The {tier} tier answers from now on in this conversation."

    async def use_skill(self, scope: ToolScope, name: str) -> str:
        """The skill's instructions; its tier holds from the next call on."""
        if name.strip().lower() == OFF:
            await self._history.set_skill(scope.conversation_id, "")
            return "No skill is active now."
        skills = self._skills()
        skill = next((each for each in skills.found.values() if each.name.lower() == name.strip().lower()), None)
        if skill is None:
            nearest = skills.nearest(name)
            hint = f" Did you mean {nearest}?" if nearest else ""
            raise ToolFailed(f"There is no skill {name[:60]}.{hint} There are: {', '.join(skills.found) or 'none'}.")
        await self._history.set_skill(scope.conversation_id, skill.name)
        log.info("[Skills] %s is active", skill.name)
        return f"The skill {skill.name} is active. Its instructions:\n\n{skill.body}"

    async def without_skills(self) -> str | None:
        """Why there is nothing to use."""
        return None if self._skills().found else "there are no skills"
