"""The sandbox does not depend on the event loop."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.handlers.tools.sandbox.outside import SECRET, outside
from tests.handlers.tools.sandbox.test_sandbox import made, python

pytestmark = pytest.mark.system


async def test_no_descriptor_of_the_bot_is_inherited(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(SECRET, encoding="utf-8")
    handle = os.open(secret, os.O_RDONLY)
    os.set_inheritable(handle, True)
    try:
        assert await outside("cat", f"/proc/self/fd/{handle}", close_fds=False) == SECRET
        ran = await python(await made(tmp_path), "import os; print(sorted(os.listdir('/proc/self/fd'))[:-1])")
    finally:
        os.close(handle)
    assert ran.output == "['0', '1', '2']\n"
