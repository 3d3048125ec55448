"""Units of measurement from pint, which is loaded with the first unit (0.5 s and 32 MB, half of it numpy).

A value is a plain Fraction, or a pint quantity with a Fraction as its magnitude.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

from rapidfuzz import fuzz, process

from handlers.tools.calculator.numbers import Rounded, fitted, power
from routing.errors import ToolFailed

Value = Any
"""Fraction | pint.Quantity."""
_MAX_POWERS = 30
"""Maximum sum of a unit's exponents, which limits conversion factors."""
_TOO_MANY_POWERS = f"The powers of the units are too high: their sum is limited to {_MAX_POWERS}."
_ALIASES = {
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
    "fl_oz": "fluid_ounce",
}
_DEFINITIONS = (
    "mile_per_gallon = mile / gallon = mpg",
    "newton_meter = newton * meter = Nm",
    "byte_per_second = byte / s = Bps",
)
"""Units that pint lacks. The gallon is the US one."""
_LOGARITHMIC = ("decibel", "decibelwatt", "decibelmilliwatt", "decibelmicrowatt", "neper", "octave", "decade")
_OFFSET = ("degree_Celsius", "degree_Fahrenheit", "degree_Reaumur")
_LOCK = threading.Lock()
_DATA = re.compile(r"([kmgtp])(i?)(b|bps)", re.IGNORECASE)
_TEMPERATURES = {"c": "degC", "celsius": "degC", "f": "degF", "fahrenheit": "degF", "k": "kelvin", "kelvin": "kelvin"}


@cache
def _build() -> Any:
    from pint import UnitRegistry

    # `Nm` is redefined: pint takes it for a unit of yarn; people mean newton metres.
    units: Any = UnitRegistry(non_int_type=Fraction, cache_folder=None, on_redefinition="ignore")
    for definition in _DEFINITIONS:
        units.define(definition)
    return units


def registry() -> Any:
    with _LOCK:
        return _build()


def plain(value: Value, what: str) -> Fraction:
    """The number. Raises ToolFailed, which names `what`, if there is a unit."""
    if not isinstance(value, Fraction):
        raise ToolFailed(f"{what} must be a number without a unit.")
    return value


def number_of(value: Value) -> Fraction:
    number: Fraction = value if isinstance(value, Fraction) else value.magnitude
    return number


def apply(run: Callable[..., Any], *values: Value) -> Value:
    """Run an operation. Raises ToolFailed for incompatible units and for results beyond the limits."""
    if all(isinstance(value, Fraction) for value in values):
        return fitted(run(*values))
    from pint import DimensionalityError, OffsetUnitCalculusError

    try:
        return bounded(run(*values))
    except DimensionalityError:
        raise ToolFailed(_incompatible(*values)) from None
    except OffsetUnitCalculusError:
        units = " and ".join(spelled(value) for value in values if not isinstance(value, Fraction))
        raise ToolFailed(f"{units} has an offset zero: only convert or compare it, or calculate in K.") from None


def bounded(value: Value) -> Value:
    """The value, if it is within the limits. Units of one dimension cancel: 100 km/h * 30 min is 50 km."""
    if isinstance(value, int | Fraction):
        return fitted(value)
    kinds = [registry().get_dimensionality(name) for name, _ in value.unit_items()]
    if any(kinds.count(kind) > 1 for kind in kinds):
        value = value.to_reduced_units()
    return quantity(value.magnitude, value.units)


def _incompatible(*values: Value) -> str:
    names = ["a plain number" if isinstance(value, Fraction) else spelled(value) for value in values]
    hint = " For temperatures write °C and °F." if {"farad", "coulomb"} & set(names) else ""
    return f"{' and '.join(names)} can't be combined.{hint}"


def quantity(number: Fraction | int, unit: Any) -> Value:
    """A number with a unit. Raises ToolFailed if the exponents of the unit are too large."""
    powers = [Fraction(exponent) for _, exponent in registry().Quantity(1, unit).unit_items()]
    if any(each.denominator > _MAX_POWERS for each in powers) or sum(map(abs, powers)) > _MAX_POWERS:
        raise ToolFailed(_TOO_MANY_POWERS)
    return registry().Quantity(fitted(number), unit) if powers else fitted(number)


