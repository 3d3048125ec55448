"""Each chat platform has a folder and one line in `bot.platforms`."""

from __future__ import annotations

from pathlib import Path

import bot.adapters
from bot.platforms import PLATFORMS
from bot.settings import Settings, load

FOLDERS = {path.parent.name for path in Path(bot.adapters.__path__[0]).glob("*/__init__.py")}


def test_every_folder_is_listed() -> None:
    assert FOLDERS - {"shared", "console"} == {platform.name for platform in PLATFORMS}


def test_a_platform_is_off_without_its_token(tmp_path: Path) -> None:
    settings = load({"WORKSPACE": str(tmp_path)}).settings
    for platform in PLATFORMS:
        assert not platform.configured(settings)
        token = load({"WORKSPACE": str(tmp_path), platform.token.upper(): "1:x"}).settings
        assert [each.name for each in PLATFORMS if each.configured(token)] == [platform.name]
        prefix = f"{platform.name}_"
        assert platform.token.startswith(prefix)
        assert {f"{prefix}api_root", f"{prefix}proxy"} <= Settings.model_fields.keys()
