"""`@copilotkit/aimock` from npm: answers from fixtures in three wire formats and keeps a journal.

In strict mode it refuses a body of the wrong shape, a request without a fixture, and Anthropic thinking that does not
start a tool turn. It does not check names, ids or pairs of calls and results. Its journal stores OpenAI requests
unchanged, and Anthropic and Gemini requests converted to OpenAI's format.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

from tests.independent.process import Program, Sent, missing

VERSION = "1.43.0"
HOME = Path(__file__).resolve().parents[2] / ".venv" / "aimock"
OLDEST_NODE = (20, 15)
"""The minimum version of its package; it does not start on 18."""

Fixture = dict[str, Any]


class Aimock(Program):
    """The process in strict mode. Without fixtures every request is refused."""

    def __init__(self, node: str, package: Path, folder: Path) -> None:
        config = folder / "aimock.json"
        config.write_text(json.dumps({"port": 0, "host": "127.0.0.1", "strict": True, "llm": {"logLevel": "info"}}))
        super().__init__([node, str(package / "dist" / "aimock-cli.js"), "--config", str(config)])

    async def answers(self, *fixtures: Fixture) -> None:
        """From now on; the first matching fixture is used."""
        await self.call("POST", "/__aimock/fixtures", {"fixtures": fixtures})

    async def says(self, text: str) -> None:
        """The same answer to everything."""
        await self.answers({"match": {"endpoint": "chat"}, "response": {"content": text}})

    async def sent(self) -> list[Sent]:
        """Every request since the last reset."""
        kept = await self.call("GET", "/__aimock/journal?method=POST")
        return [Sent(each["path"], each["response"]["status"], each["body"] or {}, each["headers"]) for each in kept]

    async def reset(self) -> None:
        """Forget fixtures and journal."""
        await self.call("POST", "/__aimock/reset")


def installed() -> tuple[str, Path]:
    """Node.js and the package. Skips or fails with what is missing and how to install it."""
    own = HOME / "node_modules" / ".bin" / "node"
    node = str(own) if own.exists() else shutil.which("node")
    if node is None or _version(node) < OLDEST_NODE:
        missing(f"Node.js ≥ {OLDEST_NODE[0]}.{OLDEST_NODE[1]} is missing")
    package = HOME / "node_modules" / "@copilotkit" / "aimock"
    manifest = package / "package.json"
    if not manifest.exists() or json.loads(manifest.read_text(encoding="utf-8"))["version"] != VERSION:
        missing(f"aimock is missing: npm install --prefix .venv/aimock @copilotkit/aimock@{VERSION}")
    assert node is not None
    return node, package


def _version(node: str) -> tuple[int, ...]:
    said = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=60, check=True).stdout
    return tuple(int(part) for part in said.strip().lstrip("v").split(".")[:2])
