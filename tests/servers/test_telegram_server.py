"""The loopback Telegram server keeps its promises: to the bots that call it and to the tests that drive it."""

import asyncio
import base64
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from aiohttp import web
from blockbuster import blockbuster_ctx
from telegram import (
    Bot,
    BotCommand,
    BotCommandScopeChat,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    InputMediaPhoto,
    LinkPreviewOptions,
    MessageEntity,
    ReactionTypeEmoji,
    ReplyParameters,
)
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Conflict,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TimedOut,
)
from telegram.request import HTTPXRequest

from tests.servers.telegram import ApiError, Chat, TelegramServer, check_entities
from tests.servers.telegram.control import Control
from tests.servers.telegram.flood import Flood
from tests.servers.telegram.schema import SCHEMA
from tests.servers.telegram.typed import detect_entities, utf16_pieces

Answer = dict[str, Any]


@pytest.fixture
async def tg() -> AsyncIterator[TelegramServer]:
    async with TelegramServer() as server:
        yield server


def a_bot(tg: TelegramServer, token: str | None = None, read_timeout: float = 10) -> Bot:
    return Bot(
        token or tg.token,
        base_url=tg.root + "/bot",
        base_file_url=tg.root + "/file/bot",
        request=HTTPXRequest(read_timeout=read_timeout),
    )


@pytest.fixture
async def bot(tg: TelegramServer) -> AsyncIterator[Bot]:
    async with a_bot(tg) as bot:
        yield bot


@pytest.fixture
async def raw(tg: TelegramServer) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=f"{tg.root}/bot{tg.token}/", timeout=10) as client:
        yield client


def button(text: str, data: str) -> InlineKeyboardMarkup:
    return InlineKeyboardMarkup([[InlineKeyboardButton(text, callback_data=data)]])


# --- updates ----------------------------------------------------------------------------------------------------


async def test_updates_come_again_until_an_offset_confirms_them(tg: TelegramServer, bot: Bot) -> None:
    for text in ("one", "two", "three"):
        tg.say(text)
    first = await bot.get_updates()
    assert [update.message.text for update in first if update.message] == ["one", "two", "three"]
    assert await bot.get_updates() == first
    rest = await bot.get_updates(offset=first[0].update_id + 1, limit=1)
    assert [update.update_id for update in rest] == [first[1].update_id]
    assert await bot.get_updates(offset=first[-1].update_id + 1) == ()
    assert not tg.updates.pending


async def test_a_negative_offset_forgets_all_but_the_last(tg: TelegramServer, bot: Bot) -> None:
    for number in range(5):
        tg.say(str(number))
    last = await bot.get_updates(offset=-2)
    assert [update.message.text for update in last if update.message] == ["3", "4"]
    assert len(tg.updates.pending) == 2


async def test_a_long_poll_ends_with_the_first_update(tg: TelegramServer, bot: Bot) -> None:
    poll = asyncio.create_task(bot.get_updates(timeout=30))
    await tg.wait_for(lambda tg: tg.updates.is_polled)
    tg.say("wake up")
    assert [update.message.text for update in await poll if update.message] == ["wake up"]


async def test_a_second_poller_ends_the_first(tg: TelegramServer, bot: Bot) -> None:
    first = asyncio.create_task(bot.get_updates(timeout=30))
    await tg.wait_for(lambda tg: tg.updates.is_polled)
    async with a_bot(tg) as other:
        second = asyncio.create_task(other.get_updates(timeout=30))
        with pytest.raises(Conflict, match=r"(?i)terminated by other getUpdates request"):
            await first
        tg.say("for the second")
        assert len(await second) == 1


async def test_a_poller_that_hung_up_is_forgotten(tg: TelegramServer, raw: httpx.AsyncClient) -> None:
    poll = asyncio.create_task(raw.post("getUpdates", data={"timeout": 30}))
    await tg.wait_for(lambda tg: tg.updates.is_polled)
    poll.cancel()
    await tg.wait_for(lambda tg: not tg.updates.is_polled)
    tg.say("kept")
    assert len((await raw.post("getUpdates")).json()["result"]) == 1


async def test_only_wanted_kinds_are_queued(tg: TelegramServer, bot: Bot) -> None:
    await bot.get_updates(allowed_updates=["message", "message_reaction"])
    said = tg.say("helo")
    tg.edit(said, "hello")
    assert said.update is None
    tg.react(said, "👍")
    kinds = [update.to_dict().keys() - {"update_id"} for update in await bot.get_updates()]
    assert kinds == [{"message"}, {"message_reaction"}]
    await bot.get_updates(allowed_updates=[])
    assert tg.react(said, "👍") is None


async def test_an_update_can_be_delivered_twice(tg: TelegramServer, bot: Bot) -> None:
    said = tg.say("once")
    [update] = await bot.get_updates()
    await bot.get_updates(offset=update.update_id + 1)
    tg.redeliver(said)
    [again] = await bot.get_updates(offset=update.update_id + 1)
    assert again == update
    assert await bot.get_updates(offset=update.update_id + 1) == ()


