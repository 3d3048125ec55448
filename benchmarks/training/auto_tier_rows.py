"""Training rows of `/tier auto`: `sayings/` (templates, one file per language) and `auto_tier_training.tsv` (messages).

A line of the TSV file is a language, a part and a text. The part is the accepted tiers of a message, or what people
say around one: `before` and `after` it, a `story` that has nothing to do with it, `spoken` filler words, a `request`
about a given text, and such a text (`material`). Each message is used as it is and within such words, whatever its
tier, so that neither length nor politeness tells anything.
"""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.auto_tier import LATER_SETS, TUNING, UNUSED, Row, read
from routing.policy.auto.preprocessing import fold, runs, split
from routing.types.tiers import TIERS, Tier

SAYINGS = Path(__file__).parent / "sayings"
MESSAGES = Path(__file__).parents[1] / "data" / "auto_tier_training.tsv"
REQUESTS_FOR_TOOLS = Path(__file__).parent / "lexicon" / "sentences.tsv"
UTTERANCES = Path(__file__).parents[1] / "data" / "tool-routing" / "train" / "utterances.jsonl"
"""What people ask of assistants, all of it balanced: own sentences in 21 languages, and a public set in English."""
UTTERANCES_PER_LABEL = 5
LABELS_OF_OTHER_TIERS = frozenset({"improve_credit_score", "insurance", "meaning_of_life", "rollover_401k", "taxes"})
ROWS_PER_LANGUAGE: Mapping[tuple[Tier, ...], int] = {
    ("balanced",): 120,
    ("smart",): 120,
    ("smart", "deep"): 12,
    ("coding",): 80,
    ("deep",): 45,
}
"""Number of generated rows per language, by accepted tiers."""
SENTENCE, MADE, WRITTEN, FRAMED, ASKED = KINDS = ("sentence", "made", "written", "framed", "asked")
"""Kinds of rows: a complete saying, one filled in from a template, a message of the TSV file, one within a frame, and
what people ask of assistants."""
FRAMES_PER_MESSAGE, FRAMED_SAYINGS = 2, 0.5
"""Framed rows for each message of the TSV file, and the share of sayings that get one."""
STORIES, REQUESTS = 30, 60
"""Rows per language that are only a story, and that are a request about a given text; both are balanced."""
BEFORE, AFTER, STORY, SPOKEN, REQUEST, MATERIAL = PARTS = ("before", "after", "story", "spoken", "request", "material")
UNSPACED_LANGUAGES = frozenset({"ja", "zh"})
CHARACTERS_PER_TYPO = 18
WORDS_ALIKE, SIGNS_ALIKE = 5, 9
"""Words, or characters of text without spaces: a training row that shares such a run with a measured message is
dropped."""
EVERYDAY: tuple[Tier, ...] = ("balanced",)

Texts = Mapping[str, Sequence[str]]
"""The texts of one language, by part."""
_SLOT = re.compile(r"\{(\w+)\}")
_ENDS = ".?!。？！;؟।…)："


def read_messages(file: Path = MESSAGES) -> dict[str, Texts]:
    """The texts of the TSV file, by language and part. Raises ValueError for an unknown part."""
    found: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for line in file.read_text("utf-8").splitlines():
        language, part, text = line.split("\t")
        if part not in PARTS:
            _tiers(part, file)
        found[language][part].append(text)
    return {language: dict(parts) for language, parts in found.items()}


def message_rows(seed: int = 0) -> Iterator[Row]:
    """The messages of the TSV file, plain and framed, with stories and requests about texts."""
    for language, texts in read_messages().items():
        rng = random.Random(f"{seed} {language}")
        for part, messages in texts.items():
            if part in PARTS:
                continue
            for message in messages:
                yield Row(message, _tiers(part, MESSAGES), language, WRITTEN)
                for _ in range(FRAMES_PER_MESSAGE):
                    yield Row(frame(message, texts, rng, language), _tiers(part, MESSAGES), language, FRAMED)
        space = _space(language)
        for _ in range(STORIES):
            yield Row(space.join(rng.sample(texts[STORY], rng.choice([1, 2, 3, 5]))), EVERYDAY, language, FRAMED)
        for _ in range(REQUESTS):
            yield Row(_about_text(texts, rng, space), EVERYDAY, language, FRAMED)


