"""Signing in with the token or a one-time link, signing out, and the static files."""

from __future__ import annotations

import logging
import math
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from bot.admin.access import client_address
from bot.admin.forms import own_path, read_form, read_session_form
from bot.admin.page_context import COOKIE, problem_page, render, site_of
from bot.admin.sessions import SESSION_SECONDS
from bot.admin.token import is_token
from handlers.access.sign_in_links import LINK_MINUTES
from handlers.access.sign_in_links import PATH as LINK_PATH
from routing.types.messages import UserKey

log = logging.getLogger("bot.admin")

FOREVER = "public, max-age=31536000, immutable"
"""Cache-Control of static files, whose address changes with their content."""
WRONG = "That is not the token. It is ADMIN_TOKEN, or the text of the file admin.token in the workspace."
USED = f"This link is not valid any more: it works once, within {LINK_MINUTES} minutes. Send the bot /admin again."


async def sign_in(request: Request) -> Response:
    """The form for the token, and its result."""
    site = site_of(request)
    if request.method != "POST":
        if site.sessions.find(request.cookies.get(COOKIE, "")):
            return RedirectResponse(own_path(request.query_params.get("next", "/")), 303)
        return _form(request, "", request.query_params.get("next", "/"))
    problem, form = await read_form(request)
    then = own_path(form.get("next", ("/",))[0])
    if problem:
        return _form(request, problem, then, 403)
    address = client_address(request)
    if wait := site.attempts.wait_seconds(address):
        return _form(request, f"Too many wrong tokens. Try again in {math.ceil(wait / 60)} min.", then, 429)
    if not is_token(form.get("token", ("",))[0].strip(), site.services.token):
        site.attempts.count(address)
        log.warning("[Admin] Wrong token from %s", address)
        return _form(request, WRONG, then, 403)
    return _welcome(request, then)


async def by_link(request: Request) -> Response:
    """A button that uses the link: programs that only look at links (previews) must not use them up."""
    site = site_of(request)
    if request.method != "POST":
        values = {"code": request.query_params.get("code", "")[:200]}
        return render(request, None, "sign_in_link.html", 200, values)
    problem, form = await read_form(request)
    app = site.services.app()
    if problem:
        return _form(request, problem, "/", 403)
    owner = app.sign_in_links.use(form.get("code", ("",))[0]) if app is not None else None
    if owner is None:
        return _form(request, USED, "/", 403)
    return _welcome(request, "/", owner)


async def sign_out(request: Request) -> Response:
    """End the session, also while the bot starts."""
    site, cookie = site_of(request), request.cookies.get(COOKIE, "")
    session = site.sessions.find(cookie)
    if session is not None:
        problem, _ = await read_session_form(request, session)
        if problem:
            return problem_page(request, session, 403, problem)
    site.sessions.end(cookie)
    response = RedirectResponse("/sign-in", 303)
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return response


async def static(request: Request) -> Response:
    """A file that was read at the start; no path reaches the disk."""
    asset = site_of(request).assets.get(request.path_params["name"])
    if asset is None:
        raise HTTPException(404)
    return Response(asset.content, media_type=asset.media_type, headers={"Cache-Control": FOREVER})


def _form(request: Request, problem: str, then: str, status: int = 200) -> Response:
    values = {"problem": problem, "next": own_path(then)}
    return render(request, None, "sign_in.html", status, values)


def _welcome(request: Request, then: str, owner: UserKey | None = None) -> Response:
    """A new session, also for somebody who has one."""
    site = site_of(request)
    site.sessions.end(request.cookies.get(COOKIE, ""))
    log.info("[Admin] Signed in from %s", client_address(request) or "?")
    ours = urlsplit(site.services.environment.settings.admin_url)
    named = request.headers.get("host"), request.headers.get("origin", "").partition("://")[2]
    proxied = ours.scheme == "https" and ours.netloc in named
    encrypted = proxied or "https" in (request.url.scheme, request.headers.get("x-forwarded-proto", ""))
    response = RedirectResponse(then, 303)
    response.set_cookie(
        COOKIE, site.sessions.begin(owner), int(SESSION_SECONDS), httponly=True, samesite="strict", secure=encrypted
    )
    return response


ROUTES = (
    Route("/sign-in", sign_in, methods=["GET", "POST"]),
    Route(LINK_PATH, by_link, methods=["GET", "POST"]),
    Route("/sign-out", sign_out, methods=["POST"]),
    Route("/static/{name}", static),
)
