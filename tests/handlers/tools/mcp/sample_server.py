"""Our server with a few tools, as a program.

python sample_server.py [HOST:PORT]      (the token is in TIERBOT_MCP_TOKEN)
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Mapping
from typing import Any

from handlers.tools.mcp.server import serve
from routing.errors import ConfigError, ToolFailed
from routing.types.decisions import SIZES
from routing.types.toolkits import ToolCard, Toolkit, ToolText
from routing.types.tools import Traits

LONG = {"type": "object", "properties": {"text": {"type": "string"}, "loud": {"type": "boolean"}}, "required": ["text"]}
SHORT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TEXTS = {size: ToolText(f"Says it, told to {size}.", SHORT if size == "S" else LONG) for size in SIZES}
CARD = ToolCard("say", TEXTS | {"XL": TEXTS["L"]}, category="speech", priority=2.0)
FAILS = ToolCard("fail", dict.fromkeys(SIZES, ToolText("Fails.", {"type": "object", "properties": {}})))
TOOLKITS = (Toolkit("speech", "Speaks for you.", tools=(CARD,)), Toolkit("other", "Of no use.", tools=(FAILS,)))


async def run(name: str, arguments: Mapping[str, Any]) -> str:
    print("a stray line that the protocol must not see")
    match name:
        case "say":
            text = str(arguments["text"])
            return text.upper() if arguments.get("loud") else text
        case "fail":
            raise ToolFailed("The disk is full. Delete something.")
    raise ToolFailed(f"There is no tool {name} here.")


def traits(name: str) -> Traits:
    return Traits(changes=name == "fail")


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    where = sys.argv[1] if len(sys.argv) > 1 else ""
    token = os.environ.get("TIERBOT_MCP_TOKEN", "")
    try:
        asyncio.run(serve(TOOLKITS, run, http=where, token=token, version="9.8", traits=traits))
    except ConfigError as error:
        sys.exit(str(error))
