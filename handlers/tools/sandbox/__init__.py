"""Runs untrusted code in bubblewrap: one folder, no network, strict limits."""

from handlers.tools.sandbox.limits import Cut, Ended, ExecResult, SandboxLimits, read_limits
from handlers.tools.sandbox.sandbox import Sandbox

__all__ = ["Cut", "Ended", "ExecResult", "Sandbox", "SandboxLimits", "read_limits"]
