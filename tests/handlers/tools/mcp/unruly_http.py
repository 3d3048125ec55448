"""Our own server in hand-written streamable HTTP; a tool's name says what it does. It uses no SDK.

python unruly_http.py PORT      (0: any; the first line on stdout is the port)
"""

from __future__ import annotations

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

EMPTY = {"type": "object", "properties": {}}
TOOLS = ("echo", "headers", "forget", "cut", "huge", "bomb", "drip", "events", "hang", "broken", "wrong_type", "late")
sessions: set[str] = set()


class Unruly(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_error(405)

    do_DELETE = do_GET

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method = request.get("method")
        if self.headers.get("Authorization") == "Bearer wrong":
            return self.reply(401, {})
        if method == "initialize":
            session = str(time.monotonic_ns())
            sessions.add(session)
            return self.result(request, self.initialized(request), **{"Mcp-Session-Id": session})
        if self.headers.get("Mcp-Session-Id") not in sessions:
            return self.reply(404 if "Mcp-Session-Id" in self.headers else 400, {})
        if "id" not in request:
            return self.reply(202, None)
        if method == "tools/list":
            return self.result(request, {"tools": [{"name": name, "inputSchema": EMPTY} for name in TOOLS]})
        return self.call(request)

    def initialized(self, request: dict[str, Any]) -> dict[str, Any]:
        version = request["params"]["protocolVersion"]
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "u", "version": "1"}}

    def call(self, request: dict[str, Any]) -> None:
        name = request["params"]["name"]
        given = request["params"].get("arguments", {})
        match name:
            case "headers":
                self.text(request, json.dumps(dict(self.headers)))
            case "forget":
                sessions.clear()
                self.text(request, "who are you?")
            case "cut":
                self.head(200, "application/json", 1_000)
                self.wfile.write(b'{"jsonrpc": "2.0"')
                self.close_connection = True
            case "huge":
                self.text(request, "x" * given["size"])
            case "bomb":
                self.head(200, "application/json", 10, **{"Content-Encoding": "gzip"})
                self.wfile.write(b"0123456789")
            case "hang":
                time.sleep(given["seconds"])
                self.text(request, "late")
            case "events":
                self.events(request, given)
            case "broken":
                self.head(200, "application/json", 5)
                self.wfile.write(b"{{{{{")
            case "wrong_type":
                self.head(200, "text/html", 5)
                self.wfile.write(b"<html")
            case _:
                self.text(request, f"{name} {json.dumps(given)}")

    def events(self, request: dict[str, Any], given: dict[str, Any]) -> None:
        """Garbage first, then the answer, if wanted."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for _ in range(given.get("nonsense", 0)):
            self.wfile.write(
                b"event: message\ndata: {not json}\n\n" if given.get("json") else b"event: odd\ndata: 1\n\n"
            )
        if given.get("line"):
            self.wfile.write(b"data: " + b"x" * given["line"])
        if given.get("answer", True):
            content = {"content": [{"type": "text", "text": "in an event"}]}
            said = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": content})
            self.wfile.write(f"event: message\ndata: {said}\n\n".encode())
        self.close_connection = True

    def text(self, request: dict[str, Any], words: str) -> None:
        self.result(request, {"content": [{"type": "text", "text": words}]})

    def result(self, request: dict[str, Any], result: dict[str, Any], **headers: str) -> None:
        self.reply(200, {"jsonrpc": "2.0", "id": request["id"], "result": result}, **headers)

    def reply(self, status: int, body: dict[str, Any] | None, **headers: str) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        self.head(status, "application/json", len(data), **headers)
        self.wfile.write(data)

    def head(self, status: int, kind: str, size: int, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(size), **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None: ...


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Unruly)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    server.serve_forever()
