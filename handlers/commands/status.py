"""/status: six lines on models, context and money; `/status full` shows everything."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime

from handlers.access.roles import may
from handlers.commands.tier import because, describe, first_line, model_line, owner_default
from handlers.commands.usage import DAY, money, spending
from handlers.context import CommandContext, CommandSpec, Handler, Reply
from handlers.dependencies import CommandDependencies
from handlers.replies.budget_limits import payer_of
from handlers.replies.contract_view import ContractView
from handlers.replies.costs import dollars, statuses
from handlers.replies.duration import format_duration
from handlers.schedules.views import described, short
from handlers.tool_reports.tool_status import ToolStatus, tool_status
from routing.catalog.ollama import WindowSource
from routing.errors import Refused
from routing.health.failures import percentile
from routing.policy import tiers
from routing.ports import Facts
from routing.turn.plan import Plan
from routing.types.decisions import SizeSource
from routing.types.time_zones import time_zone
from routing.types.turns import PromptFit

SPEC = CommandSpec(
    "status",
    "What answers you, what it costs and whether all is well",
    ("/status", "/status full"),
    choices=(("full",),),
    personal=True,
)
SAMPLE = 50
"""Number of calls for a model's p50 and p95."""
RECENT = 600.0
"""The short report shows model failures of the last 600 seconds."""
WHY_SIZE: Mapping[SizeSource, str] = {
    "owner": "sizeClass in models.json",
    "family": "from its family",
    "name": "{figure}, from its name",
    "metadata": "{figure}, according to the provider",
    "default": "unknown; set sizeClass in models.json",
}
"""The source of the size class. The evidence starts with the figure if there is one."""
WHY_WINDOW: Mapping[WindowSource, str] = {
    "catalogue": "from models.json",
    "assumed": "assumed; set maxInputTokens in models.json",
    "refusal": "the provider refused more",
    "loaded": "as loaded by Ollama",
    "num_ctx": "num_ctx in the model's Modelfile",
    "made for": "the model's own limit, according to Ollama",
    "default": "Ollama's default; OLLAMA_CONTEXT_LENGTH changes it",
}


def build(dependencies: CommandDependencies) -> Handler:
    tools = tool_status(dependencies)
    contract = ContractView(dependencies.router.models, dependencies.guard, dependencies.steady)
    return StatusCommand(dependencies, contract, tools)


