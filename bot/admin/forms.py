"""Forms that people send: what they hold, and whether they come from a page of ours."""

from __future__ import annotations

import math
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import Request

from bot.admin.access import services_of
from bot.admin.sessions import Session
from routing.errors import ConfigError

MAX_FIELDS = 2_000
FORM_TYPE = "application/x-www-form-urlencoded"
OUT_OF_DATE = "This form is out of date. Go back, reload the page and try again."
Form = Mapping[str, tuple[str, ...]]
"""The fields of a form, each with all its values."""


async def read_form(request: Request) -> tuple[str, Form]:
    """A problem, or no problem and the fields. Forms of other sites are refused."""
    if not _is_same_site(request):
        return "This form was sent from another site, so nothing was changed.", {}
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM_TYPE:
        return "Only forms of this page are accepted. Nothing was changed.", {}
    try:
        body = (await request.body()).decode("utf-8")
        pairs = parse_qsl(body, keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="strict")
    except ValueError:  # too many fields, or not UTF-8
        return "This form can't be read. Nothing was changed.", {}
    form: dict[str, tuple[str, ...]] = {}
    for name, value in pairs:
        form[name] = (*form.get(name, ()), value)
    return "", form


async def read_session_form(request: Request, session: Session) -> tuple[str, Form]:
    """As `read_form`; a form without the session's token is out of date."""
    problem, form = await read_form(request)
    given = request.headers.get("x-csrf-token") or form.get("csrf", ("",))[0]
    return problem if problem or session.is_csrf(given) else OUT_OF_DATE, form


def read_number(text: str, label: str) -> int | float:
    """A finite number with a point or a comma, whole ones as int. Raises ConfigError, which names the field."""
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ConfigError("{label} is a number. Nothing was changed.", label=label)
    return int(value) if value.is_integer() else value


def own_path(text: str) -> str:
    """A path of this site to go to; the overview for anything else."""
    plain = text.startswith("/") and not text.startswith("//") and text.isprintable() and "\\" not in text
    return text if plain else "/"


def _is_same_site(request: Request) -> bool:
    """A browser says where a form comes from: in Sec-Fetch-Site, older ones in Origin. With our Referrer-Policy, Origin
    may be null."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = request.headers.get("origin", "null")
    if origin == "null":
        return True
    ours = {request.headers.get("host", ""), urlsplit(services_of(request).environment.settings.admin_url).netloc}
    try:
        return urlsplit(origin).netloc in ours - {""}
    except ValueError:  # an unclosed [
        return False
