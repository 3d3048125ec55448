"""`/tier auto`: which tier a message needs, told in any language without asking a model.

Signs that no language has of its own (fences, stack traces, formulas, length, questions, the turns before) come first;
`phrases.tsv` holds what people say in words: some forty ideas in over thirty languages, written for this project."""

from routing.policy.auto.decision import AutoDecision, Signal
from routing.policy.auto.default import choose, load, loaded

__all__ = ["AutoDecision", "Signal", "choose", "load", "loaded"]