class StatusCommand:
    """Renders decisions that were already made. Some parts are shown only to owners."""

    def __init__(self, dependencies: CommandDependencies, contract: ContractView, tools: ToolStatus) -> None:
        self._preferences = dependencies.preferences
        self._facts = dependencies.facts
        self._history = dependencies.history
        self._usage = dependencies.usage
        self._router = dependencies.router
        self._media = dependencies.media
        self._budget = dependencies.guard.budget
        self._contract = contract
        self._tools = tools
        self._health = dependencies.health
        self._clock = dependencies.clock
        self._schedules = dependencies.schedules

    async def __call__(self, ask: CommandContext) -> Reply:
        if not ask.arguments:
            return Reply("  \n".join(await self._short(ask)))
        if ask.arguments[0].lower() != "full":
            raise Refused("Write {usage}. Nothing was changed.", usage=", ".join(SPEC.usage))
        parts = [
            await self._decided(ask),
            await self._context(ask),
            await self._spent(ask),
            await self._scheduled(ask),
        ]
        if may(ask.person, "admin"):
            parts.append(_config_fault(ask, await self._health.facts()))
        if may(ask.person, "owner"):
            parts.append(await self._process(ask))
        return Reply("\n\n".join("  \n".join(part) for part in parts if part))

    async def _short(self, ask: CommandContext) -> list[str]:
        """Tier, model, tools, context, money and health, one line each."""
        conversation = await self._history.current(ask.message.chat)
        plan = await self._router.plan(ask.person, conversation.id)
        fit = await self._router.fit(ask.person, conversation.id)
        tier = ask.say("Tier: {tier} ({reason})", tier=plan.decision.tier, reason=because(ask, plan.decision))
        tools = await self._tools.shown(ask, conversation.id)
        return [
            tier,
            model_line(ask, plan),
            tools,
            *await self._memory(ask, conversation.id),
            _used(ask, fit),
            await self._money(ask),
            await self._warnings(ask, plan, fit),
        ]

    async def _money(self, ask: CommandContext) -> str:
        """Today's cost, and the limit with the least money left."""
        today = await self._usage.by_model(person_id=ask.person.id, since=await self._midnight(ask))
        line = ask.say("Cost today: {cost}", cost=money(ask, today))
        found = await self._budget.statuses(ask.person.id, ask.message.chat, payer_of(ask))
        if not found:
            return f"{line} · {ask.say('no budget limit')}"
        least = min(found, key=lambda each: each.left)
        mark = "" if least.left else "⚠️ "
        left, limit = dollars(least.left), dollars(least.ceiling.dollars)
        return f"{line} · {mark}{ask.say('budget left: {left} of {limit}', left=left, limit=limit)}"

    async def _warnings(self, ask: CommandContext, plan: Plan, fit: PromptFit) -> str:
        """The warning if there is only one, else the number of warnings."""
        found = [*await self._contract.lines(ask, plan), *self._tools.faults(ask), *_lost(ask, fit)]
        if may(ask.person, "admin"):
            facts = await self._health.facts()
            found += _config_fault(ask, facts)
        if may(ask.person, "owner"):
            found += [*_links(ask, facts), *_failures(ask, facts, RECENT)]
        warnings = [line for line in found if "⚠️" in line]
        if not warnings:
            return ask.say("Everything works. Details: /status full")
        more = ask.say("{n} warnings: /status full", n=len(warnings))
        return warnings[0] if len(warnings) == 1 else f"⚠️ {more}"

    async def _decided(self, ask: CommandContext) -> list[str]:
        stored = await self._preferences.get(ask.person.id)
        conversation = await self._history.current(ask.message.chat)
        plan = await self._router.plan(ask.person, conversation.id)
        tier, model, *others = describe(ask, plan)
        size = self._size(ask, plan.choice.model)
        window = self._window(ask, plan)
        contract = [*await self._contract.lines(ask, plan), await self._transcription(ask)]
        default = tiers.default_for(ask.person.role, self._router.models.config.default_tier)
        first = [first_line(stored, default), tier, *owner_default(ask, stored, default)]
        return [*first, model, size, window, *others, *contract, *self._last(ask, conversation.id, plan)]

    def _size(self, ask: CommandContext, model: str) -> str:
        """The model's size class, which controls how tools are shown to it, and the source."""
        decision = self._router.models.size(model)
        figure = decision.evidence.split()[0].rstrip(",").upper().replace("X", "x")
        reason = ask.say(WHY_SIZE[decision.source], figure=figure)
        return ask.say("Size class: {size} ({reason}).", size=decision.size, reason=reason)

    def _window(self, ask: CommandContext, plan: Plan) -> str:
        """The model's context window and the source."""
        window = self._router.models.known_window(plan.choice.model, plan.choice.reasoning)
        words = "Context window: {tokens} tokens ({reason})."
        return ask.say(words, tokens=window.tokens, reason=ask.say(WHY_WINDOW[window.source]))

    async def _transcription(self, ask: CommandContext) -> str:
        """The model that transcribes voice messages."""
        order = await self._media.order("audio_transcription")
        if not order:
            return ask.say("Voice messages are not transcribed here.")
        return ask.say("Voice messages are transcribed by {model}.", model=f"`{order[0]}`")

    def _last(self, ask: CommandContext, conversation_id: int, now: Plan) -> list[str]:
        """The tier and model of the last call, if they differ from the current plan."""
        last = self._router.last(conversation_id)
        if last is None or (last.decision, last.choice) == (now.decision, now.choice):
            return []
        reason = because(ask, last.decision)
        words = "Last call: {tier} with {model}, because {reason}."
        return [ask.say(words, tier=last.decision.tier, model=f"`{last.choice.model}`", reason=reason)]

    async def _context(self, ask: CommandContext) -> list[str]:
        conversation = await self._history.current(ask.message.chat)
        fit = await self._router.fit(ask.person, conversation.id)
        line = _used(ask, fit)
        if fit.dropped:
            line += ask.say("; the oldest {n} messages no longer fit", n=fit.dropped)
        lines = [line]
        if fit.compactions:
            lines.append(ask.say("Older messages were summarised {n}×.", n=fit.compactions))
        memory = await self._memory(ask, conversation.id)
        return [*lines, *_lost(ask, fit), *memory, *await self._tools.lines(ask, conversation.id)]

    async def _memory(self, ask: CommandContext, conversation_id: int) -> list[str]:
        """Which of the remembered facts the last answer used. Nothing in a group, or if nothing is remembered."""
        known = await self._facts.of(ask.person.id) if ask.message.private else ()
        if not known:
            return []
        if not (await self._preferences.settings(ask.person.id)).memory:
            return [ask.say("Memory: off ({n} stored)", n=len(known))]
        last = self._router.last(conversation_id)
        if last is None:
            return [ask.say("Memory: {n} stored", n=len(known))]
        used = last.memory.used
        line = ask.say("Memory: {used} of {n} facts used", used=len(used), n=max(last.memory.total, len(used)))
        return [line + (f" ({', '.join(str(each.id) for each in used)})" if used else "")]

    async def _spent(self, ask: CommandContext) -> list[str]:
        conversation = await self._history.current(ask.message.chat)
        here = await self._usage.by_model(conversation_id=conversation.id)
        day = await self._usage.by_model(person_id=ask.person.id, since=self._clock() - DAY)
        lines = [
            ask.say("This conversation: {sum}", sum=spending(ask, here))
            if here
            else ask.say("This conversation: nothing yet"),
            await self._money(ask),
        ]
        if day:
            lines.append(ask.say("Last 24 hours: {sum}", sum=spending(ask, day)))
        if len(day) > 1:
            lines += [f"• `{each.model}`: {spending(ask, [each])}" for each in day]
        limits = await self._budget.statuses(ask.person.id, ask.message.chat, payer_of(ask))
        if [(each.ceiling.scope, each.ceiling.period, each.unknown) for each in limits] == [("person", "day", 0)]:
            return lines  # the line of today's cost has it
        return [*lines, *statuses(ask.say, limits)]

    async def _scheduled(self, ask: CommandContext) -> list[str]:
        """The next reminder or task."""
        found = await self._schedules.of(ask.person.id)
        following = next((each for each in found if each.state == "active"), None)
        if following is None:
            return []
        when = described(ask.say, following, await time_zone(following.time_zone), self._clock())
        words = "Next reminder or task (of {n}): {when}: {text}"
        return [ask.say(words, n=len(found), when=when, text=short(following.text))]

    async def _midnight(self, ask: CommandContext) -> float:
        """The start of today in the person's time zone, in Unix seconds."""
        zone = await time_zone((await self._preferences.settings(ask.person.id)).time_zone)
        now = datetime.fromtimestamp(self._clock(), zone)
        return now.replace(hour=0, minute=0, second=0, microsecond=0).timestamp()

    async def _process(self, ask: CommandContext) -> list[str]:
        facts = await self._health.facts()
        now = facts.now
        queued = self._router.models.health.parallel.queued
        lines = [
            ask.say("Running turns: {running}, waiting: {queued}", running=facts.running, queued=facts.queued),
            *(ask.say("Waiting for {provider}: {n}", provider=name, n=n) for name, n in sorted(queued.items())),
            ask.say("Replies being sent: {pending}, undeliverable: {dead}", pending=facts.pending, dead=facts.dead),
        ]
        lines += _links(ask, facts)
        lines += await self._models(ask, facts)
        lines.append(
            ask.say(
                "Database: revision {revision}, {megabytes} MB",
                revision=facts.revision,
                megabytes=round(facts.database_bytes / 1e6, 1),
            )
        )
        lines.append(
            ask.say(
                "tierbot {version}, up {span}, {memory} MB of memory",
                version=facts.version,
                span=format_duration(now - facts.started_at),
                memory=round(facts.memory_bytes / 1e6),
            )
        )
        return lines

    async def _models(self, ask: CommandContext, facts: Facts) -> list[str]:
        """Latency of each model used in the last day, and the last failures."""
        lines = []
        for each in await self._usage.by_model(since=self._clock() - DAY):
            if took := await self._usage.seconds(each.model, SAMPLE):
                half, most = (ask.say.number(percentile(took, share), ".1f") for share in (0.5, 0.95))
                lines.append(f"`{each.model}`: p50 {half} s, p95 {most} s")
        return [*lines, *_failures(ask, facts)]


