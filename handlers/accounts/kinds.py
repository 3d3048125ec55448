"""What a kind of account asks for, and how it is tested."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from routing.errors import ReasonedError
from routing.types.people import Person

Again = Literal["secret", "start"]
QUOTES = " \t\r\n<>`\"'"
"""What people put around an address."""


class ServiceFailed(ReasonedError):
    """A service did not do what it was asked: a clause that says why. `again` is what the person should give again
    while they connect: the password, or everything."""

    def __init__(self, template: str, /, again: Again = "start", **values: object) -> None:
        super().__init__(template, **values)
        self.again = again


@dataclass(frozen=True, slots=True)
class Field:
    """One question about an account that is not secret. `read` normalises the answer and raises Refused for one that
    can't be right; `wanted` tells from the earlier answers whether to ask at all."""

    name: str
    question: str
    read: Callable[[str], str] = str.strip
    wanted: Callable[[Mapping[str, str]], bool] = lambda details: True


@dataclass(frozen=True, slots=True)
class Tested:
    """An account that works: how `/connect` names it, and what to store of it besides the password."""

    label: str
    details: Mapping[str, str]


Test = Callable[[Person, Mapping[str, str], str], Awaitable[Tested]]
"""Logs in with the answers and the password. Raises ServiceFailed."""


@dataclass(frozen=True, slots=True)
class AccountKind:
    """A kind of account. `name` is the word after `/connect`, `title` names it in sentences, `fields` are asked in
    order, and then `secret`, the question for the password or token. With `several`, a person may have one for each
    label. `also` are other words for it."""

    name: str
    title: str
    fields: tuple[Field, ...]
    secret: str
    test: Test
    several: bool = False
    also: tuple[str, ...] = ()

    def next_field(self, details: Mapping[str, str]) -> Field | None:
        """The first unanswered question; None if only the password is left."""
        return next((each for each in self.fields if each.name not in details and each.wanted(details)), None)


def is_host(name: str, bare: bool = False) -> bool:
    """Whether this may be a host; a name without dots only if `bare`."""
    labels = name.removesuffix(".").split(".")
    return "" not in labels and (bare or len(labels) > 1 or ":" in name or name == "localhost")
