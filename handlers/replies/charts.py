"""Usage charts: one bar per day, one colour per model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Literal

from handlers.languages import Say
from routing.types.usage import Day

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont, ImageFont

Measure = Literal["cost", "tokens"]

WIDTH, LEFT, TOP, RIGHT, BOTTOM = 1200, 130, 50, 1165, 440
"""The area of the bars, in pixels. The legend is below it."""
WIDEST = 110
LEGEND, ROW = 74, 40
PAPER, INK, FAINT, LINES = "#ffffff", "#222222", "#777777", "#dddddd"
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442")
"""The colour-blind-safe palette of Okabe and Ito (2008)."""
OTHERS = "#999999"
MAX_TICKS = 5
MAX_NAME_CHARACTERS = 32
_DATE_WIDTH, _MARK_WIDTH = 75, 45


@dataclass(frozen=True, slots=True)
class Band:
    """One model's segment of every bar."""

    name: str
    colour: str
    amounts: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Measured:
    """What a chart shows: the bands of all bars, and an axis with `ticks` steps of `step`."""

    measure: Measure
    bands: tuple[Band, ...]
    step: float
    ticks: int


def usage_chart(days: Sequence[Day], say: Say, measure: Measure = "cost") -> bytes:
    """Draws a PNG of about 50 kB in about 50 ms, in US dollars or in tokens (the latter also if no price is known).
    `+3?` over a bar means three calls of unknown price, which the bar lacks; `?` if the number does not fit. Needs at
    least one day; above 300 days the bars are too thin to see."""
    # imported here because the library takes 20 ms and 12 MB
    from PIL import Image, ImageDraw, ImageFont

    found = measured(days, measure)
    measure, bands, step, ticks = found.measure, found.bands, found.step, found.ticks
    rows = math.ceil(len(bands) / 2)
    image = Image.new("RGB", (WIDTH, BOTTOM + LEGEND + ROW * rows), PAPER)
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(24)
    _axis(pen, font, step, ticks, measure, say)
    tops = _bars(pen, bands, len(days), step * ticks)
    _dates(pen, font, days, say)
    if measure == "cost":
        _unknown(pen, font, days, tops)
    _legend(pen, font, bands, measure, say)
    file = BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def measured(days: Sequence[Day], measure: Measure) -> Measured:
    """Bands and axis in US dollars or in tokens, the latter also if no price is known."""
    if not any(each.cost for day in days for each in day.models):
        measure = "tokens"
    bands = tuple(_bands(days, measure))
    step, ticks = _scale(max(map(sum, zip(*(band.amounts for band in bands), strict=True)), default=0.0))
    return Measured(measure, bands, step, ticks)


def _bands(days: Sequence[Day], measure: Measure) -> list[Band]:
    """The models with the most usage, largest first; all others are summed up."""
    names = {each.model for day in days for each in day.models}
    rows = {name: tuple(_amount(day, name, measure) for day in days) for name in names}
    order = sorted((name for name in rows if any(rows[name])), key=lambda name: (-sum(rows[name]), name))
    shown = order if len(order) <= len(COLOURS) else order[: len(COLOURS) - 1]
    bands = [Band(name, colour, rows[name]) for name, colour in zip(shown, COLOURS, strict=False)]
    if rest := order[len(shown) :]:
        together = tuple(map(sum, zip(*(rows[name] for name in rest), strict=True)))
        bands.append(Band(f"+ {len(rest)}", OTHERS, together))
    return bands


def _amount(day: Day, model: str, measure: Measure) -> float:
    found = (each for each in day.models if each.model == model)
    return sum(float(each.cost) if measure == "cost" else each.tokens for each in found)


def _scale(most: float) -> tuple[float, int]:
    """A round step and the number of steps that cover the highest bar."""
    if most <= 0:
        return 1.0, 1
    size = 10.0 ** math.floor(math.log10(most / MAX_TICKS))
    step = next(each * size for each in (1, 2, 5, 10) if each * size * MAX_TICKS >= most)
    return step, max(1, math.ceil(most / step - 1e-9))


