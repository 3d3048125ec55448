"""The fixtures of the stories."""

from tests.stories.conftest import dc, library, on, probed_once, tmp_path

__all__ = ["dc", "library", "on", "probed_once", "tmp_path"]
