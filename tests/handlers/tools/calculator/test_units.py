"""Units in the calculator."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from handlers.tools.calculator.units import _build
from tests.handlers.tools.calculator.expressions import TOO_LARGE, refusal, result

ROOT = Path(__file__).resolve().parents[4]


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("5 km in miles", "= 3.10685596118667 miles"),
        ("70 °F to °C", "= 21.1111111111111 °C"),
        ("-40 °F in °C", "= -40 °C"),
        ("70 degrees Fahrenheit to Celsius", "= 21.1111111111111 Celsius"),
        ("0 °C in K", "= 273.15 K"),
        ("1 kdegR in K", "= 555.555555555556 K"),
        ("max(20 °C, 77 °F)", "= 25 °C"),
        ("3 h 20 min + 45 min", "= 4.08333333333333 h (4 h 5 min)"),
        ("100 km / 2 h in m/s", "= 13.8888888888889 m/s"),
        ("100 km/h * 30 min", "= 50 km"),
        ("10 GB / (100 Mbit/s) in min", "= 13.3333333333333 min (13 min 20 s)"),
        ("5 GB / 2 MB", "= 2500"),
        ("3*10^8 m/s in km/h", "= 1080000000 km/h"),
        ("5 m^2 kg", "= 5 m^2 kg"),
        ("5 m² in ft²", "= 53.8195520835486 ft^2"),
        ("100 square feet in square meters", "= 9.290304 meters^2"),
        ("9.81 m/s^2 * 5 kg in N", "= 49.05 N"),
        ("60 miles per hour in km/h", "= 96.56064 km/h"),
        ("5 ft 3 in in cm", "= 160.02 cm"),
        ("5 in to cm", "= 12.7 cm"),
        ("5.08 cm in in", "= 2 in"),
        ("2 in * 3 in", "= 6 in^2"),
        ("3 nautical miles in km", "= 5.556 km"),
        ("2 fl oz in ml", "= 59.147059125 ml"),
        ("1 week in days", "= 7 days"),
        ("5 kg^-1", "= 5/kg"),
        ("sqrt(4 m^2)", "= 2 m"),
        ("(2 km)^2", "= 4 km^2"),
        ("7.5 km // 2 km", "= 3"),
        ("7.5 km mod 2 km", "= 1.5 km"),
        ("round(3.14159 km, 2)", "= 3.14 km"),
        ("min(1 km, 900 m)", "= 0.9 km"),
        ("(5 km in miles) * 2", "= 6.21371192237334 miles"),
        ("180° in rad", "= 3.14159265358979 rad"),
        ("20 min", "= 20 min"),
        ("2 KM", "= 2 KM"),
        ("5 N A in A N", "= 5 A N"),
        ("5 kilos in g", "= 5000 g"),
    ],
)
def test_units(expression: str, said: str) -> None:
    assert result(expression) == said


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("5 km + 3 kg", "kilogram and kilometer can't be combined."),
        ("70 F to C", "For temperatures write °C and °F."),
        ("100 in m", "a plain number and meter can't be combined."),
        ("20 °C + 5 °C", "degree_Celsius has an offset zero: only convert or compare it, or calculate in K."),
        ("50 dB in neper", "decibel is a logarithmic unit, which can't be converted."),
        ("30 dBm in W", "decibelmilliwatt is a logarithmic unit, which can't be converted."),
        ("60 rpm in Hz", "revolutions_per_minute and hertz can't be combined."),
        ("2^(1 km)", "An exponent must be a number without a unit."),
        ("ln(5 km)", "An argument of ln must be a number without a unit."),
        ("5 km in 3 m", "Only a unit may follow `in` or `to`, such as: 5 km in miles."),
        ("5 km in miles + 3", "+ is not expected after miles. Put brackets around a conversion that is only a part."),
        ("5 kg 3 m", "An operator such as * or + is missing before 3."),
        ("5 m°C in K", "m°C is not a function, constant or unit."),
        ("5 kilometters", "kilometters is not a function, constant or unit. Did you mean kilometer"),
        ("1 m^1000", "The powers of the units are too high: their sum is limited to 30."),
        ("1 m^(1/10^9000)", "The exponent of a unit must be a whole number, or a fraction such as 1/2."),
        ("5 kg^sqrt(2)", "The exponent of a unit must be a whole number, or a fraction such as 1/2."),
        ("*".join(["1 Ym"] * 31), "The powers of the units are too high: their sum is limited to 30."),
        ("m^2^9**9**9", TOO_LARGE),
    ],
)
def test_incompatible_units(expression: str, said: str) -> None:
    assert said in refusal(expression)


def test_loading_the_units_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    assert "newton_meter" in _build.__wrapped__()
    assert caplog.records == []


def test_units_are_loaded_only_when_one_is_named() -> None:
    code = (
        "import sys\n"
        "from handlers.tools.calculator.calculator import calculate\n"
        "calculate('sqrt(2) * sin(pi/3) + 15% of 80')\n"
        "print('pint' in sys.modules)\n"
        "calculate('5 km in m')\n"
        "print('pint' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("10 NM in km", "18.52 km"),
        ("10 nm in m", "1e-8 m"),
        ("5 Nm in J", "5 J"),
        ("1 KB in B", "1000 B"),
        ("1 kB in B", "1000 B"),
        ("1 kb in B", "1000 B"),
        ("1 gb in mb", "1000 mb"),
        ("1 GB in MB", "1000 MB"),
        ("1 Mb in MB", "0.125 MB"),
        ("1 KiB in B", "1024 B"),
        ("1 gib in b", "8589934592 b"),
        ("100 Mbps in MBps", "12.5 MBps"),
        ("8 kbps in B/s", "1000 B/s"),
        ("30 mpg in mile/gallon", "30 mile/gallon"),
        ("2e^2", "14.7781121978613"),
        ("2*e", "5.43656365691809"),
        ("0x1e", "30"),
    ],
)
def test_ambiguous_unit_names(expression: str, said: str) -> None:
    assert result(expression) == f"= {said}"
