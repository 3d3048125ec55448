"""The admin page as an owner uses it."""

from __future__ import annotations

import html
import json
import logging
import re
import threading
import time
from collections.abc import AsyncIterator, Iterator
from decimal import Decimal

import pytest
from sqlalchemy import Engine, event

from bot.observability import logs
from routing.redaction import Secrets, masked
from routing.types.messages import UserKey
from routing.types.people import Profile
from tests.stories.admin_page import PAGES, TOKEN, AdminPage, admin_page, fill_people, populate
from tests.stories.harness import BotHarness, ask

SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(2)>'\"{{7*7}}"


@pytest.fixture
async def admin(on: BotHarness) -> AsyncIterator[AdminPage]:
    async with admin_page(on) as made:
        await made.sign_in()
        yield made


@pytest.fixture
def logged() -> Iterator[None]:
    """Lines are kept as in the bot's own process, by a log that knows no secret."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    logs.configure("INFO", "text", ())
    yield
    root.handlers[:], root.level = handlers, level


def words(text: str) -> str:
    """The text of a page."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


async def test_every_page_is_there_and_shows_no_message(admin: AdminPage) -> None:
    await populate(admin.app.messaging.stores, time.time())
    for path in PAGES:
        response = await admin.http.get(path)
        assert response.status_code == 200, (path, response.text)
        assert "<h1>" in response.text
        assert "private" not in response.text
        assert not re.search(r"""(?:src|href|action)=["'](?:https?:)?//""", response.text), path
        assert not re.search(r"<style|\sstyle=|\son\w+=|<script>", response.text), path


async def test_going_back_after_a_search_shows_the_whole_page(admin: AdminPage) -> None:
    back = {"HX-Request": "true", "HX-History-Restore-Request": "true"}
    for path in ("/people?q=ada", "/catalogue?q=gpt", "/logs?level=error"):
        assert "<h1>" in (await admin.http.get(path, headers=back)).text, path


async def test_unknown_paths_and_path_tricks_are_not_found(admin: AdminPage) -> None:
    tricks = (
        "/static/../app.py", "/static/..%2f..%2fapp.py", "/static/%2e%2e/%2e%2e/.env", "/static/", "/static/icon.svg/x",
        "/people/1/x", "/people/-1", "/people/1e5", "/people/99999999999999999999", "/changes/../../etc/passwd",
        "/api/models/discover/../../x", "/.env", "/index.html",
    )  # fmt: skip
    for path in tricks:
        response = await admin.http.get(path)
        assert response.status_code in (303, 404), path
        assert "root:" not in response.text
    entry = await admin.http.get("/catalogue/entry", params={"id": "../../etc/passwd"})
    assert entry.status_code == 422


async def test_a_script_in_a_name_is_only_text(admin: AdminPage) -> None:
    stores = admin.app.messaging.stores
    user = UserKey("telegram", "666")
    mallory = await stores.people.admit(user, SCRIPT, "user", SCRIPT)
    await stores.people.seen(user, Profile(SCRIPT, "<b>x</b>", "en"))
    await populate(stores, time.time())
    for path in ("/people", f"/people/{mallory.id}", "/usage", f"/people?q={SCRIPT}", f"/playground?text={SCRIPT}"):
        text = (await admin.http.get(path)).text
        assert "<script>alert" not in text, path
        assert "<img src=x" not in text, path
        assert "&lt;script&gt;" in text or path == "/usage", path
    assert "49" not in re.findall(r"<h1>(.*?)</h1>", (await admin.http.get(f"/people/{mallory.id}")).text)[0]


async def test_ten_thousand_people_take_a_bounded_number_of_queries(admin: AdminPage) -> None:
    await admin.app.messaging.stores.database.write(lambda c: fill_people(c, 10_000))
    asked: list[str] = []

    def note(_c: object, _cursor: object, statement: str, *_rest: object) -> None:
        asked.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        for path in ("/people", "/people?page=300", "/people?q=person+99", "/people?page=999999999", "/", "/usage"):
            asked.clear()
            response = await admin.http.get(path)
            assert response.status_code == 200, path
            assert len(response.text) < 60_000, path
            assert len([each for each in asked if each.startswith("SELECT")]) <= 60, (path, len(asked))
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    text = words((await admin.http.get("/people?q=person+99")).text)
    assert "Page 1 of" in text
    found = words((await admin.http.get("/people?q=@user4242")).text)
    assert "Person 4242" in found
    assert "1 person" in found


async def test_a_stranger_is_let_in_and_another_blocked(on: BotHarness, admin: AdminPage) -> None:
    on.ms.reply("Hello Bob!")
    for name, text in (("Bob", "are you there?"), ("Mallory", "spam")):
        question = on.tg.say(text, user=name)
        await on.tg.reply(question, after=question)
    people = admin.app.messaging.stores.people
    waiting = {each.name: each.user for each in await people.waiting()}
    text = (await admin.http.get("/people")).text
    assert "Allow Bob" in text
    assert "are you there" not in text
    response = await admin.post("/people/requests", account=str(waiting["Bob"]), answer="allow")
    assert "Bob can use the bot now." in words((await admin.http.get(response.headers["location"])).text)
    await on.tg.reply(on.tg.user("Bob"), matching="Hello Bob!")
    await admin.post("/people/requests", account=str(waiting["Mallory"]), answer="block")
    mallory = await people.find(waiting["Mallory"])
    assert mallory is not None
    assert mallory.role == "blocked"
    assert (await admin.post("/people/requests", account=str(waiting["Bob"]), answer="block")).status_code == 422
    assert "The admin page let Bob in" in (await ask(on, "/access log")).text


