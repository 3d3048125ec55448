"""A clone of the program with an environment of its own, run by a stand-in for systemd, and the repository that it
follows."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import zipfile
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from tests.servers.git import git
from tests.servers.systemctl import install

ROOT = Path(__file__).resolve().parents[4]
COPIED = ("bot", "handlers", "storage", "migrations", "docker", "Makefile", "pyproject.toml", ".gitignore")
NEW_REVISION = "9999"
MIGRATION = f'''
from alembic import op

revision, down_revision = "{NEW_REVISION}", "LAST"
branch_labels = depends_on = None


def upgrade() -> None:
    op.execute("create table new_in_this_version (id integer primary key)")
'''


FAILING_BACKUP = """
if sys.argv[1:2] == ["backup"] and __import__("pathlib").Path(sys.argv[2]).parents[1].joinpath("no-backup").exists():
    sys.exit("tierbot: The disk is full.")
"""


@dataclass
class Project:
    """`work` publishes versions, `clone` is the installation."""

    folder: Path
    workspace: Path

    @property
    def work(self) -> Path:
        return self.folder / "work"

    @property
    def clone(self) -> Path:
        return self.folder / "clone"

    @property
    def bin(self) -> Path:
        """The stand-in's programs and state."""
        return self.folder / "bin"

    @property
    def database(self) -> Path:
        return self.workspace / "tierbot.db"

    def create(self) -> None:
        """Version 0.1.0, cloned and with an environment that finds the packages of this one."""
        ignored = shutil.ignore_patterns("__pycache__")
        self.work.mkdir(parents=True)
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, self.work / name, ignore=ignored)
            else:
                shutil.copy2(source, self.work / name)
        (self.work / "routing").symlink_to(ROOT / "routing")  # 16 MB, and the same in all versions
        for name in ("requirements.lock", "requirements-weights.lock"):
            (self.work / name).write_text("", encoding="utf-8")
        entry = self.work / "bot" / "__main__.py"
        text = entry.read_text(encoding="utf-8")
        entry.write_text(text.replace("\nif __name__ ==", f"{FAILING_BACKUP}\nif __name__ =="), encoding="utf-8")
        git(self.work, "init", "-q")
        self.publish()
        git(self.folder, "clone", "-q", str(self.work), str(self.clone))
        self._make_environment()
        install(self.bin)

    def _make_environment(self) -> None:
        venv = self.clone / ".venv"
        base = Path(sys.executable).resolve()
        subprocess.run([base, "-m", "venv", "--without-pip", "--symlinks", venv], check=True)
        packages = next((venv / "lib").glob("python*")) / "site-packages"
        (packages / "shared.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
        (venv / ".base").touch()
        (venv / "bin" / "tierbot").symlink_to(self.clone / "docker" / "tierbot")

    def publish(self, version: str = "0.1.0", **changes: str) -> str:
        """Commit a version with these files changed (`bot__cli` is bot/cli.py); returns the commit."""
        file = self.work / "handlers" / "version.py"
        file.write_text(f'"""The version."""\n\nVERSION = "{version}"\n', encoding="utf-8")
        for name, text in changes.items():
            (self.work / f"{name.replace('__', '/')}.py").write_text(text, encoding="utf-8")
        git(self.work, "add", "-A", "-f")
        git(self.work, "commit", "-q", "-m", f"Version {version}")
        return git(self.work, "rev-parse", "HEAD")

    def add_package(self) -> None:
        """The next version needs the package `marker`."""
        wheel = self.folder / "marker-1-py3-none-any.whl"
        info = "marker-1.dist-info"
        with zipfile.ZipFile(wheel, "w") as file:
            file.writestr("marker.py", "HERE = True\n")
            file.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: marker\nVersion: 1\n")
            file.writestr(
                f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            )
            file.writestr(f"{info}/RECORD", f"marker.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
        digest = sha256(wheel.read_bytes()).hexdigest()
        line = f"marker @ {wheel.as_uri()} --hash=sha256:{digest}\n"
        (self.work / "requirements.lock").write_text(line, encoding="utf-8")

    def add_migration(self) -> None:
        """The next version changes the database."""
        schema = self.work / "storage" / "schema.py"
        text = schema.read_text(encoding="utf-8")
        last = text.split('REVISION = "')[1].split('"')[0]
        schema.write_text(text.replace(f'REVISION = "{last}"', f'REVISION = "{NEW_REVISION}"'), encoding="utf-8")
        migration = self.work / "migrations" / "versions" / f"{NEW_REVISION}_new.py"
        migration.write_text(MIGRATION.replace("LAST", last), encoding="utf-8")

    @property
    def has_package(self) -> bool:
        return any((self.clone / ".venv" / "lib").glob("python*/site-packages/marker.py"))

    @property
    def version(self) -> str:
        """What is installed now."""
        return self.command("--version").stdout.strip()

    def unreadable(self) -> list[str]:
        """Files of the program that only its owner can read."""
        folders = (self.clone, *(self.clone / ".venv" / "lib").glob("python*/site-packages"))
        found = (path for folder in folders for path in folder.glob("*") if not path.name.startswith(".venv"))
        files = (*found, *(self.clone / "handlers").glob("*"))
        return [str(path) for path in files if not path.stat().st_mode & 0o004]

    @property
    def commit(self) -> str:
        return git(self.clone, "rev-parse", "HEAD")

    def environment(self) -> dict[str, str]:
        return {
            "PATH": f"{self.bin}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.folder),
            "WORKSPACE": str(self.workspace),
            "PYTHONDONTWRITEBYTECODE": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
        }

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the clone's command to its end."""
        program = self.clone / ".venv" / "bin" / "tierbot"
        return subprocess.run(
            [program, *arguments], env=self.environment(), capture_output=True, text=True, check=False, timeout=240
        )

    async def tierbot(self, *arguments: str) -> tuple[int, str]:
        """Run the clone's command; returns its exit code and all it says."""
        done = await asyncio.to_thread(self.command, *arguments)
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, done.stdout + done.stderr

    async def killed(self, *arguments: str, when: str) -> None:
        """Run the clone's command until it says `when`, and kill it there with all its children."""
        program = self.clone / ".venv" / "bin" / "tierbot"
        environment = self.environment() | {"PYTHONUNBUFFERED": "1"}
        process = await asyncio.create_subprocess_exec(
            program, *arguments, env=environment, stdout=asyncio.subprocess.PIPE, start_new_session=True
        )
        assert process.stdout is not None
        async with asyncio.timeout(120):
            while when not in (line := (await process.stdout.readline()).decode()):
                assert line, f"it ended before it said {when}"
        os.killpg(process.pid, signal.SIGKILL)
        await process.wait()

    async def stop(self) -> None:
        """End the service, if it runs."""
        await self.systemctl("stop")

    async def systemctl(self, action: str) -> str:
        done = await asyncio.create_subprocess_exec(
            self.bin / "systemctl", "--user", action, env=self.environment(), stdout=asyncio.subprocess.PIPE
        )
        output, _ = await done.communicate()
        return output.decode()

    async def running(self) -> bool:
        return "ActiveState=active" in await self.systemctl("show")
