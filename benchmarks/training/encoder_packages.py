"""The lexicon's files made from published packages. Run again only to take newer ones; the files are in the project.

Usage: `python -m benchmarks.training.encoder_packages --packages FOLDER --dev FOLDER`. The folder holds the unpacked
packages named in lexicon/README.md. What a source says of a thing in many languages becomes one line
`{"en": ..., "de": ...}`. A row that comes near a query of `--dev` (measuring rows, never trained on) is left out.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.training.encoder_functions import functions, grams, plain

HERE = Path(__file__).parent / "lexicon"
LANGUAGES = [
    "en",
    "de",
    "fr",
    "es",
    "pt",
    "it",
    "nl",
    "sv",
    "da",
    "pl",
    "tr",
    "ru",
    "uk",
    "ar",
    "ko",
    "ja",
    "zh",
    "id",
    "sr",
    "lt",
    "kk",
    "cs",
    "fi",
    "hu",
]
INTERFACE_NAMES = {"sr": "sr-Latn", "zh": "zh-Hans"}
ANNOTATION_NAMES = {"sr": "sr-Latn"}
BABEL_NAMES = {"sr": "sr_Latn"}
UTTERANCES = 12
"""Maximum number of utterances of one intent in one language; intents with hundreds of templates add little."""

Row = dict[str, Any]


def flat(tree: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """The leaves of a tree of strings, by path."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from flat(value, f"{path}.{key}")
    elif isinstance(tree, str):
        yield path, tree


def interface(folder: Path) -> Iterator[Row]:
    """Short phrases of a home automation interface in all languages (no placeholders, at most eight English words)."""
    texts: dict[str, dict[str, str]] = {}
    for language in LANGUAGES:
        code = INTERFACE_NAMES.get(language, language)
        found = re.compile(rf"{code}-[0-9a-f]{{32}}\.json")
        files = sorted(f for f in folder.rglob(f"{code}-*.json") if found.fullmatch(f.name))
        texts[language] = {key: text for f in files for key, text in flat(json.loads(f.read_text("utf-8")))}
    seen = set()
    for key, english in sorted(texts["en"].items()):
        if any(mark in english for mark in "{}<>`\n") or len(english.split()) > 8 or english.lower() in seen:
            continue
        seen.add(english.lower())
        others = {
            lang: text for lang in LANGUAGES if (text := texts[lang].get(key)) and (lang == "en" or text != english)
        }
        if len(others) > 3:
            yield others


def emoji(folder: Path) -> Iterator[Row]:
    """The keywords of emoji. Flags are left to the names of the countries."""
    trees = {}
    for language in LANGUAGES:
        path = folder / "annotations" / ANNOTATION_NAMES.get(language, language) / "annotations.json"
        trees[language] = json.loads(path.read_text("utf-8"))["annotations"]["annotations"]
    for sign, english in trees["en"].items():
        if "flag" in english.get("default", []) or not english.get("tts") or len(english.get("default", [])) < 2:
            continue
        row = {}
        for language, tree in trees.items():
            names = tree.get(sign, {})
            words = list(dict.fromkeys([*names.get("tts", []), *names.get("default", [])]))
            row[language] = [word for word in words if len(word) < 32][:6]
        row = {language: words for language, words in row.items() if words}
        if len(row) > 18:
            yield row


