"""Runs untrusted code in bubblewrap: one folder, no network, strict limits."""

from handlers.tools.sandbox.result import Cut, Ended, ExecResult
from handlers.tools.sandbox.sandbox import Sandbox
from routing.config.sandbox import SandboxLimits

__all__ = ["Cut", "Ended", "ExecResult", "Sandbox", "SandboxLimits"]
