"""Shows the text of a `.env` file without secrets."""

from __future__ import annotations

import re
from io import StringIO

from dotenv.parser import parse_stream
from pydantic import SecretStr

from bot.config.settings import Settings
from routing.redaction import hint, masked, masked_words

_POOL = re.compile("TIER_[A-Z]+_POOL")


def shown_lines(text: str) -> tuple[list[str], list[str]]:
    """The lines of a file, and the same lines as they may be shown: values only of settings that are not secret."""
    raw: list[str] = []
    shown: list[str] = []
    for binding in parse_stream(StringIO(text)):
        if binding.key and not binding.error:
            source = binding.original.string
            before = source[: len(source) - len(source.lstrip("\r\n"))]  # the parser adds empty lines before it
            for line in before.splitlines():
                raw.append(line)
                shown.append(masked(line))
            raw.append(source[len(before) :])
            shown.append(f"{binding.key}={_shown(binding.key.upper(), binding.value or '')}")
        else:
            for line in binding.original.string.splitlines():
                raw.append(line)
                shown.append(masked_words(line))
    return raw, shown


def is_public(name: str) -> bool:
    """Whether the value of this variable may be shown: a setting that holds no secret."""
    if _POOL.fullmatch(name):
        return True
    field = Settings.model_fields.get(name.lower())
    secret = field is None or field.annotation == SecretStr | None
    return not secret and not name.endswith(("_URL", "_PROXY", "_ROOT", "_ENDPOINT"))


def _shown(name: str, value: str) -> str:
    return value if is_public(name) else hint(value) if value else ""
