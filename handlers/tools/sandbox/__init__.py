"""Strange code in bubblewrap: it sees one folder, reaches no network and outlives none of its limits."""

from handlers.tools.sandbox.limits import Cut, Ended, Ran, SandboxLimits, read_limits
from handlers.tools.sandbox.sandbox import Sandbox

__all__ = ["Cut", "Ended", "Ran", "Sandbox", "SandboxLimits", "read_limits"]
