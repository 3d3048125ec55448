"""Numbers, times and names as the pages show them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from markupsafe import Markup

from bot.findings import size
from handlers.languages import Dollars, Say
from handlers.replies.duration import format_duration
from routing.errors import Reason
from routing.types.directory import ListedPerson
from routing.types.usage import Spending

SAY = Say("en")
"""The page is in English."""


def money(amount: Decimal | float | None) -> str:
    """`$1,234.50`; a dash for no amount."""
    return "–" if amount is None else str(Dollars(Decimal(amount)))


def number(value: float | None) -> str:
    """`1,234`; a dash for no value."""
    return "–" if value is None else f"{value:,.0f}"


def seconds(value: float | None) -> str:
    """`2.4 s`."""
    return "–" if value is None else f"{value:,.1f} s"


def ago(at: float | None, now: float) -> str:
    """`5 min ago`; never for no time."""
    return "never" if not at else f"{format_duration(now - at)} ago"


def until(at: float | None, now: float) -> str:
    """`in 5 min`; a dash for no time."""
    return "–" if at is None else "now" if at <= now else f"in {format_duration(at - now)}"


def moment(at: float) -> str:
    """A time that every reader understands: `2026-11-28 14:05 UTC`."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"


def cost(spent: Spending | None) -> str:
    """The known cost, and how many calls have none."""
    if spent is None:
        return "–"
    if spent.unknown and spent.unknown == spent.calls:
        return "price unknown"
    more = f" + {spent.unknown:,} unpriced" if spent.unknown else ""
    return money(spent.cost) + more


def sentence(reason: object) -> str:
    """A reason or a template of a person's language, in English."""
    return SAY(reason) if isinstance(reason, Reason) else str(reason)


def person_name(person: ListedPerson) -> str:
    """The name, else the handle, else the account."""
    handle = next((f"@{name}" for name in person.usernames if name), "")
    return person.person.name.strip() or handle or next(map(str, person.accounts), f"person {person.person.id}")


def plural(count: int, one: str, many: str = "") -> str:
    """`1 person`, `2 people`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def breakable(name: str) -> Markup:
    """A model's name that may continue on another line after each `/`."""
    return Markup("/<wbr>").join(name.split("/"))


FILTERS: Mapping[str, Callable[..., Any]] = {
    "money": money,
    "number": number,
    "seconds": seconds,
    "ago": ago,
    "until": until,
    "moment": moment,
    "size": size,
    "cost": cost,
    "sentence": sentence,
    "person_name": person_name,
    "plural": plural,
    "breakable": breakable,
    "duration": format_duration,
}
