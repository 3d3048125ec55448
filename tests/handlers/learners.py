"""A learner for tests of commands that teach nothing."""

from __future__ import annotations

from typing import Any

from handlers.learning import Learner
from routing.config.sections import LearningConfig
from routing.learning.learning import Learning
from tests.fakes import FakeExamples


def untaught() -> Learner:
    """Learns nothing, and knows nothing."""
    unused: Any = None
    learning = Learning(FakeExamples(), unused, None, lambda: LearningConfig(enabled=False))
    return Learner(learning, unused, unused, unused, lambda: 0.0)
