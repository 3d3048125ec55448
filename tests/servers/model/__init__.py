"""A model provider on the loopback, for stories and for use by hand (`python -m tests.servers.model`)."""

from tests.servers.model.ollama import OllamaModel
from tests.servers.model.request import ModelRequest
from tests.servers.model.script import Failure, Gate, Script, ToolCall, Usage
from tests.servers.model.server import ModelServer

__all__ = ["Failure", "Gate", "ModelRequest", "ModelServer", "OllamaModel", "Script", "ToolCall", "Usage"]
