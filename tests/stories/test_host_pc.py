""" "Open Chrome" and its companions, on a desktop of stand-in programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.handlers.tools.desktops import PICTURE, Desktop
from tests.stories.harness import BotHarness, ask, press, running
from tests.stories.office import CANCEL, ONCE, calls, card, pressed


@pytest.fixture
def desktop(on: BotHarness, tmp_path: Path) -> Desktop:
    made = Desktop(tmp_path)
    made.usual()
    made.entry("google-chrome", "Google Chrome")
    on.env |= made.variables
    return made


async def test_open_chrome(on: BotHarness, desktop: Desktop) -> None:
    calls(on, "host_open_app", {"name": "Chrome"}, server="")
    async with running(on):
        asked = await card(on, "Open Chrome")
        assert "It starts Google Chrome on the bot's machine" in asked.text
        assert desktop.calls("gtk-launch") == []
        assert "Google Chrome was started." in (await pressed(on, ONCE, asked)).text
        assert len(desktop.calls("gtk-launch")) == 1
        await press(on, CANCEL, await card(on, "Open Chrome again"))
    (call,) = desktop.calls("gtk-launch")
    assert call.startswith("['google-chrome']")
    assert "host_open_app" in {tool["function"]["name"] for tool in on.ms.calls[0].body["tools"]}


async def test_a_screenshot_comes_after_the_button(on: BotHarness, desktop: Desktop) -> None:
    calls(on, "host_screenshot", {}, server="")
    async with running(on):
        asked = await card(on, "Take a screenshot of my PC")
        assert "It sends a picture of the whole screen into this chat" in asked.text
        assert desktop.calls("scrot") == []
        on.tg.press(ONCE, message=asked)
        await on.tg.wait_for(lambda _: "photo" in asked.chat.from_bot()[-1].content)
        assert on.tg.picture(asked.chat.from_bot()[-1]).data == PICTURE


async def test_each_tool_asks(on: BotHarness, desktop: Desktop) -> None:
    desktop.clipboard.write_text("my secret")
    given: dict[str, dict[str, object]] = {
        "host_open_url": {"url": "https://example.org"},
        "host_find_file": {"query": "tax"},
        "host_clipboard": {},
        "host_notify": {"text": "Dinner"},
    }
    async with running(on):
        for tool, arguments in given.items():
            calls(on, tool, arguments, server="")
            asked = await card(on, "Do it on my computer's screen")
            assert "the bot's machine" in asked.text, tool
    assert not desktop.log.exists() or not list(desktop.log.iterdir())
    assert "my secret" not in str([call.body for call in on.ms.calls])


async def test_only_owners_have_the_desktop(on: BotHarness, desktop: Desktop) -> None:
    on.env["BOT_ACCESS"] = "open"
    calls(on, "host_open_app", {"name": "Chrome"}, server="")
    async with running(on):
        await ask(on, "hello")
        assert "🔐" not in (await ask(on, "Open Chrome", user="bob")).text
    assert "host_open_app" not in {tool["function"]["name"] for tool in on.ms.last.body.get("tools", ())}
    assert desktop.calls("gtk-launch") == []


async def test_without_a_desktop_tools_says_why(on: BotHarness) -> None:
    async with running(on):
        assert "this machine has no desktop" in (await ask(on, "/tools")).text
