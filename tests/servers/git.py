"""Repositories on loopback: over HTTP with the real `git http-backend`, and with the real `git daemon`."""

from __future__ import annotations

import asyncio
import os
import subprocess
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

from tests.ports import free_port

HOST = "127.0.0.1"
Answer = Callable[[web.Request], Awaitable[web.StreamResponse | None]]


def git(folder: Path, *arguments: str) -> str:
    """Runs git on this machine, with an author and without this machine's configuration."""
    variables = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(folder)}
    for who in ("AUTHOR", "COMMITTER"):
        variables |= {f"GIT_{who}_NAME": "Tess", f"GIT_{who}_EMAIL": "tess@example.com"}
    done = subprocess.run(
        ["git", "-c", "init.defaultBranch=main", *arguments],
        cwd=folder,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def bare_repository(folder: Path, name: str = "notes.git", files: dict[str, str] | None = None) -> Path:
    """A bare repository with one commit on `main`, to which everybody may push."""
    work, bare = folder / f"{name}.work", folder / name
    work.mkdir(parents=True)
    git(work, "init", "-q")
    for path, text in (files or {"README.md": "hello\n"}).items():
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_text(text)
    git(work, "add", "-A", "-f")
    git(work, "commit", "-q", "-m", "Begin")
    git(folder, "clone", "-q", "--bare", str(work), str(bare))
    git(bare, "config", "http.receivepack", "true")
    git(bare, "config", "daemon.receivepack", "true")
    git(bare, "config", "uploadpack.allowFilter", "true")
    return bare


def _basic(user: str, token: str) -> str:
    return f"Basic {b64encode(f'{user}:{token}'.encode()).decode()}"


@dataclass(slots=True)
class GitServer:
    """Serves the repositories in `folder`. With `login` (user and token), it asks for it. `answer` may answer a request
    in its place. `requests` are the paths and Authorization headers."""

    folder: Path
    login: tuple[str, str] | None = None
    answer: Answer | None = None
    requests: list[tuple[str, str]] = field(default_factory=list)
    root: str = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append((request.path_qs, request.headers.get("Authorization", "")))
        if self.answer is not None and (answered := await self.answer(request)) is not None:
            return answered
        if self.login and request.headers.get("Authorization") != _basic(*self.login):
            return web.Response(status=401, headers={"WWW-Authenticate": 'Basic realm="git"'})
        return await self._backend(request)

    async def _backend(self, request: web.Request) -> web.StreamResponse:
        """One request through the CGI program."""
        variables = {
            "GIT_PROJECT_ROOT": str(self.folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": request.path,
            "QUERY_STRING": request.query_string,
            "REQUEST_METHOD": request.method,
            "CONTENT_TYPE": request.headers.get("Content-Type", ""),
            "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
            "REMOTE_USER": "tess",
            "PATH": os.environ["PATH"],
        }
        process = await asyncio.create_subprocess_exec(
            "git", "http-backend", env=variables, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        printed, _ = await process.communicate(await request.read())
        head, _, body = printed.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().splitlines())
        status = int(headers.pop("Status", "200").split()[0])
        return web.Response(status=status, body=body, headers=headers)


@asynccontextmanager
async def git_server(folder: Path, login: tuple[str, str] | None = None) -> AsyncIterator[GitServer]:
    server = GitServer(folder, login)
    app = web.Application(client_max_size=2**26)
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, HOST, 0)
        await site.start()
        server.root = f"http://{HOST}:{runner.addresses[0][1]}"
        yield server
    finally:
        await runner.cleanup()


@asynccontextmanager
async def git_daemon(folder: Path) -> AsyncIterator[str]:
    """The root address of a `git daemon`."""
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        "git",
        "daemon",
        *("--verbose", "--export-all", "--reuseaddr", f"--base-path={folder}", f"--listen={HOST}", f"--port={port}"),
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    try:
        while b"Ready to rumble" not in await process.stderr.readline():
            pass
        yield f"git://{HOST}:{port}"
    finally:
        process.terminate()
        await process.wait()
