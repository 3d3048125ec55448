"""Fits a multinomial choice model by maximum likelihood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from routing.tools.selection.fusion import Weights

RIDGE = 3e-4
STEPS, SMALLEST = 50, 1e-3
"""Newton steps, and the step size at which to stop; on standardised weights."""

Array = NDArray[np.float64]
Singles = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Choice:
    """The features of the tools and of the question, and the indices of the right tools, any of which will do. `right`
    is empty if no tool fits. `small_talk` holds the log-odds of small talk by words alone."""

    entry: Singles
    asked: Array
    right: tuple[int, ...]
    weight: float = 1.0
    small_talk: float = 0.0


@dataclass(frozen=True, slots=True)
class _Table:
    """All choices as padded arrays with standardised features: one row per choice, one column per tool."""

    tools: Singles
    asked: Array
    there: NDArray[np.bool_]
    right: NDArray[np.bool_]
    none: NDArray[np.bool_]
    weight: Array

    @classmethod
    def of(cls, data: Sequence[Choice], spread: Array, asked_spread: Array) -> _Table:
        shape = len(data), max(len(each.entry) for each in data)
        tools = np.zeros((*shape, len(spread)), np.float32)
        there, right = np.zeros(shape, bool), np.zeros(shape, bool)
        for row, each in enumerate(data):
            tools[row, : len(each.entry)] = each.entry / spread
            there[row, : len(each.entry)] = True
            right[row, list(each.right)] = True
        asked = np.stack([np.append(each.asked / asked_spread, 1.0) for each in data])
        none = np.array([not each.right for each in data])
        return cls(tools, asked, there, right, none, np.array([each.weight for each in data]))

    def shares(self, theta: Array) -> tuple[Array, Array, Array]:
        """The probability of every tool, with none last; the same among the right ones only; and the total of the right
        ones."""
        width = self.tools.shape[2]
        scores = np.where(self.there, self.tools @ theta[:width].astype(np.float32), -np.inf)
        scores = np.column_stack((scores, self.asked @ theta[width:]))
        parts = np.exp(scores - scores.max(1, keepdims=True))
        share = parts / parts.sum(1, keepdims=True)
        wanted = share * np.column_stack((self.right, self.none))
        likelihood = np.maximum(wanted.sum(1), 1e-300)
        return share, wanted / likelihood[:, None], likelihood


def learn(data: Sequence[Choice]) -> Weights:
    """Newton's method with a ridge penalty. With one right tool per choice, the likelihood is concave and has one
    optimum."""
    spread = np.asarray(np.concatenate([each.entry for each in data]).std(0, dtype=float) + 1e-6, float)
    asked_spread = np.asarray(np.stack([each.asked for each in data]).std(0) + 1e-6, float)
    table, width = _Table.of(data, spread, asked_spread), len(spread)
    size = width + len(asked_spread)
    ridge = np.append(np.full(size, RIDGE), RIDGE / 100) * len(data)
    theta = np.zeros(size + 1)
    likelihood = _likelihood(theta, table, ridge)
    for _ in range(STEPS):
        step = np.linalg.solve(*reversed(_slope(theta, table, ridge)))
        while (tried := _likelihood(theta + step, table, ridge)) < likelihood and np.abs(step).max() > SMALLEST:
            step = step / 2
        theta, likelihood = theta + step, tried
        if np.abs(step).max() <= SMALLEST:
            break
    return Weights(
        entry=(theta[:width] / spread).astype(np.float32),
        none=(theta[width:-1] / asked_spread).astype(np.float32),
        constant=float(theta[-1]),
    )


def _likelihood(theta: Array, table: _Table, ridge: Array) -> float:
    """The log-likelihood minus the ridge penalty."""
    return float(table.weight @ np.log(table.shares(theta)[2])) - float(ridge @ theta**2) / 2


def _slope(theta: Array, table: _Table, ridge: Array) -> tuple[Array, Array]:
    """The gradient, and the Hessian as if the right choices were known."""
    share, wanted, _ = table.shares(theta)
    width = table.tools.shape[2]
    flat, weight = table.tools.reshape(-1, width), table.weight[:, None]
    missing = (wanted - share) * weight
    gradient = np.concatenate((missing[:, :-1].reshape(-1).astype(np.float32) @ flat, missing[:, -1] @ table.asked))
    mean = np.einsum("nr,nrd->nd", share[:, :-1].astype(np.float32), table.tools, optimize=True)
    means = np.column_stack((mean, share[:, -1:] * table.asked))
    scaled = flat * np.sqrt(share[:, :-1] * weight).reshape(-1, 1).astype(np.float32)
    hessian = np.diag(ridge)
    hessian[:width, :width] += scaled.T @ scaled
    hessian[width:, width:] += (table.asked * share[:, -1:] * weight).T @ table.asked
    return gradient - ridge * theta, hessian - (means * weight).T @ means
