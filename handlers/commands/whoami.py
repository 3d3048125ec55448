"""/whoami: the person's account and role."""

from __future__ import annotations

from handlers.context import CommandContext, CommandSpec, Handler, Reply
from handlers.dependencies import CommandDependencies

SPEC = CommandSpec("whoami", "Your account and your role here", ("/whoami",), personal=True)


def build(_dependencies: CommandDependencies) -> Handler:
    return whoami


async def whoami(ask: CommandContext) -> Reply:
    """The account in the form that /access takes, and the role."""
    message = ask.message
    return Reply(
        ask.say(
            "{name}, account {account}, role {role}.",
            name=message.user_name or ask.person.name or "?",
            account=f"`{message.user}`",
            role=ask.say(ask.person.role),
        )
    )