async def test_ids_may_restart_lower(tg: TelegramServer, bot: Bot) -> None:
    tg.say("before")
    [before] = await bot.get_updates()
    await bot.get_updates(offset=before.update_id + 1)
    tg.updates.next_id = 5
    tg.say("after a quiet week")
    [after] = await bot.get_updates()
    assert after.update_id == 5
    assert await bot.get_updates(offset=before.update_id + 1) == ()


async def test_a_webhook_gets_updates_in_order_until_it_says_200(tg: TelegramServer, bot: Bot) -> None:
    got: list[tuple[str | None, str, int]] = []
    statuses = [500, 500, 200, 200]

    async def receive(request: web.BaseRequest) -> web.Response:
        status = statuses[len(got)]
        body = await request.json()
        secret = request.headers.get("X-Telegram-Bot-Api-Secret-Token")
        got.append((secret, body["message"]["text"], status))
        return web.Response(status=status)

    runner = web.ServerRunner(web.Server(receive))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    tg.say("one")
    tg.say("two")
    await bot.set_webhook(f"http://127.0.0.1:{runner.addresses[0][1]}/hook", secret_token="s3cret")
    await tg.wait_for(lambda tg: not tg.updates.pending)
    assert got == [("s3cret", "one", 500), ("s3cret", "one", 500), ("s3cret", "one", 200), ("s3cret", "two", 200)]
    info = await bot.get_webhook_info()
    assert info.pending_update_count == 0
    assert "500" in (info.last_error_message or "")
    with pytest.raises(Conflict, match=r"(?i)webhook is active"):
        await bot.get_updates()
    await bot.delete_webhook(drop_pending_updates=False)
    tg.say("three")
    assert len(await bot.get_updates()) == 1
    await runner.cleanup()


async def test_deleting_the_webhook_keeps_updates_unless_told_to_drop_them(tg: TelegramServer, bot: Bot) -> None:
    tg.say("kept")
    await bot.delete_webhook(drop_pending_updates=False)
    assert len(tg.updates.pending) == 1
    await bot.delete_webhook(drop_pending_updates=True)
    assert not tg.updates.pending


# --- messages, as python-telegram-bot sees them -----------------------------------------------------------------


async def test_the_sdk_reads_every_kind_of_message(tg: TelegramServer, bot: Bot) -> None:
    said = tg.say("/start@tierbot see https://example.org @bob 🙂 #tag")
    tg.say_photo(b"jpeg", caption="look", media_group="album")
    tg.say_document("notes.md", b"# notes", "text/markdown", caption="read")
    tg.say_voice(b"OggS...")
    for kind in ("sticker", "poll", "location", "contact", "dice", "video_note"):
        tg.unsupported(kind)
    tg.say("yes", reply_to=said)
    tg.edit(said, "/start again")
    updates = await bot.get_updates()
    assert len(updates) == 12
    assert updates[0].message is not None
    assert updates[0].message.parse_entities() == {
        entity: text
        for entity, text in zip(
            updates[0].message.entities, ["/start@tierbot", "https://example.org", "@bob", "#tag"], strict=True
        )
    }
    for update in tg.updates.pending.values():
        SCHEMA.check("Update")(update, "update")
    photo = updates[1].message
    assert photo is not None and photo.media_group_id == "album" and photo.caption == "look"
    largest = max(photo.photo, key=lambda size: size.width)
    assert bytes(await (await bot.get_file(largest.file_id)).download_as_bytearray()) == b"jpeg"


async def test_every_answer_fits_the_official_schema(tg: TelegramServer, raw: httpx.AsyncClient) -> None:
    chat = tg.say("hello").chat
    forum = tg.group("Forum", forum=True)
    said = tg.say("in a topic", group=forum, topic=tg.topic(forum, "Plans"))
    file_id = tg.say_document("a.txt", b"a").content["document"]["file_id"]
    calls: list[tuple[str, Answer]] = [
        ("getMe", {}),
        ("getUpdates", {}),
        ("getWebhookInfo", {}),
        ("getFile", {"file_id": file_id}),
        ("sendMessage", {"chat_id": chat.id, "text": "hi"}),
        ("sendMessage", {"chat_id": forum.id, "text": "hi", "message_thread_id": said.thread_id}),
        ("sendDocument", {"chat_id": chat.id, "document": file_id, "caption": "again"}),
        ("sendLocation", {"chat_id": chat.id, "latitude": 1.5, "longitude": 2}),
        ("getChat", {"chat_id": chat.id}),
        ("getChat", {"chat_id": forum.id}),
        ("getChatMember", {"chat_id": forum.id, "user_id": tg.bot.id}),
        ("getChatMember", {"chat_id": forum.id, "user_id": 1001}),
        ("getChatMemberCount", {"chat_id": forum.id}),
        ("getChatAdministrators", {"chat_id": forum.id}),
        ("getMyCommands", {}),
        ("getMyName", {}),
        ("getMyDescription", {}),
        ("getMyShortDescription", {}),
        ("getChatMenuButton", {}),
        ("createForumTopic", {"chat_id": forum.id, "name": "More"}),
        ("leaveChat", {"chat_id": forum.id}),
    ]
    for method, params in calls:
        answer = (await raw.post(method, json=params)).json()
        assert answer["ok"], (method, answer)
        described = SCHEMA.method(method)
        assert described is not None
        SCHEMA.check(described.returns[0])(answer["result"], method)
    assert tg.violations == []


