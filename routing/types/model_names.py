"""What a model may be called. A name becomes part of an address and of a log line, so its form is checked."""

from __future__ import annotations

import re

LOCAL_PROVIDER = "local"


LOCAL_MODEL = "local/smollm2-135m-instruct"
"""It chats and streams; it does not call tools (measured, dependencies specification)."""


def provider_of(model: str) -> str:
    """`openai/gpt-5.2` → `openai`."""
    return model.partition("/")[0]


OLLAMA = "ollama"


OLLAMA_HOME = "http://127.0.0.1:11434"
"""Where Ollama listens by default."""


LONGEST = 200
"""Characters of a whole name; the longest that is known, a Bedrock profile's, has about 130."""
_PROVIDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PART = re.compile(r"[A-Za-z0-9_@][A-Za-z0-9._:@-]*")
"""One part between slashes. It can't begin with a dot, so there is no `..`."""
NAMED_IN_THE_ADDRESS = frozenset({"gemini", "azure"})
"""Protocols that put the name into the address, where one more slash would be another address."""


def is_model_name(name: str, api_type: str | None = None) -> bool:
    """Whether `provider/model` is safe to send: `openrouter/meta-llama/llama-3:free` is, `gemini/x/../y#` is not.

    `api_type` is the provider's protocol where it is not told by its name. A local model's name is a file's.
    """
    provider, slash, model = name.partition("/")
    if not slash or len(name) > LONGEST or not _PROVIDER.fullmatch(provider):
        return False
    if provider == "local":
        return model.strip() == model != "" and model.isprintable() and ".." not in model.split("/")
    parts = model.split("/")
    if len(parts) > 1 and (api_type or provider) in NAMED_IN_THE_ADDRESS:
        return False
    return all(_PART.fullmatch(part) for part in parts)
