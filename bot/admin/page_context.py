"""One request of a signed-in owner, and the checks before it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from bot.admin.diffs import FileDiff
from bot.admin.edits import Conflict
from bot.admin.forms import Form, read_session_form
from bot.admin.paging import MAX_PAGE, Pager
from bot.admin.sessions import Session
from bot.admin.site import Site
from routing.errors import ConfigError, Refused, StorageFault
from routing.types.messages import UserKey

if TYPE_CHECKING:
    from bot.app import App

COOKIE = "tierbot_session"
MAX_DIGITS = 9
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


@dataclass(slots=True)
class PageContext:
    """A request that passed the checks. `form` holds the fields of a POST."""

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

    def pager(self, size: int) -> Pager:
        """The page of a list that was asked for."""
        return Pager(self.number("page", 1, MAX_PAGE), size)

    @property
    def is_fragment(self) -> bool:
        """Whether htmx asked for a part of the page."""
        return is_fragment(self.request)

    def render(self, template: str, /, **values: Any) -> HTMLResponse:
        """A template with the navigation and the session's form token."""
        return render(self.request, self.session, template, 200, values | {"now": self.now})

    def result(self, ok: bool, words: str) -> HTMLResponse:
        """The result of a test, beside its button or as a page."""
        return self.render("result.html" if self.is_fragment else "result_page.html", ok=ok, words=words)

    def problem(self, status: int, words: str, diffs: tuple[FileDiff, ...] = ()) -> HTMLResponse:
        """Why nothing was done."""
        return problem_page(self.request, self.session, status, words, diffs)

    def redirect(self, path: str, notice: str = "") -> Response:
        """Go to another page, which shows the notice."""
        self.session.notice = notice
        if self.is_fragment:
            return Response(status_code=204, headers={"HX-Redirect": path})
        return RedirectResponse(path, 303)


Handler = Callable[[PageContext], Awaitable[Response]]
Endpoint = Callable[[Request], Awaitable[Response]]


def site_of(request: Request) -> Site:
    """The site that the app was built with."""
    site: Site = request.app.state.site
    return site


def is_fragment(request: Request) -> bool:
    """Whether htmx asked for a part of the page. To go back in the history, it asks for a whole one."""
    headers = request.headers
    return headers.get("hx-request") == "true" and headers.get("hx-history-restore-request") != "true"


def render(
    request: Request, session: Session | None, template: str, status: int, values: Mapping[str, Any]
) -> HTMLResponse:
    """A template, also for people who are not signed in."""
    path = request.url.path
    context = {
        "navigation": NAVIGATION,
        "here": next((each for each in _places() if each != "/" and path.startswith(each)), "/" if path == "/" else ""),
        "session": session,
        "notice": session.take_notice() if session else "",
        **values,
    }
    return HTMLResponse(site_of(request).templates.get_template(template).render(context), status)


def problem_page(
    request: Request, session: Session, status: int, words: str, diffs: tuple[FileDiff, ...] = ()
) -> HTMLResponse:
    """Why nothing was done, as a part of the page or a whole one."""
    template = "problem_part.html" if is_fragment(request) else "problem.html"
    return render(request, session, template, status, {"problem": words, "diffs": diffs})


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
            problem, form = await read_session_form(request, session)
            if problem:
                return problem_page(request, session, 403, problem)
        app = site.services.app()
        if app is None:
            return render(request, session, "starting.html", 503, {})
        try:
            still_owner = session.owner is None or await _is_owner(app, session.owner)
        except StorageFault as error:
            return problem_page(request, session, 503, str(error))
        if not still_owner:
            site.sessions.end(request.cookies.get(COOKIE, ""))
            return _to_sign_in(request)
        return await _answer(handler, PageContext(request, site, app, session, form))

    return endpoint


async def _is_owner(app: App, user: UserKey) -> bool:
    """Whether this account is still an owner's."""
    person = await app.messaging.stores.people.find(user)
    return person is not None and person.role == "owner"


async def _answer(handler: Handler, context: PageContext) -> Response:
    try:
        return await handler(context)
    except Conflict as conflict:
        return context.problem(409, str(conflict), conflict.diffs)
    except (ConfigError, Refused) as error:
        return context.problem(422, str(error))
    except StorageFault as error:
        return context.problem(503, str(error))


def _to_sign_in(request: Request) -> Response:
    """The sign-in page, which leads back here."""
    if request.headers.get("hx-request") == "true":
        return Response(status_code=401, headers={"HX-Redirect": "/sign-in"})
    path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    back = f"?next={quote(path, safe='')}" if request.method == "GET" and path != "/" else ""
    return RedirectResponse(f"/sign-in{back}", 303)