async def test_sending_editing_and_deleting(tg: TelegramServer, bot: Bot) -> None:
    chat = tg.say("hello").chat
    sent = await bot.send_message(
        chat.id,
        "bold",
        entities=[MessageEntity("bold", 0, 4)],
        reply_markup=button("Go", "go"),
        reply_parameters=ReplyParameters(1),
        link_preview_options=LinkPreviewOptions(is_disabled=True),
    )
    logged = await tg.reply(chat)
    assert (logged.id, logged.text, logged.entities) == (
        sent.message_id,
        "bold",
        [{"type": "bold", "offset": 0, "length": 4}],
    )
    assert logged.reply_to is chat.messages[0]
    with pytest.raises(BadRequest, match=r"(?i)message is not modified"):
        await sent.edit_text("bold", entities=[MessageEntity("bold", 0, 4)], reply_markup=button("Go", "go"))
    assert len(tg.violations) == 1
    await sent.edit_text("plain")
    assert [version.text for version in logged.versions] == ["bold", "plain"]
    assert logged.versions[0].at < logged.versions[1].at
    assert logged.buttons == []
    await sent.edit_reply_markup(button("On", "on"))
    assert [entry["text"] for entry in logged.buttons] == ["On"]
    await bot.set_message_reaction(chat.id, 1, ReactionTypeEmoji("👀"))
    assert chat.messages[0].emoji == ["👀"]
    await sent.delete()
    assert logged.deleted
    for call in (sent.edit_text("x"), sent.delete()):
        with pytest.raises(BadRequest, match=r"(?i)message to (edit|delete) not found"):
            await call


async def test_files_go_both_ways(tg: TelegramServer, bot: Bot) -> None:
    chat = tg.private()
    sent = await bot.send_document(chat.id, b"long answer", filename="answer.md", caption="here")
    assert sent.document is not None and sent.document.file_name == "answer.md"
    stored = await bot.get_file(sent.document.file_id)
    assert bytes(await stored.download_as_bytearray()) == b"long answer"
    kept = tg.document(chat.messages[-1])
    assert (kept.name, kept.mime, kept.data) == ("answer.md", "text/markdown", b"long answer")
    with pytest.raises(AssertionError, match="no document"):
        tg.document(tg.say("only words"))
    await bot.send_photo(chat.id, b"png", caption="<b>one</b>", parse_mode="HTML")
    logged = chat.messages[-1]
    assert (logged.text, logged.entities) == ("one", [{"type": "bold", "offset": 0, "length": 3}])
    album = await bot.send_media_group(chat.id, [InputMediaPhoto(b"1", caption="c"), InputMediaPhoto(b"2")])
    assert len({message.media_group_id for message in album}) == 1
    assert tg.violations == []


async def test_drafts_live_until_the_message_comes(tg: TelegramServer, bot: Bot) -> None:
    chat = tg.say("tell me a story").chat
    for text in ("Once", "Once upon"):
        await bot.send_message_draft(chat.id, 7, text, entities=[MessageEntity("bold", 0, 4)])
    assert [draft.text for draft in tg.drafts] == ["Once", "Once upon"]
    assert [draft.text for draft in tg.live_drafts(chat)] == ["Once upon"]
    await bot.send_message(chat.id, "Once upon a time")
    assert tg.live_drafts(chat) == []
    with pytest.raises(BadRequest, match=r"(?i)non-zero"):
        await bot.send_message_draft(chat.id, 0, "x")
    with pytest.raises(BadRequest, match=r"(?i)TEXTDRAFT_PEER_INVALID"):
        await bot.send_message_draft(tg.group().id, 7, "x")
    assert len(tg.violations) == 2


async def test_a_button_press_is_answered_once(tg: TelegramServer, bot: Bot) -> None:
    chat = tg.say("hello").chat
    await bot.send_message(chat.id, "Choose", reply_markup=button("Smart", "t:smart"))
    press = tg.press("Smart")
    *_, update = await bot.get_updates()
    query = update.callback_query
    assert query is not None and query.data == "t:smart" and query.from_user.id == 1001
    await query.answer("Done", show_alert=True)
    assert await tg.answered(press) == {"text": "Done", "show_alert": True}
    with pytest.raises(BadRequest, match=r"(?i)query is too old"):
        await query.answer()
    late = tg.press("t:smart")
    tg.expire(late)
    with pytest.raises(BadRequest, match=r"(?i)query is too old"):
        await bot.answer_callback_query(late.id)
    with pytest.raises(AssertionError, match="no button 'Fast'"):
        tg.press("Fast")
    forged = tg.press("t:everything", user="mallory", message=chat.messages[-1], force=True)
    assert forged.update is not None and forged.update["callback_query"]["from"]["first_name"] == "Mallory"


