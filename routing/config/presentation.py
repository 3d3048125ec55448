"""How tools are presented to each size class, from `runtime-config.json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from routing.config.jsonfile import JsonObject
from routing.config.kinds import TOKENS, WHOLE, Setting, keys_of, one_of
from routing.types.decisions import SIZES, Size

Strategy = Literal["top_k", "reorder", "full", "hybrid", "all"]
"""`top_k`: the most relevant tools, the others by name; `reorder`: all selected ones by relevance; `full`: all selected
ones in stable order; `hybrid`: the most relevant ones, the others as definitions without description and parameters (as
published by yantrikos/tier); `all`: every tool in stable order, whatever its size."""
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
MAX_DEFINITIONS = 128
"""OpenAI's limit per request, stubs included."""


@dataclass(frozen=True, slots=True)
class Presentation:
    """How tools are presented to a size class. Limits: the number of definitions, and the tokens of definitions and
    names together. The stubs of `hybrid` don't count towards them, as published."""

    strategy: Annotated[Strategy, Setting("strategy", one_of(STRATEGIES))]
    most_tools: Annotated[int, Setting("maxTools", WHOLE)]
    most_tokens: Annotated[int, Setting("maxTokens", TOKENS)]


PRESENTATIONS: Mapping[Size, Presentation] = {
    "S": Presentation("top_k", 8, 800),
    "M": Presentation("top_k", 12, 2_000),
    "L": Presentation("reorder", 40, 8_000),
    "XL": Presentation("full", MAX_DEFINITIONS, 32_000),
}
"""S and M: in published runs, a 1.5 B model was best with 4 to 8 tools."""


def read_presentations(tools: JsonObject) -> Mapping[Size, Presentation]:
    """Read `tools.presentation`: for each size class `strategy`, `maxTools`, `maxTokens`. Raises ConfigError."""
    given = tools.section("presentation")
    for name in given.values:
        if name not in SIZES:
            raise given.fault(name, "is not a size class: use one of {sizes}", sizes=", ".join(SIZES))
    return {size: _presentation(given.section(size), usual) for size, usual in PRESENTATIONS.items()}


def _presentation(own: JsonObject, usual: Presentation) -> Presentation:
    for name in own.values:
        if name not in keys_of(Presentation):
            raise own.fault(name, "is unknown: use one of {known}", known=", ".join(keys_of(Presentation)))
    return own.fill(usual)
