"""Where `tierbot update` takes new versions from, and where it does not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bot.ops.update.sources import Package, source
from routing.errors import ConfigError


@pytest.fixture
def newer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A newer wheel beside the one that tierbot was installed from."""
    wheels, info = tmp_path / "wheels", tmp_path / "tierbot-0.dist-info"
    for folder in (wheels, info):
        folder.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tierbot\nVersion: 0\n", encoding="utf-8")
    url = (wheels / "tierbot-0-py3-none-any.whl").as_uri()
    (info / "direct_url.json").write_text(json.dumps({"url": url, "archive_info": {}}), encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    wheel = wheels / "tierbot-99-py3-none-any.whl"
    wheel.touch(0o644)
    return wheel


def test_a_wheel_that_others_can_change_is_not_installed(newer: Path, tmp_path: Path) -> None:
    release = Package(tmp_path).newer()
    assert release is not None
    assert (release.name, release.what) == ("99", str(newer))
    newer.chmod(0o666)
    with pytest.raises(ConfigError, match=f"can be changed by other users.*tierbot update --from {newer}"):
        Package(tmp_path).newer()
    assert Package(tmp_path, str(newer)).newer() == release


def test_an_image_is_not_updated_from_an_index(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="In a container, get the new source"):
        source(None, tmp_path)