def names() -> Iterator[Row]:
    """Countries, languages, currencies, units, months, days and "tomorrow", from CLDR through Babel."""
    from babel import Locale

    tables: dict[str, dict[str, str]] = defaultdict(dict)
    for language in LANGUAGES:
        locale = Locale.parse(BABEL_NAMES.get(language, language))
        put = tables[language]
        put.update({f"territory {k}": v for k, v in locale.territories.items() if len(k) == 2})
        put.update({f"language {k}": v for k, v in locale.languages.items() if len(k) == 2})
        put.update({f"currency {k}": v for k, v in locale.currencies.items()})
        for width in ("wide",):
            put.update({f"month {k}": v for k, v in locale.months["stand-alone"][width].items()})
            put.update({f"day {k}": v for k, v in locale.days["stand-alone"][width].items()})
        data: Any = locale._data
        put.update(
            {
                f"unit {k}": v["long"]["other"].replace("{0}", "").strip()
                for k, v in data["unit_patterns"].items()
                if isinstance(v, dict) and isinstance(v.get("long"), dict) and "other" in v["long"]
            }
        )
        put.update({f"field {k}": v for k, v in flat(dict(data.get("date_fields", {}))) if "{0}" not in v})
    for key, english in tables["en"].items():
        row = {"en": english} | {lang: put[key] for lang, put in tables.items() if key in put and lang != "en"}
        if len(row) > 15 and "{" not in english:
            yield row


def sample_utterance(template: str, rng: random.Random) -> str:
    """A random utterance of a template: one choice of each (a | b), [optional] parts included, {slots} removed."""
    before = None
    while before != template:
        before = template
        template = re.sub(r"\(([^()]*)\)", lambda m: rng.choice(m[1].split("|")), template)
    template = re.sub(r"\{[^}]*\}|[\[\]]", " ", template)
    return re.sub(r"\s+", " ", template).strip()


def skills(folder: Path) -> Iterator[Row]:
    """What people say to voice skills: one row per intent, utterances by language."""
    rng = random.Random(0)
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for file in sorted(folder.rglob("*")):
        place = re.search(r"(ovos_skill_\w+)/.*/locale/([a-z]{2})(?:-[a-z]+)?/", file.as_posix())
        if not place or file.suffix not in {".intent", ".voc"} or place[2] not in LANGUAGES:
            continue
        lines = [
            line for line in file.read_text("utf-8", errors="ignore").splitlines() if line.strip() and line[0] != "#"
        ]
        found[f"{place[1]}/{file.name}"][place[2]] += [sample_utterance(line, rng) for line in lines]
    for key, by in found.items():
        row = {lang: sorted({text for text in texts if text}) for lang, texts in by.items()}
        row = {lang: rng.sample(texts, min(UTTERANCES, len(texts))) for lang, texts in row.items() if texts}
        if "en" in row:
            yield {"intent": key, **row}


def write(name: str, rows: Iterator[Row], keys: set[str]) -> None:
    """Write one JSON object per line, without rows whose English text is a measured query."""
    kept = [row for row in rows if not {str(v).lower() for v in row.values() if isinstance(v, str)} & keys]
    for row in kept:
        for key, value in row.items():
            if isinstance(value, list):
                row[key] = [text for text in value if text.lower() not in keys]
    text = "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in kept)
    (HERE / f"{name}.jsonl").write_text(text, "utf-8")
    print(f"{name}: {len(kept)} rows, {len(text.encode()) // 1024} KiB")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--packages", type=Path, required=True)
    parser.add_argument("--dev", type=Path, required=True)
    args = parser.parse_args()
    queries = {json.loads(line)["query"] for f in sorted(args.dev.glob("*.jsonl")) for line in f.open(encoding="utf-8")}
    whole = {q.lower() for q in queries if len(q.split()) > 2}
    catalogues = [json.loads(file.read_text("utf-8")) for file in sorted(args.dev.parent.glob("*.catalog.json"))]
    taken = {plain(entry["name"]) for catalogue in catalogues for entry in catalogue}
    near = set().union(*(grams(q) for q in queries))
    write("interface", interface(args.packages / "home_assistant_frontend"), whole)
    write("annotations", emoji(args.packages / "cldr" / "package"), whole)
    write("names", names(), whole)
    write("skills", skills(args.packages), whole)
    write("functions", functions(args.packages / "bfcl_eval" / "bfcl_eval", near, taken), whole)


if __name__ == "__main__":
    main()
