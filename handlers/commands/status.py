"""/status: the bot explains itself, in one message."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from zoneinfo import ZoneInfo

from handlers.access import may
from handlers.asking import Ask, CommandSpec, Handler, Reply
from handlers.commands.tier import because, describe, first_line, owner_default
from handlers.commands.usage import DAY, spending
from handlers.needs import Needs
from handlers.promise import Promise
from handlers.span import span
from handlers.tool_status import ToolStatus, tool_status
from routing import tiers
from routing.diagnostics import Facts, Health, percentile
from routing.errors import Refused
from routing.models.sizes import SizeSource
from routing.planning import Plan
from routing.ports import Clock
from routing.records import HistoryStore, UsageStore
from routing.router import Router
from routing.stores import PreferenceStore

SPEC = CommandSpec(
    "status",
    "What is decided for you and how the bot is",
    ("/status", "/status full"),
    choices=(("full",),),
    personal=True,
)
SAMPLE = 50
"""Calls a model's p50 and p95 are taken from."""
WHY_SIZE: Mapping[SizeSource, str] = {
    "owner": "sizeClass in models.json",
    "family": "from its family",
    "name": "{figure}, from its name",
    "metadata": "{figure}, says the provider",
    "default": "nothing tells it; sizeClass in models.json sets it",
}
"""What tells the size class; the evidence begins with the figure where there is one."""


def build(needs: Needs) -> Handler:
    """The command with its ports."""
    tools = tool_status(needs)
    promise = Promise(needs.router.models, needs.purse, needs.steady)
    return StatusCommand(
        needs.preferences, needs.history, needs.usage, needs.router, promise, tools, needs.health, needs.clock
    )


