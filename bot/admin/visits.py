"""One request of a signed-in owner, and the checks before it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlsplit

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from bot.admin.diffs import FileDiff
from bot.admin.edits import Conflict
from bot.admin.site import Site
from routing.errors import ConfigError, Refused, StorageFault
from routing.types.messages import UserKey

if TYPE_CHECKING:
    from bot.app import App

from bot.admin.sessions import Session

COOKIE = "tierbot_session"
MAX_FIELDS = 2_000
OUT_OF_DATE = "This form is out of date. Go back, reload the page and try again."
MAX_DIGITS = 9
FORM_TYPE = "application/x-www-form-urlencoded"
NAVIGATION: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    ("Today", (("/", "Overview"), ("/usage", "Usage"))),
    (
        "Models",
        (
            ("/providers", "LLM Providers"),
            ("/catalogue", "Model Catalogue"),
            ("/router", "Model Router"),
            ("/playground", "Playground"),
        ),
    ),
    ("People", (("/people", "People"), ("/reminders", "Reminders"))),
    ("Machine", (("/tools", "Tools"), ("/doctor", "Doctor"), ("/logs", "Logs"), ("/changes", "Changes"))),
)
Form = Mapping[str, tuple[str, ...]]


@dataclass(slots=True)
class Visit:
    """A request that passed the checks. `form` holds the fields of a POST, each with all its values."""

    request: Request
    site: Site
    app: App
    session: Session
    form: Form = field(default_factory=dict)

    @property
    def now(self) -> float:
        """Unix seconds."""
        return self.app.messaging.clock()

    def field(self, name: str, default: str = "") -> str:
        """The only or first value of a field, without blanks around it."""
        return self.form.get(name, (default,))[0].strip()

    def query(self, name: str, default: str = "") -> str:
        """A parameter of the address."""
        return self.request.query_params.get(name, default).strip()

    def number(self, name: str, default: int, most: int) -> int:
        """A parameter from 1 to `most`; anything else is the default."""
        text = self.query(name)
        valid = text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS
        return min(max(1, int(text)), most) if valid else default

    @property
    def is_fragment(self) -> bool:
        """Whether htmx asked for a part of the page. To go back in the history, it asks for a whole one."""
        headers = self.request.headers
        return headers.get("hx-request") == "true" and headers.get("hx-history-restore-request") != "true"

    def page(self, template: str, status: int = 200, /, **values: Any) -> HTMLResponse:
        """Render a template with the navigation and the session's form token."""
        return page(self.request, self.site, self.session, template, status, values | {"now": self.now})

    def result(self, ok: bool, words: str) -> HTMLResponse:
        """The result of a test, beside its button or as a page."""
        return self.page("result.html" if self.is_fragment else "result_page.html", ok=ok, words=words)

    def problem(self, status: int, words: str, diffs: tuple[FileDiff, ...] = ()) -> HTMLResponse:
        """Why nothing was done."""
        template = "problem_part.html" if self.is_fragment else "problem.html"
        return self.page(template, status, problem=words, diffs=diffs)

    def redirect(self, path: str, notice: str = "") -> Response:
        """Go to another page, which shows the notice."""
        self.session.notice = notice
        if self.is_fragment:
            return Response(status_code=204, headers={"HX-Redirect": path})
        return RedirectResponse(path, 303)


Handler = Callable[[Visit], Awaitable[Response]]
Endpoint = Callable[[Request], Awaitable[Response]]


def site_of(request: Request) -> Site:
    """The site that the app was built with."""
    site: Site = request.app.state.site
    return site


def page(
    request: Request, site: Site, session: Session | None, template: str, status: int, values: Mapping[str, Any]
) -> HTMLResponse:
    """Render a template, also for people who are not signed in."""
    path = request.url.path
    context = {
        "navigation": NAVIGATION,
        "here": next((each for each in _places() if each != "/" and path.startswith(each)), "/" if path == "/" else ""),
        "session": session,
        "notice": session.take_notice() if session else "",
        **values,
    }
    return HTMLResponse(site.templates.get_template(template).render(context), status)


def _places() -> list[str]:
    return [path for _, entries in NAVIGATION for path, _ in entries]


def signed_in(handler: Handler) -> Endpoint:
    """An endpoint for people who are signed in. A POST must carry the session's form token and come from a page of
    ours."""

    async def endpoint(request: Request) -> Response:
        site = site_of(request)
        session = site.sessions.find(request.cookies.get(COOKIE, ""))
        if session is None:
            return _to_sign_in(request)
        form: Form = {}
        if request.method == "POST":
            problem, form = await read_form(request)
            given = request.headers.get("x-csrf-token") or form.get("csrf", ("",))[0]
            if not problem and not session.is_csrf(given):
                problem = OUT_OF_DATE
            if problem:
                return page(request, site, session, "problem.html", 403, {"problem": problem, "diffs": ()})
        app = site.services.app()
        if app is None:
            return page(request, site, session, "starting.html", 503, {})
        try:
            still_owner = session.owner is None or await _is_owner(app, session.owner)
        except StorageFault as error:
            return page(request, site, session, "problem.html", 503, {"problem": str(error), "diffs": ()})
        if not still_owner:
            site.sessions.end(request.cookies.get(COOKIE, ""))
            return _to_sign_in(request)
        visit = Visit(request, site, app, session, form)
        return await _answer(handler, visit)

    return endpoint


async def _is_owner(app: App, user: UserKey) -> bool:
    """Whether this account is still an owner's."""
    person = await app.messaging.stores.people.find(user)
    return person is not None and person.role == "owner"


async def _answer(handler: Handler, visit: Visit) -> Response:
    try:
        return await handler(visit)
    except Conflict as conflict:
        return visit.problem(409, str(conflict), conflict.diffs)
    except (ConfigError, Refused) as error:
        return visit.problem(422, str(error))
    except StorageFault as error:
        return visit.problem(503, str(error))


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


def _is_same_site(request: Request) -> bool:
    """A browser says where a form comes from: in Sec-Fetch-Site, older ones in Origin. With our Referrer-Policy, Origin
    may be null."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = request.headers.get("origin", "null")
    if origin == "null":
        return True
    settings = site_of(request).services.environment.settings
    ours = {request.headers.get("host", ""), urlsplit(settings.admin_url).netloc}
    try:
        return urlsplit(origin).netloc in ours - {""}
    except ValueError:  # an unclosed [
        return False


def _to_sign_in(request: Request) -> Response:
    """The sign-in page, which leads back here."""
    if request.headers.get("hx-request") == "true":
        return Response(status_code=401, headers={"HX-Redirect": "/sign-in"})
    path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    back = f"?next={quote(path, safe='')}" if request.method == "GET" and path != "/" else ""
    return RedirectResponse(f"/sign-in{back}", 303)


def own_path(text: str) -> str:
    """A path of this site to go to; the overview for anything else."""
    plain = text.startswith("/") and not text.startswith("//") and text.isprintable() and "\\" not in text
    return text if plain else "/"
