"""What a tool gave, as text for the model. It is data of somebody else's: the router tells the model so."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

from mcp import types

from routing.text import storable


def told(result: types.CallToolResult, most_chars: int, hidden: Callable[[str], str] = str) -> str:
    """All that can be said in words. Pictures, sounds and files are named; what is too long is cut, and says so.
    `hidden` takes the secrets out before the cut: half of a secret would not be found."""
    texts = [text for block in result.content if (text := _block(block))]
    if result.structured_content is not None and not _says(texts, result.structured_content):
        texts.append(json.dumps(result.structured_content, ensure_ascii=False))
    text = hidden(storable("\n\n".join(texts)))
    if len(text) <= most_chars:
        return text
    return f"{text[:most_chars]}\n[cut: the result has {len(text):,} characters; ask for less]"


def _block(block: types.ContentBlock) -> str:
    match block:
        case types.TextContent():
            return block.text
        case types.ImageContent() | types.AudioContent():
            return f"[{block.type} {block.mime_type}, {_size(block.data)}: it can't be shown here]"
        case types.ResourceLink():
            return f"[resource {' '.join(_known(block.name, block.uri, block.mime_type, block.description))}]"
        case types.EmbeddedResource(resource=types.TextResourceContents() as held):
            return f"[resource {held.uri}]\n{held.text}"
        case types.EmbeddedResource(resource=types.BlobResourceContents() as held):
            return f"[file {' '.join(_known(held.uri, held.mime_type))}, {_size(held.blob)}: it can't be shown here]"
    return ""


def _known(*words: str | None) -> Iterator[str]:
    return (word for word in words if word)


def _size(encoded: str) -> str:
    """Base64 has four signs for three bytes."""
    size = len(encoded) * 3 // 4
    return f"{size / 1000:,.0f} kB" if size >= 1000 else f"{size} bytes"


def _says(texts: Sequence[str], structured: object) -> bool:
    """Whether one of the texts is the same, as the protocol asks for, or the only value in it."""
    only = next(iter(structured.values())) if isinstance(structured, dict) and len(structured) == 1 else structured
    return any(text == only or _parsed(text) in (structured, only) for text in texts)


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
