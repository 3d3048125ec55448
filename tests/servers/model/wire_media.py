"""Transcripts, sounds and pictures, as OpenAI sends them."""

from __future__ import annotations

import base64
from email import message_from_bytes, policy
from typing import Any, Final

from tests.servers.model.request import ModelRequest
from tests.servers.model.script import Script

HEARD: Final = "what I said aloud"
"""The transcript if nothing is scripted."""
SOUND: Final = b"OggS\x00 a spoken answer"
PICTURE: Final = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
"""A PNG of one pixel."""


def whole(script: Script, request: ModelRequest) -> dict[str, Any]:
    """A transcript, or a picture: the script's bytes, or its text as an address."""
    if request.endpoint == "transcriptions":
        usage = {"type": "duration", "seconds": script.seconds} if script.seconds else None
        return {"text": script.text or HEARD} | ({"usage": usage} if usage else {})
    content = {"url": script.text} if script.text else {"b64_json": base64.b64encode(script.media or PICTURE).decode()}
    count = script.count(len(request.raw))
    answer: dict[str, Any] = {"created": 1_760_000_000, "data": [content]}
    if count is not None:
        answer["usage"] = {
            "input_tokens": count.input,
            "output_tokens": count.output,
            "total_tokens": count.input + count.output,
            "input_tokens_details": {"text_tokens": count.input, "image_tokens": 0},
        }
    return answer


def form(content_type: str, raw: bytes) -> tuple[dict[str, Any], bytes]:
    """The fields of a multipart form, and the content of its file; the field of the file is its name."""
    head = f"Content-Type: {content_type}\r\n\r\n".encode()
    fields: dict[str, Any] = {}
    upload = b""
    for part in message_from_bytes(head + raw, policy=policy.HTTP).iter_parts():
        name = part.get_param("name", header="content-disposition")
        data = part.get_payload(decode=True)
        assert isinstance(data, bytes)
        if part.get_filename() is not None:
            upload, fields[str(name)] = data, part.get_filename()
        else:
            fields[str(name)] = data.decode()
    return fields, upload
