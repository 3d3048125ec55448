"""Lets through the messages of people with access, within the rate limit."""

from __future__ import annotations

from collections.abc import Hashable

from handlers.access.approvals import Approvals
from handlers.access.rate_limit import RateLimit
from handlers.access.roles import Access, Rejected, may
from handlers.context import Reply
from handlers.languages import Say
from handlers.parsing import typed_command
from routing.errors import StorageFault
from routing.types.budgets import payer_kind
from routing.types.messages import InboundMessage, UserKey
from routing.types.people import Person


class AccessGate:
    """Checks access and the rate limit. The owners are asked about strangers."""

    def __init__(self, access: Access, limit: RateLimit, approvals: Approvals) -> None:
        self._access = access
        self._limit = limit
        self._approvals = approvals

    async def knows(self, user: UserKey) -> bool:
        """Whether a person is allowed to write in private; False if the storage fails."""
        try:
            person = await self._access.find(user)
        except StorageFault:
            return False
        return person is not None and may(person, "user")

    async def admit(self, message: InboundMessage) -> Person | Reply | None:
        """The sender, or the reply to someone without access; None if there is nothing to say. Raises Refused over the
        rate limit."""
        verdict = await self._access.decide(message)
        if isinstance(verdict, Rejected):
            return await self._reject(message, verdict)
        person = verdict.person
        if verdict.greeting is not None:
            await self._approvals.answer_admitted(welcome=False)
            if _is_start(message):
                return person
            return Reply(say_for(person, message)(verdict.greeting.template, **verdict.greeting.values))
        limited = person.role != "owner" and message.scheduled is None
        if limited and not self._limit.take(_speaker(person, message), message.sent_at, _weight(message)):
            return None
        return person

    async def _reject(self, message: InboundMessage, verdict: Rejected) -> Reply | None:
        if verdict.stranger is not None:
            await self._approvals.announce(verdict.stranger)
        if verdict.refusal is None or not self._limit.take(message.user, message.sent_at):
            return None
        return Reply(say_for(None, message)(verdict.refusal.template, **verdict.refusal.values), secret=True)


def say_for(person: Person | None, message: InboundMessage) -> Say:
    """Translations into the person's language, or that of their platform."""
    return Say((person.language if person else "") or message.language)


def _is_start(message: InboundMessage) -> bool:
    """Whether the message is /start, which greets whom its code admits."""
    typed = typed_command(message)
    return typed is not None and typed.name == "start"


def _speaker(person: Person, message: InboundMessage) -> Hashable:
    """The rate limit key: the person, or the chat for channel posts (all topics together)."""
    if payer_kind(person.role, message.user) != "channel":
        return person.id
    return message.chat.platform, message.chat.chat_id


def _weight(message: InboundMessage) -> int:
    """Each voice message of an album needs its own transcription call."""
    return max(1, sum(each.kind == "voice" for each in message.attachments))