def _config_fault(ask: CommandContext, facts: Facts) -> list[str]:
    """The error in an edited configuration file."""
    if facts.config_fault is None:
        return []
    return [ask.say("⚠️ {reason} The last valid configuration stays in use.", reason=facts.config_fault)]


def _failures(ask: CommandContext, facts: Facts, seconds: float = math.inf) -> list[str]:
    """The last failure of each model that failed within `seconds`."""
    return [
        ask.say(
            "⚠️ {model} failed {span} ago: {reason}",
            model=f"`{model}`",
            span=format_duration(facts.now - at),
            reason=reason,
        )
        for model, reason, at in facts.failures
        if facts.now - at <= seconds
    ]


def _used(ask: CommandContext, fit: PromptFit) -> str:
    share = round(100 * fit.tokens / fit.limit)
    return ask.say("Context: {used} of {limit} tokens ({share} %)", used=fit.tokens, limit=fit.limit, share=share)


def _lost(ask: CommandContext, fit: PromptFit) -> list[str]:
    if not fit.failure:
        return []
    words = "⚠️ The newest summary could not be written ({reason}), so the oldest messages are left out for now."
    return [ask.say(words, reason=fit.failure)]


def _links(ask: CommandContext, facts: Facts) -> list[str]:
    lines, now = [], facts.now
    for name, link in facts.links:
        quiet = (
            ask.say("{span} ago", span=format_duration(now - link.last_update))
            if link.last_update
            else ask.say("never")
        )
        words = "{platform}: up {span}, last message {quiet}"
        line = ask.say(words, platform=name, span=format_duration(now - link.up_since), quiet=quiet)
        lines.append(f"{line}{': ⚠️ ' + ask.say(link.problem) if link.problem else ''}")
    return lines
