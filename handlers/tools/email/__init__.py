"""The toolkit that searches, reads and sends a person's mail."""

from handlers.tools.email.tools import NAME, build

__all__ = ["NAME", "build"]
