"""HTTP bodies: form, multipart and JSON requests, and JSON answers."""

import json
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import BodyPartReader, web

from tests.servers.telegram.errors import ApiError, Breach
from tests.servers.telegram.values import Json
from tests.servers.uploads import Upload

MAX_BODY = 64 * 2**20


async def read_params(request: web.BaseRequest) -> Json:
    """Query and body together; file parts become `Upload`. Raises Breach for a body that cannot be read."""
    params: Json = dict(request.query)
    kind = request.content_type
    if kind == "multipart/form-data":
        return params | await _multipart(request)
    body = await request.read()
    if not body:
        return params
    try:
        if kind == "application/json":
            return params | dict(json.loads(body))
        return params | dict(parse_qsl(body.decode(), keep_blank_values=True, strict_parsing=True))
    except ValueError as error:
        raise Breach(f"can't parse the request body: {error}") from None


async def _multipart(request: web.BaseRequest) -> Json:
    params: Json = {}
    async for part in await request.multipart():
        if not isinstance(part, BodyPartReader) or part.name is None:
            raise Breach("can't parse the request body: a nameless part")
        data = bytes(await part.read(decode=True))
        if part.filename is None:
            params[part.name] = data.decode()
        else:
            mime = part.headers.get("Content-Type", "application/octet-stream")
            params[part.name] = Upload(part.filename, data, mime)
    return params


def accepted(result: Any) -> web.Response:
    return web.json_response({"ok": True, "result": result})


def refused(error: ApiError) -> web.Response:
    body: Json = {"ok": False, "error_code": error.code, "description": error.description}
    headers = {}
    if error.parameters:
        body["parameters"] = error.parameters
    if "retry_after" in error.parameters:
        headers["Retry-After"] = str(error.parameters["retry_after"])
    return web.json_response(body, status=error.code, headers=headers)
