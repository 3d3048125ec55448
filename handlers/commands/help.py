"""/help: every command, or one in full."""

from __future__ import annotations

from collections.abc import Sequence

from handlers.access import may
from handlers.asking import Ask, CommandSpec, Handler, Reply, unknown_command
from handlers.needs import Needs

SPEC = CommandSpec("help", "All commands, or one in full", ("/help", "/help tier"), personal=True)


def build(needs: Needs) -> Handler:
    """The command with its ports."""
    return HelpCommand(needs.specs)


class HelpCommand:
    """Written from the same definitions as the menus."""

    def __init__(self, specs: Sequence[CommandSpec]) -> None:
        self._specs = {spec.name: spec for spec in specs}

    async def __call__(self, ask: Ask) -> Reply:
        if ask.arguments:
            return self._one(ask, ask.arguments[0].lstrip("/").lower())
        mine = [spec for spec in self._specs.values() if may(ask.person, spec.role)]
        lines = [f"/{spec.name}: {ask.say(spec.summary)}" for spec in mine]
        hint = ask.say("/help <command> shows how it is written. `!smart question` uses a tier for one message.")
        return Reply("  \n".join(lines) + f"\n\n{hint}")

    def _one(self, ask: Ask, name: str) -> Reply:
        spec = self._specs.get(name)
        if spec is None:
            raise unknown_command(name, self._specs)
        usage = "\n".join(f"- `{line}`" for line in spec.usage)
        return Reply(f"**/{spec.name}**: {ask.say(spec.summary)}\n\n{usage}")
