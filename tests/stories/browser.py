"""Chromium with a screen of a given width, its console, and axe-core's judgement."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

from tests.postgres import missing

AXE_VERSION = "4.14.1"
AXE = Path(__file__).resolve().parents[2] / ".venv" / "axe" / "node_modules" / "axe-core"
HEIGHT = 900
COLOURS = 64
_ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--hide-scrollbars",
    "--no-proxy-server",
)


def programs() -> tuple[str, str]:
    """Chromium and its driver. Skips with what is missing."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if browser is None or driver is None:
        missing("Chromium (chromium, chromedriver)")
    assert browser is not None
    assert driver is not None
    return browser, driver


def axe_source() -> str:
    """The text of axe.min.js. Skips with how to install it."""
    manifest = AXE / "package.json"
    if not manifest.exists() or json.loads(manifest.read_text())["version"] != AXE_VERSION:
        missing(f"axe-core: npm install --prefix .venv/axe axe-core@{AXE_VERSION}")
    return (AXE / "axe.min.js").read_text(encoding="utf-8")


@contextmanager
def chromium() -> Iterator[Chrome]:
    """One browser without a window."""
    browser, driver = programs()
    options = ChromeOptions()
    options.binary_location = browser
    for argument in _ARGUMENTS:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    made = Chrome(options=options, service=Service(driver))
    made.set_page_load_timeout(60)
    try:
        yield made
    finally:
        made.quit()


def resize(browser: Chrome, width: int, dark: bool = False, height: int = HEIGHT) -> None:
    """A screen of this width; below 600 pixels a phone's."""
    screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})


def picture(browser: Chrome, path: Path) -> None:
    """A screenshot with a small palette."""
    taken = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
    with Image.open(BytesIO(base64.b64decode(taken["data"]))) as image:
        image.convert("RGB").quantize(COLOURS).save(path, optimize=True)


def page_height(browser: Chrome) -> int:
    """The height of the whole page in pixels."""
    return int(browser.execute_script("return document.documentElement.scrollHeight"))


def console(browser: Chrome) -> list[str]:
    """What the console says since the last call, but for debug lines."""
    entries: list[dict[str, Any]] = browser.execute("getLog", {"type": "browser"})["value"]
    return [entry["message"] for entry in entries if entry["level"] in ("SEVERE", "WARNING")]


def violations(browser: Chrome, source: str) -> list[str]:
    """What axe-core finds: rule, help and element."""
    browser.execute_script(source)  # Selenium's own world, so the page's policy does not forbid it
    found: dict[str, Any] = browser.execute_async_script("const done = arguments[0]; axe.run().then(done, done);")
    return [
        f"{rule['id']}: {rule['help']}: {node['html'][:200]} ({node.get('failureSummary', '')[:200]})"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]


def overflow(browser: Chrome) -> int:
    """How many pixels the page is wider than the screen."""
    script = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    return int(browser.execute_script(script))
