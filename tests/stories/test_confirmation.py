"""Tools that act outside ask first: what the card shows, what its buttons do, and what cannot confirm."""

from __future__ import annotations

import json
import time

import pytest

from handlers.tools.approval import VALID_SECONDS
from tests.polling import until
from tests.servers.discord import DiscordServer
from tests.stories.harness import BotHarness, BotProcess, ask, press, running
from tests.stories.office import (
    ALWAYS,
    ASKED,
    CANCEL,
    HERE,
    MAIL,
    ONCE,
    Office,
    at_work,
    calls,
    card,
    connected,
    pressed,
)
from tests.stories.toolkits import write

SENT = [("send_mail", MAIL)]


async def test_a_tool_runs_after_its_button_and_the_model_goes_on_with_the_result(on: BotHarness) -> None:
    office = Office(on)
    calls(on, "send_mail", MAIL)
    async with at_work(on):
        asked = await card(on)
        assert office.done == []
        assert "Shall I run office_send_mail (mcp:office)?" in asked.text
        assert 'to: "bob@example.com"' in asked.text
        assert 'body: "See you at five."' in asked.text
        assert [each["text"] for each in asked.buttons] == [ONCE, HERE, ALWAYS, CANCEL]
        answer = await pressed(on, ONCE, asked)
        assert answer.text == "Done: send_mail is done, number 4711"
        roles = [role for role, _ in on.ms.last.reading.turns]
        assert roles[-3:] == ["user", "assistant", "tool"], "a result is data, never the person's words"
        again = await pressed(on, HERE, asked)
        assert "confirmed office_send_mail already" in again.text
        assert office.done == SENT
        assert "Ask before each run: office_send_mail, office_delete_all" in (await ask(on, "/tools")).text
        assert "Ask before each run" in (await ask(on, "/status full")).text


async def test_only_the_askers_button_confirms(on: BotHarness) -> None:
    office = Office(on)
    on.env["BOT_ACCESS"] = "open"
    bob = on.tg.user("bob")
    calls(on, "send_mail", MAIL)
    async with at_work(on):
        await ask(on, "/access here on", group="Team")
        asked = await card(on, "@tierbot mail Bob", group="Team")
        refused = await on.tg.answered(on.tg.press(ONCE, message=asked, user=bob))
        assert refused["text"] == "This button is for someone else."
        for typed in ("/confirm once", "/confirm", "/confirm@tierbot once"):
            assert (await ask(on, typed)).text.startswith("There is no command /confirm.")
        assert "There is no command /cofirm. /help" in (await ask(on, "/cofirm")).text
        assert (await card(on, "yes")).text.count(ASKED) == 1, "text goes to the model, which asks again"
        his = await card(on, user=bob)
        assert [each["text"] for each in his.buttons] == [ONCE, HERE, ALWAYS, CANCEL]
        assert office.done == []
        assert (await press(on, CANCEL, his)).text == "❌ Cancelled. office_send_mail was not run."
    assert office.done == []


async def test_approvals_last_for_a_conversation_permanently_or_for_everyone(on: BotHarness) -> None:
    office = Office(on)
    on.env["BOT_ACCESS"] = "open"
    calls(on, "send_mail", MAIL)
    async with at_work(on):
        allowed = (
            "🔓 office_send_mail no longer asks you in this conversation. /tools ask office_send_mail takes that back."
        )
        assert (await pressed(on, HERE, await card(on))).text.endswith(allowed)
        await ask(on, "mail Bob again")
        assert office.done == SENT * 2
        assert "Allowed by you in this conversation: office_send_mail" in (await ask(on, "/tools")).text
        await ask(on, "/new")
        assert "office_send_mail no longer asks you. " in (await pressed(on, ALWAYS, await card(on))).text
        await ask(on, "/new")
        await ask(on, "and again")
        assert office.done == SENT * 4
        assert "Always allowed by you: office_send_mail" in (await ask(on, "/tools")).text
        assert "✅ office_send_mail asks" in (await ask(on, "/tools ask office_send_mail")).text
        await card(on)
        refused = await ask(on, "/tools allow office_send_mail", user="bob")
        assert refused.text == "Only an owner can allow a tool for everyone. Nothing was changed."
        sure = await ask(on, "/tools allow office_send_mail")
        await card(on, user="bob")
        await press(on, "✅ Allow for everyone", sure)
        assert (await ask(on, "hello", user="bob")).text == "Done: send_mail is done, number 4711"
        assert "only an owner can take that back" in (await ask(on, "/tools ask office_send_mail", user="bob")).text
        await ask(on, "/tools ask office_send_mail")
        await card(on, user="bob")
    assert office.done == SENT * 5


