"""What owners are told once."""

from __future__ import annotations

from bot.adapters.discord.alarm import Alarm
from tests.bot.adapters.discord.asking import States


async def test_the_same_is_told_again_only_when_all_was_well_in_between() -> None:
    told: list[object] = []

    async def tell(template: str, /, **values: object) -> None:
        told.append(template.format(**values))

    state = States()
    alarm = Alarm(tell, state)
    for sentence in ("", "no token", "no token", "", "no token", "no intent"):
        await alarm.sound(sentence)
    await Alarm(tell, state).sound("no intent")  # as after a restart
    assert told == ["⚠️ no token", "⚠️ no token", "⚠️ no intent"]
