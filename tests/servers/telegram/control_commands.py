"""The commands of the control interface: each is a function whose keyword arguments are the accepted fields."""

import asyncio
import base64
import json
from collections.abc import Callable
from typing import Any

from tests.servers.telegram.server import TelegramServer
from tests.servers.telegram.values import Json, Message, User
from tests.servers.telegram.views import chat_json, message_json

BATCH = 500
"""Messages said between two turns of the event loop."""


def _message(tg: TelegramServer, chat: int | str, message_id: int) -> Message:
    return tg.chat_of(chat).by_id[message_id]


def say(
    tg: TelegramServer,
    *,
    text: str,
    user: int | str | None = None,
    chat: int | str | None = None,
    topic: int | None = None,
    reply_to: int | None = None,
) -> Json:
    """`chat` is a group's id or title, or a private chat's id; without it, the user's private chat."""
    answered = _message(tg, chat if chat is not None else tg.private(user).id, reply_to) if reply_to else None
    return message_json(tg.say(text, user=user, chat=chat, topic=topic, reply_to=answered))


async def say_many(
    tg: TelegramServer,
    *,
    count: int = 0,
    users: int = 1,
    text: str = "message {n}",
    messages: list[Json] | None = None,
) -> Json:
    """Either the given `messages` ({text, user, chat …}) or `count` of them from `users` users, numbered at {n}."""
    first = tg.updates.next_id
    wanted = messages or [{"text": text.replace("{n}", str(n)), "user": 10_000 + n % users} for n in range(count)]
    for number, message in enumerate(wanted):
        tg.say(**message)
        if number % BATCH == BATCH - 1:
            await asyncio.sleep(0)
    return {"count": len(wanted), "first_update_id": first, "next_update_id": tg.updates.next_id, "seq": tg.seq}


def paste(tg: TelegramServer, *, text: str, user: int | str | None = None, chat: str | None = None) -> list[Json]:
    return [message_json(message) for message in tg.paste(text, user=user, group=chat)]


def document(
    tg: TelegramServer,
    *,
    name: str,
    data: str,
    mime: str = "application/octet-stream",
    caption: str = "",
    user: int | str | None = None,
    chat: int | str | None = None,
    topic: int | None = None,
) -> Json:
    """`data` is base64. An image goes as a photo, sound as a voice message, anything else as a document."""
    content = base64.b64decode(data)
    if mime.startswith("image/"):
        return message_json(tg.say_photo(content, mime=mime, caption=caption, user=user, group=chat, topic=topic))
    if mime.startswith("audio/"):
        return message_json(tg.say_voice(content, mime=mime, user=user, group=chat, topic=topic))
    return message_json(tg.say_document(name, content, mime, caption=caption, user=user, group=chat, topic=topic))


def edit(tg: TelegramServer, *, chat: int | str, message_id: int, text: str) -> Json:
    return message_json(tg.edit(_message(tg, chat, message_id), text))


def press(
    tg: TelegramServer,
    *,
    button: str,
    chat: int | str,
    message_id: int,
    user: int | str | None = None,
    force: bool = False,
) -> Json:
    pressed = tg.press(button, message=_message(tg, chat, message_id), user=user, force=force)
    return {"id": pressed.id, "data": pressed.data}


def answer(tg: TelegramServer, *, id: str) -> Json:
    """What the bot answered to a press; null so far if nothing."""
    return {"answer": tg.presses[id].answer}


def react(
    tg: TelegramServer, *, chat: int | str, message_id: int, emoji: str = "", user: int | str | None = None
) -> Json:
    """`emoji` is one, none to take it back, or several with spaces between."""
    return {"update": tg.react(_message(tg, chat, message_id), *emoji.split(), user=user)}


def redeliver(tg: TelegramServer, *, chat: int | str, message_id: int) -> Json:
    message = _message(tg, chat, message_id)
    tg.redeliver(message)
    return message_json(message)


def unsupported(
    tg: TelegramServer, *, kind: str = "sticker", user: int | str | None = None, chat: int | str | None = None
) -> Json:
    return message_json(tg.unsupported(kind, user=user, group=chat))


def user(tg: TelegramServer, *, name: str | int, language_code: str = "en") -> Json:
    who: User = tg.user(name, language_code=language_code)
    tg.private(who)
    return who.json()


def group(tg: TelegramServer, *, title: str, kind: str = "supergroup", forum: bool = False) -> Json:
    return chat_json(tg.group(title, kind=kind, forum=forum))


def topic(tg: TelegramServer, *, chat: int | str, name: str) -> Json:
    made = tg.topic(chat, name)
    return {"id": made.id, "name": made.name}


def chats(tg: TelegramServer) -> list[Json]:
    return [chat_json(chat) for chat in tg.chats.values()]


def block(tg: TelegramServer, *, user: int | str) -> Json:
    tg.block(user)
    return {"ok": True}


def unblock(tg: TelegramServer, *, user: int | str) -> Json:
    tg.unblock(user)
    return {"ok": True}


def migrate(tg: TelegramServer, *, chat: int | str) -> Json:
    return chat_json(tg.migrate(chat))


def fault(tg: TelegramServer, *, method: str, kind: Any, **details: Any) -> Json:
    tg.fault(method, kind, **details)
    return {"ok": True}


def clear_faults(tg: TelegramServer) -> Json:
    tg.clear_faults()
    return {"ok": True}


def revoke(tg: TelegramServer) -> Json:
    tg.revoke()
    return {"ok": True}


def restore(tg: TelegramServer) -> Json:
    tg.restore()
    return {"ok": True}


def requests(tg: TelegramServer, *, method: str = "", last: int = 100) -> list[Json]:
    """The newest calls, uploads by name only; times in monotonic seconds."""
    found = [entry for entry in tg.requests if method in ("", entry.method)][-last:]
    return [
        {"method": e.method, "params": json.loads(json.dumps(e.params, default=repr)), "at": e.at, "status": e.status}
        for e in found
    ]


COMMANDS: dict[str, Callable[..., Any]] = {
    command.__name__: command
    for command in (
        answer,
        block,
        chats,
        clear_faults,
        document,
        edit,
        fault,
        group,
        migrate,
        paste,
        press,
        react,
        redeliver,
        requests,
        restore,
        revoke,
        say,
        topic,
        unblock,
        unsupported,
        user,
    )
}
