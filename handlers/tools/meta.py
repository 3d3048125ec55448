"""The toolkit that answers questions about the bot itself."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from handlers.access.roles import may
from handlers.tools.authoring.decorator import Tools, tool, tools_of
from handlers.tools.dependencies import About, ToolDependencies
from handlers.tools.help_search import describe_command, describe_toolkit, find_commands, find_toolkits, names
from routing.errors import StorageFault
from routing.ports import Facts
from routing.types.decisions import ModelChoice
from routing.types.people import Preferences
from routing.types.tiers import AUTO, TIERS, Tier
from routing.types.tools import ToolScope, Traits

NAME = "meta"
OWN = Traits(outside=False)
RECENT_SECONDS = 3600.0
"""Older model failures are not reported."""
WHERE = (
    "The owner's files are in the workspace (the folder of the variable WORKSPACE): preferences/runtime-config.json "
    "has providers, models and limits, models/models.json the catalogue, SYSTEM.md instructions, then skills/, "
    "toolkits/ and mcp.json. Variables are in the environment or in .env there."
)


def build(dependencies: ToolDependencies) -> Tools:
    about = dependencies.about
    return () if about is None else tools_of(MetaTools(dependencies, about))


class MetaTools:
    """Reports the asking person's own data, in English for the model. Owners also see what /status shows only to
    owners. Keys and the owner's instructions are never included."""

    def __init__(self, dependencies: ToolDependencies, about: About) -> None:
        self._dependencies = dependencies
        self._about = about

    @tool(role="guest", traits=OWN)
    async def help(self, scope: ToolScope, topic: str = "") -> str:
        """All commands and toolkits of this person, or those that match the topic."""
        specs = [spec for spec in self._about.specs if may(scope.person, spec.role)]
        settings = await self._dependencies.preferences.settings(scope.person.id)
        offered = await self._about.tooling().toolbox.offered(scope.person)
        toolkits = [each for each in offered if each.name not in settings.off]
        # this toolkit is left out: the call already answers questions about the bot
        others = [each for each in toolkits if each.name != NAME and not topic.lstrip().startswith("/")]
        found = [
            *map(describe_command, find_commands(specs, topic)),
            *map(describe_toolkit, find_toolkits(others, topic)),
        ]
        if found:
            return "\n".join(found)
        unknown = [f"Nothing here is called {topic.strip()[:60]!r}. All there is:"] if topic.strip() else []
        off = [each.name for each in offered if each.name in settings.off]
        return "\n".join(
            [
                *unknown,
                "Commands, which the person types as messages; /help <command> shows how one is written:",
                *(f"/{spec.name}: {spec.summary}" for spec in specs),
                f"!{', !'.join(TIERS)} before a message: that tier answers it.",
                "Toolkits, which you can use for them:",
                *(f"{each.name}: {each.description} ({names(each)})" for each in toolkits),
                *([f"Switched off by them: {', '.join(off)}."] if off else []),
            ]
        )

    @tool(traits=OWN)
    async def show_config(self, scope: ToolScope) -> str:
        """The person's settings and models. For owners, also the configuration and its sources."""
        stored = await self._dependencies.preferences.get(scope.person.id)
        settings = await self._dependencies.preferences.settings(scope.person.id)
        bounds, compaction = self._about.models.config.turn, self._about.models.config.compaction
        dollars = f", ${bounds.dollars}" if bounds.dollars is not None else ""
        rate = self._about.variables()["USER_RATE_LIMIT"]
        reason = self._about.why[scope.decision.source].format(tier=scope.decision.tier)
        lines = [
            'As it is for the person who asks ("you" is them):',
            f"Stored: tier {AUTO if stored.auto else stored.tier or 'none'}, force {'on' if stored.force else 'off'}.",
            f"In effect: {scope.decision.tier}, because {reason}.",
            *(self._model(tier, stored) for tier in TIERS),
            f"Language: {settings.language or 'never chosen'}. Time zone: {settings.time_zone}. "
            f"Own instructions: {'yes' if settings.instructions else 'none'}. "
            f"Toolkits switched off: {', '.join(sorted(settings.off)) or 'none'}.",
            f"Limits: {'any number of' if rate == 'off' else rate} messages; a turn has {bounds.model_calls} calls of "
            f"models, {bounds.tool_calls} of tools, {bounds.seconds:.0f} s{dollars}; above {compaction.most_tokens} "
            f"tokens older messages {'become a summary' if compaction.enabled else 'are left out'}.",
        ]
        return "\n".join([*lines, *(self._configured() if may(scope.person, "owner") else ())])

    @tool(traits=OWN)
    async def health(self, scope: ToolScope) -> str:
        """Whether the parts work. For owners, also process facts and tool faults."""
        owner = may(scope.person, "owner")
        try:
            facts = await self._about.health.facts()
            lines = ["The database answers.", self._models(facts)]
        except StorageFault as fault:
            facts, lines = None, [f"The database can't be used at the moment{f': {fault.reason}' if owner else ''}."]
        toolbox = self._about.tooling().toolbox
        off = await toolbox.off(scope.person)
        count = sum(len(each.tools) for each in await toolbox.offered(scope.person))
        lines.append(f"{count} of {count + len(off)} tools can be used.")
        lines += [f"{name} is off: {reason}." for name, reason in off.items()]
        if owner:
            lines += [*self._faults(), *(_process(facts) if facts else ())]
        return "\n".join(lines)

    def _model(self, tier: Tier, stored: Preferences) -> str:
        choice = self._about.models.configured(tier, stored)
        level = f", reasoning {choice.reasoning}" if choice.reasoning else ""
        then = f"; then {', '.join(choice.fallbacks)}" if choice.fallbacks else ""
        return f"{tier}: {choice.model}{level}, {_source(choice)}{then}."

    def _configured(self) -> Iterator[str]:
        config, tooling = self._about.models.config, self._about.tooling()
        toolkits = ", ".join(each.toolkit.name for each in tooling.toolkits.manifests)
        keys = sorted(name for name, profile in config.profiles.items() if profile.api_key)
        yield WHERE
        yield f"Providers with a key: {', '.join(keys) or 'none'}. /model takes: {', '.join(sorted(config.allowed))}."
        yield from (f"Pool of {tier}: {', '.join(config.pools[tier])}." for tier in TIERS)
        yield f"Upgrade to coding by itself: {'on' if config.dynamic_tier else 'off'}."
        yield (
            f"Skills: {', '.join(self._dependencies.skills().found) or 'none'}. "
            f"Toolkits of the workspace: {toolkits or 'none'}. "
            f"MCP servers: {', '.join(each.name for each in tooling.mcp.states()) or 'none'}."
        )
        yield ", ".join(f"{name}={value or '(none)'}" for name, value in self._about.variables().items())

    def _models(self, facts: Facts) -> str:
        since = facts.now - RECENT_SECONDS
        failed = [model for model, _, at in facts.failures if at > since]
        if not failed:
            return "No model failed in the last hour."
        return f"Failed in the last hour: {', '.join(failed)}; the next of a pool answers then, where there is one."

    def _faults(self) -> Iterator[str]:
        tooling = self._about.tooling()
        if tooling.selector.fallback_reason:
            yield f"Tools are found by their words alone: {tooling.selector.fallback_reason}."
        yield from (f"Toolkit: {reason}" for reason in tooling.toolkits.broken.values())
        yield from tooling.mcp.problems()
        for each in tooling.mcp.states():
            if each.status not in ("connected", "disabled"):
                yield f"MCP server {each.name}: {each.status}{f', {each.reason}' if each.reason else ''}."


