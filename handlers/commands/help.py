"""/help: the commands by topic, or one command in full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from handlers.access.roles import may
from handlers.context import CommandContext, CommandSpec, Handler, Reply, unknown_command
from handlers.dependencies import CommandDependencies

SPEC = CommandSpec(
    "help", "The commands by topic, all of them, or one", ("/help", "/help tier", "/help all"), personal=True
)
TOPICS: Mapping[str, tuple[str, ...]] = {
    "Who answers": ("tier", "model", "skills", "skill", "council"),
    "This conversation": ("new", "retry", "stop", "history", "compact", "rate"),
    "Cost and limits": ("usage", "budget"),
    "You": ("remind", "schedule", "settings", "memory", "voice", "tools", "files", "connect", "whoami", "access"),
    "This bot": ("status", "start", "help"),
}
"""Commands without a topic are listed under the last one."""


def build(dependencies: CommandDependencies) -> Handler:
    return HelpCommand(dependencies.specs)


class HelpCommand:
    """Renders the same definitions as the menus."""

    def __init__(self, specs: Sequence[CommandSpec]) -> None:
        self._specs = {spec.name: spec for spec in specs}

    async def __call__(self, ask: CommandContext) -> Reply:
        mine = [spec for spec in self._specs.values() if may(ask.person, spec.role)]
        name = ask.arguments[0].lstrip("/").lower() if ask.arguments else ""
        if name == "all":
            return Reply("  \n".join(f"/{spec.name}: {ask.say(spec.summary)}" for spec in mine))
        if name:
            return self._one(ask, name)
        *_, last = TOPICS
        placed = {spec.name: next((topic for topic in TOPICS if spec.name in TOPICS[topic]), last) for spec in mine}
        lines = [f"**{ask.say(topic)}**: {_listed(placed, topic)}" for topic in TOPICS if topic in placed.values()]
        hint = ask.say("Just write to get an answer; `!smart question` uses a tier once. More: /help tier, /help all")
        return Reply("  \n".join(lines) + f"\n\n{hint}")

    def _one(self, ask: CommandContext, name: str) -> Reply:
        spec = self._specs.get(name)
        if spec is None:
            raise unknown_command(name, self._specs)
        usage = "\n".join(f"- `{ask.say(line)}`" for line in spec.usage)
        return Reply(f"**/{spec.name}**: {ask.say(spec.summary)}\n\n{usage}")


def _listed(placed: Mapping[str, str], topic: str) -> str:
    return ", ".join(f"/{name}" for name, each in placed.items() if each == topic)