async def test_commands_are_kept_by_scope_and_language(tg: TelegramServer, bot: Bot) -> None:
    chat = tg.private()
    scope = BotCommandScopeChat(chat.id)
    await bot.set_my_commands([BotCommand("start", "Begin")])
    await bot.set_my_commands([BotCommand("start", "Anfangen")], language_code="de")
    await bot.set_my_commands([BotCommand("admin", "Rule")], scope=scope)
    assert [c.description for c in await bot.get_my_commands(language_code="de")] == ["Anfangen"]
    assert [c.command for c in await bot.get_my_commands(scope=scope)] == ["admin"]
    await bot.delete_my_commands(scope=scope)
    assert await bot.get_my_commands(scope=scope) == ()
    assert [c.description for c in await bot.get_my_commands()] == ["Begin"]


async def test_topics_close_vanish_and_general_has_no_number(tg: TelegramServer, bot: Bot) -> None:
    forum = tg.group("Forum", forum=True)
    plans = tg.topic(forum, "Plans")
    said = tg.say("in the topic", group=forum, topic=plans)
    assert said.json()["is_topic_message"] and said.json()["reply_to_message"]["forum_topic_created"]
    sent = await bot.send_message(forum.id, "answer", message_thread_id=plans.id)
    assert sent.message_thread_id == plans.id
    await bot.send_message(forum.id, "to General")
    await bot.send_chat_action(forum.id, "typing", message_thread_id=1)
    with pytest.raises(BadRequest, match=r"(?i)message thread not found"):
        await bot.send_message(forum.id, "to General", message_thread_id=1)
    assert len(tg.violations) == 1
    tg.close_topic(forum, plans)
    with pytest.raises(BadRequest, match=r"(?i)TOPIC_CLOSED"):
        await bot.send_message(forum.id, "late", message_thread_id=plans.id)
    tg.delete_topic(forum, plans)
    with pytest.raises(BadRequest, match=r"(?i)message thread not found"):
        await bot.send_message(forum.id, "later", message_thread_id=plans.id)


async def test_groups_migrate_and_people_block(tg: TelegramServer, bot: Bot) -> None:
    old = tg.say("hi", group=tg.group("Team", kind="group")).chat
    new = tg.migrate(old)
    with pytest.raises(ChatMigrated) as migrated:
        await bot.send_message(old.id, "x")
    assert migrated.value.new_chat_id == new.id
    services = [update.message for update in await bot.get_updates() if update.message]
    assert [m.migrate_to_chat_id for m in services] == [None, new.id, None]
    tg.block()
    with pytest.raises(Forbidden, match=r"(?i)bot was blocked by the user"):
        await bot.send_message(tg.private().id, "x")
    tg.unblock()
    await bot.send_message(tg.private().id, "x")
    await bot.leave_chat(new.id)
    with pytest.raises(Forbidden, match=r"(?i)not a member"):
        await bot.send_message(new.id, "x")
    with pytest.raises(BadRequest, match=r"(?i)chat not found"):
        await bot.send_message(999, "x")
    member = [u.my_chat_member for u in await bot.get_updates() if u.my_chat_member]
    assert [change.new_chat_member.status for change in member] == ["kicked", "member"]


async def test_privacy_hides_what_is_not_for_the_bot() -> None:
    async with TelegramServer(privacy=True) as tg, a_bot(tg) as bot:
        assert not bot.can_read_all_group_messages
        chat = tg.group()
        sent = await bot.send_message(chat.id, "hello all")
        texts = ["just talking", "/help", "/help@tierbot", "/help@other", "hey @Tierbot"]
        seen = [text for text in texts if tg.say(text, group=chat).update]
        assert seen == ["/help", "/help@tierbot", "hey @Tierbot"]
        assert tg.say("thanks", group=chat, reply_to=chat.by_id[sent.message_id]).update


async def test_a_long_paste_arrives_in_pieces(tg: TelegramServer) -> None:
    text = "word " * 1500 + "🙂" * 3000
    pieces = tg.paste(text)
    assert "".join(piece.text for piece in pieces) == text
    assert len(pieces) > 2
    assert all(len(piece.text.encode("utf-16-le")) <= 2 * 4096 for piece in pieces)
    assert list(utf16_pieces("aaaa", 2)) == ["aa", "aa"]


# --- refusals ---------------------------------------------------------------------------------------------------

