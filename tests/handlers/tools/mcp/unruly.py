"""Our own server in raw JSON-RPC over stdio that follows its plan; it uses no SDK.

python unruly.py PLAN.json

The plan is read at every start and every list: {"start": how it begins, "tools": [...], "info": {...}}. A tool's name
says what it does.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
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


def die(request: dict[str, Any], given: dict[str, Any]) -> None:
    print("no more of this", file=sys.stderr, flush=True)
    os._exit(3)


def leave(request: dict[str, Any], given: dict[str, Any]) -> None:
    subprocess.Popen(["sleep", "10000"])  # holds stdout
    os._exit(3)


def deaf(request: dict[str, Any], given: dict[str, Any]) -> None:
    text(request, "from now on")
    time.sleep(10_000)


def flood(request: dict[str, Any], given: dict[str, Any]) -> None:
    for _ in range(given["count"]):
        say({"method": "notifications/message", "params": {"level": "info", "data": "x" * 50}})
    text(request, "done")


def ask(request: dict[str, Any], given: dict[str, Any]) -> None:
    for number in range(given["count"]):
        say({"id": f"q{number}", "method": "ping"})
    text(request, "done")


def blocks(request: dict[str, Any], given: dict[str, Any]) -> None:
    data = base64.b64encode(b"0123456789" * 300).decode()
    content = [
        {"type": "image", "data": data, "mimeType": "image/png"},
        {"type": "resource_link", "name": "log", "uri": "file:///log"},
        {"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}},
        {"type": "resource", "resource": {"uri": "file:///b", "blob": data, "mimeType": "application/pdf"}},
    ]
    answer(request, {"content": content})


def rename(request: dict[str, Any], given: dict[str, Any]) -> None:
    changed(given.get("to", "renamed"))
    text(request, "done")


def garbage(request: dict[str, Any], given: dict[str, Any]) -> None:
    sys.stdout.write('{"jsonrpc": "2.0", "id":\nnot json\n[]\n\xff\n')
    text(request, "still here")


def shout(request: dict[str, Any], given: dict[str, Any]) -> None:
    sys.stderr.write("x" * given["size"] + "\n")
    text(request, "done")


CALLS: dict[str, Callable[[dict[str, Any], dict[str, Any]], object]] = {
    "ask": ask,
    "blocks": blocks,
    "deaf": deaf,
    "die": die,
    "environ": lambda request, _: text(request, json.dumps(dict(os.environ))),
    "fail": lambda request, _: text(request, "the disk is full", isError=True),
    "flood": flood,
    "garbage": garbage,
    "hang": lambda request, _: None,
    "huge": lambda request, given: text(request, "x" * given["size"]),
    "leave": leave,
    "lists": lambda request, _: text(request, str(state["lists"])),
    "nonsense": lambda request, _: answer(request, {"content": "a text where a list belongs"}),
    "pid": lambda request, _: text(request, str(os.getpid())),
    "refuse": lambda request, _: say({"id": request["id"], "error": {"code": -32602, "message": "no such thing"}}),
    "rename": rename,
    "renames": rename,
    "shout": shout,
    "stop": lambda request, _: os.kill(os.getpid(), signal.SIGSTOP),
    "structured": lambda request, _: answer(request, {"content": [], "structuredContent": {"n": 5}}),
    "twice": lambda request, _: text(request, '{"n": 5}', structuredContent={"n": 5}),
    "where": lambda request, _: text(request, os.getcwd()),
}


def call(request: dict[str, Any]) -> None:
    name, given = request["params"]["name"], request["params"].get("arguments", {})
    if name in CALLS:
        CALLS[name](request, given)
    else:
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


def list_tools(request: dict[str, Any]) -> None:
    if plan().get("list") == "hang":
        return
    state["lists"] += 1
    if raw := plan().get("raw_tools"):  # what this program could not write as JSON itself
        print(f'{{"jsonrpc": "2.0", "id": {request["id"]}, "result": {{"tools": {raw}}}}}', flush=True)
    else:
        answer(request, {"tools": tools()})


def initialize(request: dict[str, Any]) -> None:
    info = {"serverInfo": {"name": "unruly", "version": "1"}, **plan().get("info", {})}
    version = request["params"]["protocolVersion"]
    answer(request, {"protocolVersion": version, "capabilities": {"tools": {"listChanged": True}}, **info})


def main() -> None:
    how = plan().get("start", "")
    begin(how)
    for line in sys.stdin:
        request = json.loads(line)
        if how == "strict" and request["method"] == "server/discover":
            os._exit(5)
        match request.get("method"):
            case "initialize":
                initialize(request)
            case "tools/list":
                list_tools(request)
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
