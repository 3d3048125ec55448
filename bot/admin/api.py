"""The JSON endpoints for programs, with `Authorization: Bearer ADMIN_TOKEN`, and their OpenAPI description."""

from __future__ import annotations

import asyncio
import math
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from bot.admin.access import UNAUTHORIZED, client_address, has_token
from bot.admin.page_context import site_of
from bot.admin.pages.catalogue import discovered
from bot.admin.pages.providers import PROVIDER_NAME
from handlers.version import VERSION
from routing.catalog.provider_models import DiscoveryError
from routing.errors import ConfigError

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_MESSAGE = {
    "type": "object",
    "properties": {"error": {"type": "string"}, "upstream": {"type": ["integer", "null"]}},
    "required": ["error"],
}


async def discover(request: Request) -> JSONResponse:
    """The models that a provider offers now, by display name. 400 without a key, 502 if the provider fails."""
    if (refused := _refused(request)) is not None:
        return refused
    provider = request.path_params["provider"]
    if not PROVIDER_NAME.fullmatch(provider):
        return JSONResponse({"error": "A provider's name has only small letters, digits, - and _."}, 400)
    try:
        saved = await asyncio.to_thread(site_of(request).edits.saved)
        found = await discovered(saved, provider)
    except DiscoveryError as error:
        return JSONResponse({"error": str(error), "upstream": error.upstream}, error.status)
    except TimeoutError:
        return JSONResponse({"error": f"{provider} did not answer in time.", "upstream": None}, 502)
    except ConfigError as error:
        return JSONResponse({"error": str(error)}, 400)
    models = [{"id": model.id, "displayName": model.display_name} for model in found]
    return JSONResponse({"provider": provider, "models": models})


async def openapi(request: Request) -> JSONResponse:
    """The description of these endpoints."""
    return JSONResponse(describe())


def _refused(request: Request) -> JSONResponse | None:
    """The answer to a wrong or missing token; None for the right one."""
    site, address = site_of(request), client_address(request)
    if wait := site.attempts.wait_seconds(address):
        seconds = str(math.ceil(wait))
        return JSONResponse({"error": "Too many wrong tokens. Try again later."}, 429, {"Retry-After": seconds})
    if has_token(request):
        return None
    if "authorization" in request.headers:
        site.attempts.count(address)
    return JSONResponse({"error": UNAUTHORIZED}, 401, {"WWW-Authenticate": "Bearer"})


def describe() -> dict[str, Any]:
    """OpenAPI 3.1."""
    model = {
        "type": "object",
        "properties": {"id": {"type": "string"}, "displayName": {"type": "string"}},
        "required": ["id", "displayName"],
        "additionalProperties": False,
    }
    models = {
        "type": "object",
        "properties": {"provider": {"type": "string"}, "models": {"type": "array", "items": model}},
        "required": ["provider", "models"],
        "additionalProperties": False,
    }
    parameter = {
        "name": "provider",
        "in": "path",
        "required": True,
        "schema": {"type": "string", "pattern": f"^{PROVIDER_NAME.pattern}$"},
        "description": "The prefix of provider/model, such as openai.",
    }
    healthy = {
        "type": "object",
        "properties": {"status": {"enum": ["ok", "unavailable"]}, "reasons": _TEXTS},
        "required": ["status"],
        "additionalProperties": False,
    }
    retry = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds to wait."}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "tierbot", "version": VERSION, "description": "What programs can ask at ADMIN_ADDRESS."},
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "description": "ADMIN_TOKEN"}}
        },
        "paths": {
            "/api/models/discover/{provider}": {
                "get": {
                    "operationId": "discoverModels",
                    "summary": "The models that a provider offers now, by display name.",
                    "security": [{"token": []}],
                    "parameters": [parameter],
                    "responses": {
                        "200": _answer("The models.", models),
                        "400": _answer("There is no key for this provider, or its settings are wrong.", _MESSAGE),
                        "401": _answer("The token is missing or wrong.", _MESSAGE),
                        "429": _answer("Too many wrong tokens.", _MESSAGE) | {"headers": retry},
                        "502": _answer("The provider failed; `upstream` is its status.", _MESSAGE),
                    },
                }
            },
            "/healthz": _probe("isHealthy", "Whether every platform makes progress.", healthy),
            "/readyz": _probe("isReady", "Whether messages can be received, answered and saved.", healthy),
            "/metrics": {
                "get": {
                    "operationId": "metrics",
                    "summary": "Prometheus metrics. On this machine, without ADMIN_URL, no token is needed.",
                    "security": [{"token": []}, {}],
                    "responses": {
                        "200": {"description": "The metrics.", "content": {"text/plain": {"schema": _TEXT}}},
                        "401": {
                            "description": "The token is missing or wrong.",
                            "content": {"text/plain": {"schema": _TEXT}},
                        },
                    },
                }
            },
        },
    }


def _probe(name: str, words: str, schema: dict[str, Any]) -> dict[str, Any]:
    responses = {"200": _answer("Yes.", schema), "503": _answer("No; `reasons` says why.", schema)}
    return {"get": {"operationId": name, "summary": words, "responses": responses}}


def _answer(words: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": words, "content": {"application/json": {"schema": schema}}}


ROUTES = (Route("/api/models/discover/{provider}", discover), Route("/api/openapi.json", openapi))
