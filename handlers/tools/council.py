"""The tool with which a model convenes a council of models."""

from __future__ import annotations

from handlers.council.council import ANYBODY, ROLE, CouncilSessions, Plan, Wanted
from handlers.council.replies import estimate_line, names, progress, verdict_text
from handlers.languages import Say
from handlers.tools.authoring.decorator import Tools, tool, tools_of
from handlers.tools.dependencies import ToolDependencies
from routing.council.council import ALL_SECONDS
from routing.errors import Refused, ToolFailed
from routing.ports import Clock
from routing.types.stop import Stop
from routing.types.tiers import Tier
from routing.types.tools import ToolScope, Traits
from routing.types.usage import TurnCost, known_cost

NAME = "council"
TRAITS = Traits(parallel=False, seconds=ALL_SECONDS + 20.0, own_time=True)
"""The extra seconds are for loading the prices."""
ENGLISH = Say("en")
"""The language of texts for the model."""
UNAVAILABLE = "fewer than two providers have a key"


def build(dependencies: ToolDependencies) -> Tools:
    council = dependencies.council
    return () if council is None else tools_of(CouncilTools(council, dependencies.clock))


class CouncilTools:
    """Runs a council within the model's turn, charged to that turn's cost. At most one per turn."""

    def __init__(self, councils: CouncilSessions, clock: Clock) -> None:
        self._councils = councils
        self._clock = clock

    async def _unavailable(self) -> str | None:
        """Why no council is possible at the moment, regardless of the question."""
        return None if self._councils.has_members() else UNAVAILABLE

    async def _price(
        self, scope: ToolScope, question: str, members: int | None = None, tier: Tier | None = None
    ) -> str | None:
        """The members and the estimated cost if it may exceed what a model may spend without a confirmation; else
        None."""
        plan, cost = await self._plan(scope, question, members, tier)
        if not plan.needs_confirmation(self._councils.models.config.council.tool_confirm_above):
            return None
        try:
            (await self._councils.hold(ENGLISH, plan, cost, self._clock())).release()
        except Refused as refused:
            raise ToolFailed(str(refused)) from None
        say = Say(scope.language)
        asked = say(
            "🏛 It asks {n} models: {models}.", n=len(plan.seats), models=names(seat.model for seat in plan.seats)
        )
        return f"{asked}  \n{estimate_line(say, plan.reckoned)}"

    @tool(role=ROLE, traits=TRAITS, off=_unavailable, asks=_price)
    async def consult_council(
        self, scope: ToolScope, question: str, members: int | None = None, tier: Tier | None = None
    ) -> str:
        """The council's answer and how it was reached."""
        plan, cost = await self._plan(scope, question, members, tier)
        say, show = Say(scope.language), scope.show
        try:
            with self._councils.sessions.enter(scope.person.id):
                held = await self._councils.hold(ENGLISH, plan, cost, self._clock())
                verdict = await self._councils.run(
                    plan, held, cost, Stop(), lambda now: show(progress(say, now, plan.reckoned)) if show else None
                )
        except Refused as refused:
            raise ToolFailed(str(refused)) from None
        if not verdict.answered:
            raise ToolFailed(verdict_text(ENGLISH, verdict))
        return verdict_text(ENGLISH, verdict)

    async def _plan(
        self, scope: ToolScope, question: str, members: int | None, tier: Tier | None
    ) -> tuple[Plan, TurnCost]:
        """Raises ToolFailed if no council is possible, for a second council in one turn, and if the cost exceeds the
        turn's limit."""
        cost, most = scope.cost, self._councils.models.config.turn.dollars
        if cost is None:
            raise ToolFailed("No council can be held here. Answer without it.")
        if cost.consulted:
            raise ToolFailed("You have consulted a council in this turn already. Answer with what it said.")
        wanted = Wanted(tier, members) if tier or members else ANYBODY
        try:
            plan = await self._councils.plan(ENGLISH, question.strip(), wanted)
        except Refused as refused:
            raise ToolFailed(str(refused)) from None
        if most is not None and plan.dollars is not None and known_cost(cost.calls) + plan.dollars > most:
            raise ToolFailed(
                f"This council would cost about ${plan.dollars:.2f}, and a turn may cost ${most:.2f}. No model "
                "was asked. Ask fewer members or a cheaper tier, or answer without it."
            )
        return plan, cost
