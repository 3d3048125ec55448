"""Frequent English words, by which a message is known as English: `python -m benchmarks.training.common_words --data
benchmarks/data/tool-routing`, then `python -m benchmarks.training.build_glossary`. Nothing of `dev` is read."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

from benchmarks.training.build_glossary import COMMON, FOLDER
from benchmarks.training.encoder_sources import LEXICON, lines
from routing.tools.selection.words import written

MIN_COUNT = 3
"""Minimum number of uses; names are rarer."""


def common(data: Path) -> list[str]:
    """The frequent words, in alphabetical order."""
    rows = [*lines(data / "train" / "utterances.jsonl"), *lines(LEXICON / "functions.jsonl")]
    counts = Counter(word for row in rows for word in written(str(row["query"])) if word.isascii())
    return sorted(word for word, times in counts.items() if times >= MIN_COUNT and not any(map(str.isdigit, word)))


def main() -> None:
    """Write the list next to the glossaries."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.training.common_words", description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    given = parser.parse_args()
    found = common(given.data)
    (FOLDER / COMMON).write_text("".join(f"{word}\n" for word in found), "utf-8")
    print(json.dumps({"words": len(found), "written": str(FOLDER / COMMON)}))


if __name__ == "__main__":
    main()
