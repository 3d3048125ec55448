"""The demo model: the note under its answers, and the questions it is not asked."""

from __future__ import annotations

import asyncio
import re
from typing import Literal, get_args

from handlers.tools.basics import calculate
from handlers.tools.clock import ClockTools
from routing.errors import ToolFailed
from routing.policy.models import Models
from routing.ports import Clock
from routing.types.model_names import LOCAL_MODEL
from routing.types.tools import ToolScope

NOTE = "⚠️ Demo model: don't rely on it. Add a key or use Ollama: `ollama pull qwen2.5:3b`."
DECLINED = "The demo model doesn't answer questions about {topic}. Add a key or use Ollama: `ollama pull qwen2.5:3b`."

Topic = Literal["the weather", "medicine", "law", "arithmetic", "dates and times"]
TOPICS: tuple[Topic, ...] = get_args(Topic)

_WORD = re.compile(r"[^\W\d_]+")
_NUMBER = re.compile(r"\d+")
_SIGN = re.compile(r"\d *[-+*/×÷·^%:] *\d|[√%]")
_LEADS = (
    "what is", "what's", "whats", "how much is", "calculate", "compute", "solve", "please calculate",
    "was ist", "was sind", "was ergibt", "wie viel ist", "wieviel ist", "berechne", "rechne",
)  # fmt: skip
_SPOKEN = (
    (" multiplied by ", " * "), (" divided by ", " / "), (" plus ", " + "), (" minus ", " - "), (" times ", " * "),
    (" over ", " / "), (" percent of ", "% of "), ("square root of ", "sqrt("), (" to the power of ", " ^ "),
    (" squared", "^2"), (" cubed", "^3"), (" mal ", " * "), (" geteilt durch ", " / "), (" durch ", " / "),
    (" prozent von ", "% of "), ("% von ", "% of "), ("wurzel aus ", "sqrt("), (" hoch ", " ^ "),
)  # fmt: skip
_NOW = (
    "what time is it", "what is the time", "whats the time", "current time", "time is it now", "what day is it",
    "what day is today", "what is the date", "whats the date", "todays date", "what is today", "which day is it",
    "what year is it", "what month is it", "date today",
    "wie spät ist es", "wie viel uhr ist", "wieviel uhr ist", "welche uhrzeit", "welcher tag ist heute",
    "welchen tag haben wir", "welches datum", "der wievielte ist", "welches jahr haben wir",
)  # fmt: skip
_DATES = (
    "how many days", "how many weeks", "how many months", "how many hours", "how long until", "what day was",
    "what day will", "what weekday", "when is ", "when was ", "when does ", "when will ", "what time does ",
    "wie viele tage", "wie viele wochen", "wie viele monate", "wie lange bis", "wann ist ", "wann war ", "wann wird ",
    "welcher wochentag",
)  # fmt: skip
_WEATHER = (
    "weather forecast rain raining rainy snow snowing sunny cloudy storm umbrella "
    "wetter wettervorhersage regen regnet regnen schnee schneit schneien sonnig gewitter regenschirm"
)
_MEDICINE = (
    "medicine medication drug dose dosage symptom symptoms disease illness headache fever pain pill pills ibuprofen "
    "paracetamol acetaminophen aspirin antibiotic antibiotics vaccine pregnant pregnancy cancer diabetes diagnosis "
    "therapy doctor "
    "medizin medikament medikamente dosis dosierung symptome krankheit kopfschmerzen fieber schmerzen tablette "
    "tabletten antibiotikum antibiotika impfung schwanger schwangerschaft krebs diagnose therapie arzt ärztin"
)
_LAW = (
    "law laws legal legally illegal lawyer attorney sue lawsuit court tenant landlord visa tax taxes copyright divorce "
    "custody liable liability "
    "gesetz gesetze rechtlich anwalt anwältin klage verklagen gericht mieter vermieter mietvertrag kündigung steuer "
    "steuern steuererklärung urheberrecht scheidung sorgerecht"
)
_SUMS = "sum add subtract multiply divide percent percentage root summe addiere prozent wurzel"
_TOPICS: tuple[tuple[Topic, frozenset[str]], ...] = (
    ("the weather", frozenset(_WEATHER.split())),
    ("medicine", frozenset(_MEDICINE.split())),
    ("law", frozenset(_LAW.split())),
)
_OF_SUMS = frozenset(_SUMS.split())


class Demo:
    """Answers with the bot's own tools where they know, and declines what a model of 135 million parameters gets
    wrong."""

    def __init__(self, clock: Clock) -> None:
        self._clock = ClockTools(clock)

    async def answer(self, text: str, scope: ToolScope) -> str | Topic | None:
        """A tool's answer, or the topic to decline; None if the model should answer."""
        asked = _plain(text)
        if any(phrase in asked for phrase in _NOW):
            return await self._now(asked, scope)
        if (result := await self._sum(text, scope)) is not None:
            return result
        return _topic(asked, text)

    async def _now(self, asked: str, scope: ToolScope) -> str:
        """The time at the place that ends the question, else in the person's time zone."""
        _, inside, place = asked.rpartition(" in ")
        try:
            now = await asyncio.to_thread(self._clock.get_datetime, scope, place if inside else "")
        except ToolFailed:
            now = await asyncio.to_thread(self._clock.get_datetime, scope)
        return now.partition(";")[0]

    async def _sum(self, text: str, scope: ToolScope) -> str | None:
        expression = _expression(text)
        if _NUMBER.search(expression) is None or _NUMBER.fullmatch(expression):
            return None
        try:
            return await asyncio.to_thread(calculate, expression)
        except ToolFailed:
            return None


def serves(models: Models) -> bool:
    """Whether the demo model may be in use; False if a provider has a key, so that the check is skipped."""
    pools = models.config.pools.values()
    return (models.without_keys() and models.ollama is None) or any(LOCAL_MODEL in pool for pool in pools)


def _plain(text: str) -> str:
    return " ".join("".join(sign if sign.isalnum() else " " for sign in text.casefold().replace("'", "")).split()) + " "


def _expression(text: str) -> str:
    """Extracts a possible calculation: question words removed, spoken operators as symbols."""
    asked = " ".join(text.casefold().split()).rstrip("?!.= ")
    lead = next((each for each in _LEADS if asked.startswith(f"{each} ")), "")
    asked = asked[len(lead) :].strip()
    for spoken, sign in _SPOKEN:
        asked = asked.replace(spoken, sign)
    return f"{asked})" if "sqrt(" in asked and ")" not in asked else asked


def _topic(asked: str, text: str) -> Topic | None:
    words = frozenset(_WORD.findall(asked))
    found = next((topic for topic, signs in _TOPICS if words & signs), None)
    if found is not None:
        return found
    if any(phrase in asked for phrase in _DATES):
        return "dates and times"
    sums = _SIGN.search(_expression(text)) is not None or bool(words & _OF_SUMS)
    return "arithmetic" if sums and _NUMBER.search(text) is not None else None