def assistant_rows(seed: int = 0) -> Iterator[Row]:
    """What people ask of assistants."""
    languages, *lines = (line.split("\t") for line in REQUESTS_FOR_TOOLS.read_text("utf-8").splitlines())
    for cells in lines:
        for language, cell in zip(languages, cells, strict=True):
            yield from (Row(text, EVERYDAY, language, ASKED) for text in cell.split("|"))
    by_label: defaultdict[str, list[str]] = defaultdict(list)
    for line in UTTERANCES.read_text("utf-8").splitlines():
        said = json.loads(line)
        by_label[said["label"]].append(said["query"])
    rng = random.Random(seed)
    for label in sorted(by_label.keys() - LABELS_OF_OTHER_TIERS):
        texts = by_label[label]
        yield from (
            Row(text, EVERYDAY, "en", ASKED) for text in rng.sample(texts, min(UTTERANCES_PER_LABEL, len(texts)))
        )


def frame(message: str, texts: Texts, rng: random.Random, language: str) -> str:
    """The message within polite words or a story, as if dictated, or with typing errors."""
    space = _space(language)
    said, closed = message[:1].upper() + message[1:], _closed(message, language)
    forms = (
        lambda: (rng.choice(texts[BEFORE]), message),
        lambda: (closed, rng.choice(texts[AFTER])),
        lambda: (rng.choice(texts[BEFORE]), closed, rng.choice(texts[AFTER])),
        lambda: (rng.choice(texts[STORY]), said),
        lambda: (rng.choice(texts[BEFORE]), rng.choice(texts[STORY]), closed, rng.choice(texts[AFTER])),
        lambda: (*rng.sample(texts[STORY], 2), closed),
        lambda: (*rng.sample(texts[STORY], 2), closed, rng.choice(texts[AFTER])),
        lambda: (closed, rng.choice(texts[STORY])),
        lambda: (rng.choice(texts[BEFORE]), *rng.sample(texts[STORY], 4), closed, rng.choice(texts[AFTER])),
        lambda: (re.sub("[,.?!]", "", f"{rng.choice(texts[SPOKEN])} {message}".lower()),),
        lambda: (_mistyped(message, rng),),
    )
    return space.join(rng.choice(forms)())


def _about_text(texts: Texts, rng: random.Random, space: str) -> str:
    request, given = rng.choice(texts[REQUEST]), rng.choice(texts[MATERIAL])
    if rng.random() < 0.3:
        given += space + rng.choice(texts[MATERIAL])
    break_ = rng.choice(["\n", "\n\n", " "])
    text = f"{request}{break_}{given}" if rng.random() < 0.75 else f"{given}\n\n{request}"
    return rng.choice(texts[BEFORE]) + space + text if rng.random() < 0.3 else text


