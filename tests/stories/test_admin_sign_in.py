"""Who gets into the admin page, and how long."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import httpx
import pytest

from bot.admin.sessions import MAX_WRONG, SESSION_SECONDS, WRONG_SECONDS
from handlers.access.sign_in_links import LINK_SECONDS
from routing.types.messages import UserKey
from tests.fakes import ShiftedClock
from tests.stories.admin_page import PAGES, TOKEN, AdminPage, admin_page
from tests.stories.harness import BotHarness, ask, running, settled

COOKIE = "tierbot_session"


@pytest.fixture
def steady() -> ShiftedClock:
    return ShiftedClock()


@pytest.fixture
async def admin(on: BotHarness, steady: ShiftedClock) -> AsyncIterator[AdminPage]:
    async with admin_page(on, steady=steady) as made:
        yield made


def codes(page: httpx.Response) -> list[str]:
    return re.findall(r'name="code" value="([^"]+)"', page.text)


async def test_a_stranger_sees_only_the_sign_in_page(admin: AdminPage) -> None:
    for path in PAGES:
        response = await admin.http.get(path)
        assert response.status_code == 303, path
        assert response.headers["location"].startswith("/sign-in")
    for path in ("/providers", "/router", "/people/1/role", "/changes/undo", "/doctor", "/sign-out"):
        response = await admin.http.post(path, data={"name": "openai"})
        assert (response.status_code, response.headers["location"]) == (303, "/sign-in"), path
    fragment = await admin.http.get("/people", headers={"HX-Request": "true"})
    assert (fragment.status_code, fragment.headers["hx-redirect"]) == (401, "/sign-in")


async def test_the_token_opens_a_session_with_a_strict_cookie(admin: AdminPage) -> None:
    response = await admin.http.post("/sign-in", data={"token": TOKEN, "next": "/people?q=ada"})
    assert (response.status_code, response.headers["location"]) == (303, "/people?q=ada")
    cookie = response.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert f"max-age={SESSION_SECONDS:.0f}" in cookie
    assert "secure" not in cookie
    assert TOKEN not in cookie
    assert (await admin.http.get("/people")).status_code == 200
    proxied = await admin.http.post("/sign-in", data={"token": TOKEN}, headers={"X-Forwarded-Proto": "https"})
    assert "secure" in proxied.headers["set-cookie"].lower()


async def test_signing_in_leads_to_a_page_of_this_site(admin: AdminPage) -> None:
    outside = ("https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)", "", "people", "//[")
    for elsewhere in outside:
        admin.http.cookies.clear()
        assert (await admin.http.get("/sign-in", params={"next": elsewhere})).status_code == 200, elsewhere
        response = await admin.http.post("/sign-in", data={"token": TOKEN, "next": elsewhere})
        assert response.headers["location"] == "/", elsewhere


async def test_wrong_tokens_are_refused_then_have_to_wait(admin: AdminPage, steady: ShiftedClock) -> None:
    for wrong in ("", "x", TOKEN + "x", TOKEN[:-1], "ü" * 30)[:MAX_WRONG]:
        response = await admin.sign_in(wrong)
        assert response.status_code == 403
        assert "That is not the token" in response.text
        assert COOKIE not in admin.http.cookies
    for given in ("x", TOKEN):
        assert (await admin.sign_in(given)).status_code == 429
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    assert (await admin.http.get("/api/models/discover/openai", headers=bearer)).status_code == 429
    steady.ahead += WRONG_SECONDS + 1
    assert (await admin.sign_in()).status_code == 303


async def test_a_session_expires(admin: AdminPage, steady: ShiftedClock) -> None:
    await admin.sign_in()
    steady.ahead += SESSION_SECONDS - 60
    assert (await admin.http.get("/")).status_code == 200
    steady.ahead += 61
    assert (await admin.http.get("/")).status_code == 303
    assert (await admin.post("/router", tier="balanced", pool="a/b")).headers["location"] == "/sign-in"


async def test_signing_out_ends_the_session_also_for_a_copied_cookie(admin: AdminPage) -> None:
    await admin.sign_in()
    copied = admin.http.cookies[COOKIE]
    assert (await admin.post("/sign-out")).status_code == 303
    admin.http.cookies.set(COOKIE, copied)
    assert (await admin.http.get("/")).status_code == 303


async def test_a_new_session_does_not_keep_a_planted_cookie(admin: AdminPage) -> None:
    planted = {"Cookie": f"{COOKIE}=planted-by-somebody-else"}
    response = await admin.http.post("/sign-in", data={"token": TOKEN}, headers=planted)
    assert "planted" not in response.headers["set-cookie"]
    admin.http.cookies.clear()
    assert (await admin.http.get("/", headers=planted)).status_code == 303


async def test_an_owner_gets_a_link_that_works_once(on: BotHarness, admin: AdminPage, steady: ShiftedClock) -> None:
    reply = await ask(on, "/admin")
    link = urlsplit(re.findall(r"http://\S+", reply.text)[0])
    assert f"{link.scheme}://{link.netloc}" == str(admin.http.base_url).rstrip("/")
    assert "ssh -L" in reply.text
    path = f"{link.path}?{link.query}"
    for _ in range(2):  # a preview of the link does not use it up
        page = await admin.http.get(path)
    code = codes(page)[0]
    await settled(on)
    assert on.rows(f"SELECT count(*) FROM outbox WHERE payload LIKE '%{code}%'") == [(0,)]
    assert (await admin.http.post(link.path, data={"code": code})).status_code == 303
    assert (await admin.http.get("/")).status_code == 200
    admin.http.cookies.clear()
    again = await admin.http.post(link.path, data={"code": code})
    assert again.status_code == 403
    assert "not valid any more: it works once, within 10 minutes." in again.text
    late = re.findall(r"code=(\S+)", (await ask(on, "/admin")).text)[0]
    steady.ahead += LINK_SECONDS
    assert (await admin.http.post(link.path, data={"code": late})).status_code == 403


async def test_a_link_ends_with_its_owners_role(on: BotHarness, admin: AdminPage) -> None:
    people, user = admin.app.messaging.stores.people, UserKey("telegram", str(on.tg.user("Ada").id))
    await people.admit(user, "Ada", "owner", "t")
    for _ in range(2):
        code = re.findall(r"code=(\S+)", (await ask(on, "/admin", user="Ada")).text)[0]
        await admin.http.post("/sign-in/link", data={"code": code})
    admin.csrf = re.findall(r'name="csrf" value="([^"]+)"', (await admin.http.get("/people")).text)[0]
    await people.admit(user, "Ada", "admin", "t")
    response = await admin.post("/people/1/role", role="blocked")
    assert (response.status_code, response.headers["location"]) == (303, "/sign-in")
    assert (await people.owners()) == (UserKey("telegram", "1001"),)
    await people.admit(user, "Ada", "owner", "t")
    assert (await admin.http.get("/people")).status_code == 303  # the session stays closed


async def test_only_owners_get_a_link_and_only_in_private(on: BotHarness, admin: AdminPage) -> None:
    await ask(on, "/access here on", group="club")
    assert "in private" in (await ask(on, "/admin", group="club")).text
    on.tg.user("Bob")
    await ask(on, "hi", user="Bob")
    account = admin.app.messaging.stores.people
    (waiting,) = await account.waiting()
    await account.approve(waiting.user, "t")
    refused = await ask(on, "/admin", user="Bob")
    assert "http" not in refused.text


async def test_a_proxy_has_its_own_address(on: BotHarness) -> None:
    on.env["ADMIN_URL"] = "https://bot.example.org/"
    async with admin_page(on) as made:
        assert "https://bot.example.org/sign-in/link?code=" in (await ask(on, "/admin")).text
        proxied = {"Host": "bot.example.org", "Origin": "https://bot.example.org", "X-Forwarded-Proto": "https"}
        response = await made.http.post("/sign-in", data={"token": TOKEN}, headers=proxied)
        assert response.status_code == 303
        silent = {"Host": "localhost", "Origin": "https://bot.example.org"}  # a proxy that says nothing of itself
        response = await made.http.post("/sign-in", data={"token": TOKEN}, headers=silent)
        assert "secure" in response.headers["set-cookie"].lower()
        for host in ("evil.example", "bot.example.org.evil.example"):
            assert (await made.http.get("/sign-in", headers={"Host": host})).status_code == 421


async def test_without_the_page_there_is_no_link(on: BotHarness) -> None:
    async with running(on):
        assert (await ask(on, "/admin")).text.startswith("The admin page is off here.")


async def test_forms_of_other_sites_are_refused(admin: AdminPage) -> None:
    await admin.sign_in()
    form = {"csrf": admin.csrf, "account": "telegram:1", "answer": "allow"}
    strange = (
        {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example"}, {"Origin": "http://127.0.0.1:1"},
        {"Origin": "http://["},
    )  # fmt: skip
    for headers in strange:
        assert (await admin.http.post("/people/requests", data=form, headers=headers)).status_code == 403, headers
        assert (await admin.http.post("/sign-in", data={"token": TOKEN}, headers=headers)).status_code == 403, headers


async def test_a_form_without_the_sessions_token_changes_nothing(admin: AdminPage) -> None:
    await admin.sign_in()
    for csrf in ("", "x", "ü" * 43):
        admin.csrf = csrf
        response = await admin.post("/people/1/role", role="blocked")
        assert response.status_code == 403
        assert "out of date" in response.text
        part = await admin.http.post("/doctor", data={"csrf": csrf}, headers={"HX-Request": "true"})
        assert (part.status_code, "out of date" in part.text, "<html" in part.text) == (403, True, False)
    owner = await admin.app.messaging.stores.directory.get(1)
    assert owner is not None
    assert owner.person.role == "owner"


NO_FORMS = (
    (b"a&" * 400_000, "application/x-www-form-urlencoded"),
    (b"csrf=%ff%fe", "application/x-www-form-urlencoded"),
    (b'{"csrf": 1}', "application/json"),
    (b"--x\r\n\r\n--x--", "multipart/form-data; boundary=x"),
    (b"", ""),
)


async def test_bodies_that_are_no_form_are_refused(admin: AdminPage) -> None:
    await admin.sign_in()
    for content, kind in NO_FORMS:
        response = await admin.http.post("/doctor", content=content, headers={"Content-Type": kind})
        assert response.status_code == 403, kind
    assert (await admin.http.post("/doctor", content=b"x" * 10_000_000)).status_code == 413
    assert (await admin.http.get("/")).status_code == 200
