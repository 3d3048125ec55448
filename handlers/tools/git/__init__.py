"""The toolkit that works with git repositories in a person's folder."""

from handlers.tools.git.tools import NAME, build

__all__ = ["NAME", "build"]