def _process(facts: Facts) -> Iterator[str]:
    """The process facts of /status, with times instead of durations because the model knows the time."""
    for name, link in facts.links:
        problem = f"; problem: {link.problem}" if link.problem else ""
        yield f"{name}: up since {_time(link.up_since)}, last message {_time(link.last_update)}{problem}."
    yield from (f"{model} failed {_time(at)}: {reason}." for model, reason, at in facts.failures)
    yield (
        f"Turns running: {facts.running}, waiting: {facts.queued}. "
        f"Replies on their way: {facts.pending}, undeliverable: {facts.dead}."
    )
    yield f"Database: revision {facts.revision}, {facts.database_bytes / 1e6:.1f} MB."
    memory = f"{facts.memory_bytes / 1e6:.0f} MB of memory"
    yield f"tierbot {facts.version}, up since {_time(facts.started_at)}, {memory}."


def _time(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC" if at else "never"


def _source(choice: ModelChoice) -> str:
    match choice.source:
        case "override":
            return "chosen with /model"
        case "configured":
            return "as configured"
        case "cheapest":
            return "the cheapest, because a spending limit is reached"
        case "fallback":
            return f"because there is no key for {', '.join(choice.keyless)}"
        case "stand-in":
            return f"in place of models without a key: {', '.join(choice.keyless)}"
        case "local":
            return "because no provider of its pool has a key"
