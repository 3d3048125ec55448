"""Explains which tools a model is shown, and why."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from handlers.access.roles import may
from handlers.context import CommandContext
from handlers.tool_reports.tool_list import listed, one_line, plain
from handlers.tools.toolbox import Toolbox
from routing.config.presentation import Strategy
from routing.policy.tiers import split_prefix, tiers_for
from routing.ports import Embedder, PreferenceStore
from routing.router import Router
from routing.tools.fallback_reasons import (
    BUSY,
    EMBEDDING,
    LOADING,
    MODEL_CHANGED,
    OFF,
    SLOW,
)
from routing.tools.offer import ToolOffer, TurnTools
from routing.tools.selector import Activated, ToolSelection, ToolSelector, Why
from routing.turn.plan import Plan
from routing.types.toolkits import Toolkit

STAGES: Mapping[Why, str] = {
    "keyword": "words",
    "embed": "embeddings",
    "follow-up": "follow-up",
    "used": "used",
    "learned": "learned",
}
"""The stage that activated a toolkit."""
UNAVAILABLE = "embeddings are not available right now"
"""Shown to non-admins instead of an error."""
REASONS = (LOADING, EMBEDDING, SLOW, BUSY, MODEL_CHANGED, UNAVAILABLE)
"""Translatable reasons for matching by words only. All other reasons are errors or settings."""
ORDERS: Mapping[Strategy, str] = {
    "top_k": "the most relevant in full, the others by name",
    "hybrid": "the most relevant in full, the others by name without a description",
    "reorder": "all matching tools, by relevance",
    "all": "every tool, whatever the message is about",
    "full": "all matching tools, always in the same order",
}
MAX_NAMED = 60
MAX_ACTIVATED = 5
"""Maximum number of toolkits in /status, which must fit one message."""
NEAREST = 5


class ToolOffers:
    """Explains the tools of the last call, or of a hypothetical message."""

    def __init__(self, router: Router, toolbox: Toolbox, selector: ToolSelector, preferences: PreferenceStore) -> None:
        self._router = router
        self._selector = selector
        self._toolbox = toolbox
        self._preferences = preferences

    async def explain(self, ask: CommandContext, conversation_id: int, asked: str) -> str:
        """The full explanation for a message of this person in this conversation."""
        prefix, text = split_prefix(asked, tiers_for(ask.person.role))
        plan = await self._router.plan(ask.person, conversation_id, prefix)
        message = ask.message
        tools = await self._router.tools(ask.person, conversation_id, text, message.private, message.chat)
        offered = await self._toolbox.offered(ask.person)
        off = (await self._preferences.settings(ask.person.id)).off
        toolkits = [each for each in offered if each.name not in off]
        unwanted = (await self._selector.match(text, off)).activated if off else ()
        parts = [self._head(ask, plan, tools), _toolkits(ask, tools.selection, toolkits, unwanted)]
        parts.append(self._order(ask, plan, tools, toolkits))
        if tools.selection.fallback_reason:
            parts.append(only_words(ask, tools.selection.fallback_reason))
        return "\n\n".join(part for part in parts if part)

    async def last(self, ask: CommandContext, conversation_id: int) -> str:
        """One line about the last call, or about a general message if there was none."""
        plan = self._router.last(conversation_id)
        offer = plan.tools if plan else None
        if offer is None:
            plan = await self._router.plan(ask.person, conversation_id)
            tools = await self._router.tools(ask.person, conversation_id, "")
            offer = tools.offer(plan.choice.model, tools.begin_call(plan.choice.model, self._window(plan)))
            kept = tuple(each for each in offer.activated if each.why in ("follow-up", "used"))
            offer = replace(offer, activated=kept)  # without text, only the conversation's own toolkits are active
            words = "Tools: {n} of {all} for a general message (size {size})"
        else:
            words = "Tools: {n} of {all} for the last message (size {size})"
        if not offer.takes_tools:
            return ask.say("Tools: 0 of {all}, because this model can't use tools", all=offer.total)
        line = ask.say(words, n=offer.shown, all=offer.total, size=offer.size)
        return line + await self._activated(ask, offer)

    async def _activated(self, ask: CommandContext, offer: ToolOffer) -> str:
        """The activated toolkits, without those this person may not use: the last call may have been another
        person's."""
        mine = {toolkit.name for toolkit in await self._toolbox.offered(ask.person)}
        found = [each for each in offer.activated if each.toolkit in mine]
        entries = [f"`{one_line(each.toolkit)}` ({_stage(ask, each)})" for each in found]
        return "; " + ask.say("activated: {toolkits}", toolkits=listed(ask, entries, MAX_ACTIVATED)) if entries else ""

    def _window(self, plan: Plan) -> int:
        """The model's context window in tokens, as used by a turn."""
        return self._router.models.window(plan.choice.model, plan.choice.reasoning)

    def _head(self, ask: CommandContext, plan: Plan, tools: TurnTools) -> str:
        """The number of tools and tokens, and the presentation strategy."""
        model = plan.choice.model
        offer, whole = tools.offer(model, tools.begin_call(model, self._window(plan))), tools.whole(model)
        if not offer.takes_tools:
            return ask.say("Tools: 0 of {all}, because this model can't use tools", all=offer.total)
        first = ask.say(
            "For this message: {n} of {all} tools, about {tokens} tokens instead of {whole} "
            "({share} %). Model: {model}.",
            model=f"`{model}`",
            n=offer.shown,
            all=offer.total,
            tokens=offer.tokens,
            whole=whole,
            share=round(100 * offer.tokens / whole) if whole else 100,
        )
        strategy = self._router.models.config.presentations[offer.size].strategy
        second = ask.say(
            "Size class {size}, strategy {strategy}: {order}.",
            size=offer.size,
            strategy=f"`{strategy}`",
            order=ask.say(ORDERS[strategy]),
        )
        return f"{first}  \n{second}"

    def _order(self, ask: CommandContext, plan: Plan, tools: TurnTools, toolkits: Sequence[Toolkit]) -> str:
        """The tools shown in full, those shown by name, and the rest."""
        shown = tools.begin_call(plan.choice.model, self._window(plan))
        full = [spec.name for spec in shown.specs if spec.description]
        names = [*(spec.name for spec in shown.specs if not spec.description), *shown.names]
        visible = {*full, *names}
        rest = [card.name for toolkit in toolkits for card in toolkit.tools if card.name not in visible]
        lines = []
        if full:
            lines.append(ask.say("In full: {tools}", tools=_codes(ask, full)))
        if names:
            lines.append(ask.say("By name only: {tools}", tools=_codes(ask, names)))
        if rest:
            lines.append(ask.say("Not shown: {tools}", tools=_codes(ask, rest)))
        return "  \n".join(lines)


