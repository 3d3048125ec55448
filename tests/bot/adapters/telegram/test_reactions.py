"""Reactions that are ratings; none is acknowledged before it is stored."""

from __future__ import annotations

import pytest
from telegram import Update

from bot.adapters.telegram.messages import BotIdentity, read
from routing.types.messages import ChatKey, InboundMessage, UserKey
from tests.bot.adapters.telegram.harness import TelegramHarness, to
from tests.servers.telegram import TelegramServer

Json = dict[str, object]


def thumb(*old: str, new: tuple[str, ...] = (), **more: object) -> tuple[str, bool] | None:
    """The thumb of a reaction that was `old` before, and whether it was removed."""
    found = received(old, new, **more)
    return None if found is None else (found.text, found.removed)


def received(old: tuple[str, ...], new: tuple[str, ...], **more: object) -> InboundMessage | None:
    chat, user = {"id": 5, "type": "private"}, {"id": 5, "is_bot": False, "first_name": "Ann"}
    body: Json = {"chat": chat, "message_id": 9, "user": user, "date": 7} | more
    body |= {"old_reaction": [_reaction(each) for each in old], "new_reaction": [_reaction(each) for each in new]}
    update = Update.de_json({"update_id": 3, "message_reaction": body}, None)
    return read(update, BotIdentity(1, "tierbot"), now=8.0)


def _reaction(each: str) -> Json:
    kinds: dict[str, Json] = {
        "paid": {"type": "paid"},
        "custom": {"type": "custom_emoji", "custom_emoji_id": "👍"},
    }
    return kinds.get(each, {"type": "emoji", "emoji": each})


@pytest.mark.parametrize(
    ("old", "new", "read"),
    [
        ((), ("👍",), ("👍", False)),
        ((), ("👎",), ("👎", False)),
        (("👍",), ("👎",), ("👎", False)),
        (("👍",), (), ("👍", True)),
        (("👎",), ("🔥",), ("👎", True)),
        (("🔥",), ("👍",), ("👍", False)),
        (("🔥",), ("🔥", "👎", "👍"), ("👍", False)),
        (("👍", "👎"), ("👍",), ("👍", False)),
        (("👍",), ("👍", "🔥"), None),
        ((), ("🔥",), None),
        ((), ("👌",), None),
        (("🔥",), (), None),
        ((), ("paid",), None),
        ((), ("custom",), None),
    ],
)
def test_thumbs_are_ratings(old: tuple[str, ...], new: tuple[str, ...], read: tuple[str, bool] | None) -> None:
    assert thumb(*old, new=new) == read


def test_chats_and_bots_do_not_rate() -> None:
    channel = {"id": -7, "type": "channel", "title": "News"}
    assert thumb(new=("👍",), user=None, actor_chat=channel) is None
    assert thumb(new=("👍",), user={"id": 6, "is_bot": True, "first_name": "Bot"}) is None


async def test_a_reaction_is_stored_with_person_and_chat_before_acknowledgement(
    tg: TelegramServer, harness: TelegramHarness
) -> None:
    asked = tg.say("hello")
    await harness.send(to(asked.chat, "hi"))
    reply = await tg.reply()
    await harness.received(asked)
    harness.failures = 2
    update = tg.react(reply, "👍")
    assert update is not None
    inbound = await harness.until(2)
    assert (inbound.kind, inbound.text, inbound.message_id) == ("reaction", "👍", str(reply.id))
    assert (inbound.user, inbound.chat) == (UserKey("telegram", "1001"), ChatKey("telegram", "1001"))
    assert inbound.private
    assert inbound.update_id == str(update["update_id"])
    await tg.wait_for(lambda _: not tg.updates.pending)
    assert harness.batches == 4
    tg.react(reply, "👍", "🔥")
    tg.react(reply)
    removed = await harness.until(3)
    assert (removed.text, removed.removed) == ("👍", True)