async def test_an_owners_permanent_approval_ends_with_the_role(on: BotHarness) -> None:
    office = Office(on)
    carol, bob = on.tg.user("carol"), on.tg.user("bob")
    calls(on, "send_mail", MAIL)
    async with at_work(on):
        await ask(on, f"/access role telegram:{carol.id} owner")
        await ask(on, f"/access allow telegram:{bob.id}")
        await pressed(on, ALWAYS, await card(on, user=carol))
        await press(on, "✅ Allow for everyone", await ask(on, "/tools allow office_send_mail", user=carol))
        await ask(on, "mail Ann", user=bob)
        assert office.done == SENT * 2
        await ask(on, f"/access role telegram:{carol.id} user")
        await card(on, user=bob)
        await card(on, user=carol)
        assert "Ask before each run: office_send_mail" in (await ask(on, "/tools", user=bob)).text
    assert office.done == SENT * 2


async def test_a_user_allows_a_tool_for_good_until_the_role_is_lowered(on: BotHarness) -> None:
    office = Office(on)
    bob = on.tg.user("bob")
    role = f"/access role telegram:{bob.id}"
    calls(on, "send_mail", MAIL)
    async with at_work(on):
        await ask(on, f"/access allow telegram:{bob.id}")
        await pressed(on, ALWAYS, await card(on, user=bob), user=bob)
        await ask(on, f"{role} admin")
        await ask(on, "/new", user=bob)
        assert "Done: send_mail is done" in (await ask(on, "and Ann", user=bob)).text, "a higher role keeps it"
        await card(on, "Mail Ann.")
        await ask(on, f"{role} user")
        await card(on, user=bob)
    assert office.done == SENT * 2


@pytest.mark.parametrize("where", ["mcp.json", "runtime-config.json"])
async def test_tools_allowed_in_the_owners_files_need_no_confirmation(on: BotHarness, where: str) -> None:
    office = Office(on, **({"allow": ["send_mail"]} if where == "mcp.json" else {}))
    if where == "runtime-config.json":
        on.config["tools"] = {"allow": ["office_send_mail"]}
    calls(on, "send_mail", MAIL)
    async with at_work(on):
        assert (await ask(on, "hello")).text == "Done: send_mail is done, number 4711"
        assert f"Allowed for everyone in {where}: office_send_mail" in (text := (await ask(on, "/tools")).text)
        assert "Ask before each run: office_delete_all" in text
        assert f"is allowed in {where}; remove it there." in (await ask(on, "/tools ask office_send_mail")).text
    assert office.done == SENT


async def test_a_card_survives_a_restart_but_expires_and_is_bound_to_its_tool(on: BotHarness) -> None:
    office = Office(on)
    calls(on, "send_mail", MAIL)
    async with at_work(on):
        kept, old, changed = await card(on), await card(on), await card(on)
    async with at_work(on):
        assert (await pressed(on, ONCE, kept)).text == "Done: send_mail is done, number 4711"
        on.ms.default = lambda _: "all right"
    async with at_work(on, lambda: time.time() + VALID_SECONDS):
        assert "too late to confirm" in (await pressed(on, ONCE, old)).text
    (office.folder / "tools.json").write_text(json.dumps({"send_mail": {"description": "Send money."}}))
    calls(on, "send_mail", MAIL)
    async with at_work(on):
        assert "has changed since it was confirmed" in (await pressed(on, ONCE, changed)).text
    assert office.done == SENT


