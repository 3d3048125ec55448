"""A desktop made of stand-in programs that record how they were called."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

PICTURE = b"\x89PNG\r\n\x1a\n and so on"
_RECORD = """#!{python} -IS
import os, sys
with open({log!r}, "a") as log:
    print(repr(sys.argv[1:]), sorted(os.environ), file=log)
{body}
"""


class Desktop:
    """Programs on a PATH of their own, and desktop entries in a home folder."""

    def __init__(self, folder: Path) -> None:
        self.home, self.programs, self.log = folder / "home", folder / "bin", folder / "log"
        self.applications = self.home / ".local" / "share" / "applications"
        self.applications.mkdir(parents=True)
        self.programs.mkdir()
        self.clipboard = folder / "clipboard"

    @property
    def variables(self) -> Mapping[str, str]:
        return {
            "DISPLAY": ":7",
            "PATH": str(self.programs),
            "HOME": str(self.home),
            "XDG_DATA_DIRS": str(self.home / "nothing"),
        }

    def program(self, name: str, body: str = "") -> None:
        """A Python script, whose last argument is `sys.argv[-1]`."""
        path = self.programs / name
        path.write_text(_RECORD.format(python=sys.executable, log=str(self.log / name), body=body))
        path.chmod(0o755)
        self.log.mkdir(exist_ok=True)

    def usual(self) -> None:
        """The programs of an X11 desktop."""
        for name in ("xdg-open", "gtk-launch", "notify-send"):
            self.program(name)
        self.program("scrot", f"open(sys.argv[-1], 'wb').write({PICTURE!r})")
        kept = str(self.clipboard)
        paste = f"sys.stdout.write(open({kept!r}).read())"
        self.program("xclip", f"if '-o' in sys.argv: {paste}\nelse: open({kept!r}, 'w').write(sys.stdin.read())")

    def entry(self, id: str, name: str, more: str = "Type=Application\n") -> None:
        (self.applications / f"{id}.desktop").write_text(f"[Desktop Entry]\nName={name}\n{more}Exec=/bin/{id} %U\n")

    def calls(self, program: str) -> list[str]:
        """Arguments and names of environment variables of each call."""
        path = self.log / program
        return path.read_text().splitlines() if path.exists() else []
