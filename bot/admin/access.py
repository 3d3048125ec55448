"""Who may see what over HTTP."""

from __future__ import annotations

import ipaddress
import re

from starlette.exceptions import HTTPException
from starlette.requests import Request

from bot.admin.services import AdminServices
from bot.admin.token import is_token
from handlers.http.addresses import is_loopback

UNAUTHORIZED = "Give the token of ADMIN_TOKEN, or of admin.token in the workspace: Authorization: Bearer <token>"
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9.-]+))(?::\d{1,5})?")
_PROXIED = ("forwarded", "x-forwarded-for", "x-real-ip", "via")


def services_of(request: Request) -> AdminServices:
    """The services that the app was built with."""
    services: AdminServices = request.app.state.services
    return services


def has_token(request: Request) -> bool:
    """Whether the request carries `Authorization: Bearer` with the right token."""
    scheme, _, given = request.headers.get("authorization", "").strip().partition(" ")
    return scheme.lower() == "bearer" and is_token(given.strip(), services_of(request).token)


def require_token(request: Request) -> None:
    """Raises HTTPException 401 without the token."""
    if not has_token(request):
        raise HTTPException(401, UNAUTHORIZED, {"WWW-Authenticate": "Bearer"})


def is_local(request: Request) -> bool:
    """Whether the request comes from a program on this machine, and not through a proxy on it or from a page of another
    site in a browser."""
    client, headers = request.client, request.headers
    if client is None or not is_loopback(client.host) or any(name in headers for name in _PROXIED):
        return False
    return is_address_or_local(headers.get("host", ""))


def client_address(request: Request) -> str:
    """Where the request comes from; empty if that is not known."""
    return request.client.host if request.client else ""


def is_address_or_local(host: str) -> bool:
    """Whether a Host header, with or without a port, names an IP address or localhost. A page of another site that
    resolves its own name to this machine (DNS rebinding) sends its name."""
    match = _HOST.fullmatch(host)
    if match is None:
        return False
    try:
        return bool(ipaddress.ip_address(match[1] or match[2]))
    except ValueError:
        return match[2] is not None and match[2].lower() == "localhost"