async def test_other_arguments_than_those_of_the_card_are_refused(on: BotHarness) -> None:
    office = Office(on)
    calls(on, "send_mail", MAIL)
    async with at_work(on):
        asked = await card(on)
    on.change("UPDATE actions SET arguments = replace(arguments, 'bob@', 'eve@')")
    async with at_work(on):
        assert "has changed since it was confirmed" in (await pressed(on, ONCE, asked)).text
    assert office.done == []


async def test_without_a_model_the_raw_result_is_shown(on: BotHarness) -> None:
    office = Office(on)
    calls(on, "send_mail", MAIL)
    async with at_work(on):
        asked = await card(on)
        on.ms.fail(401)
        answer = await pressed(on, ONCE, asked)
    assert answer.text.startswith("office_send_mail returned:\n\nsend_mail is done, number 4711")
    assert "can't be used" in answer.text
    assert office.done == SENT


async def test_a_tool_killed_mid_run_is_reported_and_not_repeated(on: BotHarness) -> None:
    office = Office(on)
    (office.folder / "hold").touch()
    calls(on, "send_mail", MAIL)
    async with at_work(on):
        asked = await card(on)
    async with BotProcess(on) as bot:
        await until(lambda: "connected" in bot.log)
        on.tg.press(ONCE, message=asked)
        await until(lambda: office.done)
        await bot.kill()
    (office.folder / "hold").unlink()
    async with at_work(on):
        await on.tg.reply(after=asked, matching="may or may not have happened")
        assert "already" in (await pressed(on, ONCE, asked)).text
        on.ms.default = lambda request: f"told: {request.reading.tool_results[-1].text}"
        assert "it may or may not have happened" in (await ask(on, "was it sent?")).text
    assert office.done == SENT


async def test_a_result_is_told_even_if_the_model_may_not_answer_any_more(on: BotHarness) -> None:
    office = Office(on)
    on.env["BOT_ACCESS"] = "open"
    bob = on.tg.user("bob")
    calls(on, "send_mail", MAIL)
    async with at_work(on):
        await ask(on, f"/access role telegram:{bob.id} user")
        asked = await card(on, "!deep Mail Bob.", user=bob)
    on.ms.gate()
    async with BotProcess(on) as bot:
        await until(lambda: "connected" in bot.log)
        on.tg.press(ONCE, message=asked, user=bob)
        await until(lambda: on.rows("select state from actions") == [("done",)])
        await bot.kill()
    on.change("UPDATE people SET role = 'guest' WHERE role = 'user'")
    on.ms.clear()
    async with at_work(on):
        await on.tg.wait_for(lambda _: "returned:" in asked.chat.from_bot()[-1].text)
        told = asked.chat.from_bot()[-1].text
        assert told.startswith("office_send_mail returned:\n\nsend_mail is done, number 4711")
        assert "The deep tier needs the role user; yours is guest." in told
    assert office.done == SENT


async def test_a_workspace_tool_asks_if_its_file_says_so(on: BotHarness) -> None:
    task = {
        "name": "publish",
        "description": "Publish a page.",
        "execute": {"command": ["echo", "out"], "confirm": True},
    }
    write(on, {"name": "site", "description": "The site.", "keywords": ["publish"], "tasks": [task]})
    on.env["EMBEDDINGS"] = "off"
    calls(on, "publish", {}, server="")
    async with running(on):
        asked = await card(on, "publish it")
    assert "Shall I run publish (site)?" in asked.text
    assert "It takes no arguments." in asked.text


async def test_confirmation_on_discord(on: BotHarness, dc: DiscordServer) -> None:
    office = Office(on)
    calls(on, "send_mail", MAIL)
    async with at_work(on) as app:
        await dc.ready()
        await connected(app)
        message = dc.say("Mail Bob.")
        asked = await dc.reply(message, after=message)
        dc.press(asked, ONCE)
        answer = await dc.wait_for(lambda _: [each for each in asked.channel.from_bot() if "4711" in each.text])
    assert ASKED in asked.text
    assert answer
    assert office.done == SENT
