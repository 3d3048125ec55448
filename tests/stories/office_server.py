"""An MCP server whose tools act outside: each call is logged. It speaks raw JSON-RPC over stdio.

python office_server.py FOLDER

`read_page` returns `page.txt`; `send_mail` waits while the file `hold` exists. `tools.json` holds changes to the tools
by name.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

FOLDER = Path(sys.argv[1])
TEXT = {"type": "string"}
MAIL = {"type": "object", "properties": {"to": TEXT, "body": TEXT}, "required": ["to"]}
EMPTY = {"type": "object", "properties": {}}
TOOLS: dict[str, dict[str, Any]] = {
    "send_mail": {"description": "Send a mail.", "inputSchema": MAIL},
    "delete_all": {
        "description": "Delete every file.",
        "inputSchema": EMPTY,
        "annotations": {"destructiveHint": True},
    },
    "read_page": {"description": "Read a page.", "inputSchema": EMPTY, "annotations": {"readOnlyHint": True}},
}


def tools() -> list[dict[str, Any]]:
    changes = FOLDER / "tools.json"
    changed = json.loads(changes.read_text()) if changes.exists() else {}
    return [{"name": name, **tool, **changed.get(name, {})} for name, tool in TOOLS.items()]


def call(name: str, given: dict[str, Any]) -> str:
    if name == "read_page":
        return (FOLDER / "page.txt").read_text()
    with (FOLDER / "log.jsonl").open("a") as log:
        log.write(json.dumps([name, given]) + "\n")
    while (FOLDER / "hold").exists():
        time.sleep(0.01)
    return f"{name} is done, number 4711"


def result(request: dict[str, Any]) -> dict[str, Any] | None:
    match request.get("method"):
        case "initialize":
            version = request["params"]["protocolVersion"]
            info = {"name": "office", "version": "1"}
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        case "tools/list":
            return {"tools": tools()}
        case "tools/call":
            text = call(request["params"]["name"], request["params"].get("arguments", {}))
            return {"content": [{"type": "text", "text": text}]}
        case "ping":
            return {}
    return None


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request and "method" in request:
        given = result(request)
        error = {"error": {"code": -32601, "message": "unknown method"}}
        print(
            json.dumps({"jsonrpc": "2.0", "id": request["id"], **({"result": given} if given is not None else error)}),
            flush=True,
        )
