"""Measures models on the owner's machines and extends their time limits."""

from __future__ import annotations

import math
from dataclasses import replace

from routing.config.contracts import TierContract
from routing.types.llm import Usage
from routing.types.model_names import LOCAL_PROVIDER, OLLAMA_NAMES, provider_of

MEASURED = frozenset({LOCAL_PROVIDER}) | OLLAMA_NAMES
"""Providers whose speed depends on the owner's hardware."""
UNMEASURED_FIRST, UNMEASURED_TRY = 300.0, 540.0
"""Seconds to the first token and for an answer before any measurement; the model may have to be loaded first."""
ROOM = 2.0
"""Safety factor on measured times, for longer prompts and other load."""
MAX_TRY_SECONDS = 1800.0
_SHARE = 0.3
"""Weight of the newest answer in the running mean."""


class LocalSpeed:
    """Running means of seconds to the first token and per token, by model."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[float, float]] = {}

    def note(self, model: str, first_token: float, seconds: float, usage: Usage | None) -> None:
        """Record a complete answer; ignores other providers."""
        if provider_of(model) not in MEASURED or usage is None or usage.output_tokens <= 0:
            return
        now = (first_token, max(0.0, seconds - first_token) / usage.output_tokens)
        was = self._known.get(model, now)
        first, each = (old + _SHARE * (new - old) for old, new in zip(was, now, strict=True))
        self._known[model] = (max(first, first_token), each)

    def contract(self, contract: TierContract, model: str, most_seconds: float) -> TierContract:
        """The tier's contract with time limits extended for a full-length answer of a local model; the turn still ends
        at `most_seconds`."""
        if provider_of(model) not in MEASURED:
            return contract
        first, whole = UNMEASURED_FIRST, UNMEASURED_TRY
        if model in self._known:
            first, each = (ROOM * value for value in self._known[model])
            whole = float(math.ceil(first + each * contract.max_output_tokens))
            first = float(math.ceil(first))
        first = max(contract.first_token_seconds, first)
        whole = min(MAX_TRY_SECONDS, max(contract.try_seconds, first, whole))
        deadline = max(contract.deadline_seconds, min(most_seconds, whole + contract.deadline_seconds))
        return replace(
            contract,
            first_token_seconds=min(first, whole),
            try_seconds=whole,
            deadline_seconds=deadline,
        )
