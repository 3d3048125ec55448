"""The door to the library of units: what a name means, and what it is in others.

A unit is a product of powers, kept as pairs of a name and an exponent; a plain number has none. The library is loaded
at the first unit, in the thread of that calculation: 0.5 s and 21 MB, half of these numpy.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from rapidfuzz import fuzz, process

from routing.errors import ToolFailed

Unit = tuple[tuple[str, Fraction], ...]
PLAIN: Unit = ()
MOST_POWERS = 30
"""The exponents of a unit, added up: they bound the numbers in its conversion."""
_ALSO = {
    "kwh": "kWh",
    "mhz": "MHz",
    "ghz": "GHz",
    "khz": "kHz",
    "kmh": "kph",
    "sqft": "square_foot",
    "centigrade": "celsius",
    "kilo": "kg",
    "kilos": "kg",
    "°": "degree",
    "NM": "nautical_mile",
    "b": "bit",
}
_OWN = (
    "mile_per_gallon = mile / gallon = mpg",
    "newton_meter = newton * meter = Nm",
    "byte_per_second = byte / s = Bps",
)
"""What the library lacks; the gallon is the US one."""
_DATA = re.compile(r"([kmgtp])(i?)(b|bps)", re.IGNORECASE)
_PREFIXES = {
    "k": ("kilo", "kibi"),
    "m": ("mega", "mebi"),
    "g": ("giga", "gibi"),
    "t": ("tera", "tebi"),
    "p": ("peta", "pebi"),
}
_KINDS = {
    "meter": "length",
    "gram": "mass",
    "second": "time",
    "kelvin": "temperature",
    "ampere": "current",
    "mole": "substance",
    "candela": "light",
    "bit": "data",
    "radian": "angle",
}
_TEMPERATURES = {"c": "degC", "celsius": "degC", "f": "degF", "fahrenheit": "degF", "k": "kelvin", "kelvin": "kelvin"}


def product(left: Unit, right: Unit, sign: int = 1) -> Unit:
    """`left` times `right`, or with `sign` -1 divided by it. Raises ToolFailed above MOST_POWERS."""
    powers = dict(left)
    for name, exponent in right:
        powers[name] = powers.get(name, Fraction(0)) + sign * exponent
    return checked((name, exponent) for name, exponent in powers.items() if exponent)


def raised(unit: Unit, exponent: Fraction) -> Unit:
    return checked((name, each * exponent) for name, each in unit if exponent)


def checked(powers: Iterable[tuple[str, Fraction]]) -> Unit:
    unit = tuple(powers)
    long = any(exponent.denominator > MOST_POWERS for _, exponent in unit)
    if long or sum(abs(exponent) for _, exponent in unit) > MOST_POWERS:
        raise ToolFailed(f"The powers of units are too many: together {MOST_POWERS} are the most.")
    return unit


def _data(name: str) -> str | None:
    """Kilobytes and the like, however they are written. B is a byte, b a bit behind a capital letter and in kbps; in
    small letters alone, mb, it is a byte again, as people write it."""
    match = _DATA.fullmatch(name)
    if match is None:
        return None
    prefix, binary, unit = match.groups()
    rate = len(unit) > 1
    small = unit[0] == "b" and (rate or prefix.isupper())
    base = ("baud" if small else "byte_per_second") if rate else ("bit" if small else "byte")
    return _PREFIXES[prefix.lower()][bool(binary)] + base


class Units:
    """What every name of a unit is worth. May be used from several threads."""

    def __init__(self) -> None:
        self._registry: Any = None
        self._lock = threading.RLock()
        self._steps: dict[str, tuple[Fraction, Fraction, Unit]] = {}

    def _loaded(self) -> Any:
        if self._registry is None:
            from pint import UnitRegistry

            registry: Any = UnitRegistry(non_int_type=Fraction, cache_folder=None)
            for definition in _OWN:
                registry.define(definition)
            self._registry = registry
        return self._registry

    def find(self, name: str) -> str | None:
        """The library's own name of a unit as somebody wrote it; None when there is none."""
        lower = name.lower()
        with self._lock:
            for each in (_data(name) or _ALSO.get(name, name), _ALSO.get(lower, lower), name.upper()):
                found = self._loaded().parse_unit_name(each)
                if found:
                    prefix, unit, _ = found[0]
                    return str(prefix + unit)
        return None

    def degrees(self, name: str) -> str | None:
        """`degrees` and this name together as a temperature."""
        return self.find(_TEMPERATURES[name.lower()]) if name.lower() in _TEMPERATURES else None

    def near(self, name: str, others: Iterable[str]) -> list[str]:
        """The names most like `name`, of units and of `others`."""
        with self._lock:
            names = [each for each in self._loaded() if each.isascii()]
        found = process.extract(name.lower(), [*others, *names], scorer=fuzz.ratio, limit=3, score_cutoff=65)
        return list(dict.fromkeys(each for each, _, _ in found))

    def scale(self, unit: Unit) -> tuple[Fraction, Unit]:
        """How many of the basic units one of `unit` is, and which these are. Raises ToolFailed for a temperature with
        another zero among them."""
        factor, base = Fraction(1), PLAIN
        for name, exponent in unit:
            step, zero, root = self._step(name)
            if zero:
                raise ToolFailed(f"{name} has an offset zero and can only be converted alone: convert to K first.")
            if exponent.denominator == 1:
                factor *= step**exponent.numerator
            else:
                factor *= Fraction(float(step) ** float(exponent))
            base = product(base, raised(root, exponent))
        return factor, tuple(sorted(base))

    def line(self, unit: Unit) -> tuple[Fraction, Fraction, Unit]:
        """The same with the zero: so many basic units lie at 0 of `unit`."""
        if len(unit) == 1 and unit[0][1] == 1:
            step, zero, root = self._step(unit[0][0])
            return step, zero, tuple(sorted(root))
        factor, base = self.scale(unit)
        return factor, Fraction(0), base

    def has_own_zero(self, unit: Unit) -> bool:
        return any(self._step(name)[1] for name, _ in unit)

    def _step(self, name: str) -> tuple[Fraction, Fraction, Unit]:
        with self._lock:
            if name not in self._steps:
                self._steps[name] = self._measured(name)
            return self._steps[name]

    def _measured(self, name: str) -> tuple[Fraction, Fraction, Unit]:
        """What one and none of a unit are in basic ones."""
        from pint.util import to_units_container

        registry = self._loaded()
        _, root = registry.get_root_units(name)
        basic = tuple((str(each), Fraction(str(exponent))) for each, exponent in to_units_container(root).items())
        try:
            none, one, two = (Fraction(registry.convert(Fraction(count), name, root)) for count in range(3))
        except (ValueError, TypeError, ArithmeticError, AttributeError):  # a logarithm of a fraction, with numpy there
            none = one = two = Fraction(0)
        if one == none or two - one != one - none:
            raise ToolFailed(f"{name} counts by a logarithm: only units in proportion can be converted.")
        return one - none, none, basic

    def kind(self, unit: Unit) -> str:
        """What a unit measures, such as length, in words."""
        _, _, base = self.line(unit)
        named = [(_KINDS.get(name, name), exponent) for name, exponent in base]
        return " ".join(kind if power == 1 else f"{kind}^{power}" for kind, power in named) or "a plain number"