LONG = "x" * 4097
WRONG: list[tuple[str, Answer, str]] = [
    ("sendMessage", {"chat_id": 1001}, "text: required"),
    ("sendMessage", {"text": "x"}, "chat_id: required"),
    ("sendMessage", {"chat_id": 1001, "text": "x", "txt": "y"}, "txt: unknown parameter"),
    ("sendMessage", {"chat_id": [1], "text": "x"}, "chat_id: expected"),
    ("sendMessage", {"chat_id": 1001, "text": "x", "message_thread_id": "seven"}, "message_thread_id: expected"),
    ("sendMessage", {"chat_id": 1001, "text": "x", "reply_markup": "{"}, "can't parse JSON"),
    ("sendMessage", {"chat_id": 1001, "text": " \n "}, "message text is empty"),
    ("sendMessage", {"chat_id": 1001, "text": LONG}, "message is too long"),
    ("sendMessage", {"chat_id": 1001, "text": "🙂" * 2049}, "message is too long"),
    ("sendMessage", {"chat_id": 1001, "text": "<x>", "parse_mode": "HTML"}, "can't parse entities"),
    ("sendMessage", {"chat_id": 1001, "text": "x", "entities": [{"type": "bold", "offset": 0}]}, "length"),
    ("sendMessage", {"chat_id": 1001, "text": "x", "entities": [{"type": "bold", "offset": 0, "length": 2}]}, "after"),
    ("sendMessage", {"chat_id": 1001, "text": "x", "reply_parameters": {"message": 1}}, "message: unknown field"),
    ("sendMessage", {"chat_id": 1001, "text": "x", "link_preview_options": {"is_disabled": 1}}, "expected Boolean"),
    ("sendMessage", {"chat_id": 1001, "text": "x", "reply_markup": {"inline_keyboard": [[{"text": "a"}]]}}, "one kind"),
    (
        "sendMessage",
        {
            "chat_id": 1001,
            "text": "x",
            "reply_markup": {"inline_keyboard": [[{"text": "a", "callback_data": "é" * 33}]]},
        },
        "BUTTON_DATA_INVALID",
    ),
    (
        "sendMessage",
        {"chat_id": 1001, "text": "x", "reply_markup": {"inline_keyboard": [[{"text": "a", "callback": "b"}]]}},
        r"inline_keyboard\[0\]\[0\].callback: unknown field of InlineKeyboardButton",
    ),
    ("sendDocument", {"chat_id": 1001, "document": "attach://x"}, "attach://"),
    ("sendDocument", {"chat_id": 1001, "document": "id", "caption": "x" * 1025}, "caption is too long"),
    ("setMessageReaction", {"chat_id": 1001, "message_id": 1, "reaction": [{"type": "emoji"}]}, "emoji"),
    ("setMessageReaction", {"chat_id": 1001, "message_id": 1, "reaction": [{"type": "smile"}]}, "type: ReactionType"),
    (
        "setMessageReaction",
        {"chat_id": 1001, "message_id": 1, "reaction": [{"type": "emoji", "emoji": "🧮"}]},
        "REACTION_INVALID",
    ),
    ("setMyCommands", {"commands": [{"command": "Start", "description": "x"}]}, "BOT_COMMAND_INVALID"),
    ("setMyCommands", {"commands": [{"command": "a", "description": ""}]}, "DESCRIPTION_INVALID"),
    ("setMyCommands", {"commands": [{"command": "a", "description": "x"}] * 101}, "TOO_MUCH"),
    ("setMyCommands", {"commands": [], "scope": {"type": "chat"}}, "chat_id: required field of BotCommandScopeChat"),
    ("sendChatAction", {"chat_id": 1001, "action": "thinking"}, "wrong parameter action"),
    ("getUpdates", {"allowed_updates": ["messages"]}, "unknown update type"),
    ("setWebhook", {"url": "http://127.0.0.1/", "secret_token": "a b"}, "unallowed characters"),
    ("editMessageText", {"text": "x"}, "message identifier is not specified"),
]


@pytest.mark.parametrize(("method", "params", "reason"), WRONG)
async def test_a_wrong_request_is_refused_and_recorded(
    tg: TelegramServer, raw: httpx.AsyncClient, method: str, params: Answer, reason: str
) -> None:
    tg.say("hello")
    answer = (await raw.post(method, json=params)).json()
    assert (answer["ok"], answer["error_code"]) == (False, 400)
    [violation] = tg.violations
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(violation.description)
    assert answer["description"] == violation.description
    assert [request.status for request in tg.refusals] == [400]


async def test_what_does_not_exist_is_404_or_401(tg: TelegramServer, raw: httpx.AsyncClient) -> None:
    assert (await raw.post("sendTelepathy")).status_code == 404
    assert [violation.method for violation in tg.violations] == ["sendTelepathy"]
    async with httpx.AsyncClient(base_url=tg.root) as stranger:
        assert (await stranger.get("/bot1:other/getMe")).status_code == 401
        assert (await stranger.get("/botnonsense/getMe")).status_code == 404
        assert (await stranger.get("/file/bot1:other/documents/file_1")).status_code == 401
    with pytest.raises(InvalidToken):
        await a_bot(tg, "1:other").initialize()


