"""The models that a provider lists, in the three formats, and Ollama's details of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tests.servers.model.request import Provider

MODELS: Final[dict[Provider, tuple[str, ...]]] = {
    "openai": ("gpt-5.1", "gpt-5.2", "gpt-5.2-codex", "gpt-4o-mini", "text-embedding-3-small"),
    "anthropic": ("claude-opus-4-5", "claude-sonnet-4-5", "claude-haiku-4-5"),
    "gemini": ("gemini-2.5-pro", "gemini-2.5-flash", "gemini-embedding-001"),
}


def listing(provider: Provider, names: Sequence[str]) -> dict[str, Any]:
    """One page with every name; a Gemini name with `embedding` in it does not generate content."""
    if provider == "anthropic":
        rows = [
            {"type": "model", "id": name, "display_name": display(name), "created_at": "2025-11-01T00:00:00Z"}
            for name in names
        ]
        first, last = (names[0], names[-1]) if names else (None, None)
        return {"data": rows, "has_more": False, "first_id": first, "last_id": last}
    if provider == "gemini":
        return {"models": [_gemini(name) for name in names]}
    owned = {"object": "model", "created": 1_762_000_000, "owned_by": "system"}
    return {"object": "list", "data": [{"id": name, **owned} for name in names]}


def described(parameter_size: str) -> dict[str, Any]:
    """Ollama's /api/show, without its longer texts."""
    details = {"format": "gguf", "family": "llama", "parameter_size": parameter_size, "quantization_level": "Q4_K_M"}
    return {"license": "MIT", "details": details, "model_info": {}, "capabilities": ["completion", "tools"]}


def display(name: str) -> str:
    return name.replace("-", " ").title()


def _gemini(name: str) -> dict[str, Any]:
    methods = ["embedContent"] if "embedding" in name else ["generateContent", "countTokens"]
    return {
        "name": f"models/{name}",
        "version": "001",
        "displayName": display(name),
        "inputTokenLimit": 1_048_576,
        "outputTokenLimit": 65_536,
        "supportedGenerationMethods": methods,
    }
