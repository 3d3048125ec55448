"""The keywords that every scripting method takes."""

from __future__ import annotations

from typing import TypedDict

from tests.servers.model.script import Estimate, Finish, Gate, Usage, When


class Terms(TypedDict, total=False):
    """How an answer is delivered, and to whom. All may be left out.

    chunks: pieces of the text (8) · delay: seconds between chunks (0) · first_delay: seconds before the
    status line (0) · usage: `Usage`, or (input, output[, cached[, reasoning]]), None for a provider that
    reports none; left out, an estimate is reported · finish: the finish reason ("stop") ·
    gate_after: chunks sent before the returned gate holds the stream; 0 holds the first ·
    gate: a gate to share between scripts · when: takes only requests for which it is true ·
    times: how often the script serves (1; None for ever).
    """

    chunks: int
    delay: float
    first_delay: float
    usage: Usage | tuple[int, ...] | Estimate | None
    finish: Finish
    gate: Gate
    gate_after: int | None
    when: When | None
    times: int | None
