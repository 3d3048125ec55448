"""Ollama's side of the server, at `server.vendor("ollama")`: its models and its refusals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tests.servers.model.failures import failure
from tests.servers.model.request import ModelRequest
from tests.servers.model.script import Failure

VENDOR: Final = "ollama"


@dataclass(frozen=True, slots=True)
class OllamaModel:
    """A pulled model; an Ollama before 0.6.4 names no `capabilities`."""

    capabilities: tuple[str, ...] = ("completion", "tools")
    size: int = 1
    parameters: str = "1.5B"
    remote: bool = False
    made_for: int = 32_768
    """The context length of its training, in tokens."""
    num_ctx: int = 0
    """The context length set in its Modelfile, in tokens; 0: not set."""
    context: int = 0
    """The context length with which it is loaded, in tokens; 0: not loaded."""


def tags(models: Mapping[str, OllamaModel]) -> dict[str, Any]:
    """/api/tags."""
    return {"models": [_row(name, model) for name, model in models.items()]}


def running(models: Mapping[str, OllamaModel]) -> dict[str, Any]:
    """/api/ps."""
    return {"models": [_loaded(name, model) for name, model in models.items() if model.context]}


def shown(model: OllamaModel) -> dict[str, Any]:
    """/api/show, without its longer texts."""
    parameters = 'stop                           "<|im_end|>"'
    if model.num_ctx:
        parameters = f"num_ctx                        {model.num_ctx}\n{parameters}"
    info = {"general.architecture": "qwen2", "qwen2.block_count": 36, "qwen2.context_length": model.made_for}
    capabilities = {"capabilities": list(model.capabilities)} if model.capabilities else {}
    return {"license": "MIT", "parameters": parameters, "details": _details(model), "model_info": info, **capabilities}


def refusal(request: ModelRequest, models: Mapping[str, OllamaModel]) -> Failure | None:
    """Ollama's refusal, in its own words."""
    if request.endpoint in ("tags", "ps", "models"):
        return None
    model = models.get(request.model) or models.get(f"{request.model}:latest")
    if model is None:
        return failure(404, "not_found_error", f"model '{request.model}' not found, try pulling it first")
    if request.body.get("tools") and "tools" not in model.capabilities:
        named = f"registry.ollama.ai/library/{request.model}"
        return failure(400, "invalid_request_error", f"{named} does not support tools")
    if request.body.get("reasoning_effort") not in (None, "none") and "thinking" not in model.capabilities:
        return failure(400, "invalid_request_error", f'"{request.model}" does not support thinking')
    return None


def _row(name: str, model: OllamaModel) -> dict[str, Any]:
    remote = {"remote_model": name, "remote_host": "https://ollama.com"} if model.remote else {}
    return {
        "name": name,
        "model": name,
        "modified_at": "2025-11-01T00:00:00Z",
        "size": model.size,
        "digest": "0" * 64,
        "details": _details(model),
        **remote,
    }


def _loaded(name: str, model: OllamaModel) -> dict[str, Any]:
    row = {key: value for key, value in _row(name, model).items() if key != "modified_at"}
    return row | {
        "expires_at": "2025-11-01T00:05:00Z",
        "size_vram": model.size,
        "context_length": model.context,
    }


def _details(model: OllamaModel) -> dict[str, Any]:
    return {"format": "gguf", "family": "qwen2", "parameter_size": model.parameters, "quantization_level": "Q4_K_M"}
