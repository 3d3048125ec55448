"""Runs a measurement in a separate process, so that earlier ones affect neither memory nor caches."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
"""Otherwise a second core would count for some and not for others."""


class Failed(Exception):
    """A measurement failed; contains its last output."""


def figures(module: str, arguments: Sequence[str], stdin: str = "") -> dict[str, Any]:
    """The JSON object that a module prints; `stdin` is its standard input. Raises Failed."""
    ended = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        input=stdin,
        env=os.environ | ONE_THREAD,
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode:
        last = (ended.stderr.strip().splitlines() or ["nothing written"])[-1]
        raise Failed(f"{module} {' '.join(arguments)} ended with code {ended.returncode}: {last}")
    found: dict[str, Any] = json.loads(ended.stdout)
    return found
