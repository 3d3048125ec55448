"""A package index on loopback in the form of PEP 503, with tiny wheels that are made on the spot."""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from collections.abc import Mapping

from aiohttp import web

from tests.servers.listener import Leaving, Listener


def wheel(name: str, version: str, code: str, requires: str = "") -> tuple[str, bytes]:
    """The file name and content of a wheel with one module and a program of the same name."""
    info = f"{name}-{version}.dist-info"
    needs = f"Requires-Dist: {requires}\n" if requires else ""
    files = {
        f"{name}.py": code,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{name}-program = {name}:main\n",
    }
    rows = [
        f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip('=')},{len(text)}"
        for path, text in files.items()
    ]
    files[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,", ""])
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return f"{name}-{version}-py3-none-any.whl", packed.getvalue()


class PackageIndexServer(Leaving):
    """`files` are the distributions by file name."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._listener = Listener(self._answer, 0, 2**20)
        self.files = dict(files)
        self.requests: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/simple"

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        self.requests.append(request.path)
        kind, _, name = request.path.strip("/").partition("/")
        if kind == "files" and name in self.files:
            return web.Response(body=self.files[name])
        found = [each for each in self.files if each.startswith(f"{name}-")]
        if kind != "simple" or not found:
            return web.Response(status=404)
        links = "".join(f'<a href="/files/{each}">{each}</a>' for each in found)
        return web.Response(text=f"<!DOCTYPE html><html><body>{links}</body></html>", content_type="text/html")
