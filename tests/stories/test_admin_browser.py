"""The admin page in Chromium: on a phone and a wide screen, by keyboard alone, judged by axe-core.

With TIERBOT_SCREENSHOTS=docs, the pictures of docs/admin.md are made again.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("selenium")

from selenium.webdriver import ActionChains, Chrome, Keys
from selenium.webdriver.support.ui import WebDriverWait

from bot.observability import logs
from routing.catalog.catalog import BUNDLED
from routing.config import jsonfile
from tests.stories.admin_page import PAGES, TOKEN, AdminPage, admin_page, populate
from tests.stories.browser import (
    axe_source,
    chromium,
    console,
    overflow,
    page_height,
    picture,
    programs,
    resize,
    violations,
)
from tests.stories.harness import BotHarness

pytestmark = pytest.mark.system
WIDTHS = (360, 1280)
PICTURES = {
    "overview": ("/", 1280),
    "router": ("/router", 1280),
    "people": ("/people", 1280),
    "playground": ("/playground?text=Will+it+rain+in+Rome+tomorrow%3F", 1280),
    "phone": ("/", 360),
}
"""The pictures of docs/admin.md: page and width."""
PICTURE_HEIGHT = 800
WAIT_SECONDS = 60
ALLOWED_MESSAGE = ".*Autofocus processing was blocked.*"
CONFLICT_MESSAGE = "Failed to load resource: the server responded with a status of 409 (Conflict)"
"""What Chromium itself writes to the console."""
TYPED = (
    ("/router", "add-balanced", "openai/gpt-5.2-codex"),
    ("/router", "deadlineSeconds-balanced", "77"),
    ("/providers", "base-openai", "https://example.org/v1"),
    ("/providers", "time-openai", "77"),
    ("/providers", "key-groq", "a-key-for-tests-0123"),
    ("/catalogue/entry?id=openai/gpt-5.1", "displayName", "A typed name"),
    ("/catalogue/entry?id=openai/gpt-5.1", "maxInputTokens", "77777"),
)
"""A text field of each kind in each form with several buttons: page, id and what is typed."""


@pytest.fixture
def browser() -> Iterator[Chrome]:
    programs()
    with chromium() as made:
        yield made


@pytest.fixture
async def admin(on: BotHarness) -> AsyncIterator[AdminPage]:
    on.config = {"budget": {"totalDailyUsd": 2}}
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    logs.configure("INFO", "text", ())
    try:
        async with admin_page(on) as made:
            await populate(made.app.messaging.stores, time.time())
            yield made
    finally:
        root.handlers[:], root.level = handlers, level


def sign_in(browser: Chrome, base: str) -> None:
    browser.get(f"{base}/sign-in")
    until(browser, lambda: browser.switch_to.active_element.get_attribute("id") == "token")
    browser.switch_to.active_element.send_keys(TOKEN, Keys.ENTER)
    until(browser, lambda: browser.find_elements("id", "nav"))


def until(browser: Chrome, condition: Callable[[], object]) -> None:
    WebDriverWait(browser, WAIT_SECONDS, poll_frequency=0.05).until(lambda _: condition())


def base_of(admin: AdminPage) -> str:
    return str(admin.http.base_url).rstrip("/")


async def test_every_page_on_a_phone_and_a_wide_screen(on: BotHarness, admin: AdminPage, browser: Chrome) -> None:
    """No violation of axe-core, no line in the console, nothing wider than the screen, in light and dark."""
    config_file = on.workspace / "preferences" / "runtime-config.json"
    found = await asyncio.to_thread(judged, browser, base_of(admin), config_file)
    assert found == []


def judged(browser: Chrome, base: str, config_file: Path) -> list[str]:
    axe = axe_source()
    found: list[str] = []

    def inspect(name: str, width: int, dark: bool, allowed: str = ALLOWED_MESSAGE) -> None:
        messages = [each for each in console(browser) if not re.fullmatch(allowed, each)]
        faults = [*violations(browser, axe), *messages]
        if wider := overflow(browser):
            faults.append(f"{wider} px wider than the screen")
        found.extend(f"{name} at {width}{' dark' if dark else ''}: {fault}" for fault in faults)

    def look(path: str, width: int, dark: bool) -> None:
        resize(browser, width, dark)
        browser.get(base + path)
        inspect(path, width, dark)

    for width in WIDTHS:
        look("/sign-in", width, False)
    sign_in(browser, base)
    for path in PAGES:
        for width in WIDTHS:
            look(path, width, dark=width == 1280)
    resize(browser, 1280)
    if folder := os.environ.get("TIERBOT_SCREENSHOTS"):
        photograph(browser, base, Path(folder))
    for name, allowed in proposals(browser, base, config_file):
        for width in WIDTHS:
            resize(browser, width, dark=width == 1280)
            inspect(name, width, width == 1280, allowed)
    return found


def proposals(browser: Chrome, base: str, config_file: Path) -> Iterator[tuple[str, str]]:
    """Shows a review, an undo and a conflict in turn. The name of each, and the line that the console may have."""
    browser.get(f"{base}/router")
    fill(browser, "deadlineSeconds-balanced", "77")
    press(browser, "#balanced .buttons button", "Review")
    yield "review", ""
    press(browser, "#content form button", "Model Router")
    browser.get(f"{base}/changes")
    press(browser, "#content form button", "Review")
    yield "undo", ""
    config_file.write_text(config_file.read_text().replace('"deadlineSeconds": 77', '"deadlineSeconds": 78'))
    press(browser, "#content form button", "Not done")
    yield "conflict", re.escape(f"{browser.current_url} - {CONFLICT_MESSAGE}")


def fill(browser: Chrome, field: str, text: str) -> None:
    """Replace the text of a field by keyboard."""
    script = (
        "const e = document.getElementById(arguments[0]), d = e.closest('details'); if (d) d.open = true; e.select()"
    )
    browser.execute_script(script, field)
    ActionChains(browser).send_keys(text).perform()


def press(browser: Chrome, button: str, title: str) -> None:
    """Press a button, and wait for the page with that title."""
    browser.find_element("css selector", button).click()
    until(browser, lambda: browser.title == f"{title} · tierbot")


def photograph(browser: Chrome, base: str, folder: Path) -> None:
    for name, (path, width) in PICTURES.items():
        resize(browser, width)
        browser.get(base + path)
        resize(browser, width, height=min(page_height(browser), PICTURE_HEIGHT * (2 if width < 600 else 1)))
        picture(browser, folder / f"admin-{name}.png")


@pytest.mark.parametrize("width", WIDTHS)
async def test_every_page_by_keyboard(admin: AdminPage, browser: Chrome, width: int) -> None:
    """Tab reaches each control in the order of the page, and always shows where it is."""
    await asyncio.to_thread(tabbed, browser, base_of(admin), width)


REACHABLE = """
const names = "a[href],button:not([disabled]):not([tabindex='-1']),input:not([type=hidden]):not([disabled]),select," +
  "textarea,summary,[tabindex='0']";