def raised(value: Value, exponent: Value) -> Value:
    exponent = plain(exponent, "An exponent")
    if isinstance(value, Fraction):
        return power(value, exponent)
    if exponent.denominator > _MAX_POWERS:
        raise ToolFailed("The exponent of a unit must be a whole number, or a fraction such as 1/2.")
    if abs(exponent) > _MAX_POWERS:
        raise ToolFailed(_TOO_MANY_POWERS)
    apply(lambda one: one * 1, value)  # refuses °C
    return quantity(power(value.magnitude, exponent), value.units**exponent)


def converted(value: Value, like: Value) -> Value:
    """The value in the unit of `like`. A plain number and an angle in radians are interchangeable."""
    if isinstance(value, Fraction) and isinstance(like, Fraction):
        return value
    bases = [_base(value), _base(like)]
    if bases[0] != bases[1] and not ({} in bases and {"radian": 1} in bases):
        raise ToolFailed(_incompatible(value, like))  # to pint, 60 rpm is 6.28 Hz and 8 bits is 8
    one, other = (registry().Quantity(each, "") if isinstance(each, Fraction) else each for each in (value, like))
    if any(Fraction(exponent).denominator > 1 for _, exponent in other.unit_items()):
        one = one * Rounded(1)  # the root of a conversion factor
    return apply(lambda one, other: registry().Quantity(one.m_as(other.units), other.units), one, other)


def _base(value: Value) -> dict[str, Fraction]:
    """The base units of a value and their exponents."""
    if isinstance(value, Fraction):
        return {}
    root = apply(lambda one: one.to_root_units(), registry().Quantity(Fraction(1), value.units))
    return {} if isinstance(root, Fraction) else dict(root.unit_items())


@lru_cache(maxsize=1000)
def find(name: str) -> Any:
    """The quantity 1 of a unit in any spelling; None if there is no such unit. Raises ToolFailed for a logarithmic
    unit."""
    lower = name.lower()
    for each in (_data_unit(name) or _ALIASES.get(name, name), _ALIASES.get(lower, lower), name.upper()):
        if found := registry().parse_unit_name(each):
            prefix, unit, _ = found[0]
            if unit in _LOGARITHMIC:
                raise ToolFailed(f"{prefix}{unit} is a logarithmic unit, which can't be converted.")
            if not (prefix and unit in _OFFSET):  # a millidegree Celsius has no zero
                return registry().Quantity(Fraction(1), prefix + unit)
    return None


def _data_unit(name: str) -> str | None:
    """B is a byte; b is a bit after a capital prefix and in kbps; mb in small letters is a megabyte."""
    match = _DATA.fullmatch(name)
    if match is None:
        return None
    prefix, binary, unit = match.groups()
    is_bits = unit[0] == "b" and (len(unit) > 1 or prefix.isupper())
    base = ("baud" if is_bits else "Bps") if len(unit) > 1 else ("bit" if is_bits else "byte")
    return f"{prefix.upper()}i{base}" if binary else prefix.upper().replace("K", "k") + base


def find_pair(first: str, second: str) -> Any:
    """A unit of two words, such as nautical miles or degrees Celsius."""
    if first.lower() in ("deg", "degree", "degrees") and second.lower() in _TEMPERATURES:
        return find(_TEMPERATURES[second.lower()])
    # Single letters are separate units: N A is newton and ampere, not Avogadro's number.
    return find(f"{first}_{second}") if min(len(first), len(second)) > 1 else None


def similar(name: str, others: Iterable[str]) -> list[str]:
    """Up to three names like `name`, among the units and `others`."""
    names = [each for each in registry() if each.isascii()]
    found = process.extract(name.lower(), [*others, *names], scorer=fuzz.ratio, limit=3, score_cutoff=65)
    return list(dict.fromkeys(each for each, _, _ in found))


def spelled(value: Value, names: dict[str, str] | None = None) -> str:
    """The unit: `km/h`, `kg m/s^2`; `names` replace those of pint."""
    above, below = [], ""
    for name, exponent in value.unit_items():
        power = str(abs(Fraction(exponent)))
        shown = (names or {}).get(name, name) + ("" if power == "1" else f"^({power})" if "/" in power else f"^{power}")
        if exponent > 0:
            above.append(shown)
        else:
            below += f"/{shown}"
    return (" ".join(above) or "1") + below
