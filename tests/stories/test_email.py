"""Mail: what a mail says reaches the model, and what it writes leaves after its button."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.servers.mail import HOST, PASSWORD, mail
from tests.servers.model.request import ModelRequest
from tests.servers.model.script import Script, ToolCall
from tests.stories.harness import BotHarness, ask, press, running, tool_results
from tests.stories.mailboxes import MailServers, mail_servers
from tests.stories.office import CANCEL, ONCE, card, pressed

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def servers() -> Iterator[MailServers]:
    with mail_servers() as started:
        yield started


def calling(on: BotHarness, *steps: tuple[str, dict[str, object]]) -> None:
    """A model that makes these calls in turn, and then repeats the last result."""
    left = [Script(calls=(ToolCall(name, json.dumps(arguments)),)) for name, arguments in steps]

    def answer(request: ModelRequest) -> Script | str:
        return left.pop(0) if left else f"Told: {request.reading.turns[-1][1]}"

    on.ms.default = answer


async def test_an_event_in_a_mail_reaches_the_model(on: BotHarness, servers: MailServers) -> None:
    on.env["ACCOUNT_HOSTS"] = HOST
    servers.imap.deliver("ann", [mail("Concert", "The concert begins on Friday at 19:30 in the old town hall.")])
    async with running(on):
        calling(on, ("search_email", {"query": ""}))
        hint = await ask(on, "Do I have new mail? Search my inbox")
        assert "/connect email" in hint.text
        await servers.connect(on)
        calling(on, ("search_email", {"query": "concert"}), ("read_email", {"id": "INBOX/1"}))
        told = await ask(on, "When is the concert in Bob's email?")
        assert "Friday at 19:30" in told.text
        assert any("INBOX/1 (unread)" in each for each in tool_results(on))
        offered = {tool["function"]["name"] for tool in on.ms.last.body["tools"]}
        assert {"search_email", "read_email", "send_email"} <= offered
        assert PASSWORD not in "".join(str(call.body) for call in on.ms.calls)
    assert servers.imap.flags("ann") == [""]


async def test_a_mail_is_sent_after_its_button(on: BotHarness, servers: MailServers) -> None:
    on.env["ACCOUNT_HOSTS"] = HOST
    servers.imap.deliver("ben", [mail("Dinner?", "Shall we?")])
    wanted: dict[str, object] = {
        "to": "bob@example.com",
        "subject": "Re: Dinner?",
        "body": "Yes!\nAnn",
        "reply_to": "INBOX/1",
    }
    async with running(on):
        await servers.connect(on, "ben")
        calling(on, ("send_email", dict(wanted)))
        asked = await card(on, "Answer Bob's mail: yes")
        for shown in ("From: ben@example.org", "To: bob@example.com", "Subject: Re: Dinner?", "Yes!\nAnn"):
            assert asked.text.count(shown) == 1
        assert 'to: "' not in asked.text, "the mail is shown once"
        assert servers.smtp.sent == []
        assert "Sent to bob@example.com." in (await pressed(on, ONCE, asked)).text
        calling(on, ("send_email", dict(wanted)))
        assert "was not run" in (await press(on, CANCEL, await card(on, "Send Bob an email again"))).text
        calling(on, ("send_email", wanted | {"body": "Yes\u200b!"}))
        assert 'body: "Yes\\u200b!"' in (await card(on, "Send Bob an email again")).text
        calling(on, ("send_email", wanted | {"body": "Yes! " * 1000}))
        long = await card(on, "Send Bob a long email")
        assert 'to: "' not in long.text
        assert long.text.count("Yes! Yes!") < 500
    (envelope,) = servers.smtp.sent
    assert isinstance(envelope.content, bytes)
    assert b"In-Reply-To: <" in envelope.content
    assert envelope.rcpt_tos == ["bob@example.com"]


async def test_the_mailbox_of_another_person_is_out_of_reach(on: BotHarness, servers: MailServers) -> None:
    on.env |= {"ACCOUNT_HOSTS": HOST, "BOT_ACCESS": "open"}
    servers.imap.deliver("eva", [mail("Secret", "the secret of Eva")])
    async with running(on):
        await servers.connect(on, "eva")
        steps: tuple[tuple[str, dict[str, object]], ...] = (
            ("search_email", {"query": ""}),
            ("read_email", {"id": "INBOX/1"}),
            ("send_email", {"to": "a@example.com", "subject": "", "body": ""}),
        )
        for step in steps:
            calling(on, step)
            told = await ask(on, "Read my email", user="bob")
            assert "ecret" not in told.text
            assert "🔐" not in told.text
