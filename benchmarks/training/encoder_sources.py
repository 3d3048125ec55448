"""The encoder's training data: rows of texts with the same meaning, by source.

Each row is one meaning: an intent's utterances, a function with its requests, a phrase in twenty languages. Two texts
of a row are a positive pair; texts of other rows are the negatives. Nothing in `benchmarks/data/tool-routing/dev` is
read.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

LEXICON = Path(__file__).parent / "lexicon"
Text = tuple[str, str]
"""The text and its language."""


@dataclass(frozen=True, slots=True)
class Source:
    """Rows of one kind.

    `share` says how often a batch is drawn from it; `directed`: the last text of a row describes the others.
    """

    name: str
    share: float
    rows: list[list[Text]]
    directed: bool = False


def sources(data: Path, metatool: bool) -> list[Source]:
    """All sources; without `metatool`, MetaTool's own rows are left out, to measure on an unseen catalogue."""
    found = [*utterances(data), assistant(data), functions(), *requests()]
    if metatool:
        found.append(Source("metatool", 1.0, examples(data / "metatool.examples.json")))
    return [*found, *languages()]


def utterances(data: Path) -> list[Source]:
    """CLINC150, and HWU64 with SLURP (the same intents), each with and without the descriptions of the intents."""
    described = dict(table("intents"))
    by: dict[str, dict[str, list[str]]] = {"clinc": defaultdict(list), "hwu": defaultdict(list)}
    for row in lines(data / "train" / "utterances.jsonl"):
        by["clinc" if row["source"] == "clinc" else "hwu"][str(row["label"])].append(str(row["query"]))
    found = []
    for name, labels in by.items():
        descriptions = {label: described[f"{name}:{label}"] for label in labels if f"{name}:{label}" in described}
        rows = {label: [(text, "en") for text in labels[label]] for label in descriptions}
        found.append(Source(name, 1.0, list(rows.values())))
        found.append(
            Source(f"{name} described", 0.5, [[*rows[k], (descriptions[k], "en")] for k in descriptions], directed=True)
        )
    return found


def assistant(data: Path) -> Source:
    """The examples of the assistant's tools, without the negative examples."""
    return Source("assistant", 0.5, examples(data / "assistant.examples.json"))


def examples(path: Path) -> list[list[Text]]:
    found = json.loads(path.read_text("utf-8"))
    return [[(text, "en") for text in texts] for name, texts in found.items() if name != "__none__" and len(texts) > 1]


def functions() -> Source:
    """Requests and the function that answers them: its name as words, and its description."""
    by: dict[str, list[Text]] = defaultdict(list)
    for row in lines(LEXICON / "functions.jsonl"):
        by[f"{spoken(str(row['name']))}: {row['description']}"].append((str(row["query"]), "en"))
    return Source("functions", 0.7, [[*queries, (text, "en")] for text, queries in by.items()], directed=True)


def requests() -> list[Source]:
    """Tools of many fields and requests for them, in English and in Korean (with the tool's English name)."""
    english: list[list[Text]] = [
        [*((text, "en") for text in texts.split("|")), (tool, "en")] for tool, texts in table("requests")
    ]
    korean: list[list[Text]] = [
        [*((text, "ko") for text in texts.split("|")), (name, "en"), (tool, "ko")]
        for tool, name, texts in table("korean")
    ]
    return [Source("requests", 0.5, english, directed=True), Source("korean", 0.4, korean, directed=True)]


def languages() -> list[Source]:
    """The lexicon: texts with the same meaning in many languages."""
    found = [Source("words", 1.0, parallel("words", "/")), Source("sentences", 1.5, parallel("sentences", "|"))]
    for name, share in (("interface", 1.0), ("annotations", 1.0), ("names", 0.3), ("skills", 0.5)):
        rows = []
        for row in lines(LEXICON / f"{name}.jsonl"):
            texts: list[Text] = []
            for language, value in row.items():
                if language == "intent":
                    continue
                several = value if isinstance(value, list) else [str(value)]
                texts += [(text, language) for text in several]
                if name == "annotations" and len(several) > 1:
                    texts.append((" ".join(several), language))
            rows.append(texts)
        found.append(Source(name, share, rows))
    return found


def parallel(name: str, mark: str) -> list[list[Text]]:
    """One row per line: the wordings in all languages."""
    header, *rest = table(name)
    return [[(text, code) for code, cell in zip(header, row, strict=True) for text in cell.split(mark)] for row in rest]


def table(name: str) -> list[list[str]]:
    return [line.split("\t") for line in (LEXICON / f"{name}.tsv").read_text("utf-8").splitlines()]


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def spoken(name: str) -> str:
    """`getUserInfo` and `get_user.info` as "get user info"."""
    return re.sub(r"[_.\-/]+", " ", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)).lower()
