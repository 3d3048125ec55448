"""The tools with which a model changes how the conversation goes on: its tier, its skill."""

from __future__ import annotations

import logging
from collections.abc import Callable

from handlers.tools.authoring.tool import Tool
from handlers.tools.dependencies import ToolNeeds
from routing.errors import ToolFailed
from routing.ports import HistoryStore, PreferenceStore
from routing.turn.plan import SET_TIER, USE_SKILL
from routing.types.decisions import TierSource
from routing.types.skills import Skill, Skills
from routing.types.tiers import Tier
from routing.types.tools import ToolScope, Traits

NAME = "conversation"
ONE_BY_ONE = Traits(parallel=False, changes=True, seconds=10.0)
LOCKED: tuple[TierSource, ...] = ("forced", "prefix")
OFF = "off"
NO_SKILLS = "no skills installed"

log = logging.getLogger("handlers.tools")


def build(needs: ToolNeeds) -> tuple[Tool, ...]:
    """The functions behind the manifest."""
    tools = ConversationTools(needs.history, needs.preferences, needs.skills)
    return (
        Tool(SET_TIER, tools.set_tier, role="user", traits=ONE_BY_ONE),
        Tool(
            USE_SKILL,
            tools.use_skill,
            role="user",
            traits=ONE_BY_ONE,
            off=tools.without_skills,
        ),
        Tool("discover_tools", discover_tools, role="guest", traits=ONE_BY_ONE),
    )


async def discover_tools(scope: ToolScope, query: str) -> str:
    """Which tools can be called from now on; the turn knows."""
    if scope.discover is None:
        raise ToolFailed("Nothing more can be found here. Go on with the tools that you see.")
    return await scope.discover(query)


class ConversationTools:
    """What they set lasts for the conversation and never reaches what the person stored."""

    def __init__(self, history: HistoryStore, preferences: PreferenceStore, skills: Callable[[], Skills]) -> None:
        self._history = history
        self._preferences = preferences
        self._skills = skills

    async def set_tier(self, scope: ToolScope, tier: Tier) -> str:
        """The next call to a model already uses the tier."""
        locked = await self._locked(scope)
        if locked is not None:
            raise ToolFailed(
                f"Tier is locked by user ({locked}). Only they can unlock it, with /tier {locked}. Go on in this tier."
            )
        if tier not in scope.tiers:
            raise ToolFailed(
                f"No model of the {tier} tier can be used here. Available tiers: {', '.join(scope.tiers)}."
            )
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
        switched = await self._switched(scope, skill)
        return f"The skill {skill.name} is active.{switched} Its instructions:\n\n{skill.body}"

    async def _switched(self, scope: ToolScope, skill: Skill) -> str:
        """Told here, because the system message of a running turn stays as it is while the model is the same."""
        if skill.model_tier is None or await self._locked(scope) is not None or skill.model_tier not in scope.tiers:
            return ""
        return f" Because of it, the {skill.model_tier} tier answers from now on in this conversation."

    async def _locked(self, scope: ToolScope) -> Tier | None:
        """The tier that the user has locked, if they have; it may have been in this very turn."""
        stored = await self._preferences.get(scope.person.id)
        if stored.force and stored.tier is not None:
            return stored.tier
        return scope.decision.tier if scope.decision.source in LOCKED else None

    async def without_skills(self) -> str | None:
        """Why there is nothing to use."""
        return None if self._skills().found else NO_SKILLS
