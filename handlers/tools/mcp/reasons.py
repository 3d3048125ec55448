"""Why a connection ended, in words."""

from __future__ import annotations

import httpx2
from mcp import MCPError, types
from pydantic import ValidationError

from handlers.tools.mcp.faults import Hung


def reason_of(error: BaseException | None) -> str:
    """The first of a group's, as a clause."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    match error:
        case None:
            return "it hung up"
        case Hung():
            return str(error)
        case FileNotFoundError():
            return f"{error.filename} is not there: install it, or fix command or cwd in mcp.json"
        case OSError():
            return f"it can't be started ({error.strerror or error})"
        case MCPError(code=types.CONNECTION_CLOSED):
            return "it hung up"
        case MCPError():
            return f"it answers: {error.message}"
        case httpx2.TransportError():
            return f"it can't be reached ({error or type(error).__name__})"
        case ValidationError() | RuntimeError():
            return "it does not speak the protocol"
        case httpx2.InvalidURL():
            return f"its url in mcp.json is no address ({error})"
        case UnicodeError():
            return "its entry in mcp.json, or what it sends, has characters that can't be encoded (UTF-8)"
        case ValueError() | OverflowError():
            return f"its entry in mcp.json, or what it sends, can't be used ({error})"
    return f"it failed ({type(error).__name__})"
