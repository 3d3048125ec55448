"""A server of our own that speaks raw JSON-RPC over stdio and does what its plan says; it knows no SDK.

    python unruly.py PLAN.json

The plan is read again at every start and every list: {"start": how it begins, "tools": [...], "info": {...}}. What a
tool does is in its name.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

EMPTY = {"type": "object", "properties": {}}
PLAN = Path(sys.argv[1])
state: dict[str, Any] = {"extra": [], "lists": 0}


def plan() -> dict[str, Any]:
    return dict(json.loads(PLAN.read_text(encoding="utf-8")))


def say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def answer(request: dict[str, Any], result: dict[str, Any]) -> None:
    say({"id": request["id"], "result": result})


def text(request: dict[str, Any], words: str, **more: Any) -> None:
    answer(request, {"content": [{"type": "text", "text": words}], **more})


def changed(*names: str) -> None:
    state["extra"] = [{"name": name, "inputSchema": EMPTY} for name in names]
    say({"method": "notifications/tools/list_changed"})


def tools() -> list[Any]:
    listed = plan().get("tools", ["echo"])
    named = [{"name": each, "inputSchema": EMPTY} if isinstance(each, str) else each for each in listed]
    return [*named, *state["extra"]]


def call(request: dict[str, Any]) -> None:
    name, given = request["params"]["name"], request["params"].get("arguments", {})
    match name:
        case "die":
            print("no more of this", file=sys.stderr, flush=True)
            os._exit(3)
        case "hang":
            return
        case "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        case "deaf":
            text(request, "from now on")
            time.sleep(10_000)
        case "huge":
            text(request, "x" * given["size"])
        case "garbage":
            sys.stdout.write('{"jsonrpc": "2.0", "id":\nnot json\n[]\n\xff\n')
            text(request, "still here")
        case "flood":
            for _ in range(given["count"]):
                say({"method": "notifications/message", "params": {"level": "info", "data": "x" * 50}})
            text(request, "done")
        case "shout":
            sys.stderr.write("x" * given["size"] + "\n")
            text(request, "done")
        case "ask":
            for number in range(given["count"]):
                say({"id": f"q{number}", "method": "ping"})
            text(request, "done")
        case "rename":
            changed("renamed")
            text(request, "done")
        case "renames":
            changed(given["to"])
            text(request, "done")
        case "lists":
            text(request, str(state["lists"]))
        case "pid":
            text(request, str(os.getpid()))
        case "environ":
            text(request, json.dumps(dict(os.environ)))
        case "where":
            text(request, os.getcwd())
        case "fail":
            text(request, "the disk is full", isError=True)
        case "refuse":
            say({"id": request["id"], "error": {"code": -32602, "message": "no such thing"}})
        case "nonsense":
            answer(request, {"content": "a text where a list belongs"})
        case "blocks":
            data = base64.b64encode(b"0123456789" * 300).decode()
            blocks = [
                {"type": "image", "data": data, "mimeType": "image/png"},
                {"type": "resource_link", "name": "log", "uri": "file:///log"},
                {"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}},
                {"type": "resource", "resource": {"uri": "file:///b", "blob": data, "mimeType": "application/pdf"}},
            ]
            answer(request, {"content": blocks})
        case "structured":
            answer(request, {"content": [], "structuredContent": {"n": 5}})
        case "twice":
            text(request, '{"n": 5}', structuredContent={"n": 5})
        case _:
            text(request, f"{name} {json.dumps(given)}")


def begin(how: str) -> None:
    match how:
        case "hang":
            time.sleep(10_000)
        case "die":
            print("bad TOKEN-123456 given", file=sys.stderr, flush=True)
            sys.exit(4)
        case "line":
            while True:
                sys.stdout.write("x" * 65536)
        case "greet":
            print("Welcome to this server!\n{}\n[1, 2]\n", flush=True)
        case "stubborn":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            state["child"] = subprocess.Popen(["sleep", "10000"])


def main() -> None:
    how = plan().get("start", "")
    begin(how)
    for line in sys.stdin:
        request = json.loads(line)
        if how == "strict" and request["method"] == "server/discover":
            os._exit(5)
        match request.get("method"):
            case "initialize":
                info = {"serverInfo": {"name": "unruly", "version": "1"}, **plan().get("info", {})}
                capabilities = {"tools": {"listChanged": True}}
                version = request["params"]["protocolVersion"]
                answer(request, {"protocolVersion": version, "capabilities": capabilities, **info})
            case "tools/list":
                if plan().get("list") == "hang":
                    continue
                state["lists"] += 1
                raw = plan().get("raw_tools")  # what this program could not write as JSON itself
                if raw:
                    print(f'{{"jsonrpc": "2.0", "id": {request["id"]}, "result": {{"tools": {raw}}}}}', flush=True)
                    continue
                answer(request, {"tools": tools()})
            case "tools/call":
                call(request)
            case "notifications/cancelled":
                changed("was_cancelled")
            case method if "id" in request and method:
                say({"id": request["id"], "error": {"code": -32601, "message": "unknown"}})
    while how == "stubborn":
        time.sleep(1)


if __name__ == "__main__":
    main()