class StatusCommand:
    """Renders what was decided; owner-only parts are left out for others."""

    def __init__(
        self,
        preferences: PreferenceStore,
        history: HistoryStore,
        usage: UsageStore,
        router: Router,
        promise: Promise,
        tools: ToolStatus,
        health: Health,
        clock: Clock,
    ) -> None:
        self._preferences = preferences
        self._history = history
        self._usage = usage
        self._router = router
        self._promise = promise
        self._tools = tools
        self._health = health
        self._clock = clock

    async def __call__(self, ask: Ask) -> Reply:
        full = bool(ask.arguments)
        if full and ask.arguments[0].lower() != "full":
            raise Refused("Write {usage}. Nothing was changed.", usage=", ".join(SPEC.usage))
        parts = [await self._decided(ask), await self._context(ask, full), await self._spent(ask, full)]
        if may(ask.person, "owner"):
            parts.append(await self._process(ask, full))
        return Reply("\n\n".join("  \n".join(part) for part in parts if part))

    async def _decided(self, ask: Ask) -> list[str]:
        stored = await self._preferences.get(ask.person.id)
        conversation = await self._history.current(ask.message.chat)
        plan = await self._router.plan(ask.person, conversation.id)
        tier, model, *others = describe(ask, plan)
        size = self._size(ask, plan.choice.model)
        promised = await self._promise.lines(ask, plan)
        default = tiers.default_for(ask.person.role, self._router.models.config.default_tier)
        first = [first_line(stored, default), tier, *owner_default(ask, stored, default)]
        return [*first, model, size, *others, *promised, *self._last(ask, conversation.id, plan)]

    def _size(self, ask: Ask, model: str) -> str:
        """The size class of a model, by which the tools are shown to it, and what tells it."""
        decision = self._router.models.size(model)
        figure = decision.evidence.split()[0].rstrip(",").upper().replace("X", "x")
        reason = ask.say(WHY_SIZE[decision.source], figure=figure)
        return ask.say("Size class: {size} ({reason}).", size=decision.size, reason=reason)

    def _last(self, ask: Ask, conversation_id: int, now: Plan) -> list[str]:
        """What answers right now, or answered last, where that is something else."""
        last = self._router.last(conversation_id)
        if last is None or (last.decision, last.choice) == (now.decision, now.choice):
            return []
        reason = because(ask, last.decision)
        words = "Last call: {tier} with {model}, because {reason}."
        return [ask.say(words, tier=last.decision.tier, model=f"`{last.choice.model}`", reason=reason)]

    async def _context(self, ask: Ask, full: bool) -> list[str]:
        conversation = await self._history.current(ask.message.chat)
        fit = await self._router.fit(ask.person, conversation.id)
        share = round(100 * fit.tokens / fit.limit)
        line = ask.say("Context: {used} of {limit} tokens ({share} %)", used=fit.tokens, limit=fit.limit, share=share)
        if fit.dropped:
            line += ask.say("; the oldest {n} messages no longer fit", n=fit.dropped)
        lines = [line]
        if fit.compactions:
            lines.append(ask.say("Older messages became a summary {n}×.", n=fit.compactions))
        if fit.trouble:
            words = (
                "⚠️ The newest summary could not be written ({reason}): the oldest messages are left out until it can."
            )
            lines.append(ask.say(words, reason=fit.trouble))
        return [*lines, *await self._tools.lines(ask, conversation.id, full)]

    async def _spent(self, ask: Ask, full: bool) -> list[str]:
        conversation = await self._history.current(ask.message.chat)
        here = await self._usage.by_model(conversation_id=conversation.id)
        day = await self._usage.by_model(person_id=ask.person.id, since=self._clock() - DAY)
        today = await self._usage.by_model(person_id=ask.person.id, since=await self._midnight(ask))
        lines = [
            ask.say("This conversation: {sum}", sum=spending(ask, here))
            if here
            else ask.say("This conversation: nothing yet"),
            ask.say("Today: {sum}", sum=spending(ask, today) if today else "$0.0000"),
            ask.say("Last 24 hours: {sum}", sum=spending(ask, day) if day else "$0.0000"),
        ]
        lines += [f"• `{each.model}`: {spending(ask, [each])}" for each in day[: None if full else 3]]
        return lines

    async def _midnight(self, ask: Ask) -> float:
        """When today began where this person lives."""
        zone = ZoneInfo((await self._preferences.settings(ask.person.id)).time_zone)
        now = datetime.fromtimestamp(self._clock(), zone)
        return now.replace(hour=0, minute=0, second=0, microsecond=0).timestamp()

    async def _process(self, ask: Ask, full: bool) -> list[str]:
        facts = await self._health.facts()
        now = facts.now
        in_line = self._router.models.health.parallel.lines
        lines = [
            ask.say("Running turns: {running}, waiting: {queued}", running=facts.running, queued=facts.queued),
            *(ask.say("In line at {provider}: {n}", provider=name, n=n) for name, n in sorted(in_line.items())),
            ask.say("Replies on their way: {pending}, undeliverable: {dead}", pending=facts.pending, dead=facts.dead),
        ]
        for name, link in facts.links:
            quiet = ask.say("{span} ago", span=span(now - link.last_update)) if link.last_update else ask.say("never")
            line = ask.say(
                "{platform}: up {span}, last message {quiet}",
                platform=name,
                span=span(now - link.up_since),
                quiet=quiet,
            )
            lines.append(f"{line}{': ⚠️ ' + link.trouble if link.trouble else ''}")
        lines += await self._models(ask, facts, full)
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
                span=span(now - facts.started_at),
                memory=round(facts.memory_bytes / 1e6),
            )
        )
        return lines

    async def _models(self, ask: Ask, facts: Facts, full: bool) -> list[str]:
        """How long each model of the last day takes, and what went wrong last."""
        lines = []
        for each in (await self._usage.by_model(since=self._clock() - DAY))[: None if full else 3]:
            took = await self._usage.seconds(each.model, SAMPLE)
            half, most = percentile(took, 0.5), percentile(took, 0.95)
            lines.append(f"`{each.model}`: p50 {half:.1f} s, p95 {most:.1f} s")
        for model, reason, at in facts.failures[: None if full else 3]:
            ago = span(facts.now - at)
            lines.append(ask.say("⚠️ {model} failed {span} ago: {reason}", model=f"`{model}`", span=ago, reason=reason))
        return lines
