"""Fakes that a worker process loads instead of a real model. Special texts make them misbehave."""

from __future__ import annotations

import hashlib
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from routing.types.vectors import Floats

WIDTH = 6
HERE = "tests.routing.tools.embedding.loaders"


def row(text: str) -> list[float]:
    """A deterministic row for a text, of any length."""
    return [byte / 16 - 8 for byte in hashlib.sha256(text.encode()).digest()[:WIDTH]]


def expected(texts: Sequence[str]) -> Floats:
    """The vectors that an embedder makes of the rows."""
    rows = np.array([row(text) for text in texts], np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def encode(texts: Sequence[str]) -> Floats:
    """Rows, after the actions in the texts: `wait <pipe>`, `hang`, `die`, `raise`, `nan`, `fewer`, `wide`, `noise`."""
    for text in texts:
        match text.split(" ", 1):
            case ["wait", pipe]:
                Path(pipe).read_bytes()
            case ["hang"]:
                signal.pause()
            case ["die"]:
                os._exit(7)
            case ["raise"]:
                raise ValueError("this text is too much.\nand more")
            case ["nan"]:
                return np.full((len(texts), WIDTH), np.nan, np.float32)
            case ["fewer"]:
                return np.ones((len(texts) - 1, WIDTH), np.float32)
            case ["wide"]:
                return np.ones((len(texts), WIDTH + 1), np.float32)
            case ["noise"]:
                os.write(1, b"a library says something\n" * 10_000)
    return np.array([row(text) for text in texts], np.float64)


def load(model: str) -> Callable[[Sequence[str]], Floats]:
    return encode


def load_later(model: str) -> Callable[[Sequence[str]], Floats]:
    """Loads once the pipe with the model's name was written. Ignores SIGTERM."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Path(model).read_bytes()
    return encode


def load_badly(model: str) -> Callable[[Sequence[str]], Floats]:
    """Counts its calls in the file with the model's name, then fails."""
    with Path(model).open("a", encoding="utf-8") as file:
        file.write("x")
    raise ValueError(f"\nthe weights are torn.\nat {model}")


def load_and_die(model: str) -> Callable[[Sequence[str]], Floats]:
    os.write(2, b"first\nthe disk is on fire\n")
    os._exit(9)
