"""Each chat platform has a folder and one line in `bot.platforms`."""

from __future__ import annotations

from pathlib import Path

import pytest

import bot.adapters
from bot.adapters.shared.descriptor import PlatformDescriptor
from bot.config.environment import load
from bot.config.settings import Settings
from bot.platforms import PLATFORMS

FOLDERS = {path.name for path in Path(bot.adapters.__path__[0]).iterdir() if path.is_dir() and path.name[0] != "_"}


def test_every_platform_folder_is_listed() -> None:
    listed = {platform.name for platform in PLATFORMS}
    assert FOLDERS - {"shared", "console"} == listed, "each folder of bot/adapters needs its line in bot/platforms.py"


@pytest.mark.parametrize("name", sorted(FOLDERS))
def test_every_platform_folder_is_a_package(name: str) -> None:
    assert (Path(bot.adapters.__path__[0]) / name / "__init__.py").is_file()


@pytest.mark.parametrize("platform", PLATFORMS, ids=lambda platform: platform.name)
def test_a_platform_is_off_until_its_variable_is_set(platform: PlatformDescriptor, tmp_path: Path) -> None:
    variable = platform.enabled_by
    assert variable.startswith(f"{platform.name}_")
    assert Settings.model_fields[variable].default is None, f"{variable.upper()} must be None by default"
    settings = load({"WORKSPACE": str(tmp_path), variable.upper(): "1:x"}).settings
    assert [each.name for each in PLATFORMS if each.configured(settings)] == [platform.name]
