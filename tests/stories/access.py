"""Shared by the stories about access."""

import re

from bot.app import App
from tests.servers.telegram import Message, User

CODE = re.compile(r"\b[A-Z2-9]{4}-[A-Z2-9]{4}\b")


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
