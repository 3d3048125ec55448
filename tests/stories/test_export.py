"""`/history export`: the whole conversation as a file, for those who may read it, through kills and refusals."""

from __future__ import annotations

import re
import time

from tests.polling import until
from tests.servers.telegram import Message
from tests.stories.forked_cli import forked
from tests.stories.harness import BotHarness, BotProcess, ask, running, settled


def exported(on: BotHarness, message: Message) -> str:
    """The Markdown file of a message."""
    return on.tg.document(message).data.decode()


def store_messages(on: BotHarness, count: int, text: str = "message {n}") -> None:
    """Writes this many messages into the newest conversation while no bot runs."""
    ((conversation,),) = on.rows("select max(id) from conversations")
    ((person,),) = on.rows("select min(id) from people")
    for n in range(count):
        on.change(
            "insert into messages (conversation_id, person_id, turn_id, role, text, pictures, at)"
            " values (?, ?, '', ?, ?, '[]', ?)",
            conversation, person, "user" if n % 2 == 0 else "assistant", text.format(n=n), time.time(),
        )  # fmt: skip


async def test_export_sends_the_conversation_as_a_file(on: BotHarness) -> None:
    on.ms.reply("Apples are **red**.")
    async with running(on):
        await ask(on, "Tell me of apples")
        message = await ask(on, "/history export")
    assert message.text == "📄 The conversation as a file, 2 messages."
    file = on.tg.document(message)
    assert re.fullmatch(r"conversation-\d{4}-\d\d-\d\d-1\.md", file.name)
    text = exported(on, message)
    assert text.startswith("# Tell me of apples\n")
    assert "(UTC), 2 messages" in text
    assert re.search(
        r"## Question · \S+ \S+\n\nTell me of apples\n\n## Answer · .*\n\nApples are \*\*red\*\*\.\n$", text
    )


async def test_export_of_an_earlier_conversation_in_the_persons_language(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "/settings timezone Europe/Berlin")
        await ask(on, "remember apples")
        await ask(on, "/new")
        await ask(on, "now bananas")
        await ask(on, "/settings language de")
        message = await ask(on, "/history EXPORT 2")
        assert message.text == "📄 Die Unterhaltung als Datei, 2 Nachrichten."
        assert "## Frage" in exported(on, message)
        assert "(Europe/Berlin)" in exported(on, message)
        assert "apples" in exported(on, message)
        assert "bananas" not in exported(on, message)
        assert "bananas" in exported(on, await ask(on, "/history export"))


async def test_impossible_exports_are_explained(on: BotHarness) -> None:
    async with running(on):
        assert "This conversation is still empty" in (await ask(on, "/history export")).text
        assert "There is no conversation 1" in (await ask(on, "/history export 1")).text
        await ask(on, "hello")
        for number in (0, 2):
            assert f"There is no conversation {number}" in (await ask(on, f"/history export {number}")).text
        for typed in ("/history export two", f"/history export {10**30}", "/history export 1 2"):
            assert "Nothing was changed" in (await ask(on, typed)).text
        await ask(on, "/new")
        assert "/history lists the earlier ones" in (await ask(on, "/history export")).text
    assert not on.tg.calls("sendDocument")


async def test_every_message_is_exported(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "hello")
    store_messages(on, 998)
    async with running(on):
        message = await ask(on, "/history export")
    assert "1,000 messages" in message.text
    assert re.findall(r"^message (\d+)$", exported(on, message), re.MULTILINE) == [str(n) for n in range(998)]


async def test_a_too_long_export_is_refused_before_it_is_queued(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "hello")
    store_messages(on, 2, "é" * 5_100_000)
    async with running(on):
        assert (await ask(on, "/history export")).text == (
            "This conversation is too long to export; the limit is 20 MB."
        )
        await ask(on, "/new")
        await ask(on, "hello again")
        assert "hello again" in exported(on, await ask(on, "/history export"))


async def test_a_groups_export_is_for_its_members_only(on: BotHarness) -> None:
    on.env["BOT_ACCESS"] = "open"
    async with running(on):
        await ask(on, "my own secret")
        await ask(on, "@tierbot what is the plan", group="Team")
        given = await ask(on, "/history@tierbot export", user="bob", group="Team")
        assert given.reply_to is not None
        assert given.reply_to.sender.first_name == "Bob"
        assert "what is the plan" in exported(on, given)
        assert "secret" not in exported(on, given)
        assert "This conversation is still empty" in (await ask(on, "/history export", user="bob")).text
        assert "There is no conversation 1" in (await ask(on, "/history export 1", user="bob")).text


async def test_export_does_not_wait_for_a_running_answer(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "first")
        gate = on.ms.gate("done")
        on.tg.say("a long one")
        await gate.reached()
        assert "first" in exported(on, await ask(on, "/history export"))
        gate.open()
        await on.tg.reply(matching="done")


async def test_a_kill_before_confirmation_sends_the_export_again_with_a_mark(on: BotHarness) -> None:
    async with BotProcess(on) as bot:
        await ask(on, "hello")
        await settled(on)
        on.tg.fault("sendDocument", "hang_after")
        message = on.tg.say("/history export")
        first = await on.tg.reply(message, after=message)
        await bot.kill()
    async with BotProcess(on) as bot:
        second = await on.tg.reply(message, after=message)
        await until(lambda: on.rows("select 1 from outbox where state != 'sent'") == [])
        assert await bot.terminate() == 0
    assert second.text == f"(recovered) {first.text}"
    assert exported(on, second) == exported(on, first)
    assert len(message.chat.from_bot()) == 3


async def test_in_a_pipe_the_export_is_the_reply(on: BotHarness) -> None:
    on.write_config()
    on.ms.reply("Apples are red.")
    on.env["TELEGRAM_BOT_TOKEN"] = ""
    async with forked("chat", "--as", "ann", env=on.environment()) as process:
        code, output, _ = await process.ended(b"Tell me\n/history export\n")
    answer, _, text = output.partition("\n\n")
    assert (code, answer) == (0, "Apples are red.")
    assert text.startswith("# Tell me\n\n")
    assert text.endswith("\n\nApples are red.\n\n")
    assert "📄" not in text
