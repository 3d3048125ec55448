"""Long answers arrive complete, valid and in order."""

import pytest

from bot.rendering.telegram import pieces
from tests.servers.discord import DiscordServer
from tests.servers.telegram import Message, check_entities
from tests.servers.telegram.entities import utf16_length
from tests.stories.discord_bot import up
from tests.stories.harness import BotHarness, ask, running
from tests.stories.kills import kill_after_first_part

CODE = "```python\n" + "\n".join(f"value_{n} = compute({n}) * {n}" for n in range(240)) + "\n```"
TABLE = "| name | value |\n| --- | --- |\n" + "\n".join(f"| row {n} | **{n * n}** |" for n in range(600))
LINKS = "\n\n".join(f"See [page {n}](https://example.org/{n}?q=a_b) and *this* `code_{n}`." for n in range(200))
EMOJI = " ".join("👩‍👩‍👧‍👦🏳️‍🌈👍🏽🇩🇪 e\u0301" for _ in range(400))
RTL = "\n\n".join(f"שלום **עולם** {n}: مرحبا _بالعالم_ {n}" for n in range(300))
CJK = "".join(f"第{n}行：这是一个很长的回答，没有空格。" for n in range(500))
ODD = "**bold never closed `code [link](http://x " * 200 + "\n```\nfence never closed\n" + "x" * 5000
ANSWERS = {"code": CODE, "table": TABLE, "links": LINKS, "emoji": EMOJI, "rtl": RTL, "cjk": CJK, "odd": ODD}
ANSWERS["all"] = "\n\n".join(ANSWERS.values())
END = "THE-END-77"


def squeezed(texts: list[str]) -> str:
    return "".join("".join(texts).split())


async def full_answer(on: BotHarness, question: Message) -> list[Message]:
    """The messages of the answer, once its end has arrived."""
    await on.tg.reply(question, after=question, matching=END)
    return [message for message in question.chat.from_bot() if message.id > question.id]


@pytest.mark.parametrize("kind", ANSWERS)
async def test_a_long_answer_arrives_whole_valid_and_in_order(on: BotHarness, kind: str) -> None:
    answer = f"{ANSWERS[kind]}\n\n{END}"
    visible = squeezed([piece.text for piece in pieces(answer)])
    on.ms.reply(answer)
    async with running(on):
        parts = await full_answer(on, on.tg.say("tell me everything"))
    assert squeezed([part.text for part in parts]) == visible
    assert len(parts) > 1
    for part in parts:
        assert 0 < utf16_length(part.text) <= 4096
        assert len(part.entities) <= 100
        assert check_entities(part.text, part.entities) == []
        assert "\ufffd" not in part.text
    stored = on.rows("select text from messages where role = 'assistant'")
    assert stored == [(answer,)]


async def test_every_word_of_the_answer_is_visible_somewhere(on: BotHarness) -> None:
    """Compared with the Markdown itself, not with our rendering."""
    on.ms.reply(f"{ANSWERS['all']}\n\n{END}")
    async with running(on):
        parts = await full_answer(on, on.tg.say("go"))
    seen = squeezed([part.text for part in parts])
    for n in (0, 123, 239):
        assert f"value_{n}=compute({n})*{n}" in seen
    for n in (0, 77, 249):
        assert f"row{n}" in seen
        assert str(n * n) in seen
    for n in (0, 150, 299):
        assert f"שלוםעולם{n}:مرحبابالعالم{n}" in seen
    for n in (0, 250, 499):
        assert f"第{n}行：这是一个很长的回答，没有空格。" in seen
    assert seen.count("👩‍👩‍👧‍👦🏳️‍🌈👍🏽🇩🇪e\u0301") == 400
    targets = {entity["url"] for part in parts for entity in part.entities if entity["type"] == "text_link"}
    assert {f"https://example.org/{n}?q=a_b" for n in range(200)} <= targets


async def test_code_stays_code_in_every_part(on: BotHarness) -> None:
    on.ms.reply(CODE.removesuffix("```") + f"# {END}\n```")
    async with running(on):
        parts = await full_answer(on, on.tg.say("code, please"))
    for part in parts:
        assert [entity["type"] for entity in part.entities] == ["pre"]
        assert part.entities[0]["language"] == "python"
        assert part.entities[0]["offset"] == 0
        assert part.entities[0]["length"] == utf16_length(part.text)


SCRIPT = "\n".join(f"value_{n} = compute({n})" for n in range(900)) + "\n"
WITH_SCRIPT = f"{'Read this first. ' * 70}\n\n```python\n{SCRIPT}```"


async def test_code_beyond_two_messages_is_a_file_and_the_history_keeps_it(on: BotHarness) -> None:
    on.ms.reply(WITH_SCRIPT)
    async with running(on):
        await ask(on, "/settings language de")
        message = on.tg.say("a script, please")
        text = await on.tg.reply(message, after=message, matching="angehängt")
        file = await on.tg.reply(message, after=text)
        assert text.text.endswith("Read this first.\n\n📎 main.py ist angehängt.")
        assert (on.tg.document(file).name, on.tg.document(file).data.decode()) == ("main.py", SCRIPT)
        exported = await ask(on, "/history export")
        assert f"```python\n{SCRIPT}```" in on.tg.document(exported).data.decode()
    assert on.rows("select text from messages where role = 'assistant'")[-1] == (WITH_SCRIPT,)


async def test_a_kill_after_the_text_sends_only_the_file(on: BotHarness) -> None:
    on.ms.reply(WITH_SCRIPT)
    question = await kill_after_first_part(on, "a script, please", "sendDocument")
    text, file = question.chat.from_bot()
    assert text.text.endswith("📎 main.py is attached.")
    assert on.tg.document(file).data.decode() == SCRIPT
    assert len(on.ms.calls) == 1


async def test_discord_gets_the_file_with_the_text(on: BotHarness, dc: DiscordServer) -> None:
    on.ms.reply(f"Here it is:\n\n```python\n{SCRIPT}```")
    async with running(on) as app:
        await up(dc, app)
        message = dc.say("a script, please", channel=dc.dm())
        await dc.wait_for(lambda _: any(each.attachments for each in dc.dm().from_bot()))
    (answer,) = [each for each in dc.dm().from_bot() if each.id > message.id]
    assert answer.text == "Here it is:\n\n📎 `main.py` is attached."
    assert [(file.name, file.data.decode()) for file in answer.attachments] == [("main.py", SCRIPT)]


async def test_the_next_answer_waits_for_a_long_one(on: BotHarness) -> None:
    on.ms.reply(CJK)
    async with running(on):
        first = on.tg.say("long")
        on.tg.say("short")
        last = await on.tg.reply(first, after=first, matching="You said: short")
        texts = [message.text for message in first.chat.from_bot() if message.id > first.id]
    assert texts[-1] == last.text
    assert squeezed(texts[:-1]) == squeezed([CJK])


async def test_buttons_stand_under_the_last_part_only(on: BotHarness) -> None:
    async with running(on):
        on.ms.fail(400, None, "no")
        failed = await ask(on, "hello")
    assert [button["text"] for button in failed.buttons] == ["🔁 Retry", "🔁 Retry on smart"]


async def test_formulas_are_readable_beside_prices_and_products(on: BotHarness) -> None:
    on.ms.reply(r"$x$ and \(a\) and \(\frac{1}{n}\) for $5 and $10; 2*3*4 is 24")
    async with running(on):
        answer = await ask(on, "explain")
    assert answer.text == "x and a and 1/n for $5 and $10; 2*3*4 is 24"
    assert [entity["type"] for entity in answer.entities] == ["code"] * 3