for (const each of document.querySelectorAll("details")) each.open = true;
const all = [...document.querySelectorAll("*")];
window.focused = [];
document.addEventListener("keyup", () => {
  const e = document.activeElement, style = getComputedStyle(e), box = e.getBoundingClientRect();
  focused.push({
    id: all.indexOf(e), tag: e.tagName, visible: box.width > 0 && box.height > 0,
    outline: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
    inside: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
  });
});
return [...document.querySelectorAll(names)].filter((e) => e.checkVisibility()).map((e) => all.indexOf(e));
"""
"""Opens everything, and notes each element that a key moves the focus to. The numbers of the page's controls."""
WRONG_DEFAULT = """
return [...document.forms].filter((form) => {
  const [first, second] = [...form.elements].filter((e) => e.type === "submit");
  const fields = [...form.elements].filter((e) => e.matches("input:not([type=hidden])"));
  return second && fields.length && (first.name || first.disabled || first.hasAttribute("formaction"));
}).map((form) => form.id || form.action);
"""
"""The forms whose first button, which Enter in a field presses, is not the form's own action."""


def tabbed(browser: Chrome, base: str, width: int) -> None:
    sign_in(browser, base)
    resize(browser, width)
    for path in PAGES:
        browser.get(base + path)
        expected: list[int] = browser.execute_script(REACHABLE)
        ActionChains(browser).send_keys(Keys.TAB * (len(expected) + 1)).perform()
        *focused, after = browser.execute_script("return focused")
        assert [each["id"] for each in focused] == expected, path
        assert after["tag"] == "BODY" or after["id"] == expected[0], (path, after)
        for at in focused:
            assert at["visible"], (path, at)
            assert at["outline"], (path, at)
            assert at["inside"], (path, at)
        assert browser.execute_script(WRONG_DEFAULT) == [], path


