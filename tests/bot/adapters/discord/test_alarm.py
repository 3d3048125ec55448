"""What owners are told once."""

from __future__ import annotations

from bot.adapters.discord.guilds import OwnerAlerts
from tests.bot.adapters.discord.asking import States


async def test_the_same_is_told_again_only_when_all_was_well_in_between() -> None:
    told: list[object] = []

    async def tell(template: str, /, **values: object) -> None:
        told.append(template.format(**values))

    state = States()
    alerts = OwnerAlerts(tell, state)
    for sentence in ("", "no token", "no token", "", "no token", "no intent"):
        await alerts.connection(sentence)
    await OwnerAlerts(tell, state).connection("no intent")  # as after a restart
    assert told == ["no token", "no token", "no intent"]
    await alerts.connection("closed ({code})", code=4013)
    await alerts.connection("closed ({code})", code=4013)
    await alerts.connection("closed ({code})", code=4014)
    assert told[3:] == ["closed (4013)", "closed (4014)"]


async def test_each_thing_that_is_missing_is_told_once_until_it_was_there() -> None:
    told: list[object] = []

    async def tell(template: str, /, **values: object) -> None:
        told.append(template.format(**values))

    state = States()
    alerts = OwnerAlerts(tell, state)
    for what, template in (("1 files", "no files in {n}"), ("2 files", "no files in {n}"), ("1 threads", "no threads")):
        for _ in range(2):
            await alerts.permission(what, template, n=what[0])
    again = OwnerAlerts(tell, state)  # as after a restart
    await again.permission("1 files", "no files in {n}", n=1)
    assert told == ["no files in 1", "no files in 2", "no threads"]
    await again.permission("1 files", "", n=1)
    await again.permission("1 files", "no files in {n}", n=1)
    assert told[3:] == ["no files in 1"]
