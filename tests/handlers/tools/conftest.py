"""The file tools, the folder of person 7, and a file that the sandbox must not read."""

from __future__ import annotations

from pathlib import Path

import pytest

from handlers.tools.files.person_files import PersonFiles
from handlers.tools.files.tools import FileTools
from tests.handlers.tools.sandbox.outside import SECRET
from tests.handlers.tools.sandbox.test_sandbox import home


@pytest.fixture
def tools(tmp_path: Path) -> FileTools:
    return FileTools(PersonFiles(tmp_path / "files"))


@pytest.fixture
def own(tmp_path: Path) -> Path:
    folder = tmp_path / "files" / "7"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """The workspace's .env, two folders above Ann's."""
    home(tmp_path)
    path = tmp_path / "workspace" / ".env"
    path.write_text(SECRET)
    return path