async def test_parameters_come_by_query_form_json_or_multipart(tg: TelegramServer, raw: httpx.AsyncClient) -> None:
    tg.say("hello")
    params = {"chat_id": "1001", "text": "x", "disable_notification": "true"}
    answers = [
        await raw.get("sendMessage", params=params),
        await raw.post("sendMessage", data=params),
        await raw.post("sendMessage", json=params),
        await raw.post("SENDMESSAGE", files={name: (None, value) for name, value in params.items()}),
    ]
    assert [answer.status_code for answer in answers] == [200] * 4
    assert tg.calls("sendMessage")[3].params == {"chat_id": 1001, "text": "x", "disable_notification": True}


GOOD: list[tuple[str, list[Answer]]] = [
    ("plain", []),
    ("bold", [{"type": "bold", "offset": 0, "length": 4}]),
    ("🙂🙂", [{"type": "bold", "offset": 2, "length": 2}]),
    ("ab", [{"type": "bold", "offset": 0, "length": 2}, {"type": "italic", "offset": 1, "length": 1}]),
    ("ab", [{"type": "bold", "offset": 0, "length": 2}, {"type": "code", "offset": 0, "length": 2}]),
    ("ab", [{"type": "code", "offset": 0, "length": 1}, {"type": "code", "offset": 1, "length": 1}]),
    ("a b", [{"type": "italic", "offset": 0, "length": 2}]),
    ("x=1", [{"type": "pre", "offset": 0, "length": 3, "language": "python"}]),
    ("ab", [{"type": "text_link", "offset": 0, "length": 2, "url": "tg://user?id=1"}]),
    ("ab", [{"type": "blockquote", "offset": 0, "length": 2}, {"type": "pre", "offset": 0, "length": 2}]),
]
BAD: list[tuple[str, list[Answer], str]] = [
    ("abc", [{"type": "bold", "offset": 0, "length": 4}], "ends after the end of the text at UTF-16 offset 4"),
    ("abc", [{"type": "bold", "offset": 3, "length": 1}], "ends after the end"),
    ("abc", [{"type": "bold", "offset": 0, "length": 0}], "non-positive length"),
    ("abc", [{"type": "bold", "offset": -1, "length": 1}], "negative"),
    ("🙂", [{"type": "bold", "offset": 1, "length": 1}], "begins in a middle"),
    ("🙂", [{"type": "bold", "offset": 0, "length": 1}], "ends in a middle"),
    ("abc", [{"type": "shout", "offset": 0, "length": 1}], "unknown entity type"),
    ("abc", [{"type": "text_link", "offset": 0, "length": 1}], "needs url"),
    ("abc", [{"type": "text_link", "offset": 0, "length": 1, "url": "example.org/x"}], "no scheme"),
    ("abc", [{"type": "bold", "offset": 0, "length": 1, "url": "https://example.org"}], "url belongs to text_link"),
    ("abc", [{"type": "code", "offset": 0, "length": 1, "language": "c"}], "language belongs to pre"),
    ("abc", [{"type": "text_mention", "offset": 0, "length": 1}], "needs user"),
    (
        "abc",
        [{"type": "bold", "offset": 0, "length": 2}, {"type": "italic", "offset": 1, "length": 2}],
        "italic at UTF-16 offset 1 partly overlaps bold at 0",
    ),
    (
        "abc",
        [{"type": "italic", "offset": 1, "length": 1}, {"type": "code", "offset": 0, "length": 3}],
        "italic at UTF-16 offset 1 is inside code",
    ),
    ("ab", [{"type": "code", "offset": 0, "length": 2}, {"type": "pre", "offset": 0, "length": 2}], "inside"),
    (
        "abc",
        [{"type": "blockquote", "offset": 0, "length": 3}, {"type": "expandable_blockquote", "offset": 0, "length": 1}],
        "quotes do not nest",
    ),
]


@pytest.mark.parametrize(("text", "entities"), GOOD)
def test_good_entities(text: str, entities: list[Answer]) -> None:
    assert check_entities(text, entities) == []


@pytest.mark.parametrize(("text", "entities", "problem"), BAD)
def test_bad_entities(text: str, entities: list[Answer], problem: str) -> None:
    [found] = check_entities(text, entities)
    assert problem in found


def test_typed_text_is_understood() -> None:
    found = detect_entities("🙂 /help@tierbot, mail bob@example.org or @bob; a/b 1/2 see https://x.org/y.")
    assert [(entity["type"], entity["offset"]) for entity in found] == [
        ("bot_command", 3),
        ("email", 23),
        ("mention", 42),
        ("url", 60),
    ]


async def test_the_server_trims_text_and_moves_entities(tg: TelegramServer, bot: Bot) -> None:
    await bot.send_message(tg.private().id, "  ab \n", entities=[MessageEntity("bold", 1, 3)])
    sent = await tg.reply()
    assert (sent.text, sent.entities) == ("ab", [{"type": "bold", "offset": 0, "length": 2}])


