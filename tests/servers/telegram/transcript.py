"""The log as text, for failed expectations."""

from collections.abc import Iterable

from tests.servers.telegram.values import Chat, Message
from tests.servers.telegram.world import World

_REQUESTS = 15


def transcript(world: World) -> str:
    """Every chat with its messages, the last calls, refusals and violations."""
    lines: list[str] = []
    for chat in world.chats.values():
        lines += _chat(world, chat)
    lines.append(f"last calls ({len(world.requests)} in all):")
    for request in world.requests[-_REQUESTS:]:
        shown = {key: value for key, value in request.params.items() if key in ("chat_id", "message_id", "text")}
        lines.append(f"  {request.method} {request.status or 'unanswered'} {shown} {request.description}")
    lines.append(f"pending updates: {len(world.updates.pending)}")
    lines += [f"VIOLATION {violation}" for violation in world.violations]
    return "\n".join(lines)


def _chat(world: World, chat: Chat) -> Iterable[str]:
    yield f"chat {chat.id} ({chat.title or (chat.user.first_name if chat.user else '')}):"
    for message in chat.messages:
        yield "  " + _message(message)
    for draft in [draft for draft in world.drafts if draft.chat_id == chat.id][-3:]:
        yield f"  draft {draft.draft_id}: {draft.text!r}"


def _message(message: Message) -> str:
    notes = []
    if message.thread_id is not None:
        notes.append(f"topic {message.thread_id}")
    if len(message.versions) > 1:
        notes.append(f"version {len(message.versions)}")
    if message.deleted:
        notes.append("deleted")
    if message.content:
        notes.append("+".join(message.content))
    if message.buttons:
        notes.append("buttons " + " | ".join(button["text"] for button in message.buttons))
    if message.emoji:
        notes.append("reactions " + " ".join(message.emoji))
    marks = f" [{', '.join(notes)}]" if notes else ""
    return f"#{message.id} {message.sender.first_name}{marks}: {message.text!r}"
