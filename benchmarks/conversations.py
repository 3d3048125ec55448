"""A long conversation with realistic lengths, some turns with tools."""

from __future__ import annotations

import math
import random
import time

from routing.types.history import TurnRecord
from routing.types.llm import ChatMessage, ToolCall
from routing.types.messages import ChatKey, UserKey
from storage.database import Database
from storage.history import SqlHistory
from storage.ledger import SqlLedger
from storage.people import SqlPeople
from storage.preferences import SqlPreferences

MESSAGES_A_CYCLE = 8
"""Two plain turns of two messages, and one with a tool call of four."""
_QUESTION, _ANSWER, _RESULT = 70, 450, 500
"""Median lengths in characters; a tenth of the messages is three times as long."""
_SPREAD = 0.85
_LINES = (
    "however the garden is in the sun from the morning to 12:30 and it was **dry** for a week, though they said that ",
    "because of `cron` in /srv/data/log.txt it costs €14.90 a month as in August; naïve or not, look at this one ",
    "the water for the tomatoes should be on at six in the evening, and with a hose that is done in ten minutes ",
)


async def fill(database: Database, size: int) -> int:
    """Stores a conversation of `size` messages, a multiple of eight; returns its id."""
    people = SqlPeople(database, SqlPreferences(database), time.time)
    person = await people.admit(UserKey("telegram", str(size)), "Ada", "user", "benchmark")
    conversation = await SqlHistory(database, time.time).begin(ChatKey("telegram", str(size)))
    ledger, dice = SqlLedger(database, time.time), random.Random(size)
    for number in range(size // MESSAGES_A_CYCLE * 3):
        answer = _with_a_tool(number, dice) if number % 3 == 2 else (_answer(dice),)
        question = _text(_QUESTION, dice)
        await ledger.finish([], [], TurnRecord(f"{number:08x}", conversation.id, person.id, question, messages=answer))
    return conversation.id


def _with_a_tool(number: int, dice: random.Random) -> tuple[ChatMessage, ...]:
    call = ToolCall(f"call_{number:024d}", "read_file", '{"path": "notes/garden.md"}')
    asked = ChatMessage("assistant", "", calls=(call,), made_by="openai/gpt-5.1")
    return asked, ChatMessage("tool", _text(_RESULT, dice), call_id=call.id, tool=call.name), _answer(dice)


def _answer(dice: random.Random) -> ChatMessage:
    return ChatMessage("assistant", _text(_ANSWER, dice), made_by="openai/gpt-5.1")


def _text(median: int, dice: random.Random) -> str:
    length = max(2, int(dice.lognormvariate(math.log(median), _SPREAD)))
    return "\n".join(dice.choices(_LINES, k=1 + length // 100))[:length]
