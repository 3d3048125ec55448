"""Finds the place that a name means. Of several, it takes the best known one and names the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from routing.errors import ToolFailed

MAX_NAME_CHARACTERS = 100
MAX_TRIES = 3
"""Names tried for a place without commas: "Springfield Illinois", then "Springfield" in Illinois."""
MAX_OTHERS = 5
_COUNTRIES = {"usa": "us", "u.s.": "us", "u.s.a.": "us", "america": "us", "uk": "gb", "great britain": "gb"}
_STATES = (
    "AL Alabama,AK Alaska,AZ Arizona,AR Arkansas,CA California,CO Colorado,CT Connecticut,DE Delaware,FL Florida,"
    "GA Georgia,HI Hawaii,ID Idaho,IL Illinois,IN Indiana,IA Iowa,KS Kansas,KY Kentucky,LA Louisiana,ME Maine,"
    "MD Maryland,MA Massachusetts,MI Michigan,MN Minnesota,MS Mississippi,MO Missouri,MT Montana,NE Nebraska,NV Nevada,"
    "NH New Hampshire,NJ New Jersey,NM New Mexico,NY New York,NC North Carolina,ND North Dakota,OH Ohio,OK Oklahoma,"
    "OR Oregon,PA Pennsylvania,RI Rhode Island,SC South Carolina,SD South Dakota,TN Tennessee,TX Texas,UT Utah,"
    "VT Vermont,VA Virginia,WA Washington,WV West Virginia,WI Wisconsin,WY Wyoming,DC District of Columbia"
)
_STATE_CODES = {name.casefold(): code.casefold() for code, _, name in (s.partition(" ") for s in _STATES.split(","))}


@dataclass(frozen=True, slots=True)
class Place:
    """`regions` are from the smallest to the country; `zone` is an IANA name, empty if unknown."""

    name: str
    latitude: float
    longitude: float
    regions: tuple[str, ...] = ()
    country_code: str = ""
    zone: str = ""

    def __str__(self) -> str:
        return ", ".join(dict.fromkeys((self.name, *self.regions)))

    def lies_in(self, region: str) -> bool:
        """Whether a region's name, or a country's or state's code, fits."""
        word = region.casefold()
        names = {name.casefold() for name in self.regions}
        code = self.country_code.casefold()
        codes = {_STATE_CODES[name] for name in names if name in _STATE_CODES} if code == "us" else set()
        return _COUNTRIES.get(word, word) in {*names, *codes, code}


@dataclass(frozen=True, slots=True)
class FoundPlace:
    """The place, and others of the same name."""

    place: Place
    others: tuple[Place, ...] = ()


class Gazetteer(Protocol):
    """Finds places by name, the best known first."""

    async def places(self, name: str, language: str) -> Sequence[Place]: ...


async def find_place(gazetteer: Gazetteer, location: str, language: str) -> FoundPlace:
    """A place by its name, also with regions ("Springfield, Illinois"), or by coordinates. Raises ToolFailed."""
    words = " ".join(location.split())
    if not words.strip(", ") or len(words) > MAX_NAME_CHARACTERS:
        raise ToolFailed(f"Give the name of a place, at most {MAX_NAME_CHARACTERS} characters.")
    if (place := _coordinates(words)) is not None:
        return FoundPlace(place)
    named: Sequence[Place] = ()
    for name, regions in islice(_readings(words), MAX_TRIES):
        for spoken in dict.fromkeys(("en", language or "en")):
            places = await gazetteer.places(name, spoken)
            fitting = [each for each in places if all(map(each.lies_in, regions))]
            if fitting:
                return FoundPlace(fitting[0], _others(fitting))
            named = named or places
            if not (places and regions):
                break
    if not named:
        raise ToolFailed(f"No place is called {words!r}: check the spelling, or use the next larger town.")
    known = "; ".join(map(str, named[:MAX_OTHERS]))
    raise ToolFailed(f"There is no {words!r}. There are: {known}. Write one of them like this, or ask which is meant.")


def _readings(words: str) -> list[tuple[str, tuple[str, ...]]]:
    """Name and regions. Without commas, the last words may be the region."""
    name, *regions = [part.strip() for part in words.split(",") if part.strip()]
    if regions:
        return [(name, tuple(regions))]
    single = words.split(" ")
    shorter = [(" ".join(single[:at]), (" ".join(single[at:]),)) for at in range(len(single) - 1, 0, -1)]
    return [(name, ()), *shorter]


def _coordinates(words: str) -> Place | None:
    """Parses "52.52, 13.41"."""
    first, comma, second = words.partition(",")
    try:
        latitude, longitude = float(first), float(second)
    except ValueError:
        return None
    if not (comma and abs(latitude) <= 90 and abs(longitude) <= 180):
        raise ToolFailed("Coordinates are latitude and longitude in degrees, such as 52.52, 13.41.")
    return Place(f"{latitude:g}, {longitude:g}", latitude, longitude)


def _others(places: Sequence[Place]) -> tuple[Place, ...]:
    """Other towns of the same name, one line each."""
    first, *rest = places
    seen = {str(first): first}
    for each in rest:
        if each.name.casefold() == first.name.casefold():
            seen.setdefault(str(each), each)
    return tuple(seen.values())[1 : MAX_OTHERS + 1]
