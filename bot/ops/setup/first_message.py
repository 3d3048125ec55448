"""Waits until the owner has written to the running bot and got an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from bot.adapters.shared.descriptor import CODE, BotAccount
from bot.platforms import PLATFORMS
from handlers.languages import Say
from routing.ports import Clock, PeopleStore, TurnStore
from routing.types.messages import UserKey

POLL_SECONDS = 0.5
_Result = Literal["answered", "stopped", "failed"] | None


@dataclass(frozen=True, slots=True)
class RunningBot:
    """What setup watches: `platforms` are those that run, `new_code` makes an owner code, `unsent` counts the chats
    that wait for a reply, `stopped` the stopped turns of each user."""

    platforms: Collection[str]
    people: PeopleStore
    turns: TurnStore
    new_code: Callable[[], Awaitable[str]]
    unsent: Callable[[], int]
    stopped: Mapping[UserKey, int]
    clock: Clock


async def first_message(
    bot: RunningBot, accounts: Mapping[str, BotAccount], say: Say, show: Callable[[str], None]
) -> None:
    """Show how to become the owner, then wait until a message of an owner is answered. `accounts` are the bots by
    platform, as far as they are known."""
    since = bot.clock()
    known = await bot.people.owners()
    missing = [name for name in bot.platforms if not any(owner.platform == name for owner in known)]
    code = await bot.new_code() if missing else ""
    for platform in PLATFORMS:
        account = accounts.get(platform.name)
        if platform.name in bot.platforms and account is not None:
            _invite(platform.title, account, code if platform.name in missing else "", say, show)
    if any(name not in accounts or CODE not in accounts[name].link for name in missing):
        show(say("Owner code: {code}. Send it to the bot in a private chat to become its owner.", code=code))
    show(say("Now write to the bot. Ctrl-C stops it; everything is saved."))
    if len(missing) == len(bot.platforms):
        await _wait_for_owner(bot)
        show(say("✓ You are the owner. Write a question to the bot."))
    told: set[_Result] = {None}
    while (result := await _result(bot, since)) != "answered":
        if result not in told:
            told.add(result)
            failed = "✗ The bot could not answer: the chat says why. Ctrl-C stops it; then run tierbot setup again."
            show(say(failed if result == "failed" else "⏹ You stopped this answer. Ask another question."))
        await asyncio.sleep(POLL_SECONDS)
    show(say("✓ The bot has answered. Everything works."))


def _invite(title: str, account: BotAccount, code: str, say: Say, show: Callable[[str], None]) -> None:
    link = account.link.replace(CODE, code) if code else account.link.partition(f"?start={CODE}")[0]
    if code and CODE in account.link:
        show(say("{title}: open {link} and press Start. That makes you the owner.", title=title, link=link))
    else:
        show(say("{title}: open {link}, then send {name} a direct message.", title=title, link=link, name=account.name))


async def _wait_for_owner(bot: RunningBot) -> None:
    while True:
        if any(owner.platform in bot.platforms for owner in await bot.people.owners()):
            return
        await asyncio.sleep(POLL_SECONDS)


async def _result(bot: RunningBot, since: float) -> _Result:
    """The best result of the owners' questions so far; None while there is no reply, or one is not sent yet."""
    owners = [owner for owner in await bot.people.owners() if owner.platform in bot.platforms]
    people = {person.id for owner in owners if (person := await bot.people.find(owner)) is not None}
    reports = [report for person_id in people for report in await bot.turns.by_tier(since, person_id)]
    if not reports or bot.unsent():
        return None
    if any(each.turns > each.unanswered for each in reports):
        return "answered"
    stopped = sum(bot.stopped.get(owner, 0) for owner in owners)
    return "failed" if sum(each.unanswered for each in reports) > stopped else "stopped"
