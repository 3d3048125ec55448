"""Checks model names, which become part of addresses and log lines."""

from __future__ import annotations

import re

LOCAL_PROVIDER = "local"
LOCAL_MODEL = "local/smollm2-135m-instruct"
"""Can chat and stream, but not call tools (measured)."""


def provider_of(model: str) -> str:
    """`openai/gpt-5.2` → `openai`."""
    return model.partition("/")[0]


OLLAMA = "ollama"
OLLAMA_NAMES = frozenset({OLLAMA, "ollama_chat"})
"""LiteLLM has two names for it."""
OWN_MACHINE = frozenset({LOCAL_PROVIDER, "lm_studio", "llamafile"}) | OLLAMA_NAMES
"""Providers that run on the owner's machine and cost nothing."""
OLLAMA_HOME = "http://127.0.0.1:11434"
"""Ollama's default address."""
MAX_NAME_CHARACTERS = 200
"""Maximum length of a full name; the longest known one, a Bedrock profile, has about 130 characters."""
_PROVIDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PART = re.compile(r"[A-Za-z0-9_@][A-Za-z0-9._:@-]*")
"""A part between slashes. It can't begin with a dot, which excludes `..`."""
NAMED_IN_THE_ADDRESS = frozenset({"gemini", "azure"})
"""Protocols with the model name in the URL path, where an extra slash would change the address."""


def is_model_name(name: str, api_type: str | None = None) -> bool:
    """Whether `provider/model` is safe to send: `openrouter/meta-llama/llama-3:free` is, `gemini/x/../y#` is not.

    `api_type` is the provider's protocol if its name doesn't tell. The name of a local model is a file name.
    """
    provider, slash, model = name.partition("/")
    if not slash or len(name) > MAX_NAME_CHARACTERS or not _PROVIDER.fullmatch(provider):
        return False
    if provider == "local":
        return model.strip() == model != "" and model.isprintable() and ".." not in model.split("/")
    parts = model.split("/")
    if len(parts) > 1 and (api_type or provider) in NAMED_IN_THE_ADDRESS:
        return False
    return all(_PART.fullmatch(part) for part in parts)
