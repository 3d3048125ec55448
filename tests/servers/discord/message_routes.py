"""The bot's messages: sent, edited, deleted, read; reactions and typing."""

from typing import Any
from urllib.parse import unquote

from tests.servers.discord.call import Call, Handler
from tests.servers.discord.components import numbered
from tests.servers.discord.errors import ApiError, invalid, missing_permissions
from tests.servers.discord.journal import Typing
from tests.servers.discord.message import Message, Pings, Version
from tests.servers.discord.pings import pings_of, shown_text
from tests.servers.discord.rules import SENDABLE_FLAGS, check_message, check_not_empty
from tests.servers.discord.values import Attachment, Channel, Json
from tests.servers.discord.views import message_json
from tests.servers.discord.world import World
from tests.servers.uploads import Upload


def written(world: World, channel: Channel, call: Call, body: Json, answered: Message | None = None) -> Version:
    """A new message's first state. Raises Breach when it is empty."""
    attachments = _stored(world, channel, body, call.files)
    check_not_empty(body.get("content") or "", body.get("embeds"), body.get("components"), attachments)
    return world.version(
        body.get("content") or "",
        embeds=_rich(body.get("embeds")),
        components=numbered(body.get("components") or []),
        attachments=attachments,
        pings=pings_of(shown_text(body), channel, body.get("allowed_mentions"), answered),
    )


def _revised(world: World, message: Message, call: Call, body: Json) -> Version:
    """The next version: fields that the body lacks stay, null removes them."""
    old = message.versions[-1]
    kept = old.attachments
    if body.get("attachments") is not None:
        named = {str(entry["id"]) for entry in body["attachments"]}
        kept = [attachment for attachment in old.attachments if str(attachment.id) in named]
    attachments = kept + _stored(world, message.channel, body, call.files)
    text = (body["content"] or "") if "content" in body else old.text
    embeds = _rich(body["embeds"]) if "embeds" in body else old.embeds
    components = numbered(body["components"] or []) if "components" in body else old.components
    check_not_empty(text, embeds, components, attachments)
    shown = shown_text({"content": text, "components": components})
    answered = message.reply_to if message.kind == 19 else None
    pings = pings_of(shown, message.channel, body.get("allowed_mentions"), answered)
    touched = "content" in body or "components" in body
    return world.version(
        text, embeds=embeds, components=components, attachments=attachments, pings=pings if touched else Pings()
    )


def change(world: World, message: Message, call: Call, body: Json) -> Message:
    """The bot edits what it wrote. Raises Breach."""
    check_message(body, call.files, had=message.flags)
    version = _revised(world, message, call, body)
    message.versions.append(version)
    message.flags |= body.get("flags") or 0
    message.edited = version.at
    world.events.message("MESSAGE_UPDATE", message)
    world.changed()
    return message


def send(world: World, call: Call) -> Json:
    channel = world.open_channel(call.id("channel_id"))
    if channel.lacks("send_messages_in_threads" if channel.is_thread else "send_messages"):
        raise missing_permissions()
    body = call.fields
    check_message(body, call.files)
    if call.files and channel.lacks("attach_files"):
        raise missing_permissions()
    if body.get("enforce_nonce") and (same := world.with_nonce(body.get("nonce"))) is not None:
        return message_json(world, same)
    answered = _answered(world, channel, body.get("message_reference"))
    version = written(world, channel, call, body, answered)
    message = world.add_message(
        channel,
        world.bot,
        version,
        flags=(body.get("flags") or 0) & SENDABLE_FLAGS,
        nonce=body.get("nonce"),
        reply_to=answered,
    )
    world.remember_nonce(message)
    world.events.message("MESSAGE_CREATE", message)
    return message_json(world, message)


def edit(world: World, call: Call) -> Json:
    channel = world.open_channel(call.id("channel_id"))
    message = world.known_message(channel, call.id("message_id"))
    if not message.from_bot:
        raise ApiError(403, 50005, "Cannot edit a message authored by another user")
    if channel.archived:
        raise ApiError(400, 50083, "Thread is archived")
    return message_json(world, change(world, message, call, call.fields))


def delete(world: World, call: Call) -> None:
    channel = world.known_channel(call.id("channel_id"))
    message = world.known_message(channel, call.id("message_id"))
    if not message.from_bot and (channel.guild is None or channel.lacks("manage_messages")):
        raise missing_permissions()
    message.deleted = True
    world.events.message_deleted(message)
    world.changed()


