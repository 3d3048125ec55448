"""Rules that the four wire formats share, and the report of violations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

TOOL_NAME: Final = re.compile(r"^[A-Za-z0-9_-]{1,64}$")
EFFORTS: Final = ("none", "minimal", "low", "medium", "high", "xhigh")
REASONING_MODEL: Final = re.compile(r"^(gpt-5(?!-chat)|o[134])")
"""OpenAI models that take `max_completion_tokens` only, and no temperature while they reason."""
RESTS_BY_DEFAULT: Final = re.compile(r"^gpt-5\.[124](-mini|-nano)?(-20\d\d.*)?$")
"""Models that do not reason unless the request asks for it (LiteLLM's map, `default_reasoning_effort`)."""
MAX_TOOLS: Final = 128


class Report:
    """Collects violations as `place: what`."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def add(self, place: str, what: str) -> None:
        self.found.append(f"{place}: {what}")

    def need(self, holds: object, place: str, what: str) -> bool:
        """Records the violation unless `holds`; returns whether it holds."""
        if not holds:
            self.add(place, what)
        return bool(holds)


def check_range(report: Report, place: str, value: Any, high: float) -> None:
    if value is None:
        return
    legal = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= high
    report.need(legal, place, f"{value!r} is not a number from 0 to {high}")


def check_positive(report: Report, place: str, value: Any, least: int = 1) -> None:
    if value is not None:
        legal = isinstance(value, int) and not isinstance(value, bool) and value >= least
        report.need(legal, place, f"{value!r} is not a whole number of at least {least}")


def check_effort(report: Report, place: str, value: Any) -> None:
    if value is not None:
        report.need(value in EFFORTS, place, f"{value!r} is not one of {', '.join(EFFORTS)}")


def check_temperature(report: Report, model: str, value: Any, effort: Any) -> None:
    """OpenAI's reasoning models accept one temperature; with effort none, any."""
    check_range(report, "temperature", value, 2)
    if REASONING_MODEL.match(model) and value not in (None, 1):
        rests = effort == "none" or (effort is None and RESTS_BY_DEFAULT.match(model))
        report.need(rests, "temperature", "this model only supports the default (1) while it reasons")


def check_tools(report: Report, place: str, tools: Sequence[tuple[Any, Any]]) -> None:
    """`tools` are (name, schema) in order."""
    report.need(len(tools) <= MAX_TOOLS, place, f"{len(tools)} tools, at most {MAX_TOOLS}")
    names = [name for name, _ in tools]
    for index, (name, schema) in enumerate(tools):
        check_tool_name(report, f"{place}[{index}].name", name)
        report.need(names.index(name) == index, f"{place}[{index}].name", f"{name!r} stands twice")
        if schema is not None:
            is_object = isinstance(schema, dict) and str(schema.get("type", "object")).lower() == "object"
            report.need(is_object, f"{place}[{index}]", "the parameters are not an object schema")


def check_tool_name(report: Report, place: str, name: Any) -> None:
    legal = isinstance(name, str) and TOOL_NAME.match(name)
    report.need(legal, place, f"{name!r} does not match {TOOL_NAME.pattern}")


def check_parts(report: Report, place: str, content: Any, legal: Sequence[str]) -> None:
    """Content is a string or a non-empty list of parts of the legal types."""
    if isinstance(content, str):
        return
    if not report.need(isinstance(content, list) and content, place, "neither a string nor a list of parts"):
        return
    for index, part in enumerate(content):
        kind = part.get("type") if isinstance(part, dict) else None
        if not report.need(kind in legal, f"{place}[{index}].type", f"{kind!r} is not one of {', '.join(legal)}"):
            continue
        if kind in ("text", "input_text", "output_text"):
            report.need(isinstance(part.get("text"), str), f"{place}[{index}].text", "not a string")
