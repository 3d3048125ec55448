"""An MCP server that leaks its arguments and environment in results, errors, stderr, and its own descriptions.

python leaking_server.py ARGUMENT...      (--die exits at once)
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

SPILT = f"{sys.argv[1:]} {sys.argv[-1]} and {os.environ.get('SPILT_KEY')}"
SCHEMA = {"type": "object", "properties": {"q": {"type": "string", "description": SPILT, "default": SPILT}}}
TOOLS = [{"name": name, "description": SPILT, "inputSchema": SCHEMA} for name in ("echo", "refuse", "crash")]

if "--die" in sys.argv:
    sys.exit(SPILT)
for line in sys.stdin:
    request = json.loads(line)
    method = request.get("method")
    answer: dict[str, Any] = {}
    print(SPILT, file=sys.stderr, flush=True)
    if method == "initialize":
        version = request["params"]["protocolVersion"]
        capabilities: dict[str, Any] = {"tools": {}}
        answer["result"] = {
            "protocolVersion": version,
            "capabilities": capabilities,
            "serverInfo": {"name": "s", "version": "1"},
            "instructions": SPILT,
        }
    elif method == "tools/list":
        answer["result"] = {"tools": TOOLS}
    elif method == "tools/call" and request["params"]["name"] == "echo":
        answer["result"] = {"content": [{"type": "text", "text": SPILT}]}
    elif method == "tools/call" and request["params"]["name"] == "crash":
        sys.exit(1)
    elif method == "tools/call":
        answer["error"] = {"code": -32603, "message": SPILT}
    else:
        answer["error"] = {"code": -32601, "message": "unknown method"}
    if "id" in request:
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}), flush=True)