async def test_roles_and_limits_of_a_person(on: BotHarness, admin: AdminPage) -> None:
    stores = admin.app.messaging.stores
    bob = await stores.people.admit(UserKey("telegram", "55"), "Bob", "user", "t")
    await admin.post(f"/people/{bob.id}/role", role="admin")
    now = await stores.directory.get(bob.id)
    assert now is not None
    assert now.person.role == "admin"
    emperor = await admin.post(f"/people/{bob.id}/role", role="emperor")
    assert (emperor.status_code, "The roles are owner, admin" in emperor.text) == (422, True)
    for path, fields in (("role", {"role": "user"}), ("limits", {"daily": "1", "monthly": ""})):
        gone = await admin.post(f"/people/999/{path}", **fields)
        assert (gone.status_code, "This person no longer exists." in gone.text) == (422, True)
    only = await admin.post("/people/1/role", role="user")
    assert only.status_code == 422
    assert "telegram:1001 is the only owner. Make someone else an owner first." in words(only.text)
    await admin.post(f"/people/{bob.id}/limits", daily="2.50", monthly="")
    limits = await admin.app.engine.guard.budget.limits_of(bob.id)
    assert (limits.daily, limits.monthly) == (Decimal("2.5"), None)
    for wrong in ("-1", "NaN", "1e99", "much"):
        assert (await admin.post(f"/people/{bob.id}/limits", daily=wrong, monthly="")).status_code == 422
    assert "$2.50 / –" in words((await admin.http.get("/people")).text)


async def test_an_owner_of_the_configuration_stays_one(on: BotHarness) -> None:
    """The next message would make them an owner again."""
    on.env["BOT_OWNERS"] = "telegram:1001"
    async with admin_page(on) as admin:
        await admin.sign_in()
        people = admin.app.messaging.stores.people
        await people.admit(UserKey("telegram", "55"), "Bob", "owner", "t")
        refused = await admin.post("/people/1/role", role="blocked")
        assert refused.status_code == 422
        assert "Remove telegram:1001 from BOT_OWNERS" in words(refused.text)
        assert UserKey("telegram", "1001") in await people.owners()


@pytest.mark.usefixtures("logged")
async def test_the_log_has_no_secrets(admin: AdminPage, on: BotHarness) -> None:
    log = logging.getLogger("bot.test")
    log.info("first %s", on.env.get("OPENAI_API_KEY", "sk-test-openai-000000000000"))
    log.warning("then <script>")
    log.debug("never")
    text = words((await admin.http.get("/logs")).text)
    assert text.index("then <script>") < text.index("first ***")
    assert "never" not in text
    only = words((await admin.http.get("/logs?level=warning", headers={"HX-Request": "true"})).text)
    assert "first" not in only
    assert "No line matches" in words((await admin.http.get("/logs?q=nothing-like-this")).text)


@pytest.mark.usefixtures("logged")
async def test_a_full_log_is_searched_beside_the_event_loop(admin: AdminPage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret that became known after its line was written is hidden; the rest of the masking was done then."""
    for number in range(logs.MAX_RECENT):
        logging.getLogger("bot.test").info("line %d says %s", number, TOKEN)
    assert TOKEN in logs.recent_lines()[-1].text
    hidden: set[threading.Thread] = set()
    cleaned: list[str] = []
    hide = Secrets.hidden

    def noted(secrets: Secrets, text: str) -> str:
        hidden.add(threading.current_thread())
        return hide(secrets, text)

    def counted(text: str) -> str:
        cleaned.append(text)
        return masked(text)

    monkeypatch.setattr(Secrets, "hidden", noted)
    monkeypatch.setattr("bot.observability.logs.masked", counted)
    text = words((await admin.http.get("/logs?q=line+499")).text)
    assert "line 499 says ***" in text
    assert hidden
    assert threading.main_thread() not in hidden
    assert len(cleaned) < logs.MAX_RECENT


async def test_the_playground_says_which_tools_and_which_tier(admin: AdminPage) -> None:
    rain = words((await admin.post("/playground", text="Will it rain in Rome tomorrow?", role="user", tier="")).text)
    assert "weather shown found by words" in rain
    assert "Tier: balanced" in rain
    proof = words((await admin.http.get("/playground?text=Prove+that+sqrt(2)+is+irrational&role=owner")).text)
    assert "Because: a proof" in proof
    guest = words((await admin.post("/playground", text="!deep why?", role="user", tier="")).text)
    assert "the message begins with !deep" in guest
    assert (await admin.post("/playground", text="!turbo why", role="user", tier="")).status_code == 422
    assert admin.app.engine.llm is not None


async def test_the_doctor_runs_on_demand_and_the_bot_answers_afterwards(on: BotHarness, admin: AdminPage) -> None:
    assert "have not run" in words((await admin.http.get("/doctor")).text)
    report = await admin.http.post("/doctor", data={"csrf": admin.csrf}, headers={"HX-Request": "true"})
    text = words(report.text)
    assert "database" in text
    assert "provider openai" in text
    assert (await ask(on, "hi")).text == "You said: hi"
    assert "Checked" in words((await admin.http.get("/doctor")).text)


async def test_toolkits_servers_and_accounts_are_counted(on: BotHarness, admin: AdminPage) -> None:
    (on.workspace / "toolkits").mkdir(exist_ok=True)
    (on.workspace / "toolkits" / "broken.json").write_text("{")
    (on.workspace / "mcp.json").write_text(json.dumps({"mcpServers": {"gone": {"command": "/does/not/exist"}}}))
    await admin.app.engine.tooling.refresh()
    text = words((await admin.http.get("/tools")).text)
    assert "broken.json" in text
    assert "gone" in text
    assert "weather" in text
