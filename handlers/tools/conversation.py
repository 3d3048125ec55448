"""Tools that change the conversation: its tier, its skill, its active tools."""

from __future__ import annotations

import logging
from collections.abc import Callable

from handlers.tools.authoring.decorator import Tools, tool, tools_of
from handlers.tools.dependencies import ToolDependencies
from routing.errors import ToolFailed
from routing.ports import HistoryStore, PreferenceStore
from routing.types.decisions import TierSource
from routing.types.skills import Skill, Skills
from routing.types.tiers import Tier
from routing.types.tools import ToolScope, Traits

NAME = "conversation"
ONE_BY_ONE = Traits(parallel=False, changes=True, seconds=10.0, outside=False)
LOCKED: tuple[TierSource, ...] = ("forced", "prefix")
OFF = "off"
NO_SKILLS = "no skills installed"

log = logging.getLogger("handlers.tools")


def build(dependencies: ToolDependencies) -> Tools:
    tools = ConversationTools(dependencies.history, dependencies.preferences, dependencies.skills)
    return (*tools_of(tools), discover_tools)


@tool(role="guest", traits=ONE_BY_ONE)
async def discover_tools(scope: ToolScope, query: str) -> str:
    """The tools that can be called from now on. The turn itself performs the search."""
    if scope.discover is None:
        raise ToolFailed("Nothing more can be found here. Go on with the tools that you see.")
    return await scope.discover(query)


class ConversationTools:
    """Changes last for the conversation and never change the person's stored preferences."""

    def __init__(self, history: HistoryStore, preferences: PreferenceStore, skills: Callable[[], Skills]) -> None:
        self._history = history
        self._preferences = preferences
        self._skills = skills

    async def _without_skills(self) -> str | None:
        """The reason if no skill is installed."""
        return None if self._skills().found else NO_SKILLS

    @tool(traits=ONE_BY_ONE)
    async def set_tier(self, scope: ToolScope, tier: Tier) -> str:
        """Switches the tier. The next model call already uses it."""
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

    @tool(traits=ONE_BY_ONE, off=_without_skills)
    async def use_skill(self, scope: ToolScope, name: str) -> str:
        """Returns the skill's instructions. Its tier applies from the next model call."""
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
        """Included in the result because the system prompt of a running turn changes only with the model."""
        if skill.model_tier is None or await self._locked(scope) is not None or skill.model_tier not in scope.tiers:
            return ""
        return f" Because of it, the {skill.model_tier} tier answers from now on in this conversation."

    async def _locked(self, scope: ToolScope) -> Tier | None:
        """The tier that the user has locked, possibly in this very turn; None if there is none."""
        stored = await self._preferences.get(scope.person.id)
        if stored.force and stored.tier is not None:
            return stored.tier
        return scope.decision.tier if scope.decision.source in LOCKED else None
