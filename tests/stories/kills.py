"""Questions in several chats while the bot is killed at random instants, and checks on their answers."""

from __future__ import annotations

import asyncio
from random import Random

from tests.polling import until
from tests.servers.model.script import Script
from tests.servers.telegram import Chat, Message
from tests.stories import power
from tests.stories.harness import BotHarness, BotProcess

PEOPLE = ("alice", "bob", "carol")
GROUP = "Team"
MARK = "(recovered) "
TIMEOUT_SECONDS = 60.0
"""Maximum time until everything is answered; a start takes about 4 s."""
HELD = Script(first_delay=600.0)


def answer(question: str) -> str:
    """The model's answer to a question, long enough to be streamed."""
    return f"About {question}: " + "and so on, " * 20 + f"that is {question}."


async def kill_after_first_part(on: BotHarness, question: str, refused: str) -> Message:
    """Kills the bot once the first part of its reply is sent and the method of the next one is refused, and restarts it
    until all is sent. Returns the question."""
    async with BotProcess(on) as bot:
        on.tg.fault(refused, "server_error", times=99)
        message = on.tg.say(question)
        await on.tg.wait_for(lambda tg: tg.calls(refused))
        await until(lambda: on.rows("select pieces_sent from outbox where state != 'sent'") == [(1,)])
        await bot.kill()
    on.tg.clear_faults()
    async with BotProcess(on) as bot:
        await until(lambda: on.rows("select 1 from outbox where state != 'sent'") == [])
        assert await bot.terminate() == 0
    return message


class SweepBase:
    """What the kill sweeps of both platforms share: the harness, random instants, and the model's speed."""

    def __init__(self, on: BotHarness, seed: int) -> None:
        self.on = on
        self.random = Random(seed)

    def hold(self) -> None:
        """From now on the model does not answer."""
        self.on.ms.default = lambda _: HELD

    def slow(self, seconds: float) -> None:
        """From now on an answer takes this long, in 40 pieces."""
        self.on.ms.default = lambda r: Script(text=answer(r.last_user_text), chunks=40, delay=seconds / 40)

    def quick(self) -> None:
        """From now on answers come at once."""
        self.on.ms.default = lambda request: answer(request.last_user_text)


class KillSweep(SweepBase):
    """Asks in private chats and a group, kills and restarts the bot, and checks the guarantees."""

    def __init__(self, on: BotHarness, seed: int, driver: str, power_cuts: bool = False) -> None:
        """`driver` is the database driver, from `DRIVERS`. With `power_cuts`, a kill also loses unsynced writes."""
        super().__init__(on, seed)
        self._power = power_cuts
        self.constants = power.CONSTANTS if power_cuts else {}
        """For `BotProcess`."""
        self._asked: dict[int, list[str]] = {}
        self._placeholders: set[tuple[str, str]] = set()
        on.env["BOT_ACCESS"] = "open"
        on.use(driver)
        self.quick()

    def ask(self, name: str, each: int = 2) -> None:
        """Asks this many questions in every chat."""
        for number in range(each):
            for person in PEOPLE:
                self._note(self.on.tg.say(f"{name}-{person}-{number}", user=person))
            self._note(self.on.tg.say(f"@tierbot {name}-group-{number}", user="alice", group=GROUP))

    def _note(self, message: Message) -> None:
        self._asked.setdefault(message.chat.id, []).append(message.text.removeprefix("@tierbot "))

    async def listening(self) -> None:
        """Waits until the bot receives messages."""
        await self.on.tg.wait_for(lambda tg: tg.updates.is_polled, TIMEOUT_SECONDS)

    async def delivered(self) -> None:
        """Waits until every update was acknowledged."""
        await self.on.tg.wait_for(lambda tg: not tg.updates.pending, TIMEOUT_SECONDS)

    async def streaming(self) -> None:
        """Waits until the model has begun to answer someone's newest question."""
        newest = {questions[-1].rpartition("-")[0] for questions in self._asked.values()}
        journal = self.on.ms.journal

        def begun() -> bool:
            return any(each.chunks_sent and each.last_user_text.rpartition("-")[0] in newest for each in journal.calls)

        await until(begun)

    async def answered(self) -> None:
        """Waits until every question has its complete answer."""
        await self.on.tg.wait_for(lambda _: not self._unanswered(), TIMEOUT_SECONDS)

    async def recorded(self) -> None:
        """Waits until the bot has stored that every answer was sent, which takes it up to 50 ms."""
        await until(lambda: not self.on.rows("SELECT id FROM outbox WHERE state != 'sent'"))

    def _unanswered(self) -> list[str]:
        return [
            question
            for chat_id, questions in self._asked.items()
            for question in questions
            if not self._finals(self.on.tg.chats[chat_id], question)
        ]

    async def kill(self, bot: BotProcess, within: float) -> None:
        """Kills the bot at a random instant within this many seconds; the database must be intact."""
        await asyncio.sleep(self.random.uniform(0.0, within))
        await bot.kill()
        if self._power:
            power.cut(self.on.database)
        assert self.on.data.intact()
        rows = self.on.rows("SELECT payload, placeholder FROM inbox WHERE state = 'waiting' AND placeholder != ''")
        self._placeholders |= {(str(payload), str(message_id)) for payload, message_id in rows}

    @property
    def questions(self) -> int:
        """Number of questions asked."""
        return sum(map(len, self._asked.values()))

    @property
    def placeholders(self) -> int:
        """Number of partially streamed messages left by kills."""
        return len(self._placeholders)

    @property
    def recovered(self) -> int:
        """Number of answers marked as possible duplicates."""
        messages = (message for chat in self.on.tg.chats.values() for message in chat.from_bot())
        return sum(message.text.startswith(MARK) for message in messages)

    def check(self, marked: bool) -> None:
        """Each question is answered once (`marked`: or again with the mark), in order, and there are no other
        messages."""
        for chat_id, questions in self._asked.items():
            chat = self.on.tg.chats[chat_id]
            answers = [self._finals(chat, question) for question in questions]
            firsts = [chat.messages.index(each[0]) for each in answers]
            assert firsts == sorted(firsts), self.on.tg.transcript()
            for question, finals in zip(questions, answers, strict=True):
                texts = [each.text for each in finals]
                allowed = texts[1:] if texts[0] == answer(question) else texts
                assert not allowed or marked, (question, texts)
                assert all(text == MARK + answer(question) for text in allowed), (question, texts)
            whole = [each for finals in answers for each in finals]
            self._check_rest([each for each in chat.from_bot() if each not in whole], questions)
        assert self.on.rows("SELECT count(*) FROM inbox WHERE state != 'done'") == [(0,)]
        assert self.on.rows("SELECT count(*) FROM outbox WHERE state != 'sent'") == [(0,)]

    def _check_rest(self, rest: list[Message], questions: list[str]) -> None:
        """A partially streamed message may remain only if the kill came before its id was stored."""
        known = {message_id for _, message_id in self._placeholders}
        for each in rest:
            begun = any(answer(question).startswith(each.text.rstrip(" …")) for question in questions)
            assert begun
            assert str(each.id) not in known, self.on.tg.transcript()

    def _finals(self, chat: Chat, question: str) -> list[Message]:
        wanted = (answer(question), MARK + answer(question))
        return [each for each in chat.from_bot() if each.text in wanted]
