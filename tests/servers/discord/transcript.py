"""The log as text, for people and for failed expectations."""

from collections.abc import Iterable

from tests.servers.discord.journal import Interaction
from tests.servers.discord.message import Message
from tests.servers.discord.values import Channel
from tests.servers.discord.world import World

_REQUESTS = 15


def transcript(world: World, channel: Channel | None = None) -> str:
    """One channel; or every channel with its messages, the interactions, the last calls and the violations."""
    if channel is not None:
        return "\n".join(_channel(channel))
    lines: list[str] = []
    for one in world.channels.values():
        if one.messages:
            lines += _channel(one)
    lines += [f"interaction {_interaction(one)}" for one in world.interactions]
    lines.append(f"last calls ({len(world.requests)} in all):")
    for request in world.requests[-_REQUESTS:]:
        lines.append(f"  {request} {request.status or 'unanswered'} {request.code or ''} {str(request.body)[:200]}")
    for session in world.events.sessions:
        state = "connected" if session.is_connected else "ended" if session.ended else "away"
        lines.append(f"{session.id}: {state}, {session.seq} events, {len(session.resumes)} resumes")
    lines += [f"VIOLATION {violation}" for violation in world.violations]
    return "\n".join(lines)


def _channel(channel: Channel) -> Iterable[str]:
    home = channel.guild.name if channel.guild else "DM" if channel.is_dm else "private"
    name = f"#{channel.name}" if channel.name else " & ".join(user.name for user in channel.recipients)
    yield f"{home} {name} ({channel.id}):"
    for message in channel.messages:
        yield "  " + line(message)


def line(message: Message) -> str:
    """A message as one line."""
    notes = []
    if len(message.versions) > 1:
        notes.append(f"version {len(message.versions)}")
    if message.deleted:
        notes.append("deleted")
    if message.ephemeral:
        notes.append("ephemeral")
    if message.loading:
        notes.append("thinking")
    if message.reply_to is not None:
        notes.append(f"answers {message.reply_to.author.name}")
    notes += [f"file {attachment.name}" for attachment in message.attachments]
    notes += [f"{len(message.embeds)} embeds"] * bool(message.embeds)
    if message.buttons:
        notes.append("buttons " + " | ".join(str(button.get("label") or "?") for button in message.buttons))
    for select in message.selects:
        notes.append("menu " + " | ".join(option["label"] for option in select.get("options", [])))
    if message.reactions:
        notes.append("reactions " + " ".join(message.reactions))
    marks = f" [{', '.join(notes)}]" if notes else ""
    return f"{message.author.name}{marks}: {message.text!r}"


def _interaction(asked: Interaction) -> str:
    what = asked.data.get("name") or asked.data.get("custom_id")
    status = "unanswered" if asked.response is None else f"answered with type {asked.response.type}"
    return f"{what!r} by {asked.user.name}: {status}, {len(asked.followups)} further messages"
