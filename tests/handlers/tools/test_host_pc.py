"""The desktop of the bot's machine, with stand-in programs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from handlers.languages import Say
from handlers.tools.host_pc import DesktopTools
from handlers.tools.host_pc.apps import find_app
from routing.errors import ToolFailed
from routing.types.decisions import TierDecision
from routing.types.messages import OutgoingFile
from routing.types.people import Person
from routing.types.tools import ToolScope
from tests.handlers.tools.desktops import PICTURE, Desktop

SCOPE = ToolScope(Person(1, "owner", "Ann"), 1, TierDecision("balanced", "default", ""))


@pytest.fixture
def desktop(tmp_path: Path) -> Desktop:
    made = Desktop(tmp_path)
    made.usual()
    return made


@pytest.fixture
def tools(desktop: Desktop) -> DesktopTools:
    return DesktopTools({**desktop.variables, "OPENAI_API_KEY": "sk-secret"}, "linux")


def test_an_address_is_opened_and_programs_get_no_keys(tools: DesktopTools, desktop: Desktop) -> None:
    tools.host_open_url(SCOPE, "https://example.org/a?b=c#d")
    (call,) = desktop.calls("xdg-open")
    assert call.startswith("['https://example.org/a?b=c#d']")
    assert "'DISPLAY'" in call
    assert "OPENAI" not in call


@pytest.mark.parametrize(
    "url",
    [
        *("file:///etc/passwd", "javascript:alert(1)", "--help", "-v", "", "example.org", "https://", "ssh://host/"),
        *("https://user:word@example.org", "https://[::1", "http://example.org/a b", "https://example.org/\n--x"),
        *("mailto:bob@example.com", "HTTPS:/example.org", "https://example.org/" + "a" * 2_000),
    ],
)
def test_other_addresses_are_refused_before_the_question(tools: DesktopTools, desktop: Desktop, url: str) -> None:
    for call in (tools.host_open_url, tools._about_url):
        with pytest.raises(ToolFailed, match="Only addresses that begin with http"):
            call(SCOPE, url)
    assert desktop.calls("xdg-open") == []


def test_a_program_is_started_by_its_desktop_entry(tools: DesktopTools, desktop: Desktop) -> None:
    desktop.entry("google-chrome", "Google Chrome", "Type=Application\nName[de]=Google Chrome\n")
    desktop.entry("calc", "Calculator", "Name[de]=Taschenrechner\nType=Application\n")
    for said in ("Chrome", "google chrome", "google-chrome", "Taschenrechner"):
        tools.host_open_app(SCOPE, said)
    started = [call.split("]")[0] for call in desktop.calls("gtk-launch")]
    assert started == ["['google-chrome'"] * 3 + ["['calc'"]
    assert "`Google Chrome`" in tools._about_app(SCOPE, "chrome")


def test_programs_without_a_visible_entry_are_not_started(tools: DesktopTools, desktop: Desktop) -> None:
    desktop.entry("firefox", "Firefox")
    desktop.entry("daemon", "Daemon", "Type=Application\nNoDisplay=true\n")
    desktop.entry("link", "Link", "Type=Link\n")
    desktop.entry("--help", "Trick")
    desktop.entry("one", "Text Editor")
    desktop.entry("two", "Hex Editor")
    for said in ("xdg-open", "/bin/sh", "--help", "Trick", "daemon", "link", "", "firefox; reboot", "../firefox"):
        with pytest.raises(ToolFailed, match="No program here"):
            tools.host_open_app(SCOPE, said)
    with pytest.raises(ToolFailed, match=r"No program here.*The nearest: Firefox"):
        tools.host_open_app(SCOPE, "Fierfox")
    with pytest.raises(ToolFailed, match="Several programs fit: Hex Editor, Text Editor"):
        tools.host_open_app(SCOPE, "editor")
    assert desktop.calls("gtk-launch") == []


def test_an_entry_of_the_user_hides_that_of_the_system(desktop: Desktop, tmp_path: Path) -> None:
    system = tmp_path / "share" / "applications"
    system.mkdir(parents=True)
    (system / "vim.desktop").write_text("[Desktop Entry]\nType=Application\nName=Vim\n[Desktop Action x]\nName=X\n")
    variables = {**desktop.variables, "XDG_DATA_DIRS": str(tmp_path / "share")}
    assert find_app("vim", variables).name == "Vim"
    desktop.entry("vim", "Vim", "Type=Application\nHidden=true\n")
    with pytest.raises(ToolFailed):
        find_app("vim", variables)


def test_a_program_that_fails_or_is_missing_is_told(tools: DesktopTools, desktop: Desktop) -> None:
    desktop.program("xdg-open", "sys.exit(3)")
    with pytest.raises(ToolFailed, match="xdg-open failed with exit code 3"):
        tools.host_open_url(SCOPE, "https://example.org")
    (desktop.programs / "xdg-open").unlink()
    with pytest.raises(ToolFailed, match="xdg-open can't be started"):
        tools.host_open_url(SCOPE, "https://example.org")


def test_a_program_that_goes_on_has_started(
    tools: DesktopTools, desktop: Desktop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handlers.tools.host_pc.START_SECONDS", 0.05)
    os.mkfifo(until := tmp_path / "until")
    desktop.program("xdg-open", f"open({str(until)!r}).read()")
    assert tools.host_open_url(SCOPE, "https://example.org") == "It is open in the browser."
    with until.open("w"):
        pass


def test_files_are_found_by_name(tools: DesktopTools, desktop: Desktop) -> None:
    for name in ("tax/Invoice 2026.pdf", "invoice-2025.pdf", ".cache/invoice-2026.pdf", ".invoice-2026"):
        path = desktop.home / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x" * 1_234)
    (desktop.home / "link").symlink_to(desktop.home / "tax")
    (line,) = tools.host_find_file(SCOPE, "2026 INVOICE").splitlines()
    assert line.startswith(f"{desktop.home}/tax/Invoice 2026.pdf  1,234 bytes")
    with pytest.raises(ToolFailed, match="No file below the home folder"):
        tools.host_find_file(SCOPE, "nothing like this")
    with pytest.raises(ToolFailed, match="Give a part"):
        tools.host_find_file(SCOPE, " ")


def test_the_clipboard_is_written_and_read(tools: DesktopTools, desktop: Desktop) -> None:
    with pytest.raises(ToolFailed, match="empty or holds no text"):
        tools.host_clipboard(SCOPE)
    assert tools.host_clipboard(SCOPE, "grüße; $(reboot)") == "It is in the clipboard."
    assert tools.host_clipboard(SCOPE) == "grüße; $(reboot)"
    tools.host_clipboard(SCOPE, "ü" * 20_000)
    assert tools.host_clipboard(SCOPE) == "ü" * 20_000
    desktop.clipboard.write_text("x" * 20_001)
    assert tools.host_clipboard(SCOPE).endswith("x\n[The rest beyond 20,000 characters is left out.]")
    for write in (tools.host_clipboard, tools.host_notify):
        with pytest.raises(ToolFailed, match="longer than 20,000 characters"):
            write(SCOPE, "x" * 20_001)
    assert "replaces" in tools._about_clipboard(SCOPE, "x")
    assert "gives the model" in tools._about_clipboard(SCOPE)


def test_a_screenshot_is_attached(tools: DesktopTools, desktop: Desktop) -> None:
    attached: list[OutgoingFile] = []
    scope = ToolScope(SCOPE.person, 1, SCOPE.decision, attach=attached.append)
    assert "attached" in tools.host_screenshot(scope)
    assert attached == [OutgoingFile("screenshot.png", "image/png", PICTURE, "picture")]
    desktop.program("scrot")
    with pytest.raises(ToolFailed, match="made no picture"):
        tools.host_screenshot(scope)
    with pytest.raises(ToolFailed, match="No picture can be sent"):
        tools.host_screenshot(SCOPE)


def test_a_notice_is_text_and_no_option(tools: DesktopTools, desktop: Desktop) -> None:
    tools.host_notify(SCOPE, "--icon=x\0y")
    (call,) = desktop.calls("notify-send")
    assert call.startswith("['--app-name=tierbot', '--', 'tierbot', '--icon=xy']")
    with pytest.raises(ToolFailed, match="Give the text"):
        tools.host_notify(SCOPE, " ")


def test_without_a_desktop_everything_is_off() -> None:
    for variables, system in (({"PATH": "/bin", "DISPLAY": ""}, "linux"), ({}, "linux"), ({}, "darwin")):
        tools = DesktopTools(variables, system)
        for task in ("url", "app", "find", "copy", "screenshot", "notify"):
            reason = tools.why_not(task)
            assert reason is not None
            assert "this machine has no desktop" in reason
            assert "keinen Desktop" in Say("de")(reason)


def test_a_missing_program_is_named(tmp_path: Path) -> None:
    desktop = Desktop(tmp_path)
    x11, wayland = desktop.variables, {**desktop.variables, "WAYLAND_DISPLAY": "wayland-0"}
    assert DesktopTools(x11, "linux").why_not("copy") == "a program is missing on this machine: xclip / xsel"
    missing = DesktopTools(wayland, "linux").why_not("screenshot")
    assert missing == "a program is missing on this machine: grim / gnome-screenshot / spectacle"
    assert DesktopTools(x11, "linux").why_not("find") is None
    desktop.program("grim")
    assert DesktopTools(wayland, "linux").why_not("screenshot") is None


def test_a_mac_has_its_own_programs(tmp_path: Path) -> None:
    desktop = Desktop(tmp_path)
    desktop.program("open")
    tools = DesktopTools({"PATH": str(desktop.programs), "HOME": str(desktop.home)}, "darwin")
    tools.host_open_url(SCOPE, "https://example.org")
    tools.host_open_app(SCOPE, "Safari")
    assert [call.split("]")[0] for call in desktop.calls("open")] == ["['https://example.org'", "['-a', 'Safari'"]
    for name in ("-a", "/tmp/evil.app", ""):
        for call in (tools.host_open_app, tools._about_app):
            with pytest.raises(ToolFailed, match="Give the name of a program"):
                call(SCOPE, name)
    assert "`Safari`" in tools._about_app(SCOPE, "Safari")
    assert len(desktop.calls("open")) == 2


@pytest.mark.parametrize(
    ("system", "copy", "paste", "picture", "notice"),
    [
        ("linux", ("wl-copy", []), ("wl-paste", ["--no-newline"]), ("grim", []), "notify-send"),
        ("linux", ("wl-copy", []), ("wl-paste", ["--no-newline"]), ("gnome-screenshot", ["-f"]), "notify-send"),
        (
            "linux",
            ("wl-copy", []),
            ("wl-paste", ["--no-newline"]),
            ("spectacle", ["-b", "-n", "-o"]),
            "notify-send",
        ),
        ("darwin", ("pbcopy", []), ("pbpaste", []), ("screencapture", ["-x"]), "osascript"),
    ],
)
def test_wayland_and_mac_call_their_own_programs(
    tmp_path: Path,
    system: str,
    copy: tuple[str, list[str]],
    paste: tuple[str, list[str]],
    picture: tuple[str, list[str]],
    notice: str,
) -> None:
    desktop = Desktop(tmp_path)
    desktop.program(copy[0], f"open({str(desktop.clipboard)!r}, 'w').write(sys.stdin.read())")
    desktop.program(paste[0], f"sys.stdout.write(open({str(desktop.clipboard)!r}).read())")
    desktop.program(picture[0], f"open(sys.argv[-1], 'wb').write({PICTURE!r})")
    desktop.program(notice)
    tools = DesktopTools({**desktop.variables, "DISPLAY": "", "WAYLAND_DISPLAY": "wayland-0"}, system)
    with pytest.raises(ToolFailed, match="empty or holds no text"):
        tools.host_clipboard(SCOPE)
    tools.host_clipboard(SCOPE, "--help grüße")
    assert tools.host_clipboard(SCOPE) == "--help grüße"
    attached: list[OutgoingFile] = []
    tools.host_screenshot(ToolScope(SCOPE.person, 1, SCOPE.decision, attach=attached.append))
    assert [each.data for each in attached] == [PICTURE]
    tools.host_notify(SCOPE, '-e "quoted" & more')
    for name, first in (copy, paste):
        assert {call.split("]")[0] + "]" for call in desktop.calls(name)} == {repr(first)}
    (shot,) = desktop.calls(picture[0])
    assert shot.startswith(repr([*picture[1], ""])[:-3])
    (told,) = desktop.calls(notice)
    assert """'tierbot', '-e "quoted" & more']""" in told, "the text is one argument, and no part of a script"