async def test_enter_in_a_field_proposes_what_was_typed(on: BotHarness, admin: AdminPage, browser: Chrome) -> None:
    """Enter presses *Review the change*, not another button of the form."""
    catalogue = on.workspace / "models" / "models.json"
    catalogue.write_text(jsonfile.render(json.loads(BUNDLED.read_text())))  # so that a change is one line
    await asyncio.to_thread(entered, browser, base_of(admin))


def entered(browser: Chrome, base: str) -> None:
    sign_in(browser, base)
    resize(browser, 1280)
    for path, field, text in TYPED:
        browser.get(base + path)
        fill(browser, field, text + Keys.ENTER)
        until(browser, lambda: browser.current_url.startswith(f"{base}/changes/"))
        added = " ".join(each.text for each in browser.find_elements("css selector", ".diff .added"))
        assert text in added or f"••••{text[-4:]}" in added, (path, field, added)


async def test_the_order_of_models_by_keyboard_and_by_dragging(admin: AdminPage, browser: Chrome) -> None:
    await asyncio.to_thread(reordered, browser, base_of(admin))
    tiers = admin.app.engine.models.config.pools
    assert tiers["balanced"][0] == "openai/gpt-5.1"  # nothing was saved yet


def pool(browser: Chrome) -> list[str]:
    fields = browser.find_elements("css selector", "#balanced input[name=pool]")
    return [str(field.get_attribute("value")) for field in fields]


def reordered(browser: Chrome, base: str) -> None:
    sign_in(browser, base)
    resize(browser, 1280)
    browser.get(f"{base}/router")
    first, second, third = pool(browser)
    button = browser.find_element("css selector", f"[aria-label='Move {first} down']")
    browser.execute_script("arguments[0].focus()", button)
    ActionChains(browser).send_keys(Keys.ENTER).perform()
    until(browser, lambda: pool(browser) == [second, first, third])
    assert browser.switch_to.active_element == button
    said = browser.find_element("css selector", "#balanced [data-announce]").get_attribute("textContent")
    assert said == f"{first} is number 2 of 3. Not saved yet."
    items = browser.find_elements("css selector", "#balanced .pool li")
    ActionChains(browser).drag_and_drop_by_offset(items[2], 0, -200).perform()
    until(browser, lambda: pool(browser)[0] == third)
    submit = browser.find_element("css selector", "#balanced .buttons button")
    browser.execute_script("arguments[0].focus()", submit)
    ActionChains(browser).send_keys(Keys.ENTER).perform()
    until(browser, lambda: browser.current_url.startswith(f"{base}/changes/"))
    text = browser.find_element("id", "content").text
    assert "Nothing is saved yet" in text
    assert re.search(rf"{re.escape(third)}.*{re.escape(second)}.*{re.escape(first)}", text, re.DOTALL)


async def test_searching_testing_and_the_menu_need_no_reload(on: BotHarness, admin: AdminPage, browser: Chrome) -> None:
    await asyncio.to_thread(searched, browser, base_of(admin))


def searched(browser: Chrome, base: str) -> None:
    sign_in(browser, base)
    resize(browser, 360)
    browser.get(f"{base}/people")
    menu = browser.find_element("css selector", ".menu")
    assert not browser.find_element("css selector", "#nav a").is_displayed()
    menu.send_keys(Keys.ENTER)
    assert browser.find_element("css selector", "#nav a").is_displayed()
    assert menu.get_attribute("aria-expanded") == "true"
    browser.find_element("id", "q").send_keys("lovelace")
    until(browser, lambda: "1 person" in browser.find_element("id", "list").text)
    assert "q=lovelace" in browser.current_url
    browser.get(f"{base}/providers?open=openai#openai")
    browser.get(f"{base}/router")
    browser.find_element("css selector", "[aria-label='Test openai/gpt-5.1']").click()
    until(browser, lambda: "answers after" in browser.find_element("id", "test-balanced").text)
    assert [each for each in console(browser) if "Autofocus" not in each] == []
