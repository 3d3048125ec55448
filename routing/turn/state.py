"""What a turn starts from, what is planned for each of its calls, and what has happened in it so far."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from routing.bounded import Bounded
from routing.config.contracts import TierContract
from routing.config.sections import TurnBounds
from routing.errors import ModelError
from routing.policy.failover import MIN_SECONDS, Failure
from routing.policy.models import Models
from routing.ports import PriceList
from routing.tools.offer import TurnTools
from routing.turn.context import Context
from routing.turn.plan import Plan
from routing.turn.tool_executor import ToolExecutor
from routing.turn.truncation import emergency_all
from routing.types.budgets import BudgetExceeded, Reached
from routing.types.deadline import Deadline
from routing.types.decisions import ModelChoice, TierDecision
from routing.types.llm import ChatMessage, Completion, ModelRequest
from routing.types.memory import NOTHING_REMEMBERED, Recollection
from routing.types.people import PersonSettings, Preferences
from routing.types.skills import Skills
from routing.types.tools import ToolResult, ToolScope
from routing.types.turns import Bound, Failed, Limit, PromptFit, Question
from routing.types.usage import TurnCost, known_cost

LAST_CALL = "\n\n[This turn may call no more tools: answer now with what there is, and say what is missing.]"

log = logging.getLogger("routing")


@dataclass(frozen=True, slots=True)
class TurnInput:
    """The fixed inputs of a turn: the question, the person's settings and a snapshot of the configuration. `today` is
    the date in the person's time zone; `auto` is the choice of /tier auto, if it is on. `memory` are the facts for the
    prompt."""

    question: Question
    preferences: Preferences
    settings: PersonSettings
    today: str
    owner_instructions: str
    models: Models
    skills: Skills
    prices: Callable[[], Awaitable[PriceList]]
    auto: TierDecision | None = None
    memory: Recollection = NOTHING_REMEMBERED


@dataclass(frozen=True, slots=True)
class CallPlan:
    """Everything decided for one call. `window` is the context window of the model in tokens, `widest` the largest one
    of its fallbacks."""

    decision: TierDecision
    contract: TierContract
    choice: ModelChoice
    request: ModelRequest
    scope: ToolScope
    fit: PromptFit
    window: int
    widest: int = 0


@dataclass(slots=True)
class Answer:
    """The attempts at one answer: `asked` counts the models tried (first the `candidates`, then the `siblings`),
    `repeats` the earlier attempts with the current model. `began` is when the current attempt began, in seconds of the
    turn."""

    candidates: int
    siblings: int
    tries: int = 0
    asked: int = 1
    repeats: int = 0
    began: float = 0.0


@dataclass(slots=True)
class TurnState:
    """Everything that changes during a turn.

    `context` is the conversation, which may be summarised or shortened; `tools` are those for this question, with what
    the models have seen of them; `plans` remembers the latest plan of each conversation. `messages` are those after the
    question, with tool calls and results. Models in `excluded` are not asked again. `shortened` counts how often the
    prompt was shortened; the next plan shortens it to `shorten_to` tokens, and the model needs a window of more than
    `above` tokens. `escalated` is the move to the coding tier. `system` is the system message with the model and window
    it was written for.
    """

    bounds: TurnBounds
    deadline: Deadline
    cost: TurnCost
    executor: ToolExecutor
    context: Context
    tools: TurnTools
    plans: Bounded[int, Plan]
    messages: list[ChatMessage] = field(default_factory=list)
    answer: Answer = field(default_factory=lambda: Answer(1, 0))
    may_call_tools: bool = True
    unknown_calls: set[str] = field(default_factory=set)
    failed: list[Failed] = field(default_factory=list)
    excluded: set[str] = field(default_factory=set)
    shortened: int = 0
    shorten_to: int | None = None
    above: int = 0
    escalated: TierDecision | None = None
    plan: Plan | None = None
    system: tuple[tuple[str, int], ChatMessage] | None = None
    limit: Limit | None = None
    first_token: float | None = None

    def begin_answer(self, plan: CallPlan) -> None:
        self.answer = Answer(1 + len(plan.choice.fallbacks), len(plan.choice.siblings))

    def begin_attempt(self) -> None:
        self.answer.tries += 1
        self.answer.began = self.deadline.taken

    def end_attempt(self, completion: Completion) -> Failure | None:
        """Record how an attempt ended."""
        if self.first_token is None and completion.first_token is not None:
            self.first_token = self.answer.began + completion.first_token
        if completion.finish == "late" and self.deadline.passed:
            self.reach("seconds", self.deadline.seconds)
        return "length" if completion.finish == "length" and not completion.text.strip() else None

    def fail_attempt(self, error: ModelError) -> ModelError:
        """Don't count an attempt that made no call."""
        if not error.asked or isinstance(error, BudgetExceeded):
            self.answer.tries -= 1
        return error

    def repeat(self) -> None:
        """Ask the current model once more."""
        self.answer.repeats += 1

    def give_up(self, models: Sequence[str], failed: Failed) -> None:
        """Don't ask these models again in this turn; `failed` says why."""
        self.excluded.update(models)
        self.failed.append(failed)
        self.answer.asked += len(models)
        self.answer.repeats = 0

    def require_window_above(self, tokens: int) -> None:
        """Ask only models with a larger context window from now on."""
        self.above = tokens

    def switch_to_cheapest(self, over: Reached) -> None:
        """Let the cheapest model answer, because a budget limit was reached."""
        self.cost.cheapest, self.cost.over = True, over

    def escalate(self, decision: TierDecision) -> None:
        """Move the rest of the turn to another tier."""
        self.escalated = decision

    def record_plan(self, conversation_id: int, plan: Plan) -> None:
        """Keep the latest plan, for the next one and for commands sent meanwhile."""
        self.plan = self.plans[conversation_id] = plan

    def outside_sources(self) -> tuple[str, ...]:
        """Where the models may have read text by others so far."""
        return self.context.outside_sources(self.tools, self.messages)

    def keep_system(self, model: str, window: int, message: ChatMessage) -> None:
        """Keep the system message for further calls of the same model."""
        self.system = (model, window), message

    def begin_shortening(self, tokens: int) -> None:
        """Shorten the messages after the question now, and the conversation before the next call, to a window of
        `tokens`."""
        self.shortened += 1
        self.messages[:] = emergency_all(self.messages, tokens)
        self.shorten_to = tokens

    async def shorten_context(self) -> None:
        """Finish what `begin_shortening` began, if it was called since the last plan."""
        if self.shorten_to is not None:
            await self.context.shorten(self.shorten_to)
            self.shorten_to = None

    def record_calls(self, completion: Completion, model: str) -> None:
        """Add the message in which the model called tools."""
        self.messages.append(
            ChatMessage("assistant", completion.text, (), completion.calls, model, completion.thinking)
        )

    def record_results(self, results: Sequence[ToolResult]) -> None:
        """Add the results of the calls."""
        self.messages += [each.message() for each in results]
        self.unknown_calls |= {each.call_id for each in results if each.unknown_tool}

    def record_answer(self, text: str, model: str) -> None:
        """Add the model's answer."""
        self.messages.append(ChatMessage("assistant", text, made_by=model))

    def prompt(self) -> Sequence[ChatMessage]:
        """The messages after the question; before the last call, with a note that no more tools may be called."""
        if self.may_call_tools or not self.messages:
            return self.messages
        return [*self.messages[:-1], replace(self.messages[-1], text=self.messages[-1].text + LAST_CALL)]

    def last_text(self) -> str:
        """The last text that a model wrote before a tool call."""
        return next(
            (each.text for each in reversed(self.messages) if each.role == "assistant" and each.text.strip()), ""
        )

    def reach(self, bound: Bound, value: float) -> None:
        """Record that a limit of the turn is used up."""
        log.warning("[Turn] Reached its limit of %s: %g", bound, value)
        self.limit = Limit(bound, value)

    def check_time_and_money(self) -> None:
        """Record the limit if the time or the money is used up."""
        if self.bounds.dollars is not None and known_cost(self.cost.calls) >= self.bounds.dollars:
            self.reach("money", float(self.bounds.dollars))
        elif self.deadline.left < (MIN_SECONDS if self.messages else 0.0) or self.deadline.passed:
            self.reach("seconds", self.deadline.seconds)

    def check_calls(self) -> None:
        """Allow tool calls in the next call unless a limit is used up; record the limit of model or tool calls."""
        no_more = self.cost.counted + 1 >= self.bounds.model_calls
        if self.limit is None and self.messages:
            if self.executor.refused:
                self.reach("tools", self.bounds.tool_calls)
            elif no_more:
                self.reach("calls", self.bounds.model_calls)
        self.may_call_tools = self.limit is None and not no_more
