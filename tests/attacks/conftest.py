"""The fixtures of the stories."""

from tests.stories.conftest import dc, library, on, own_clients, probed_once, tmp_path

__all__ = ["dc", "library", "on", "own_clients", "probed_once", "tmp_path"]
