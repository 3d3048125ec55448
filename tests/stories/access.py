"""Shared by the stories about access."""

import re

from bot.app import App
from tests.polling import until
from tests.servers.telegram import Message, User
from tests.stories.harness import BotHarness

CODE = re.compile(r"\b[A-Z2-9]{4}-[A-Z2-9]{4}\b")


async def quiet(on: BotHarness) -> None:
    """Waits until every message is processed and every answer sent. Polls, because a database sends no signals."""
    unfinished = "select id from inbox where state <> 'done' union all "
    unfinished += "select id from outbox where state in ('pending', 'attempting')"
    await until(lambda: not (on.tg.updates.pending or on.rows(unfinished)))


def code_in(message: Message) -> str:
    found = CODE.search(message.text)
    assert found is not None, message.text
    return found.group()


def account(user: User) -> str:
    return f"telegram:{user.id}"


async def owner_code(app: App) -> str:
    code = await app.access.owner_code(app.messaging.platforms)
    assert code is not None
    return code
