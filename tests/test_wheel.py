"""The program as an installed package: a wheel, in an environment that has only it and what it needs. Building it takes
setuptools from the package index."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import pytest

from handlers.version import VERSION

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[1]
PARTS = ("bot", "handlers", "routing", "storage", "migrations", "pyproject.toml", "README.md", "LICENSE")
NEWER = "99.0.0"


@dataclass(frozen=True)
class Installed:
    """An environment with the wheel, and a home and a folder that are empty."""

    venv: Path
    wheels: Path
    home: Path
    folder: Path

    def tierbot(self, *arguments: str, given: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the command in the empty folder."""
        environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.home), "EMBEDDINGS": "off", **variables}
        return subprocess.run(
            [self.venv / "bin" / "tierbot", *arguments],
            cwd=self.folder,
            env=environment,
            input=given,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )


def build(source: Path, wheels: Path, version: str) -> Path:
    """A wheel of this tree, as the given version."""
    source.mkdir(parents=True)
    for name in PARTS:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(ROOT / name, source / name)
    for name in ("pyproject.toml", "handlers/version.py"):
        text = (source / name).read_text(encoding="utf-8")
        (source / name).write_text(text.replace(f'"{VERSION}"', f'"{version}"', 1), encoding="utf-8")
    pip("wheel", "--no-deps", "--wheel-dir", str(wheels), str(source))
    return wheels / f"tierbot-{version}-py3-none-any.whl"


def pip(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pip", *arguments, "--quiet"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    top = tmp_path_factory.mktemp("wheel")
    made = Installed(top / "venv", top / "wheels", top / "home", top / "empty")
    for folder in (made.home, made.folder):
        folder.mkdir()
    wheel = build(top / "source", made.wheels, VERSION)
    subprocess.run([Path(sys.executable).resolve(), "-m", "venv", "--without-pip", made.venv], check=True)
    packages = next((made.venv / "lib").glob("python*")) / "site-packages"
    (packages / "needed.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    pip("--python", str(made.venv / "bin" / "python"), "install", "--no-deps", str(wheel))
    return made


def test_the_command_knows_its_version(installed: Installed) -> None:
    assert installed.tierbot("--version").stdout == f"tierbot {VERSION}\n"


def test_a_chat_keeps_its_data_in_the_home_folder(installed: Installed) -> None:
    done = installed.tierbot("chat", given="/help\n")
    assert done.returncode == 0, done.stderr
    assert "/tier" in done.stdout
    assert os.listdir(installed.folder) == []
    assert (installed.home / ".local" / "share" / "tierbot" / "tierbot.db").exists()


def test_the_service_runs_the_package_from_any_folder(installed: Installed) -> None:
    unit = installed.tierbot("service", "install", "--dry-run").stdout
    assert f"ExecStart={installed.venv}/bin/python -P -m bot run\n" in unit
    assert "WorkingDirectory=/\n" in unit
    unit = installed.tierbot("service", "install", "--dry-run", "--user").stdout
    assert f"Environment=WORKSPACE={installed.home}/.local/share/tierbot\n" in unit


def test_a_newer_wheel_beside_the_installed_one_is_found(installed: Installed) -> None:
    assert installed.tierbot("update", "--check").stdout == f"tierbot {VERSION} is the newest version.\n"
    newer = installed.wheels / f"tierbot-{NEWER}-py3-none-any.whl"
    newer.touch()
    (installed.wheels / "tierbot-notes.whl").touch()
    assert installed.tierbot("update", "--check").stdout == f"There is tierbot {NEWER}; this is {VERSION}.\n"
    done = installed.tierbot("update", "--check", "--from", str(newer))
    assert done.stdout == f"There is tierbot {NEWER}; this is {VERSION}.\n"
    newer.chmod(0o666)
    assert "can be changed by other users, so it is not installed" in installed.tierbot("update").stderr
    newer.unlink()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("/nowhere/tierbot-2-py3-none-any.whl", "There is no file /nowhere/tierbot-2-py3-none-any.whl."),
        ("https://example.org/other-2-py3-none-any.whl", "is not a wheel of tierbot: its name must look like"),
    ],
)
def test_what_is_not_a_wheel_is_refused(installed: Installed, given: str, words: str) -> None:
    done = installed.tierbot("update", "--from", given)
    assert done.returncode == 2
    assert words in done.stderr


def test_a_wheel_that_is_broken_is_taken_back(installed: Installed) -> None:
    """The backup of the workspace is that of the command line; there is no service."""
    broken = installed.wheels / f"tierbot-{NEWER}-py3-none-any.whl"
    broken.write_bytes(b"not a wheel")
    done = installed.tierbot("update", "--from", str(broken), XDG_DATA_HOME=str(installed.home / "none"))
    assert done.returncode == 1, done.stderr
    assert "The new version does not work." in done.stdout
    assert done.stdout.endswith(f"tierbot is {VERSION} again.\n")
    assert installed.tierbot("--version").stdout == f"tierbot {VERSION}\n"
    assert [path.name for path in installed.venv.parent.glob("venv.*")] == ["venv.update.lock"]
    broken.unlink()