def _mistyped(message: str, rng: random.Random) -> str:
    characters = list(message)
    for _ in range(max(1, len(characters) // CHARACTERS_PER_TYPO)):
        at, kind = rng.randrange(len(characters)), rng.randrange(3)
        if kind == 0 and at + 1 < len(characters):
            characters[at], characters[at + 1] = characters[at + 1], characters[at]
        elif characters[at] != " ":
            characters[at] = "" if kind == 1 else characters[at] * 2
    return "".join(characters)


def _closed(message: str, language: str) -> str:
    """The message with a capital letter and a full stop."""
    end = "" if message[-1] in _ENDS or language == "th" else "。" if language in UNSPACED_LANGUAGES else "."
    return f"{message[:1].upper()}{message[1:]}{end}"


def _space(language: str) -> str:
    return "" if language in UNSPACED_LANGUAGES else " "


def read_sayings(file: Path) -> tuple[dict[str, list[str]], dict[tuple[Tier, ...], list[str]]]:
    """The lists and the sentences of one language. Raises ValueError for an unknown tier or list."""
    lists: defaultdict[str, list[str]] = defaultdict(list)
    sentences: defaultdict[tuple[Tier, ...], list[str]] = defaultdict(list)
    items: list[str] = []
    for line in filter(None, file.read_text("utf-8").splitlines()):
        sign, name = line[0], line[2:]
        if sign == "=":
            items = lists[name]
        elif sign == ">":
            items = sentences[_tiers(name, file)]
        else:
            items.extend(line.split(" | "))
    for sentence in (each for group in sentences.values() for each in group):
        if unknown := {*_SLOT.findall(sentence)} - {*lists}:
            raise ValueError(f"{file.name}: no list {unknown} for {sentence!r}")
    return dict(lists), dict(sentences)


def _tiers(names: str, file: Path) -> tuple[Tier, ...]:
    found = tuple(tier for tier in TIERS if tier in names.split())
    if len(found) != len(names.split()):
        raise ValueError(f"{file.name}: {names!r} are no tiers")
    return found


def generate(seed: int = 0) -> Iterator[Row]:
    """Rows of every language: each sentence in turn, its slots filled at random, without duplicates."""
    for file in sorted(SAYINGS.glob("*.txt")):
        rng = random.Random(f"{seed} {file.stem}")
        lists, sentences = read_sayings(file)
        for accepted, templates in sentences.items():
            shuffled = rng.sample(templates, len(templates))
            seen: set[str] = set()
            for turn in range(4 * ROWS_PER_LANGUAGE[accepted]):
                sentence = shuffled[turn % len(templates)]
                text = _filled(sentence, lists, rng)
                if text not in seen and len(seen) < ROWS_PER_LANGUAGE[accepted]:
                    seen.add(text)
                    yield Row(_written(text, rng), accepted, file.stem, SENTENCE if text == sentence else MADE)


def _filled(sentence: str, lists: Mapping[str, Sequence[str]], rng: random.Random) -> str:
    return _SLOT.sub(lambda slot: rng.choice(lists[slot[1]]), sentence)


def _written(text: str, rng: random.Random) -> str:
    """Some people write without capitals or full stops."""
    chance = rng.random()
    if chance < 0.2:
        return text.rstrip(".?!。？").lower()
    return text[:1].upper() + text[1:] if chance < 0.6 else text


def wordings(text: str) -> set[str]:
    """All runs of five words, and of nine characters where there are no spaces."""
    folded = fold(text)
    words = split(folded)
    found = {" ".join(words[start : start + WORDS_ALIKE]) for start in range(len(words) - WORDS_ALIKE + 1)}
    for run in runs(folded):
        found |= {run[start : start + SIGNS_ALIKE] for start in range(len(run) - SIGNS_ALIKE + 1)}
    return found


def framed_sayings(seed: int = 0) -> Iterator[Row]:
    """The generated sayings, and a part of them within a frame."""
    messages = read_messages()
    for row in generate(seed):
        yield row
        rng = random.Random(f"{seed} {row.text}")
        if rng.random() < FRAMED_SAYINGS:
            yield Row(frame(row.text, messages[row.language], rng, row.language), row.accepted, row.language, MADE)


def training_rows(seed: int = 0) -> Iterator[Row]:
    """All rows except those that share wording with a measured message, and the half for tuning."""
    measured = [row for row in read() if row.half == UNUSED]
    measured += [row for path in LATER_SETS for row in read(path)]
    texts = {row.text.casefold() for row in measured}
    taken = {wording for row in measured for wording in wordings(row.text)}
    for row in (*framed_sayings(seed), *message_rows(seed), *assistant_rows(seed)):
        if row.text.casefold() not in texts and not taken & wordings(row.text):
            yield row
    yield from (row for row in read() if row.half == TUNING and not row.previous and not row.pictures)
