"""The error of a call that there is no money for."""

from __future__ import annotations

from routing.errors import ModelError
from routing.money.standing import Reached


class OverBudget(ModelError):
    """The call was not made: a limit of money has no room for it. `cheaper`: the owner wants the cheapest model to
    answer then."""

    def __init__(self, model: str, reached: Reached, cheaper: bool = False) -> None:
        ceiling = reached.standing.ceiling
        super().__init__(model, f"a limit of ${ceiling.dollars} a {ceiling.period} has no room for it")
        self.reached = reached
        self.cheaper = cheaper
