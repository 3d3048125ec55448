"""Requests and the functions that answer them, from the hand-made parts of the package bfcl-eval (Apache-2.0)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

Row = dict[str, str]


def functions(folder: Path, near: set[str], taken: set[str]) -> Iterator[Row]:
    """Requests and their functions, from the hand-made parts (never the live ones). Leaves out rows whose wording is
    `near` a measured query, or whose function name a measured catalogue has `taken`."""
    parts = ["simple_python", "simple_java", "simple_javascript", "multiple", "parallel", "parallel_multiple"]
    files = [f"data/BFCL_v4_{p}.json" for p in parts]
    files += [
        f"data/unused_datasets/question/BFCL_v4_{p}.json"
        for p in ("exec_simple", "exec_multiple", "exec_parallel", "rest")
    ]
    seen = set()
    for file in files:
        answers = answered(folder, Path(file).name)
        for line in (folder / file).read_text("utf-8").splitlines():
            row = json.loads(line)
            query, offered = row["question"][0][-1]["content"], row["function"]
            right = [f for f in offered if len(offered) == 1 or f["name"] in answers.get(row["id"], set())]
            for f in right:
                if (query, f["name"]) in seen or grams(query) & near or plain(f["name"]) in taken:
                    continue
                seen.add((query, f["name"]))
                yield {"query": query, "name": f["name"], "description": f["description"]}


def answered(folder: Path, name: str) -> dict[str, set[str]]:
    """The functions in the answer key, by question."""
    for place in ("data/possible_answer", "data/unused_datasets/possible_answer"):
        if (path := folder / place / name).exists():
            rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
            return {r["id"]: set(re.findall(r"[\w.]+(?=[\"'(])", json.dumps(r["ground_truth"]))) for r in rows}
    return {}


def plain(name: str) -> str:
    """A function's name in lower case, without punctuation, for comparisons."""
    return re.sub(r"[^a-z]", "", name.lower())


def grams(text: str) -> set[str]:
    """All runs of six words. Two texts that share one are near each other."""
    words = re.findall(r"\w+", text.lower())
    return {" ".join(words[i : i + 6]) for i in range(len(words) - 5)} or {" ".join(words)}
