"""Driving the loopback Telegram server, from its own process and from another."""

import asyncio
import base64
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from blockbuster import blockbuster_ctx
from telegram import Bot
from telegram.error import Forbidden, InvalidToken, NetworkError

from tests.servers.sdk import Answer, button
from tests.servers.telegram import TelegramServer
from tests.servers.telegram.control import Control

JPEG = b"\xff\xd8\xff and more"


async def test_replies_come_in_order_and_only_once(tg: TelegramServer, bot: Bot) -> None:
    question = tg.say("hello")
    for text in ("one", "two", "three"):
        await bot.send_message(question.chat.id, text)
    assert (await tg.reply()).text == "one"
    assert [message.text for message in await tg.reply(question.chat, after=question, count=2)] == ["two", "three"]
    waiting = asyncio.create_task(tg.reply(matching="final"))
    sent = await bot.send_message(question.chat.id, "…")
    await sent.edit_text("final text")
    assert (await waiting).id == sent.message_id


async def test_a_failed_wait_shows_the_log(tg: TelegramServer, bot: Bot) -> None:
    tg.say("is anybody there?")
    await bot.send_message(tg.private().id, "yes", reply_markup=button("Go", "go"))
    with pytest.raises(AssertionError) as failure:
        await tg.wait_for(lambda tg: False, timeout=0.01)
    assert "#1 Alice: 'is anybody there?'" in str(failure.value)
    assert "buttons Go" in str(failure.value)


async def test_users_are_as_given(tg: TelegramServer) -> None:
    bob = tg.user("bob")
    assert tg.user("Bob") is bob
    assert tg.user(bob.id) is bob
    assert tg.user("alice").id == tg.user().id == 1001
    message = tg.say("hi Bob", user=bob, group="Team", mention=bob)
    assert message.chat is tg.group("Team")
    assert message.entities[0]["type"] == "text_mention"
    assert tg.say("x", user=bob, chat=message.chat.id).chat is message.chat
    assert tg.say("x", user=bob).chat is tg.private(bob)
    assert tg.say("x", user=77, chat=77).chat is tg.private(77)
    with pytest.raises(ValueError, match="paste"):
        tg.say("x" * 4097)


@pytest.fixture
async def control(tg: TelegramServer) -> AsyncIterator[httpx.AsyncClient]:
    tg.extra = Control(tg).handle
    async with httpx.AsyncClient(base_url=tg.root, timeout=60) as client:
        yield client


async def test_another_process_can_drive_the_server(tg: TelegramServer, bot: Bot, control: httpx.AsyncClient) -> None:
    async def post(path: str, **body: Any) -> Answer:
        answer = await control.post(f"/control/{path}", json=body)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    question = await post("say", text="hello", user="bob")
    many = await post("say_many", count=50, users=5, text="question {n}")
    assert many["count"] == 50
    assert len(await bot.get_updates()) == 51
    before = (await control.get("/control/state")).json()
    waiting = asyncio.create_task(control.get("/control/state", params={"since": before["seq"], "wait": 10}))
    await bot.send_message(question["chat_id"], "Choose", reply_markup=button("Go", "go"))
    state = (await waiting).json()
    assert [message["text"] for message in state["messages"]] == ["Choose"]
    assert state["counts"]["sent"] == 1
    assert state["counts"]["pending"] == 51
    press = await post("press", chat=question["chat_id"], message_id=state["messages"][0]["id"], button="Go")
    await bot.answer_callback_query(press["id"], "ok")
    await post("edit", chat=question["chat_id"], message_id=question["id"], text="hello?")
    file = {"name": "a.txt", "data": base64.b64encode(b"abc").decode(), "mime": "text/plain"}
    assert (await post("document", user="bob", caption="c", **file))["content"]["document"]["file_size"] == 3
    sent = await bot.send_document(question["chat_id"], b"<b>", filename="ä b.html")
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
        await bot.send_message(question["chat_id"], "x")
    assert (await control.post("/control/say", json={"txt": "x"})).status_code == 400
    assert (await control.post("/control/nothing", json={})).status_code == 404
    assert tg.violations == []


async def test_a_timed_outage_ends(tg: TelegramServer, control: httpx.AsyncClient) -> None:
    assert (await control.post("/control/outage", json={"seconds": 0.2})).status_code == 200
    await tg.wait_for(lambda tg: not tg.is_up)
    await tg.wait_for(lambda tg: tg.is_up)
    assert (await control.get("/control/state")).status_code == 200


async def test_nothing_in_the_server_blocks_the_loop(control: httpx.AsyncClient) -> None:
    with blockbuster_ctx():
        async with TelegramServer() as tg:
            message = tg.say_document("a.txt", b"abc")
            async with httpx.AsyncClient(base_url=tg.root, timeout=60) as client:
                api = f"/bot{tg.token}"
                sent = await client.post(f"{api}/sendPhoto", data={"chat_id": 1001}, files={"photo": JPEG})
                assert sent.status_code == 200, sent.text
                file_id = message.content["document"]["file_id"]
                path = (await client.get(f"{api}/getFile", params={"file_id": file_id})).json()["result"]["file_path"]
                assert (await client.get(f"/file/bot{tg.token}/{path}")).content == b"abc"
        assert (await control.get("/")).status_code == 200


async def test_the_web_page_is_one_file(control: httpx.AsyncClient) -> None:
    page = (await control.get("/")).text
    assert "<title>" in page
    assert "src=" not in page
    assert 'href="http' not in page
