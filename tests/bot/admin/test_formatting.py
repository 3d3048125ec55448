"""Numbers and names as the pages show them."""

from __future__ import annotations

from bot.admin.formatting import breakable


def test_a_models_name_breaks_after_a_slash_and_stays_text() -> None:
    assert breakable("openrouter/a<b>/c") == "openrouter/<wbr>a&lt;b&gt;/<wbr>c"