# --- failures on order ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "error", "text"),
    [
        ("too_many", RetryAfter, "Retry in 7"),
        ("conflict", Conflict, "terminated by other"),
        ("unauthorized", InvalidToken, ""),
        ("server_error", NetworkError, "Bad Gateway"),
        ("bad_request", BadRequest, "refused by order"),
        ("forbidden", Forbidden, "blocked"),
        ("drop_before", NetworkError, ""),
        ("drop_after", NetworkError, ""),
        ("hang", TimedOut, ""),
        ("hang_after", TimedOut, ""),
        ("slow", TimedOut, ""),
    ],
)
async def test_each_fault(tg: TelegramServer, kind: Any, error: type[Exception], text: str) -> None:
    chat = tg.private()
    fault = tg.fault("sendMessage", kind, retry_after=7, skip=1)
    async with a_bot(tg, read_timeout=0.3) as bot:
        await bot.send_message(chat.id, "before")
        with pytest.raises(error, match=f"(?i){text}"):
            await bot.send_message(chat.id, "struck")
        await bot.send_message(chat.id, "after")
    done = kind in ("drop_after", "hang_after", "slow")
    assert [message.text for message in chat.messages] == ["before", *["struck"] * done, "after"]
    assert fault.hits == 1
    assert tg.violations == []


async def test_faults_choose_their_calls(tg: TelegramServer, bot: Bot) -> None:
    chat = tg.private()
    fault = tg.fault("*", "server_error", times=None, when=lambda params: params.get("text") == "bad")
    await bot.send_message(chat.id, "good")
    for _ in range(2):
        with pytest.raises(NetworkError):
            await bot.send_message(chat.id, "bad")
    fault.clear()
    await bot.send_message(chat.id, "bad")
    with pytest.raises(ValueError, match="unknown fault"):
        tg.fault("sendMessage", "gremlins")  # type: ignore[arg-type]


async def test_an_outage_refuses_connections_and_keeps_updates(tg: TelegramServer, bot: Bot) -> None:
    port = tg.port
    poll = asyncio.create_task(bot.get_updates(timeout=30))
    await tg.wait_for(lambda tg: tg.updates.is_polled)
    async with tg.outage():
        with pytest.raises(NetworkError):
            await poll
        with pytest.raises(NetworkError):
            await bot.get_me()
        tg.say("said meanwhile")
    assert tg.port == port
    assert len(await bot.get_updates()) == 1


async def test_a_revoked_token_is_refused_everywhere(tg: TelegramServer, bot: Bot) -> None:
    poll = asyncio.create_task(bot.get_updates(timeout=30))
    await tg.wait_for(lambda tg: tg.updates.is_polled)
    tg.revoke()
    with pytest.raises(InvalidToken):
        await bot.get_me()
    with pytest.raises((InvalidToken, Conflict)):
        await poll
    tg.restore()
    await bot.get_me()


async def test_flood_limits_are_enforced_when_asked_for() -> None:
    async with TelegramServer(flood=True) as tg, a_bot(tg) as bot:
        chat = tg.private()
        with pytest.raises(RetryAfter):
            for number in range(40):
                await bot.send_message(chat.id, str(number))


def test_flood_counts_by_chat_by_group_and_in_all() -> None:
    now = [0.0]
    flood = Flood(lambda: now[0])
    alone, team = Chat(1, "private"), Chat(-1, "supergroup")

    def refused_for(chat: Chat) -> int:
        """Seconds to wait, 0 when the message goes through."""
        try:
            flood.spend("sendMessage", chat)
        except ApiError as error:
            return error.parameters["retry_after"]
        return 0

    assert [refused_for(alone) for _ in range(4)] == [0, 0, 0, 3]
    now[0] = 3.5
    assert refused_for(alone) == 0
    for number in range(20):
        now[0] = 10.0 + 2 * number
        assert refused_for(team) == 0
    now[0] = 50.0
    assert refused_for(team) == 20
    now[0] = 100.0
    assert [refused_for(Chat(number, "private")) for number in range(100, 131)] == [0] * 30 + [1]
    flood.spend("sendChatAction", Chat(200, "private"))


# --- what tests wait for ----------------------------------------------------------------------------------------


async def test_replies_come_in_order_and_only_once(tg: TelegramServer, bot: Bot) -> None:
    said = tg.say("hello")
    for text in ("one", "two", "three"):
        await bot.send_message(said.chat.id, text)
    assert (await tg.reply()).text == "one"
    assert [message.text for message in await tg.reply(said.chat, after=said, count=2)] == ["two", "three"]
    waiting = asyncio.create_task(tg.reply(matching="final"))
    sent = await bot.send_message(said.chat.id, "…")
    await sent.edit_text("final text")
    assert (await waiting).id == sent.message_id


async def test_a_failed_wait_shows_the_log(tg: TelegramServer, bot: Bot) -> None:
    tg.say("is anybody there?")
    await bot.send_message(tg.private().id, "yes", reply_markup=button("Go", "go"))
    with pytest.raises(AssertionError) as failure:
        await tg.wait_for(lambda tg: False, timeout=0.01)
    assert "#1 Alice: 'is anybody there?'" in str(failure.value)
    assert "buttons Go" in str(failure.value)


