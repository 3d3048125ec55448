"""HTTP bodies: JSON and multipart requests, and JSON answers."""

import json
import re
from typing import Any

from aiohttp import BodyPartReader, web

from tests.servers.discord.errors import ApiError, Breach
from tests.servers.uploads import Upload

MAX_BODY = 30 * 2**20
_FILE = re.compile(r"files\[(\d+)\]")


async def read_body(request: web.BaseRequest) -> tuple[Any, dict[int, Upload]]:
    """The JSON body (None when there is none), and the files by their number. Raises Breach when it can't be read."""
    if request.content_type == "multipart/form-data":
        return await _multipart(request)
    data = await request.read()
    if not data:
        return None, {}
    if request.headers.get("Content-Type", "").partition(";")[0] != "application/json":
        raise Breach("the body is neither JSON nor multipart", 400, 50035, "Invalid Form Body")
    return _json(data), {}


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError as error:
        raise Breach(f"not JSON: {error}", 400, 50109, "The request body contains invalid JSON.") from None


async def _multipart(request: web.BaseRequest) -> tuple[Any, dict[int, Upload]]:
    body: Any = {}
    files: dict[int, Upload] = {}
    async for part in await request.multipart():
        if not isinstance(part, BodyPartReader) or part.name is None:
            raise Breach("a nameless part", 400, 50035, "Invalid Form Body")
        data = bytes(await part.read(decode=True))
        numbered = _FILE.fullmatch(part.name)
        if part.name == "payload_json":
            body = _json(data)
        elif numbered and part.filename is not None:
            mime = part.headers.get("Content-Type", "application/octet-stream")
            files[int(numbered[1])] = Upload(part.filename, data, mime)
        else:
            raise Breach(f"part {part.name!r}", 400, 50035, "Invalid Form Body")
    return body, files


def answer(status: int, body: Any, headers: dict[str, str]) -> web.Response:
    """Content-Type is exactly "application/json": discord.py accepts nothing else as JSON."""
    if body is None:
        return web.Response(status=status, headers=headers)
    return web.Response(status=status, body=json.dumps(body).encode(), content_type="application/json", headers=headers)


def refused(error: ApiError, headers: dict[str, str]) -> web.Response:
    return answer(error.status, error.json(), headers | error.headers)