def amount_text(amount: float, measure: Measure, say: Say, step: float) -> str:
    """`$0.004`, `$12.50`, `350`, `1.2k`, `3.4M`. Dollars get the decimals that `step` needs."""
    if measure == "cost":
        return say("${amount}", amount=say.number(amount, f".{max(2, -math.floor(math.log10(step)))}f"))
    for size, sign in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if amount >= size:
            return say.number(amount / size, ".3g") + sign
    return f"{amount:.0f}"


def _axis(pen: ImageDraw, font: FreeTypeFont | ImageFont, step: float, ticks: int, measure: Measure, say: Say) -> None:
    for tick in range(ticks + 1):
        y = BOTTOM - (BOTTOM - TOP) * tick / ticks
        pen.line((LEFT, y, RIGHT, y), fill=LINES if tick else INK, width=2)
        pen.text((LEFT - 12, y), amount_text(step * tick, measure, say, step), INK, font, anchor="rm")


def _middle(day: int, days: int) -> float:
    return LEFT + (RIGHT - LEFT) * (day + 0.5) / days


def _bars(pen: ImageDraw, bands: Sequence[Band], days: int, most: float) -> list[float]:
    """Draws the bars and returns the top of each, in pixels."""
    half = min(WIDEST / 2, max(0.5, (RIGHT - LEFT) / days * 0.36))
    tops = [float(BOTTOM)] * days
    for band in bands:
        for day, amount in enumerate(band.amounts):
            if amount:
                x, foot = _middle(day, days), round(tops[day])
                tops[day] -= (BOTTOM - TOP) * amount / most
                top = round(tops[day])
                pen.rectangle((x - half, top, x + half, max(top, foot - 1)), band.colour)
    return tops


def _dates(pen: ImageDraw, font: FreeTypeFont | ImageFont, days: Sequence[Day], say: Say) -> None:
    """Draws labels such as `11-22`, as many as fit."""
    every = math.ceil(len(days) * _DATE_WIDTH / (RIGHT - LEFT))
    for number in range(len(days) - 1, -1, -every):
        pen.text((_middle(number, len(days)), BOTTOM + 14), say.date(days[number].date), INK, font, anchor="mt")


def _unknown(pen: ImageDraw, font: FreeTypeFont | ImageFont, days: Sequence[Day], tops: Sequence[float]) -> None:
    room = (RIGHT - LEFT) / len(days) > _MARK_WIDTH
    for number, day in enumerate(days):
        calls = sum(each.unknown for each in day.models)
        if calls:
            mark = f"+{calls}?" if room else "?"
            pen.text((_middle(number, len(days)), tops[number] - 6), mark, FAINT, font, anchor="mb")


def _legend(pen: ImageDraw, font: FreeTypeFont | ImageFont, bands: Sequence[Band], measure: Measure, say: Say) -> None:
    column = (RIGHT - 40) // 2
    step = min((10.0 ** math.floor(math.log10(sum(band.amounts))) for band in bands), default=1.0) / 10
    for number, band in enumerate(bands):
        x, y = 40 + column * (number % 2), BOTTOM + LEGEND + ROW * (number // 2)
        pen.rectangle((x, y - 11, x + 22, y + 11), band.colour)
        pen.text((x + 34, y), _short(band.name), INK, font, anchor="lm")
        pen.text((x + column - 40, y), amount_text(sum(band.amounts), measure, say, step), FAINT, font, anchor="rm")


def _short(name: str) -> str:
    """Shortens a name from the front, since names differ at the end, and drops characters that the font lacks."""
    plain = name.encode("ascii", "replace").decode()
    return plain if len(plain) <= MAX_NAME_CHARACTERS else f"...{plain[3 - MAX_NAME_CHARACTERS :]}"