async def test_people_are_who_the_test_says(tg: TelegramServer) -> None:
    bob = tg.user("bob")
    assert tg.user("Bob") is bob and tg.user(bob.id) is bob and tg.user("alice").id == tg.user().id == 1001
    said = tg.say("hi Bob", user=bob, group="Team", mention=bob)
    assert said.chat is tg.group("Team") and said.entities[0]["type"] == "text_mention"
    assert tg.say("x", user=bob, chat=said.chat.id).chat is said.chat
    assert tg.say("x", user=bob).chat is tg.private(bob)
    assert tg.say("x", user=77, chat=77).chat is tg.private(77)
    with pytest.raises(ValueError, match="paste"):
        tg.say("x" * 4097)


# --- the control interface --------------------------------------------------------------------------------------


@pytest.fixture
async def control(tg: TelegramServer) -> AsyncIterator[httpx.AsyncClient]:
    tg.extra = Control(tg).handle
    async with httpx.AsyncClient(base_url=tg.root, timeout=10) as client:
        yield client


async def test_another_process_can_drive_the_server(tg: TelegramServer, bot: Bot, control: httpx.AsyncClient) -> None:
    async def post(path: str, **body: Any) -> Answer:
        answer = await control.post(f"/control/{path}", json=body)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    said = await post("say", text="hello", user="bob")
    many = await post("say_many", count=50, users=5, text="question {n}")
    assert many["count"] == 50 and len(await bot.get_updates()) == 51
    before = (await control.get("/control/state")).json()
    waiting = asyncio.create_task(control.get("/control/state", params={"since": before["seq"], "wait": 10}))
    await bot.send_message(said["chat_id"], "Choose", reply_markup=button("Go", "go"))
    state = (await waiting).json()
    assert [message["text"] for message in state["messages"]] == ["Choose"]
    assert state["counts"]["sent"] == 1 and state["counts"]["pending"] == 51
    press = await post("press", chat=said["chat_id"], message_id=state["messages"][0]["id"], button="Go")
    await bot.answer_callback_query(press["id"], "ok")
    await post("edit", chat=said["chat_id"], message_id=said["id"], text="hello?")
    file = {"name": "a.txt", "data": base64.b64encode(b"abc").decode(), "mime": "text/plain"}
    assert (await post("document", user="bob", caption="c", **file))["content"]["document"]["file_size"] == 3
    sent = await bot.send_document(said["chat_id"], b"<b>", filename="ä b.html")
    assert sent.document is not None
    kept = await control.get("/control/file", params={"id": sent.document.file_id})
    assert (kept.content, kept.headers["content-type"]) == (b"<b>", "application/octet-stream")
    assert kept.headers["content-disposition"] == "attachment; filename*=UTF-8''%C3%A4%20b.html"
    assert (await control.get("/control/file", params={"id": "none"})).status_code == 404
    group = await post("group", title="Forum", forum=True)
    topic = await post("topic", chat=group["id"], name="Plans")
    assert (await post("say", text="x", chat=group["id"], topic=topic["id"]))["thread_id"] == topic["id"]
    await post("fault", method="getMe", kind="server_error")
    with pytest.raises(NetworkError):
        await bot.get_me()
    await post("revoke")
    with pytest.raises(InvalidToken):
        await bot.get_me()
    await post("restore")
    await post("block", user="bob")
    with pytest.raises(Forbidden):
        await bot.send_message(said["chat_id"], "x")
    assert (await control.post("/control/say", json={"txt": "x"})).status_code == 400
    assert (await control.post("/control/nothing", json={})).status_code == 404
    assert tg.violations == []


async def test_an_outage_by_control_ends_by_itself(tg: TelegramServer, control: httpx.AsyncClient) -> None:
    assert (await control.post("/control/outage", json={"seconds": 0.2})).status_code == 200
    await tg.wait_for(lambda tg: not tg.is_up)
    await tg.wait_for(lambda tg: tg.is_up)
    assert (await control.get("/control/state")).status_code == 200


async def test_nothing_in_the_server_blocks_the_loop(control: httpx.AsyncClient) -> None:
    with blockbuster_ctx():
        async with TelegramServer() as tg:
            said = tg.say_document("a.txt", b"abc")
            async with httpx.AsyncClient(base_url=tg.root, timeout=10) as client:
                api = f"/bot{tg.token}"
                sent = await client.post(f"{api}/sendPhoto", data={"chat_id": 1001}, files={"photo": b"jpeg"})
                assert sent.status_code == 200, sent.text
                file_id = said.content["document"]["file_id"]
                path = (await client.get(f"{api}/getFile", params={"file_id": file_id})).json()["result"]["file_path"]
                assert (await client.get(f"/file/bot{tg.token}/{path}")).content == b"abc"
        assert (await control.get("/")).status_code == 200


async def test_the_page_is_one_file(control: httpx.AsyncClient) -> None:
    page = (await control.get("/")).text
    assert "<title>" in page and "src=" not in page and 'href="http' not in page
