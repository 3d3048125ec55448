"""Third-party MCP servers and clients: from npm in `.venv/mcp`, from PyPI in a separate virtual environment."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from tests.independent.aimock import HOME as AIMOCK
from tests.independent.process import missing

ROOT = Path(__file__).resolve().parents[2]
NPM = ROOT / ".venv" / "mcp"
PYTHON = ROOT / ".venv" / "mcp-python"
OLDEST_NODE = 20
"""The minimum version for the SDK of 2026."""
VERSIONS = {
    "server-everything": "2026.8.31",
    "server-filesystem": "2026.8.31",
    "server-memory": "2026.8.31",
    "sdk": "1.32.2",
    "client": "2.3.1",
    "server": "2.3.1",
}
PYPI = ("mcp-server-time==2026.10.19", "mcp-server-git==2026.10.19")
_PACKAGES = " ".join(f"@modelcontextprotocol/{name}@{version}" for name, version in VERSIONS.items())
INSTALL_NPM = f"npm install --prefix .venv/mcp --no-save {_PACKAGES}"
INSTALL_PYPI = f"python -m venv .venv/mcp-python && .venv/mcp-python/bin/pip install {' '.join(PYPI)}"


def node() -> str:
    """Node.js, aimock's copy if there is one. Skips or fails with what is missing."""
    own = AIMOCK / "node_modules" / ".bin" / "node"
    found = str(own) if own.exists() else shutil.which("node")
    if found is None or _major(found) < OLDEST_NODE:
        missing(f"Node.js ≥ {OLDEST_NODE} is missing")
    assert found is not None
    return found


def modules(*packages: str) -> Path:
    """The folder with these npm packages, in the versions above."""
    folder = NPM / "node_modules"
    for name in packages:
        manifest = folder / "@modelcontextprotocol" / name / "package.json"
        if not manifest.exists() or json.loads(manifest.read_text(encoding="utf-8"))["version"] != VERSIONS[name]:
            missing(f"@modelcontextprotocol/{name} is missing: {INSTALL_NPM}")
    return folder


def reference(name: str) -> list[str]:
    """The command of one of the protocol's reference servers from npm."""
    return [node(), str(modules(name) / "@modelcontextprotocol" / name / "dist" / "index.js")]


def program(name: str) -> str:
    """The command of a program from PyPI."""
    path = PYTHON / "bin" / name
    if not path.exists():
        missing(f"{name} is missing: {INSTALL_PYPI}")
    return str(path)


def _major(node: str) -> int:
    said = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=60, check=True).stdout
    return int(said.strip().lstrip("v").partition(".")[0])
