"""Changing the workspace's files on the admin page."""

from __future__ import annotations

import html
import json
import re
import stat
from collections.abc import AsyncIterator, Sequence
from typing import Any

import httpx
import pytest

from bot.live_config import RELOAD_SECONDS
from tests.fakes import later
from tests.polling import until
from tests.stories.admin_page import TOKEN, AdminPage, admin_page
from tests.stories.harness import BotHarness

OLD_KEY = "sk-old-key-0123456789abcdefgh"
NEW_KEY = "sk-new-key-0123456789abcdefgh"


@pytest.fixture
async def admin(on: BotHarness) -> AsyncIterator[AdminPage]:
    on.workspace.mkdir(parents=True)
    (on.workspace / ".env").write_text(f"# keys\nGROQ_API_KEY={OLD_KEY}\n")
    async with admin_page(on) as made:
        await made.sign_in()
        yield made


def words(response: httpx.Response) -> str:
    """The text of a page."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", response.text)).split())


def config(on: BotHarness) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((on.workspace / "preferences" / "runtime-config.json").read_text())
    return document


async def test_a_key_is_tested_then_saved_and_never_shown(on: BotHarness, admin: AdminPage) -> None:
    page = await admin.http.get("/providers")
    assert "••••efgh" in words(page)
    seen = [page]
    base = on.ms.vendor("groq") if "groq" in getattr(on.ms, "models", {}) else on.ms.openai_base
    fields = {"name": "groq", "key": NEW_KEY, "baseUrl": base, "apiType": "openai", "timeout": "20"}
    tested = await admin.http.post(
        "/providers/test", data={"csrf": admin.csrf, **fields}, headers={"HX-Request": "true"}
    )
    assert "Works: groq lists" in tested.text
    unknown = await admin.post("/providers/test", name="groq", key="", baseUrl="http://127.0.0.1:9", apiType="openai")
    assert "enter the key again" in unknown.text
    dead = await admin.post("/providers/test", name="groq", key=NEW_KEY, baseUrl="http://127.0.0.1:9", apiType="")
    assert "can't be reached" in words(dead)
    review = await admin.form("/providers", "/providers", **fields)
    assert review.status_code == 303, review.text
    shown = await admin.http.get(review.headers["location"])
    assert "- GROQ_API_KEY=••••efgh" in words(shown).replace("− removed", "-")
    assert OLD_KEY in (on.workspace / ".env").read_text()
    saved = await admin.save(review)
    assert "Saved" in words(saved)
    assert (on.workspace / ".env").read_text() == f"# keys\nGROQ_API_KEY={NEW_KEY}\n"
    assert stat.S_IMODE((on.workspace / ".env").stat().st_mode) == 0o600
    assert config(on)["llm"]["providers"]["groq"] == {
        "baseUrl": base, "apiType": "openai", "requestTimeoutSeconds": 20,
    }  # fmt: skip
    seen += [tested, unknown, dead, review, shown, saved, await admin.http.get("/changes")]
    for each in seen:
        assert NEW_KEY not in each.text
        assert OLD_KEY not in each.text
    changes = words(await admin.http.get("/changes"))
    assert "New key for groq" in changes
    edit = re.findall(r'name="edit" value="(\d+)"', (await admin.http.get("/changes")).text)[0]
    await admin.save(await admin.post("/changes/undo", edit=edit))
    assert OLD_KEY in (on.workspace / ".env").read_text()


@pytest.mark.parametrize("stored", [OLD_KEY, ""])
async def test_the_address_of_the_environment_is_shown_and_used(on: BotHarness, stored: str) -> None:
    on.env |= {"GROQ_API_BASE": on.ms.openai_base, "GROQ_API_KEY": stored}
    on.config = {"llm": {"providers": {"groq": {"requestTimeoutSeconds": 20}}}}
    async with admin_page(on) as admin:
        await admin.sign_in()
        page = await admin.http.get("/providers?open=groq")
        assert f"If empty: {on.ms.openai_base}, set in the environment as GROQ_API_BASE." in words(page)
        assert f'value="{on.ms.openai_base}"' not in page.text
        for key in {stored, NEW_KEY}:
            tested = await admin.post("/providers/test", name="groq", key=key)
            assert "Works: groq lists" in words(tested)
        elsewhere = await admin.post("/providers/test", name="groq", key="", baseUrl="http://127.0.0.1:9")
        assert ("enter the key again" in words(elsewhere)) == bool(stored)
        bearer = {"Authorization": f"Bearer {TOKEN}"}
        found = await admin.http.get("/api/models/discover/groq", headers=bearer)
        assert found.status_code == (200 if stored else 400)


async def test_a_first_key_is_tested_where_turns_will_use_it(on: BotHarness) -> None:
    on.env |= {"ACME_BASE_URL": on.ms.openai_base, "ANTHROPIC_BASE_URL": on.ms.root}
    async with admin_page(on) as admin:
        await admin.sign_in()
        for name in ("acme", "anthropic"):
            assert f"Works: {name} lists" in words(await admin.post("/providers/test", name=name, key=NEW_KEY))
        assert "No key for acme" in words(await admin.post("/providers/test", name="acme", key=""))


async def test_a_key_of_the_process_can_not_be_changed_here(admin: AdminPage) -> None:
    page = await admin.http.get("/providers?open=openai")
    assert "in the environment as OPENAI_API_KEY" in words(page)
    refused = await admin.form(
        "/providers", "/providers", name="openai", key=NEW_KEY, baseUrl="", apiType="", timeout=""
    )
    assert (refused.status_code, "Change it there" in refused.text) == (422, True)


async def test_a_provider_needs_a_plain_name(admin: AdminPage) -> None:
    for name in ("", "../x", "a b", "x" * 50, "A\nB=1"):
        for path in ("/providers", "/providers/test"):
            assert (await admin.post(path, name=name, key=NEW_KEY)).status_code == 422, name


async def test_what_no_call_could_use_is_refused(admin: AdminPage) -> None:
    for address in ("javascript:alert(1)", "ftp://x", "http://me:secret@host/", "x y"):
        refused = await admin.form("/providers", "/providers", name="groq", key="", baseUrl=address)
        assert refused.status_code == 422
        assert "must be an http:// or https:// address" in words(refused), address
    refused = await admin.form("/providers", "/providers", name="groq", key="ключ-0123456789")
    assert (refused.status_code, "invalid characters: paste it again" in words(refused)) == (422, True)


async def test_a_broken_catalogue_is_named(on: BotHarness, admin: AdminPage) -> None:
    (on.workspace / "models" / "models.json").write_text('{"models": []}')
    for response in (await admin.http.get("/catalogue"), await admin.post("/catalogue/entry", id="a/b")):
        assert response.status_code == 422
        assert "models.json line 1: models must be an object" in words(response)


async def test_the_words_about_a_wrong_number_name_its_field(admin: AdminPage) -> None:
    for text in ("much", "nan", "inf", "-1e400"):
        router = {"defaultTier": "", "temperature": text, "routingModel": "openai/gpt-5.2"}
        assert "The temperature is a number." in words(await admin.form("/router", "/router/general", **router))
        refused = await admin.form("/providers", "/providers", name="groq", key="", timeout=text)
        assert "The time limit in seconds is a number." in words(refused)


async def test_a_reasoning_level_that_the_model_lacks_is_refused(on: BotHarness, admin: AdminPage) -> None:
    refused = await admin.form("/router", "/router", tier="deep", pool="openai/gpt-5.2", level="enormous")
    assert refused.status_code == 422
    assert "enormous is not a reasoning level of this model: default, none, low" in words(refused)


async def test_a_saved_change_is_used_without_a_restart(admin: AdminPage) -> None:
    await admin.save(
        await admin.form(
            "/router",
            "/router/general",
            dynamicTierEnabled="1",
            defaultTier="smart",
            temperature="0.2",
            routingModel="openai/gpt-5.2-codex",
        )
    )
    later(2 * RELOAD_SECONDS + 1)
    await until(lambda: admin.app.engine.models.config.default_tier == "smart")
    assert admin.app.engine.models.config.temperature == 0.2


async def test_models_are_moved_without_javascript_then_saved(on: BotHarness, admin: AdminPage) -> None:
    pool = ["openai/gpt-5.1", "anthropic/claude-haiku-4-5", "gemini/gemini-2.5-flash"]
    fields = {"tier": "balanced", "pool": pool, "add": "", "level": "medium", "move": "down 0"}
    moved = await admin.form("/router", "/router", **fields)
    assert moved.status_code == 200
    order = re.findall(r'name="pool" value="([^"]+)"', moved.text)[:3]
    assert order == [pool[1], pool[0], pool[2]]
    assert "not saved yet" in words(moved)
    contract = {
        "deadlineSeconds": "80", "firstTokenSeconds": "25", "trySeconds": "45", "maxOutputTokens": "2000",
        "attempts": "3", "mayEscalate": "1",
    }  # fmt: skip
    review = await admin.form(
        "/router", "/router", tier="balanced", pool=order[:2], add="openai/gpt-5.2", level="low", **contract
    )
    await admin.save(review)
    found = config(on)
    assert found["tiers"] == {"balanced": {"pool": [*order[:2], "openai/gpt-5.2"], "deadlineSeconds": 80}}
    assert found["modelRouter"] == {"balancedModelReasoning": "low"}


REFUSED: tuple[tuple[dict[str, str | Sequence[str]], str], ...] = (
    ({"tier": "huge", "pool": "openai/gpt-5.1"}, "The tiers are balanced"),
    ({"pool": "gpt-5.1"}, "does not look like provider/model"),
    ({"pool": "", "add": " "}, "at least one model"),
    ({"pool": ["a/b", "a/b"]}, "already"),
    ({"pool": "a/b", "attempts": "many"}, "is a number"),
    ({"pool": "a/b", "deadlineSeconds": "5000"}, "must be below"),
    ({"pool": "a/b", "deadlineSeconds": "inf"}, "number"),
)


async def test_what_the_bot_would_refuse_is_not_saved(on: BotHarness, admin: AdminPage) -> None:
    before = config(on)
    usual: dict[str, str | Sequence[str]] = {
        "tier": "smart", "deadlineSeconds": "180", "firstTokenSeconds": "90", "trySeconds": "120",
        "maxOutputTokens": "4000", "attempts": "3", "mayEscalate": "1", "mayBeEscalatedTo": "1", "level": "high",
    }  # fmt: skip
    for fields, problem in REFUSED:
        refused = await admin.form("/router", "/router", **{**usual, **fields})
        assert refused.status_code == 422, fields
        assert problem in words(refused)
    assert config(on) == before


async def test_two_owners_do_not_overwrite_each_other(on: BotHarness, admin: AdminPage) -> None:
    general = {"defaultTier": "smart", "temperature": "0.7", "routingModel": "openai/gpt-5.2-codex"}
    first = await admin.form("/router", "/router/general", dynamicTierEnabled="1", **general)
    second = await admin.form("/router", "/router/general", **general)
    await admin.save(first)
    late = await admin.post(second.headers["location"])
    assert late.status_code == 409
    assert "changed meanwhile" in words(late)
    assert '"defaultTier": "smart"' in words(late)
    stale = await admin.post("/router/general", digest_config="0" * 64, **general)
    assert stale.status_code == 409
    assert "defaultTier" in config(on)["modelRouter"]


async def test_a_broken_file_is_named_and_left_alone(on: BotHarness, admin: AdminPage) -> None:
    path = on.workspace / "preferences" / "runtime-config.json"
    path.write_text('{"tiers": oops}')
    for page in ("/router", "/providers", "/catalogue"):
        response = await admin.http.get(page)
        assert response.status_code == 422
        assert "runtime-config.json line 1" in words(response)
    assert (await admin.http.get("/")).status_code == 200
    assert path.read_text() == '{"tiers": oops}'


async def test_a_model_is_discovered_added_and_removed(on: BotHarness, admin: AdminPage) -> None:
    on.ms.models["openai"] = ["gpt-5.1", "brand-new-model"]
    found = await admin.post("/catalogue/discover", provider="openai")
    assert "brand-new-model" in words(found)
    assert "openai/brand-new-model" in (on.workspace / "models" / "discovered.json").read_text()
    form = await admin.http.get("/catalogue/entry?id=openai/brand-new-model")
    assert "is not in the catalogue yet" in words(form)
    entry = {
        "id": "openai/brand-new-model", "displayName": "Brand <b>new</b>", "maxInputTokens": "200,000",
        "levels": "low, high", "level": "high", "supportsVision": "1", "sizeClass": "L",
    }  # fmt: skip
    page = "/catalogue/entry?id=openai/brand-new-model"
    listed = await admin.save(await admin.form(page, "/catalogue/entry", **entry))
    assert "Brand <b>new</b>" in words(listed)
    assert "<b>new" not in listed.text
    card = json.loads((on.workspace / "models" / "models.json").read_text())["models"]["openai/brand-new-model"]
    assert card["reasoning"] == {
        "default": "high", "levels": {"low": {"maxInputTokens": 200_000}, "high": {"maxInputTokens": 200_000}},
    }  # fmt: skip
    assert (card["supportsVision"], card["supportsTools"], card["sizeClass"]) == (True, False, "L")
    wrong = await admin.form(page, "/catalogue/entry", **{**entry, "level": "medium"})
    assert (wrong.status_code, "which is not a level" in words(wrong)) == (422, True)
    await admin.save(await admin.form(page, "/catalogue/entry", id=entry["id"], remove="1"))
    assert "brand-new-model" not in (on.workspace / "models" / "models.json").read_text()


async def test_a_change_of_the_catalogue_leaves_its_other_lines_alone(on: BotHarness, admin: AdminPage) -> None:
    path = on.workspace / "models" / "models.json"
    before = path.read_text()
    card = json.loads(before)["models"]["gpt-5.1"]
    reasoning = card["reasoning"]
    fields = {"levels": ",".join(reasoning["levels"]), "level": reasoning["default"], "provider": card["provider"]}
    fields |= {"maxInputTokens": str(card["maxInputTokens"]), "supportsVision": "1", "supportsTools": "1"}
    page = "/catalogue/entry?id=openai/gpt-5.1"
    await admin.save(await admin.form(page, "/catalogue/entry", id="gpt-5.1", displayName="Five", **fields))
    after = before.replace(f'"displayName": "{card["displayName"]}",', '"displayName": "Five",')
    assert path.read_text() == after


async def test_a_byte_order_mark_is_read_and_unknown_keys_stay(on: BotHarness, admin: AdminPage) -> None:
    path = on.workspace / "models" / "models.json"
    reasoning = {"default": "low", "note": "kept", "levels": {"low": {"maxInputTokens": 7}}}
    document = {"models": {"a/b": {"reasoning": reasoning, "maxInputTokens": 9}}}
    path.write_text(json.dumps(document), "utf-8-sig")
    (on.workspace / "preferences" / "runtime-config.json").write_text(json.dumps(on.config), "utf-8-sig")
    fields = {"displayName": "B", "maxInputTokens": "9", "levels": "low,high", "level": "high"}
    await admin.save(await admin.form("/catalogue/entry?id=a/b", "/catalogue/entry", id="a/b", **fields))
    levels = {"low": {"maxInputTokens": 7}, "high": {"maxInputTokens": 9}}
    changed = json.loads(path.read_text("utf-8-sig"))["models"]["a/b"]["reasoning"]
    assert changed == {"default": "high", "note": "kept", "levels": levels}


async def test_a_model_is_asked_for_one_word(on: BotHarness, admin: AdminPage) -> None:
    works = await admin.post("/router/test", test="openai/gpt-5.1")
    assert "openai/gpt-5.1 answers after" in words(works)
    on.ms.missing_models.add("gone")
    fails = await admin.post("/router/test", test="openai/gone")
    assert "does not answer" in words(fails)
    assert (await admin.post("/router/test", test="x y")).status_code == 422


async def test_a_proposal_that_is_gone_is_not_saved(admin: AdminPage) -> None:
    for path in ("/changes/unknown", "/changes/..%2f..%2fetc"):
        response = await admin.post(path)
        assert response.status_code in (303, 404)
    assert (await admin.http.get("/changes/unknown")).headers["location"] == "/changes"
    assert (await admin.post("/changes/undo", edit="../../x")).headers["location"] == "/changes"
