"""The setting EMBEDDINGS, and the embedder that it asks for."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from routing.errors import ConfigError
from routing.ports import Clock, Embedder, EmbeddingModel
from routing.text import nearest
from routing.tools.embedding.remote import RemoteEmbedder
from routing.tools.embedding.static import StaticEmbedder
from routing.tools.embedding.worker import Launch, WorkerEmbedder
from routing.types.llm import ProviderProfile
from routing.types.model_names import LOCAL_PROVIDER

Kind = Literal["static", "off", "sentence-transformers", "litellm"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_TAKES = "static, off, sentence-transformers:<model or folder> or litellm:<provider>/<model>"
_SHOWN_CHARS = 80
"""Of a name that is too long for the system, in a complaint."""


@dataclass(frozen=True, slots=True)
class Backend:
    """What makes the vectors. `model` is a name or a folder for sentence-transformers, `provider/model` for litellm,
    and empty else."""

    kind: Kind
    model: str = ""

    @property
    def wait_seconds(self) -> float:
        """How long a message waits for its vectors where the owner does not say: what a short text takes in another
        process or on a server of one's own, with room for a busy moment."""
        return {"sentence-transformers": 0.5, "litellm": 1.0}.get(self.kind, 0.05)


def read_backend(text: str) -> Backend:
    """EMBEDDINGS as the environment writes it; blank is static. Raises ConfigError, naming what it takes, also where no
    folder can have this name."""
    word, colon, model = (part.strip() for part in text.partition(":"))
    kind = next((known for known in KINDS if known == (word.lower() if text.strip() else "static")), None)
    if kind is None:
        near = nearest(word, KINDS)
        meant = f" Did you mean {near}?" if near else ""
        raise ConfigError(f"EMBEDDINGS={text.strip()} is not a known encoder.{meant} Use {_TAKES}.")
    if kind in ("static", "off"):
        if colon:
            raise ConfigError(f"EMBEDDINGS={text.strip()}: {kind} takes no model. EMBEDDINGS takes {_TAKES}.")
        return Backend(kind)
    if not model:
        raise ConfigError(f"EMBEDDINGS={text.strip()} lacks a model. It takes {_TAKES}.")
    if kind == "sentence-transformers":
        _folder(model)
    provider, _, name = model.partition("/")
    if kind == "litellm" and not (provider and name):
        raise ConfigError(f"EMBEDDINGS={text.strip()}: {model} must look like provider/model.")
    if kind == "litellm" and provider == LOCAL_PROVIDER:
        raise ConfigError(f"EMBEDDINGS={text.strip()}: the local models make no vectors. EMBEDDINGS takes {_TAKES}.")
    return Backend(kind, model)


def build_embedder(
    backend: Backend, door: EmbeddingModel, profile: Callable[[str], ProviderProfile], clock: Clock
) -> Embedder | None:
    """None where it is off. Nothing is loaded, started or asked before the first call; `profile` says how a provider
    is reached."""
    match backend.kind:
        case "off":
            return None
        case "static":
            return StaticEmbedder.of()
        case "litellm":
            return RemoteEmbedder(backend.model, door, profile)
        case "sentence-transformers":
            return WorkerEmbedder(_name(backend), Launch(_place(backend.model)), clock)


def _folder(model: str) -> Path | None:
    """The folder of this name; None for a name at the Hub. Raises ConfigError where the system can't look for one."""
    try:
        folder = Path(model).expanduser()
        return folder if folder.is_dir() else None
    except RuntimeError:  # of expanduser
        reason = f"there is no home folder {model.partition('/')[0][:_SHOWN_CHARS]}"
    except OSError as error:  # a name that is too long, or a folder that is somebody else's
        reason = f"it can't be looked for ({error.strerror})"
    shown = model if len(model) <= _SHOWN_CHARS else f"{model[:_SHOWN_CHARS]}…"
    raise ConfigError(
        f"EMBEDDINGS=sentence-transformers:{shown} names no model: {reason}. Give a model's name, or its folder."
    )


def _place(model: str) -> str:
    """A folder in full, for the process has a working folder of its own; any other name as it was given."""
    folder = _folder(model)
    return str(folder.resolve()) if folder else model


def _name(backend: Backend) -> str:
    """With the sizes and times of a folder's files, which change with its weights. A name at the Hub stands for one
    model."""
    name = f"{backend.kind}:{backend.model}"
    folder = _folder(backend.model)
    if folder is None:
        return name
    files = sorted(path for pattern in ("*", "*/*") for path in folder.glob(pattern) if path.is_file())
    told = [(path.relative_to(folder).as_posix(), path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    return f"{name}@{hashlib.sha256(repr(told).encode()).hexdigest()[:12]}"
