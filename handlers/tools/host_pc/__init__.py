"""The toolkit `host_pc`: the desktop of the machine that the bot runs on, for its owner."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from handlers.languages import Say
from handlers.tools.authoring.decorator import Tools, tool, tools_of
from handlers.tools.authoring.tool import Preview
from handlers.tools.dependencies import ToolDependencies
from handlers.tools.host_pc.apps import find_app, find_files
from routing.errors import Reason, ToolFailed, system_reason
from routing.types.messages import OutgoingFile
from routing.types.tools import ToolScope, Traits

NAME = "host_pc"
SECONDS = 15.0
"""Time limit for a program that returns."""
START_SECONDS = 2.0
"""A program that still runs after this has started well."""
MAX_URL, MAX_TEXT, MAX_TITLE, MAX_PICTURE_BYTES = 2_000, 20_000, 100, 20_000_000
NO_DESKTOP = Reason("this machine has no desktop (neither DISPLAY nor WAYLAND_DISPLAY is set for the bot)")
VARIABLES = (
    *("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "PATH", "HOME", "USER", "LANG"),
    *("XDG_RUNTIME_DIR", "XDG_SESSION_TYPE", "XDG_CURRENT_DESKTOP", "XDG_DATA_DIRS", "XDG_DATA_HOME"),
)
"""What programs of the desktop get of the environment: no keys."""

_X11: dict[str, tuple[tuple[str, ...], ...]] = {
    "url": (("xdg-open",),),
    "app": (("gtk-launch",),),
    "paste": (("xclip", "-selection", "clipboard", "-o"), ("xsel", "-ob")),
    "copy": (("xclip", "-selection", "clipboard", "-i"), ("xsel", "-ib")),
    "screenshot": (("gnome-screenshot", "-f"), ("scrot", "-o"), ("maim",), ("import", "-window", "root")),
    "notify": (("notify-send", "--app-name=tierbot", "--"),),
}
_WAYLAND = _X11 | {
    "paste": (("wl-paste", "--no-newline"),),
    "copy": (("wl-copy",),),
    "screenshot": (("grim",), ("gnome-screenshot", "-f"), ("spectacle", "-b", "-n", "-o")),
}
_NOTIFY_MAC = "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run"
_MAC: dict[str, tuple[tuple[str, ...], ...]] = {
    "url": (("open",),),
    "app": (("open", "-a"),),
    "paste": (("pbpaste",),),
    "copy": (("pbcopy",),),
    "screenshot": (("screencapture", "-x"),),
    "notify": (("osascript", "-e", _NOTIFY_MAC),),
}
"""For each task the programs that can do it, the first choice first. Arguments follow."""

ACTS = Traits(parallel=False, outside=False)
SHOWS = replace(ACTS, private=True)
CLIPBOARD = Traits(parallel=False, changes=True, private=True)


def build(dependencies: ToolDependencies) -> Tools:
    return tools_of(DesktopTools(dependencies.desktop))


def _needs(task: str) -> Callable[[DesktopTools], Awaitable[str | None]]:
    """The `off` of a tool that needs a program."""

    async def off(tools: DesktopTools) -> str | None:
        return tools.why_not(task)

    return off


class DesktopTools:
    """Programs get no shell, and no argument from a model but the address, name or text. `variables` are those of the
    bot; without any there is no desktop. Which programs there are is found out once."""

    def __init__(self, variables: Mapping[str, str], system: str = sys.platform) -> None:
        self._variables = {name: variables[name] for name in VARIABLES if name in variables}
        self._mac = system == "darwin"
        shown = self._variables.get("DISPLAY") or self._variables.get("WAYLAND_DISPLAY")
        self._desktop = bool(self._variables) and (self._mac or bool(shown))
        programs = _MAC if self._mac else _WAYLAND if self._variables.get("WAYLAND_DISPLAY") else _X11
        path = self._variables.get("PATH", os.defpath)
        self._choices = programs
        self._programs = {
            task: next((each for each in choices if self._desktop and shutil.which(each[0], path=path)), None)
            for task, choices in programs.items()
        }

    def why_not(self, task: str) -> str | None:
        """Why this can't be done here, as a clause; None if it can."""
        if not self._desktop:
            return NO_DESKTOP
        if task not in self._choices or self._programs[task] is not None:
            return None
        names = " / ".join(program[0] for program in self._choices[task])
        return Reason("a program is missing on this machine: {programs}", programs=names)

    def _about_url(self, scope: ToolScope, url: str) -> str:
        _web_address(url)
        return Say(scope.language)("🖥 It opens this address in the browser of the bot's machine.")

    @tool(role="owner", traits=ACTS, off=_needs("url"), asks=_about_url)
    def host_open_url(self, scope: ToolScope, url: str) -> str:
        """Opens a web address, never a file."""
        self._start("url", _web_address(url))
        return "It is open in the browser."

    def _about_app(self, scope: ToolScope, name: str) -> str:
        say, found = Say(scope.language), _mac_app(name) if self._mac else find_app(name, self._variables).name
        words = "🖥 It starts {program} on the bot's machine."
        return Preview(say(words, program=f"`{found.replace('`', '')}`"), ("name",))

    @tool(role="owner", traits=ACTS, off=_needs("app"), asks=_about_app)
    def host_open_app(self, scope: ToolScope, name: str) -> str:
        """Starts an installed program, by its desktop entry."""
        if self._mac:
            self._start("app", _mac_app(name))
            return f"{name} was started."
        app = find_app(name, self._variables)
        self._start("app", app.id)
        return f"{app.name} was started."

    def _about_files(self, scope: ToolScope, query: str) -> str:
        return Say(scope.language)("🔎 It shows the model names of files in your home folder on the bot's machine.")

    @tool(role="owner", traits=Traits(private=True), off=_needs("find"), asks=_about_files)
    def host_find_file(self, scope: ToolScope, query: str) -> str:
        """Finds files by their names in the home folder of the bot's user."""
        return find_files(query, Path(self._variables.get("HOME") or Path.home()))

    def _about_clipboard(self, scope: ToolScope, text: str = "") -> str:
        say = Say(scope.language)
        if text:
            return say("📋 It replaces what is in the clipboard of the bot's machine.")
        return say("📋 It gives the model what is in the clipboard of the bot's machine.")

    @tool(role="owner", traits=CLIPBOARD, off=_needs("copy"), asks=_about_clipboard)
    def host_clipboard(self, scope: ToolScope, text: str = "") -> str:
        """Reads the clipboard, or writes a text into it."""
        if text:
            self._run("copy", given=_fitting(text).encode("utf-8", "replace"))
            return "It is in the clipboard."
        there = self._run("paste").decode(errors="replace").replace("\0", "")
        cut = f"\n[The rest beyond {MAX_TEXT:,} characters is left out.]" if len(there) > MAX_TEXT else ""
        return f"{there[:MAX_TEXT]}{cut}" if there else "The clipboard is empty."

    def _about_screenshot(self, scope: ToolScope) -> str:
        return Say(scope.language)("📸 It sends a picture of the whole screen into this chat.")

    @tool(role="owner", traits=SHOWS, off=_needs("screenshot"), asks=_about_screenshot)
    def host_screenshot(self, scope: ToolScope) -> str:
        """Attaches a picture of the screen to the answer."""
        if scope.attach is None:
            raise ToolFailed("No picture can be sent here.")
        with tempfile.TemporaryDirectory(prefix="tierbot-") as folder:
            path = Path(folder, "screenshot.png")
            self._run("screenshot", str(path))
            try:
                with path.open("rb") as file:
                    data = file.read(MAX_PICTURE_BYTES + 1)
            except OSError:
                raise ToolFailed("The program for screenshots made no picture.") from None
        if not data or len(data) > MAX_PICTURE_BYTES:
            raise ToolFailed("The picture is empty or too large to be sent.")
        scope.attach(OutgoingFile("screenshot.png", "image/png", data, "picture"))
        return "The screenshot is attached to your answer. You can't see it yourself."

    def _about_notice(self, scope: ToolScope, text: str) -> str:
        return Say(scope.language)("🔔 It shows a notice on the screen of the bot's machine.")

    @tool(role="owner", traits=ACTS, off=_needs("notify"), asks=_about_notice)
    def host_notify(self, scope: ToolScope, text: str) -> str:
        """Shows a desktop notification."""
        if not text.strip():
            raise ToolFailed("Give the text of the notice.")
        self._run("notify", "tierbot", _fitting(text).replace("\0", ""))
        return "The notice was shown."

    def _command(self, task: str, arguments: Sequence[str]) -> list[str]:
        program = self._programs[task]
        if program is None:
            raise ToolFailed(f"This can't be done here: {self.why_not(task)}.")
        return [*program, *arguments]

    def _run(self, task: str, *arguments: str, given: bytes | None = None) -> bytes:
        """What a program prints. Output goes through files, because programs for the clipboard stay in the
        background and would keep pipes open. Raises ToolFailed."""
        command = self._command(task, arguments)
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as stdin:
            stdin.write(given or b"")
            stdin.seek(0)
            try:
                ran = subprocess.run(
                    command, stdin=stdin, stdout=out, stderr=subprocess.DEVNULL, env=self._variables, timeout=SECONDS
                )
            except subprocess.TimeoutExpired:
                raise ToolFailed(f"{command[0]} did not end within {SECONDS:.0f} s.") from None
            except OSError as error:
                raise ToolFailed(f"{command[0]} can't be started: {system_reason(error)}.") from None
            if ran.returncode and task == "paste":
                raise ToolFailed("The clipboard is empty or holds no text.")
            if ran.returncode:
                raise ToolFailed(f"{command[0]} failed with exit code {ran.returncode}.")
            out.seek(0)
            return out.read(4 * MAX_TEXT + 4)

    def _start(self, task: str, argument: str) -> None:
        """Starts a program that goes on by itself. Raises ToolFailed if it fails at once."""
        command, nothing = self._command(task, [argument]), subprocess.DEVNULL
        try:
            child = subprocess.Popen(
                command, stdin=nothing, stdout=nothing, stderr=nothing, env=self._variables, start_new_session=True
            )
            code = child.wait(START_SECONDS)
        except subprocess.TimeoutExpired:
            threading.Thread(target=child.wait, daemon=True).start()
            return
        except OSError as error:
            raise ToolFailed(f"{command[0]} can't be started: {system_reason(error)}.") from None
        if code:
            raise ToolFailed(f"{command[0]} failed with exit code {code}.")


def _fitting(text: str) -> str:
    if len(text) > MAX_TEXT:
        raise ToolFailed(f"The text is longer than {MAX_TEXT:,} characters: shorten it, or write it into a file.")
    return text


def _web_address(url: str) -> str:
    """Raises ToolFailed unless this is an address of the web."""
    try:
        parts = urlsplit(url)
        plain = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.username is None
    except ValueError:
        plain = False
    if not plain or len(url) > MAX_URL or not url.isprintable() or " " in url:
        raise ToolFailed("Only addresses that begin with http:// or https:// can be opened.")
    return url


def _mac_app(name: str) -> str:
    """Raises ToolFailed unless this can be the name of a program, and is no option or path."""
    if not name.strip() or name.startswith("-") or "/" in name or not name.isprintable():
        raise ToolFailed("Give the name of a program.")
    return name
