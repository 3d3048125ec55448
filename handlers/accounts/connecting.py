"""Connects an account step by step in a private conversation."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from handlers.accounts.kinds import AccountKind, ServiceFailed, Tested
from handlers.context import WITH_FORMS, CommandContext, Reply
from handlers.parsing import is_stop
from handlers.running import RunningTurns
from routing.bounded import Bounded
from routing.errors import Refused, SecretUnreadable
from routing.ports import Clock, PeopleStore, SecretBox, ServiceAccountStore
from routing.types.accounts import ConnectStep, ServiceAccount
from routing.types.messages import Button, ChatKey, InboundMessage, UserKey
from routing.types.stop import Stopped

VALID_MINUTES = 10
"""How long the questions wait for their answers, in minutes."""

CANCEL_WORDS = frozenset(
    {"cancel", "abbrechen", "abbruch", "annuler", "cancelar", "annulla", "annullare", "annuleren", "anuluj"}
    | {"отмена", "отменить", "iptal", "i\u0307ptal", "إلغاء", "취소", "キャンセル", "中止", "取消"}
)
"""Besides "stop", in the languages of the keywords of the toolkits."""

log = logging.getLogger("handlers.accounts")


class Connecting:
    """Asks one question after the other, tests the account and stores it, in each chat on its own. The steps survive a
    restart. An answer never goes to a model, because it may be a password: neither a late one, nor one to a question
    that something else has ended, such as /access forget."""

    def __init__(
        self,
        store: ServiceAccountStore,
        people: PeopleStore,
        box: SecretBox,
        kinds: Mapping[str, AccountKind],
        clock: Clock,
    ) -> None:
        self.kinds = kinds
        self._store = store
        self._people = people
        self._box = box
        self._clock = clock
        self._asked = Bounded[tuple[ChatKey, UserKey], str]()
        """The kind of account that someone was asked about, until they answer or send a command."""
        self._taken = Bounded[tuple[ChatKey, str], bool]()
        """Messages that may have been answers, so that their edits and quotes are not read either."""
        self._tests = RunningTurns()
        """The accounts that are being tested."""
        self._cancelled = Bounded[tuple[ChatKey, str], str]()
        """The kind of account that each command cancelled, in case the command is repeated after a storage failure."""
        self._warned = Bounded[tuple[ChatKey, float], bool]()
        """Chats that were told about a password question in another chat, with the time when the question expires."""

    async def load(self) -> None:
        """Read the steps that an earlier process left, so that the first message need not."""
        for key, step in (await self._store.steps()).items():
            self._asked[key] = step.kind

    async def expects(self, message: InboundMessage) -> bool:
        """Whether a message that is not a command answers a question, or edits an answer."""
        if message.kind == "edited" and self._taken.get((message.chat, message.message_id)):
            return True
        if message.kind not in ("message", "edited") or message.scheduled is not None:
            return False
        if await self._step(message) is not None or _key(message) in self._asked:
            return True
        return await self._asked_elsewhere(message) is not None

    def cancels(self, message: InboundMessage) -> bool:
        """Whether a message that answers a question is a word that cancels."""
        return (
            message.kind == "message" and not message.form and _cancels(message.text) and _key(message) in self._asked
        )

    def unquoted(self, message: InboundMessage) -> InboundMessage:
        """The message without what it quotes, if that may be a password."""
        quotes_answer = bool(message.quoted) and self._taken.get((message.chat, message.quoted_id), False)
        return replace(message, quoted="", quoted_from="") if quotes_answer else message

    async def seal(self, message: InboundMessage) -> InboundMessage:
        """The message with its text encrypted, so that the database never holds it, and without quotes and files."""
        try:
            text = await self._box.seal(message.text)
            return replace(message, text=text, sealed=True, quoted="", quoted_from="", attachments=())
        except SecretUnreadable as error:
            log.error("An answer to /connect is stored without encryption until it is read: %s", error)
            return message

    async def begin(self, ask: CommandContext, kind: AccountKind) -> Reply:
        """The first question. Raises Refused outside a private chat."""
        check_private(ask)
        try:
            await self._box.seal("")
        except SecretUnreadable as error:
            words = "I can't store passwords: {reason}. Only the owner of this bot can fix that. Nothing was changed."
            raise Refused(words, reason=error.reason) from None
        expires = self._clock() + VALID_MINUTES * 60
        step = ConnectStep(ask.person.id, ask.message.user, ask.message.chat, kind.name, {}, expires)
        await self._store.set_step(step)
        self._asked[_key(ask.message)] = kind.name
        intro = ask.say(
            "🔌 Connecting: {title}. Your answers don't go to any model. You have {minutes} minutes; /stop or any "
            "other command cancels.",
            title=ask.say(kind.title),
            minutes=VALID_MINUTES,
        )
        paragraphs = [intro]
        if not kind.several and (labels := [f"`{each.label}`" for each in await self._connected(ask, kind)]):
            words = "The new account replaces {label} once it is tested."
            paragraphs.append(ask.say(words, label=", ".join(labels)))
        return replace(self._question(ask, kind, step, *paragraphs), apart=True)

    async def cancel(self, message: InboundMessage) -> AccountKind | None:
        """End the step of a person who sent a command instead, also while the account is tested; returns what they
        were connecting."""
        self._tests.stop(message.chat)
        await self._tests.ended(message.chat)  # if it was just being stored, it is connected now
        step, asked = await self._step(message), self._asked.get(_key(message))
        command = message.chat, message.message_id
        if name := step.kind if step is not None else asked:
            self._cancelled[command] = name
        if step is not None:
            await self._store.end_step(step)
        self._asked.pop(_key(message), None)
        return self.kinds.get(self._cancelled.get(command, ""))

    def kind(self, word: str, ask: CommandContext) -> AccountKind | None:
        """The kind of account that a word means: its name, its title in the person's language, or another word."""
        word = word.casefold()
        for kind in self.kinds.values():
            if word in (kind.name, ask.say(kind.title).casefold(), *kind.also):
                return kind
        return None

    async def answer(self, ask: CommandContext, given_up: bool = False) -> Reply:
        """Take the answer to a question; the last one tests and stores the account. `given_up`: it was interrupted too
        often."""
        message = ask.message
        self._taken[message.chat, message.message_id] = True
        step, asked = await self._step(message), self._asked.get(_key(message))
        if message.kind == "edited" or (step is None and asked is None):
            return await self._unread(ask)
        if step is None or step.person_id != ask.person.id:  # the other person has unlinked this account
            return await self._ended(ask, asked or "", step)
        kind = self.kinds.get(step.kind)
        if kind is None or given_up:
            return await self._ended(ask, step.kind if kind else "", step)
        if self._clock() > step.expires_at:
            return await self._late(ask, step)
        try:
            text = await self._text(message)
        except SecretUnreadable:
            return await self._ended(ask, kind.name, step)
        if _cancels(text):
            await self._end(step)
            return Reply(cancelled(ask, kind))
        if not text:
            return self._question(ask, kind, step, ask.say("Please answer with text."))
        field = kind.next_field(step.details)
        if field is None:
            return await self._finish(ask, kind, step, text)
        try:
            value = field.read(text)
        except Refused as refusal:
            return self._question(ask, kind, step, ask.say(refusal.template, **refusal.values))
        step = replace(step, details={**step.details, field.name: value})
        await self._store.set_step(step)
        return self._question(ask, kind, step)

    async def _text(self, message: InboundMessage) -> str:
        if message.forwarded_from is not None:
            return ""
        return (await self._box.reveal(message.text) if message.sealed else message.text).strip()

    async def _finish(self, ask: CommandContext, kind: AccountKind, step: ConnectStep, secret: str) -> Reply:
        """Test the account, and store it if it works."""
        with self._tests.enter(ask.message.chat, ask.stop, ask.message.user):
            lines = [] if await ask.live.erase() else [ask.say("🧹 Please delete your message with the password now.")]
            await ask.live.working()
            try:
                with ask.stop.guard():
                    tested = await kind.test(ask.person, step.details, secret)
            except Stopped:  # the command that stopped it says so
                return Reply("\n\n".join(lines))
            except ServiceFailed as failed:
                if failed.again == "start" and await self._step(ask.message) is not None:
                    step = replace(step, details={})
                    await self._store.set_step(step)
                words = "⚠️ That did not work: {reason}. Nothing was stored. Let's try again."
                return self._question(ask, kind, step, ask.say(words, reason=failed.reason), *lines)
            return await self._connect(ask, kind, tested, secret, lines)

    async def _connect(
        self, ask: CommandContext, kind: AccountKind, tested: Tested, secret: str, lines: Sequence[str]
    ) -> Reply:
        """Store a tested account."""
        sealed = await self._box.seal(secret)
        current = await self._step(ask.message)
        if current is None:  # the person was forgotten meanwhile
            return await self._ended(ask, kind.name)
        now, person_id = self._clock(), current.person_id  # another id if two people became one meanwhile
        account = ServiceAccount(person_id, kind.name, tested.label, tested.details, sealed, now, now)
        await self._store.connect(account, current, alone=not kind.several)
        self._asked.pop((current.chat, current.user), None)
        log.info("[Accounts] %s connected for person %d", kind.name, person_id)
        done = ask.say(
            "✅ Connected and tested: {title}, {label}. The password is stored encrypted; /connect off {kind} deletes "
            "it.",
            title=ask.say(kind.title),
            label=f"`{tested.label}`",
            kind=kind.name,
        )
        return Reply("\n\n".join([done, *lines]))

    async def _late(self, ask: CommandContext, step: ConnectStep) -> Reply:
        await self._end(step)
        words = (
            "⌛ The {minutes} minutes for connecting are over. I did not read this message, because it may hold a "
            "password: delete it if it does, or send it again if it was for me. {command} starts again."
        )
        return Reply(ask.say(words, minutes=VALID_MINUTES, command=f"/connect {step.kind}"))

    async def _ended(self, ask: CommandContext, kind: str, step: ConnectStep | None = None) -> Reply:
        """The answer came after something else had ended the question."""
        self._asked.pop(_key(ask.message), None)
        if step is not None:
            await self._end(step)
        words = (
            "⌛ My question about your account has ended meanwhile. I did not read this message, because it may hold a "
            "password: delete it if it does, or send it again if it was for me. {command} starts again."
        )
        return Reply(ask.say(words, command=f"/connect {kind}".rstrip()))

    async def _asked_elsewhere(self, message: InboundMessage) -> ConnectStep | None:
        """The question for a password that is open in another chat of the sender, unless they were told of it here."""
        steps = await self._store.steps()
        if not steps or not message.private or message.kind != "message" or not message.text:
            return None
        person = await self._people.find(message.user)
        if person is None:
            return None
        for step in steps.values():
            kind = self.kinds.get(step.kind)
            waits = kind is not None and kind.next_field(step.details) is None and self._clock() <= step.expires_at
            if waits and step.person_id == person.id and (message.chat, step.expires_at) not in self._warned:
                return step
        return None

    async def _unread(self, ask: CommandContext) -> Reply:
        elsewhere = await self._asked_elsewhere(ask.message)
        if elsewhere is None:
            words = "I did not read this message, because it may hold a password. Send it again if it was for me."
            return Reply(ask.say(words))
        self._warned[ask.message.chat, elsewhere.expires_at] = True
        words = (
            "🔑 I am waiting for a password in another chat with you ({platform}). I did not read this message, "
            "because it may be that password: delete it if it is, and answer there. Send it again if it was for me."
        )
        return Reply(ask.say(words, platform=elsewhere.chat.platform.title()))

    async def _end(self, step: ConnectStep) -> None:
        await self._store.end_step(step)
        self._asked.pop((step.chat, step.user), None)

    async def _connected(self, ask: CommandContext, kind: AccountKind) -> list[ServiceAccount]:
        return [each for each in await self._store.of(ask.person.id) if each.kind == kind.name]

    async def _step(self, message: InboundMessage) -> ConnectStep | None:
        """The account's step in this chat, as it is stored now."""
        step = (await self._store.steps()).get(_key(message))
        if step is not None:
            self._asked[_key(message)] = step.kind
        return step

    def _question(self, ask: CommandContext, kind: AccountKind, step: ConnectStep, *before: str) -> Reply:
        """The next question, after these paragraphs; with a form for the password, if the platform has forms."""
        field = kind.next_field(step.details)
        if field is not None:
            return Reply("\n\n".join([*before, ask.say(field.question)]))
        if ask.message.chat.platform != WITH_FORMS:
            return Reply("\n\n".join([*before, ask.say(kind.secret)]))
        words = "🔑 Enter it with the button, then it is not in our chat. If you send it as a message, delete that."
        button = Button(ask.say("🔑 Enter it"), "", form=ask.say("Password or token"))
        return Reply("\n\n".join([*before, ask.say(kind.secret), ask.say(words)]), ((button,),))


def check_private(ask: CommandContext) -> None:
    """Raises Refused where others can read along, or where the bot can't see the answers."""
    if not ask.message.private or ask.message.chat.visitor:
        raise Refused("Passwords are for a private chat: write to me privately, and send it there.")


def _key(message: InboundMessage) -> tuple[ChatKey, UserKey]:
    return message.chat, message.user


def _cancels(text: str) -> bool:
    return is_stop(text) or text.strip().rstrip("!.。").casefold() in CANCEL_WORDS


def cancelled(ask: CommandContext, kind: AccountKind) -> str:
    """The sentence after a cancellation."""
    return ask.say("Connecting is cancelled ({title}). Nothing was stored.", title=ask.say(kind.title))
