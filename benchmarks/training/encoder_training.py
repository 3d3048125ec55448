"""Trains the vectors: texts with the same meaning move together, others apart, and English stays near the teacher.

Plain torch on an embedding bag with sparse gradients: a step takes about 50 ms on one core, a twentieth of the time of
sentence-transformers' trainer. Uses one thread; two threads on two busy cores were slower.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """Hyperparameters, chosen on all of `benchmarks/data/tool-routing/dev`; figures: lexicon/README.md."""

    steps: int = 2000
    batch: int = 384
    rate: float = 0.002
    sharpness: float = 20.0
    dropped: float = 0.1
    teacher: float = 2.0
    cut: float = 0.3
    """How often a word that is a token is read as its parts instead."""
    alike: float = 0.8
    """English texts whose similarity for the teacher is above this are not negatives of each other."""
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Lesson:
    """A source as rows of text indices."""

    name: str
    share: float
    rows: list[list[int]]
    directed: bool


class Training:
    """Trains in place. `tokens` and `taught` (zero rows for other languages) are indexed by text.

    `digits` are the number tokens: each is replaced by a random one, because "5 minutes" and "45 minutes" mean the
    same. `parts` are the tokens that may be read as several others.
    """

    def __init__(
        self,
        start: NDArray[np.float32],
        tokens: list[list[int]],
        teacher_vectors: NDArray[np.float32],
        digits: Sequence[int],
        parts: dict[int, list[int]],
        plan: Plan,
    ) -> None:
        torch.manual_seed(plan.seed)
        torch.set_num_threads(1)
        self.plan, self.tokens, self.parts = plan, tokens, parts
        self.digits, self.is_digit = digits, frozenset(digits)
        self.rng = random.Random(plan.seed)
        self.teacher_vectors = torch.from_numpy(teacher_vectors)
        self.english = np.flatnonzero(teacher_vectors.any(axis=1)).tolist()
        self.bag = torch.nn.EmbeddingBag(*start.shape, mode="mean", sparse=True)
        self.bag.weight.data.copy_(torch.from_numpy(start))

    def run(self, lessons: Sequence[Lesson], report: Report) -> NDArray[np.float32]:
        """The rows after all steps."""
        plan, losses = self.plan, defaultdict(list)
        optimiser = torch.optim.SparseAdam(self.bag.parameters(), lr=plan.rate)
        shares = [lesson.share for lesson in lessons]
        for step in range(plan.steps):
            for group in optimiser.param_groups:
                group["lr"] = plan.rate * min(1.0, step / 100) * (1 - step / plan.steps) + 1e-5
            loss = plan.teacher * self.distance_from_teacher()
            for lesson in self.rng.choices(lessons, shares, k=2):
                apart = self.contrast(lesson)
                losses[lesson.name].append(float(apart.detach()))
                loss = loss + apart
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            if step % 250 == 249:
                means = (f"{name} {np.mean(values):.2f}" for name, values in sorted(losses.items()))
                report(f"step {step + 1}: {', '.join(means)}")
                losses.clear()
        return np.array(self.bag.weight.detach().numpy(), dtype=np.float32)

    def vectors(self, texts: list[int]) -> Any:
        """Rows of length 1, with token dropout so that no single word decides."""
        flat: list[int] = []
        starts: list[int] = []
        for text in texts:
            starts.append(len(flat))
            tokens = self.tokens[text]
            if len(tokens) > 2:
                tokens = [token for token in tokens if self.rng.random() > self.plan.dropped] or tokens
            for token in tokens[:64]:
                if token in self.is_digit:
                    flat.append(self.rng.choice(self.digits))
                elif token in self.parts and self.rng.random() < self.plan.cut:
                    flat += self.parts[token]
                else:
                    flat.append(token)
        return torch.nn.functional.normalize(self.bag(torch.tensor(flat), torch.tensor(starts)), dim=1)

    def drawn(self, lesson: Lesson) -> tuple[list[int], list[int], Any]:
        """Pairs of texts and their row numbers."""
        rows, size = lesson.rows, self.plan.batch
        few = len(rows) < size
        picked = (
            [self.rng.randrange(len(rows)) for _ in range(size)] if few else self.rng.sample(range(len(rows)), size)
        )
        left, right = [], []
        for number in picked:
            row = rows[number]
            if lesson.directed:
                one, other = row[self.rng.randrange(len(row) - 1)], row[-1]
            else:
                one, other = self.rng.sample(row, 2)
            left.append(one)
            right.append(other)
        return left, right, torch.tensor(picked)

    def contrast(self, lesson: Lesson) -> Any:
        """Which text of the batch is the partner: cross-entropy in both directions, without false negatives."""
        left, right, rows = self.drawn(lesson)
        scores = self.vectors(left) @ self.vectors(right).T * self.plan.sharpness
        alike = self.teacher_vectors[left] @ self.teacher_vectors[right].T > self.plan.alike
        own = torch.eye(len(left), dtype=torch.bool)
        scores = scores.masked_fill(((rows[:, None] == rows[None]) | alike) & ~own, -1e4)
        target = torch.arange(len(left))
        entropy = torch.nn.functional.cross_entropy
        return (entropy(scores, target) + entropy(scores.T, target)) / 2

    def distance_from_teacher(self) -> Any:
        """The divergence between the rankings of teacher and encoder for the English texts of a batch."""
        texts = self.rng.sample(self.english, self.plan.batch)
        teacher_vectors, own = self.teacher_vectors[texts], self.vectors(texts)
        itself = torch.eye(len(texts), dtype=torch.bool)
        wanted = (teacher_vectors @ teacher_vectors.T * self.plan.sharpness).masked_fill(itself, -1e4)
        found = (own @ own.T * self.plan.sharpness).masked_fill(itself, -1e4)
        return torch.nn.functional.kl_div(found.log_softmax(1), wanted.softmax(1), reduction="batchmean")