def compared(ask: CommandContext, selector: ToolSelector, embedder: Embedder | None) -> str:
    """How messages are matched with tools. Only admins see the path of the embedding model."""
    if selector.fallback_reason or embedder is None:
        return only_words(ask, selector.fallback_reason)
    name = embedder.name if may(ask.person, "admin") else embedder.name.partition(":")[0]
    return ask.say("Tool matching: words and embeddings ({name})", name=f"`{name}`")


def only_words(ask: CommandContext, reason: str) -> str:
    """Why embeddings are unavailable. Only admins see errors, which may contain paths."""
    cause = reason if reason in (*REASONS, OFF) or may(ask.person, "admin") else UNAVAILABLE
    return ask.say("⚠️ Tool matching: words only ({reason})", reason=ask.say(cause).rstrip("."))


def _toolkits(
    ask: CommandContext, selection: ToolSelection, toolkits: Sequence[Toolkit], unwanted: Sequence[Activated]
) -> str:
    """The activated toolkits and their stages, those switched off, those always included, and the nearest others."""
    active = {each.toolkit for each in selection.activated}
    lines = [f"- **{plain(each.toolkit)}**: {_stage(ask, each)}" for each in selection.activated]
    if not lines:
        lines.append(ask.say("- No toolkit matches this message."))
    if unwanted:
        entries = [f"{plain(each.toolkit)} ({ask.say.number(each.score, '.2f')})" for each in unwanted]
        lines.append(ask.say("- Switched off by you: {toolkits}", toolkits=listed(ask, entries, NEAREST)))
    base = [plain(toolkit.name) for toolkit in toolkits if toolkit.base and toolkit.name not in active]
    if base:
        lines.append(ask.say("- Always included: {toolkits}", toolkits=", ".join(base)))
    others = [toolkit for toolkit in toolkits if not toolkit.base and toolkit.name not in active]
    near = sorted(((_likely(toolkit, selection), toolkit.name) for toolkit in others), key=lambda each: -each[0])
    if near and selection.relevance:
        entries = [f"{plain(name)} ({ask.say.number(likely, '.2f')})" for likely, name in near]
        lines.append(ask.say("- Not relevant: {toolkits}", toolkits=listed(ask, entries, NEAREST)))
    return "\n".join(lines)


def _stage(ask: CommandContext, each: Activated) -> str:
    return f"{ask.say(STAGES[each.why])} {ask.say.number(each.score, '.2f')}"


def _likely(toolkit: Toolkit, selection: ToolSelection) -> float:
    """The probability of its most likely tool."""
    odds = max((selection.relevance.get(card.name, -math.inf) for card in toolkit.tools), default=-math.inf)
    return 1 / (1 + math.exp(min(-odds, 700.0)))


def _codes(ask: CommandContext, names: Iterable[str]) -> str:
    return listed(ask, [f"`{name}`" for name in names], MAX_NAMED)
