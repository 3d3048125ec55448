"""The loopback Discord refuses the commands and callbacks that Discord refuses."""

from typing import Any

import pytest

from tests.servers.discord import DiscordServer
from tests.servers.discord.sdk import Raw


def option(**fields: Any) -> dict[str, Any]:
    return {"type": 3, "name": "o", "description": "x"} | fields


def command(**fields: Any) -> list[dict[str, Any]]:
    return [{"name": "c", "description": "x"} | fields]


REGISTERED: list[tuple[Any, str]] = [
    (command(name="Big"), "name is invalid"),
    (command(name="two words"), "name is invalid"),
    (command(name="x" * 33), "0.name"),
    (command(name="ä_1-'ß"), ""),
    (command(name="ความช่วย"), ""),
    (command(description=""), "description"),
    (command(description="x" * 101), "0.description"),
    (command() * 2, "unique"),
    ([{"name": str(number), "description": "x"} for number in range(101)], "Maximum number"),
    (command(type=3, description=""), ""),
    (command(type=3), "a context menu"),
    (command(options=[option(name="O")]), "name is invalid"),
    (command(options=[option(), option()]), "unique"),
    (command(options=[option(type=12)]), "0.options.0"),
    (command(options=[option(name=f"o{number}") for number in range(26)]), "0.options"),
    (command(options=[option(name="a"), option(name="b", required=True)]), "Required options"),
    (command(options=[option(choices=[{"name": "x", "value": "x"}], autocomplete=True)]), "autocomplete"),
    (command(options=[option(choices=[{"name": "x", "value": "x"}] * 2)]), "unique"),
    (command(options=[option(choices=[{"name": str(n), "value": "x"} for n in range(26)])]), "0.options.0"),
    (command(options=[option(choices=[{"name": "x" * 101, "value": "x"}])]), "0.options.0"),
    (command(options=[option(choices=[{"name": "x", "value": 1}])]), "0.options.0"),
    (command(options=[option(type=1, options=[option(type=1)])]), "0.options.0"),
    (command(options=[option(type=2, options=[option(type=1, options=[option()])])]), ""),
    (command(options=[option(type=1), option(name="p")]), "do not mix"),
    (command(name_localizations={"de": "Groß"}), "name is invalid"),
    (command(name_localizations={"xx": "x"}), "no such locales: xx"),
    (command(contexts=[3]), "0.contexts"),
]


@pytest.mark.parametrize(("body", "reason"), REGISTERED)
async def test_commands_are_checked(dc: DiscordServer, http: Raw, body: Any, reason: str) -> None:
    status, answer = await http.call(f"PUT /applications/{dc.bot.id}/commands", body)
    assert [reason in violation.description for violation in dc.violations] == [True] * bool(reason), dc.violations
    assert (status, len(dc.commands)) == ((400, 0) if reason else (200, len(body))), answer


def a_large_command(size: int) -> list[dict[str, Any]]:
    values = [{"name": f"{number:02}" + "n" * 98, "value": f"{number:02}" + "v" * 98} for number in range(20)]
    return command(options=[option(name=f"o{n}", choices=values[: size - 20 * n]) for n in range(2)])


@pytest.mark.parametrize(("choices", "status"), [(39, 200), (40, 400)])
async def test_a_command_is_limited_to_8000_characters(dc: DiscordServer, http: Raw, choices: int, status: int) -> None:
    body = a_large_command(choices)
    assert (await http.call(f"PUT /applications/{dc.bot.id}/commands", body))[0] == status


async def test_callback_types_must_match_the_interaction(dc: DiscordServer, http: Raw) -> None:
    body = command(options=[option(name="n", type=4, autocomplete=True)])
    await http.call(f"PUT /applications/{dc.bot.id}/commands", body)

    async def answer(kind: int, data: Any, *, typed: bool = False) -> tuple[int, int]:
        asked = dc.suggest("c", {"n": "4"}, focused="n") if typed else dc.slash("c", {"n": 4})
        path = f"POST /interactions/{asked.id}/{asked.token}/callback"
        status, response = await http.call(path, {"type": kind} | ({"data": data} if data is not None else {}))
        return status, response.get("code", 0)

    assert await answer(5, None) == (204, 0)
    assert await answer(6, None) == await answer(7, {"content": "x"}) == await answer(8, {}) == (400, 50035)
    assert await answer(4, {"content": "x" * 2001}) == await answer(4, {"content": "x", "flags": 128}) == (400, 50035)
    assert await answer(4, {}) == (400, 50006)
    assert await answer(4, {"content": "x"}, typed=True) == (400, 50035)
    many = [{"name": str(number), "value": number} for number in range(26)]
    assert await answer(8, {"choices": many}, typed=True) == (400, 50035)
    assert await answer(8, {"choices": [{"name": "x", "value": "x"}]}, typed=True) == (400, 50035)
    assert await answer(8, {"choices": [{"name": "x" * 101, "value": 1}]}, typed=True) == (400, 50035)
    assert await answer(8, {"choices": many[:25]}, typed=True) == (204, 0)
    assert dc.interactions[-1].choices == many[:25]
    assert len(dc.violations) == 10
