"""The stage of the stories."""

from tests.stories.conftest import dc, library, on

__all__ = ["dc", "library", "on"]
