"""Messages of the loopback Telegram server, read with python-telegram-bot."""

import httpx
import pytest
from telegram import (
    Bot,
    BotCommand,
    BotCommandScopeChat,
    InputMediaPhoto,
    LinkPreviewOptions,
    MessageEntity,
    ReactionTypeEmoji,
    ReplyParameters,
)
from telegram.error import BadRequest, ChatMigrated, Forbidden

from tests.servers.sdk import Answer, a_bot, button
from tests.servers.telegram import TelegramServer
from tests.servers.telegram.schema import SCHEMA
from tests.servers.telegram.typed import utf16_pieces

PNG = b"\x89PNG\r\n\x1a\n and more"


async def test_the_sdk_reads_every_kind_of_message(tg: TelegramServer, bot: Bot) -> None:
    message = tg.say("/start@tierbot see https://example.org @bob 🙂 #tag")
    tg.say_photo(b"jpeg", caption="look", media_group="album")
    tg.say_document("notes.md", b"# notes", "text/markdown", caption="read")
    tg.say_voice(b"OggS...")
    for kind in ("sticker", "poll", "location", "contact", "dice", "video_note"):
        tg.unsupported(kind)
    tg.say("yes", reply_to=message)
    tg.edit(message, "/start again")
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
    assert photo is not None
    assert photo.media_group_id == "album"
    assert photo.caption == "look"
    largest = max(photo.photo, key=lambda size: size.width)
    assert bytes(await (await bot.get_file(largest.file_id)).download_as_bytearray()) == b"jpeg"


async def test_every_answer_fits_the_official_schema(tg: TelegramServer, raw: httpx.AsyncClient) -> None:
    chat = tg.say("hello").chat
    forum = tg.group("Forum", forum=True)
    message = tg.say("in a topic", group=forum, topic=tg.topic(forum, "Plans"))
    file_id = tg.say_document("a.txt", b"a").content["document"]["file_id"]
    calls: list[tuple[str, Answer]] = [
        ("getMe", {}),
        ("getUpdates", {}),
        ("getWebhookInfo", {}),
        ("getFile", {"file_id": file_id}),
        ("sendMessage", {"chat_id": chat.id, "text": "hi"}),
        ("sendMessage", {"chat_id": forum.id, "text": "hi", "message_thread_id": message.thread_id}),
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
    assert sent.document is not None
    assert sent.document.file_name == "answer.md"
    stored = await bot.get_file(sent.document.file_id)
    assert bytes(await stored.download_as_bytearray()) == b"long answer"
    kept = tg.document(chat.messages[-1])
    assert (kept.name, kept.mime, kept.data) == ("answer.md", "text/markdown", b"long answer")
    with pytest.raises(AssertionError, match="no document"):
        tg.document(tg.say("only words"))
    await bot.send_photo(chat.id, PNG, filename="a.png", caption="<b>one</b>", parse_mode="HTML")
    logged = chat.messages[-1]
    assert (logged.text, logged.entities) == ("one", [{"type": "bold", "offset": 0, "length": 3}])
    assert (tg.picture(logged).name, tg.picture(logged).data) == ("a.png", PNG)
    with pytest.raises(AssertionError, match="no photo"):
        tg.picture(tg.say("only words"))
    with pytest.raises(BadRequest, match=r"(?i)IMAGE_PROCESS_FAILED"):
        await bot.send_photo(chat.id, b"no picture")
    with pytest.raises(BadRequest, match=r"(?i)caption is too long"):
        await bot.send_photo(chat.id, PNG, caption="x" * 1025)
    (breach,) = tg.violations
    assert breach.method == "sendPhoto"
    tg.violations.clear()
    album = await bot.send_media_group(chat.id, [InputMediaPhoto(b"1", caption="c"), InputMediaPhoto(b"2")])
    assert len({message.media_group_id for message in album}) == 1
    assert tg.violations == []


async def test_drafts_exist_until_the_message_is_sent(tg: TelegramServer, bot: Bot) -> None:
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
    assert query is not None
    assert query.data == "t:smart"
    assert query.from_user.id == 1001
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
    assert forged.update is not None
    assert forged.update["callback_query"]["from"]["first_name"] == "Mallory"


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


async def test_topics_can_be_closed_or_deleted_and_general_has_no_id(tg: TelegramServer, bot: Bot) -> None:
    forum = tg.group("Forum", forum=True)
    plans = tg.topic(forum, "Plans")
    message = tg.say("in the topic", group=forum, topic=plans)
    assert message.json()["is_topic_message"]
    assert message.json()["reply_to_message"]["forum_topic_created"]
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


async def test_privacy_mode_hides_messages_not_for_the_bot() -> None:
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
