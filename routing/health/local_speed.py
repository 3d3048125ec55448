"""How fast the models on the owner's own machines are, and the time that they get for an answer."""

from __future__ import annotations

import math
from dataclasses import replace

from routing.config.contracts import TierContract
from routing.types.llm import Usage

OWN_MACHINES = frozenset({"local", "ollama", "ollama_chat"})
"""Providers whose speed is that of a machine; no contract can know it."""
UNMEASURED_FIRST, UNMEASURED_TRY = 300.0, 540.0
"""Seconds to the first word and for an answer while nothing was measured: the model may have to be loaded first."""
ROOM = 2.0
"""Times what was measured: a longer prompt, another program at work."""
LONGEST_TRY = 1800.0
_SHARE = 0.3
"""Weight of the newest answer in what is known."""


class Pace:
    """Seconds to the first word and per token, by model, as the newest answers took them."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[float, float]] = {}

    def note(self, model: str, first_token: float, seconds: float, usage: Usage | None) -> None:
        """An answer came whole. Other providers' models are not measured."""
        if model.partition("/")[0] not in OWN_MACHINES or usage is None or usage.output_tokens <= 0:
            return
        now = (first_token, max(0.0, seconds - first_token) / usage.output_tokens)
        was = self._known.get(model, now)
        first, each = (old + _SHARE * (new - old) for old, new in zip(was, now, strict=True))
        self._known[model] = (max(first, first_token), each)

    def contract(self, contract: TierContract, model: str, most_seconds: float) -> TierContract:
        """The tier's times, or the longer ones that a model of the owner's own machine needs for an answer of full
        length; the turn ends at `most_seconds` in any case."""
        if model.partition("/")[0] not in OWN_MACHINES:
            return contract
        first, whole = UNMEASURED_FIRST, UNMEASURED_TRY
        if model in self._known:
            first, each = (ROOM * value for value in self._known[model])
            whole = float(math.ceil(first + each * contract.max_output_tokens))
            first = float(math.ceil(first))
        first = max(contract.first_token_seconds, first)
        whole = min(LONGEST_TRY, max(contract.try_seconds, first, whole))
        deadline = max(contract.deadline_seconds, min(most_seconds, whole + contract.deadline_seconds))
        return replace(
            contract,
            first_token_seconds=min(first, whole),
            try_seconds=whole,
            deadline_seconds=deadline,
        )
