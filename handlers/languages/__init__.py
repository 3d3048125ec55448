"""The languages the bot speaks. English is in the code; `<code>.json` beside this file maps it to another one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent


@cache
def languages() -> dict[str, str]:
    """Language codes with their own names; adding a language is adding a file."""
    others = {path.stem: _table(path.stem)["English"] for path in sorted(_FOLDER.glob("*.json"))}
    return {"en": "English", **others}


@cache
def _table(code: str) -> Mapping[str, str]:
    table: dict[str, str] = json.loads((_FOLDER / f"{code}.json").read_text(encoding="utf-8"))
    return table


class Say:
    """Puts a sentence into a person's language; what has no translation stays English."""

    def __init__(self, language: str) -> None:
        self.language = language if language in languages() else "en"

    def __call__(self, template: str, /, **values: object) -> str:
        if self.language != "en":
            template = _table(self.language).get(template, template)
        return template.format(**values) if values else template