def read(world: World, call: Call) -> Json:
    channel = world.known_channel(call.id("channel_id"))
    if channel.lacks("read_message_history"):
        raise missing_permissions()
    return _as_read(world, world.known_message(channel, call.id("message_id")))


def history(world: World, call: Call) -> list[Json]:
    """Always newest first; with `after`, the messages directly after that id."""
    channel = world.known_channel(call.id("channel_id"))
    if channel.lacks("read_message_history"):
        return []
    limit, query = call.number("limit", 50), call.query
    found = [message for message in channel.messages if not message.deleted and not message.ephemeral]
    if len({"around", "before", "after"} & query.keys()) > 1:
        raise invalid("", "MUTUALLY_EXCLUSIVE", "only one of around, before and after")
    if "before" in query:
        found = [message for message in found if message.id < int(query["before"])]
    elif "after" in query:
        found = [message for message in found if message.id > int(query["after"])][:limit]
    elif "around" in query:
        older = [message for message in found if message.id <= int(query["around"])][-(limit // 2 + 1) :]
        found = older + [message for message in found if message.id > int(query["around"])][: limit // 2]
    return [_as_read(world, message) for message in reversed(found[-limit:])]


def type_(world: World, call: Call) -> None:
    world.typing.append(Typing(world.open_channel(call.id("channel_id"), "send_messages"), world.now()))
    world.changed()


def react(world: World, call: Call) -> None:
    channel = world.open_channel(call.id("channel_id"), "add_reactions", "read_message_history")
    message = world.known_message(channel, call.id("message_id"))
    emoji = unquote(call.path["emoji_name"])
    if emoji.isascii() and ":" not in emoji:
        raise ApiError(400, 10014, "Unknown Emoji")
    message.reactions.setdefault(emoji, set()).add(world.bot.id)
    world.events.reaction("MESSAGE_REACTION_ADD", message, world.bot, emoji)
    world.changed()


def unreact(world: World, call: Call) -> None:
    message = world.known_message(world.known_channel(call.id("channel_id")), call.id("message_id"))
    emoji = unquote(call.path["emoji_name"])
    who = message.reactions.get(emoji, set())
    who.discard(world.bot.id)
    if not who:
        message.reactions.pop(emoji, None)
    world.events.reaction("MESSAGE_REACTION_REMOVE", message, world.bot, emoji)
    world.changed()


def _as_read(world: World, message: Message) -> Json:
    """Over REST, the application's intents decide whether texts are hidden, not a session's."""
    readable = "message_content" in world.privileged or message.channel.is_dm or message.from_bot
    return message_json(world, message, readable=readable or world.bot.id in message.versions[-1].pings.users)


def _answered(world: World, channel: Channel, reference: Json | None) -> Message | None:
    if not reference:
        return None
    message = channel.by_id.get(int(reference["message_id"]))
    if message is None or message.deleted:
        if reference.get("fail_if_not_exists") is False:
            return None
        errors = {"message_reference": {"_errors": [{"code": "REPLIES_UNKNOWN_MESSAGE", "message": "Unknown message"}]}}
        raise ApiError(400, 50035, "Invalid Form Body", errors=errors)
    if channel.lacks("read_message_history"):
        raise ApiError(403, 160002, "Cannot reply without permission to read message history")
    return message


def _stored(world: World, channel: Channel, body: Json, files: dict[int, Upload]) -> list[Attachment]:
    entries: dict[str, Any] = {str(entry["id"]): entry for entry in body.get("attachments") or []}
    made = []
    for number, file in sorted(files.items()):
        entry = entries.get(str(number), {})
        named = Upload(entry.get("filename") or file.name, file.data, file.mime)
        made.append(world.store(channel, named, entry.get("description")))
    return made


def _rich(embeds: list[Json] | None) -> list[Json]:
    return [{"type": "rich", **embed, "content_scan_version": 0} for embed in embeds or []]


_MESSAGES = "/channels/{channel_id}/messages"
_REACTION = f"{_MESSAGES}/{{message_id}}/reactions/{{emoji_name}}/@me"
SENDING: dict[str, Handler] = {
    f"POST {_MESSAGES}": send,
    f"GET {_MESSAGES}": history,
    f"GET {_MESSAGES}/{{message_id}}": read,
    f"PATCH {_MESSAGES}/{{message_id}}": edit,
    f"DELETE {_MESSAGES}/{{message_id}}": delete,
    f"PUT {_REACTION}": react,
    f"DELETE {_REACTION}": unreact,
    "POST /channels/{channel_id}/typing": type_,
}
