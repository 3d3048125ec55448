"""Builds the embedder that EMBEDDINGS names."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

from routing.ports import Clock, Embedder, EmbeddingModel
from routing.tools.embedding.backend import E5_MEAN, E5_MODEL, E5_PACKAGE, Backend, folder_of
from routing.tools.embedding.remote import RemoteEmbedder
from routing.tools.embedding.static import StaticEmbedder
from routing.tools.embedding.worker import Launch, WorkerEmbedder
from routing.types.llm import ProviderProfile

E5_LOADER = "routing.tools.embedding.e5:load"


def build_embedder(
    backend: Backend, client: EmbeddingModel, profile: Callable[[str], ProviderProfile], clock: Clock
) -> Embedder | None:
    """None for "off". Loads and starts nothing before the first call. `profile` returns the settings of a provider."""
    match backend.kind:
        case "off":
            return None
        case "static":
            return StaticEmbedder()
        case "litellm":
            return RemoteEmbedder(backend.model, client, profile)
        case "e5":
            return WorkerEmbedder(e5_name(), Launch(E5_MODEL, E5_LOADER), clock)
        case "sentence-transformers":
            return WorkerEmbedder(_name(backend), Launch(_place(backend.model)), clock)


def e5_name() -> str:
    """The name of the encoder e5, with a hash of all that its vectors depend on."""
    try:
        release = version(E5_PACKAGE)
    except PackageNotFoundError:
        release = "missing"
    return f"e5:{hashlib.sha256(release.encode() + E5_MEAN.read_bytes()).hexdigest()[:12]}"


def _place(model: str) -> str:
    """A folder as an absolute path, because the process has another working folder; other names unchanged."""
    folder = folder_of(model)
    return str(folder.resolve()) if folder else model


def _name(backend: Backend) -> str:
    """Contains a hash of the sizes and times of a folder's files, which change with its weights."""
    name = f"{backend.kind}:{backend.model}"
    folder = folder_of(backend.model)
    if folder is None:
        return name
    files = sorted(path for pattern in ("*", "*/*") for path in folder.glob(pattern) if path.is_file())
    state = [(path.relative_to(folder).as_posix(), path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    return f"{name}@{hashlib.sha256(repr(state).encode()).hexdigest()[:12]}"
