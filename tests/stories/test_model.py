"""/model: a person's model per tier, up to the request on the wire."""

import json

from tests.servers.telegram import Message
from tests.stories.harness import OWNER, BotHarness, ask, press, running
from tests.stories.vendors import labels

DEFAULTS = [
    "balanced: openai/gpt-5.1, reasoning medium, default",
    "smart: openai/gpt-5.1, reasoning high, default",
    "coding: openai/gpt-5.2, reasoning medium, default",
    "deep: openai/gpt-5.2, reasoning xhigh, default",
]


def table(message: Message) -> list[str]:
    """The four lines of /model, after any notices."""
    return message.text.splitlines()[-4:]


def overrides(on: BotHarness) -> list[tuple[object, ...]]:
    return on.rows("select tier, model, reasoning from overrides order by tier")


async def test_model_lists_the_four_tiers_in_order_with_their_defaults(on: BotHarness) -> None:
    async with running(on):
        assert table(await ask(on, "/model")) == DEFAULTS


async def test_an_override_applies_to_the_next_request_of_its_tier(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "/tier coding")
        shown = await ask(on, "/model coding openai/gpt-5.4-mini")
        assert shown.text.startswith("✅ coding now uses openai/gpt-5.4-mini.")
        assert table(shown) == [*DEFAULTS[:2], "coding: openai/gpt-5.4-mini, reasoning medium, override", DEFAULTS[3]]
        await ask(on, "hi")
        assert (on.ms.last.model, on.ms.last.reading.effort) == ("gpt-5.4-mini", "medium")
        assert "override" in (await ask(on, "/tier")).text
        await ask(on, "!smart hi")
        assert on.ms.last.model == "gpt-5.1"


async def test_the_same_model_as_configured_is_an_override_too(on: BotHarness) -> None:
    async with running(on):
        shown = await ask(on, "/model coding openai/gpt-5.2")
        assert table(shown)[2] == "coding: openai/gpt-5.2, reasoning medium, override"
        await ask(on, "!coding hi")
    assert (on.ms.last.model, on.ms.last.reading.effort) == ("gpt-5.2", "medium")


async def test_a_new_model_brings_its_own_default_level(on: BotHarness) -> None:
    async with running(on):
        shown = await ask(on, "/model deep openai/gpt-5-pro")
        assert table(shown)[3] == "deep: openai/gpt-5-pro, reasoning high, override"
        await ask(on, "/model deep openai/gpt-4.1")
        await ask(on, "!deep hi")
        assert (on.ms.last.model, on.ms.last.reading.effort) == ("gpt-4.1", None)
        assert on.ms.last.reading.temperature == 0.7


async def test_reasoning_creates_an_override_from_the_configured_model(on: BotHarness) -> None:
    async with running(on):
        shown = await ask(on, "/model smart REASONING Low")
        assert table(shown)[1] == "smart: openai/gpt-5.1, reasoning low, override"
        await ask(on, "!smart hi")
        assert (on.ms.last.model, on.ms.last.reading.effort) == ("gpt-5.1", "low")
        await ask(on, "/model smart openai/gpt-5-mini")
        await ask(on, "/model smart reasoning minimal")
        await ask(on, "!smart hi")
        assert (on.ms.last.model, on.ms.last.reading.effort) == ("gpt-5-mini", "minimal")
        await ask(on, "/model smart openai/gpt-5.1")
        await ask(on, "/model smart reasoning none")
        await ask(on, "!smart hi")
        assert (on.ms.last.model, on.ms.last.reading.effort) == ("gpt-5.1", None)


async def test_reset_removes_the_override_or_says_that_there_was_none(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "/model deep openai/gpt-4.1")
        shown = await ask(on, "/model deep reset")
        assert shown.text.startswith("✅ deep uses the configured model again.")
        assert table(shown) == DEFAULTS
        shown = await ask(on, "/model deep reset")
        assert shown.text.startswith("There was no model of your own for deep.")
        assert table(shown) == DEFAULTS
        await ask(on, "!deep hi")
    assert (on.ms.last.model, on.ms.last.reading.effort) == ("gpt-5.2", "xhigh")


async def test_list_shows_allowed_providers_with_names_and_levels(on: BotHarness) -> None:
    on.env["BOT_MODEL_SELECTION_ALLOWED_PROVIDERS"] = "openai, mistral"
    async with running(on):
        on.tg.say("/model list")
        lines = (await on.tg.reply()).text.splitlines()
    headings = [line for line in lines if line and not line.startswith("•")]
    assert headings == ["mistral", "openai"]
    models = [line.removeprefix("• ") for line in lines if line.startswith("•")]
    assert {model.partition("/")[0] for model in models} == {"openai", "mistral"}
    assert "openai/gpt-5.2 GPT-5.2: none, low, medium, high, xhigh" in models
    assert "openai/gpt-4.1 GPT-4.1" in models


REFUSALS = [
    ("/model turbo openai/gpt-5.2", ["turbo", "balanced, smart, coding, deep"]),
    ("/model smrt reset", ["did you mean smart?"]),
    ("/model coding openai/gpt-5.22", ["openai/gpt-5.22", "Did you mean openai/gpt-5.2"]),
    ("/model coding gpt-5.1", ["gpt-5.1", "Did you mean openai/gpt-5.1"]),
    ("/model coding default", ["Did you mean /model coding reset?"]),
    ("/model coding rset", ["Did you mean /model coding reset?"]),
    ("/model coding openai/zzzzzzzz", ["openai/zzzzzzzz", "/model list", "/model coding openai/zzzzzzzz anyway"]),
    ("/model coding mistral/mistral-large-4", ["mistral is not allowed", "anthropic, local, ollama, openai"]),
    ("/model coding reasoning extreme", ["no reasoning level extreme", "none, low, medium, high, xhigh"]),
    ("/model coding reasoning", ["/model <tier> reasoning <level>"]),
    ("/model coding openai/gpt-5.2 high", ["/model <tier> <provider/model>"]),
    ("/model list mistral", ["mistral is not allowed", "openai"]),
]


async def test_a_refusal_gives_its_reason_and_saves_nothing(on: BotHarness) -> None:
    async with running(on):
        for typed, named in REFUSALS:
            refusal = await ask(on, typed)
            for words in [*named, "Nothing was changed."]:
                assert words in refusal.text
            assert overrides(on) == []
        assert table(await ask(on, "/model")) == DEFAULTS
    assert on.ms.calls == []


async def test_an_unknown_model_of_a_provider_without_a_key_names_the_variable(on: BotHarness) -> None:
    async with running(on):
        refusal = await ask(on, "/model smart anthropic/claude-tomorrow")
        assert "I don't know the model anthropic/claude-tomorrow." in refusal.text
        assert "anthropic has no API key yet: add ANTHROPIC_API_KEY to workspace/.env." in refusal.text
        assert overrides(on) == []


async def test_a_model_that_does_not_reason_takes_no_level(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "/model smart openai/gpt-4.1")
        refusal = await ask(on, "/model smart reasoning high")
        assert refusal.text == "openai/gpt-4.1 does not take a reasoning level. Nothing was changed."
        assert overrides(on) == [("smart", "openai/gpt-4.1", None)]


async def test_a_model_known_only_from_discovery_or_litellm_may_be_chosen(on: BotHarness) -> None:
    found = on.workspace / "models" / "discovered.json"
    found.parent.mkdir(parents=True)
    found.write_text(json.dumps({"openai": [{"id": "openai/brandnew-1", "displayName": "Brand New"}]}))
    async with running(on):
        refused = await ask(on, "/model smart openai/brandnew-2")
        assert "Nothing was changed." in refused.text
        assert (await ask(on, "/model smart openai/gpt-3.5-turbo")).text.startswith("✅")
        assert (await ask(on, "/model deep openai/brandnew-1")).text.startswith("✅")
        await ask(on, "!deep hi")
    assert (on.ms.last.model, on.ms.last.reading.effort) == ("brandnew-1", None)


async def test_tier_and_model_are_independent(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "/tier deep force")
        await ask(on, "/model deep openai/gpt-4.1")
        await ask(on, "/model coding reasoning high")
        assert on.rows("select tier, force from preferences") == [("deep", 1)]
        before = overrides(on)
        await ask(on, "/tier coding")
        assert overrides(on) == before == [("coding", "openai/gpt-5.2", "high"), ("deep", "openai/gpt-4.1", None)]


async def test_overrides_are_per_person_and_survive_a_restart(on: BotHarness) -> None:
    on.env["BOT_ACCESS"] = "open"
    async with running(on):
        await ask(on, "/model balanced openai/gpt-4.1")
        assert table(await ask(on, "/model", user="bob")) == DEFAULTS
        await ask(on, "hi", user="bob")
        assert on.ms.last.model == "gpt-5.1"
    async with running(on):
        await ask(on, "hi")
        assert on.ms.last.model == "gpt-4.1"
    assert on.rows("select user_id from overrides natural join identities") == [(str(OWNER),)]


async def test_a_model_without_a_key_is_kept_and_the_variable_named_before_and_after(on: BotHarness) -> None:
    async with running(on):
        shown = await ask(on, "/model deep anthropic/claude-opus-4-5")
        assert shown.text.startswith("✅ deep now uses anthropic/claude-opus-4-5.")
        assert "ANTHROPIC_API_KEY" in shown.text
        answer = await ask(on, "!deep hi")
        assert answer.text == (
            "You said: hi\n\n↪ openai/gpt-5.2 answered: anthropic/claude-opus-4-5 has no key (ANTHROPIC_API_KEY)."
        )
    assert [call.model for call in on.ms.calls] == ["gpt-5.2"]


async def test_any_model_of_an_allowed_provider_with_a_key_may_be_chosen(on: BotHarness) -> None:
    async with running(on):
        offer = await ask(on, "/model smart openai/claude-sonnet-4-20250514")
        assert "Nothing was changed." in offer.text
        assert labels(offer) == ["Use it anyway"]
        await press(on, "Use it anyway", offer)
        assert offer.text.startswith("✅ smart now uses openai/claude-sonnet-4-20250514.")
        await ask(on, "!smart hi")
        assert on.ms.last.model == "claude-sonnet-4-20250514"
        assert labels(await ask(on, "/model smart anthropic/claude-unheard-of")) == [], "it has no key"
        assert "smart now uses openai/gpt-5.2" in (await ask(on, "/model smart OpenAI/gpt-5.2")).text
        refused = await ask(on, "/model smart local/foo anyway")
        assert refused.text == "There is no model local/foo on this machine. Nothing was changed."


async def test_the_picker_has_the_current_model_first_and_goes_on_page_by_page(on: BotHarness) -> None:
    found = on.workspace / "models" / "discovered.json"
    found.parent.mkdir(parents=True)
    found.write_text(
        json.dumps({"openai": [{"id": "openai/brandnew-1", "displayName": "New"}, {"id": "openai/a/../b"}]})
    )
    on.env["ANTHROPIC_API_KEY"] = "sk-test-anthropic-000000000000"
    async with running(on):
        menu = await ask(on, "/model coding")
        shown = labels(menu)
        newest = ["openai/gpt-6.1-sol", "openai/gpt-6-astra", "openai/gpt-6-sol"]
        assert shown[:4] == ["✅ openai/gpt-5.2", *newest]
        assert shown[6:8] == ["More ›", "anthropic"]
        assert "openai, page 1 of" in menu.text
        await press(on, "More ›", menu)
        assert labels(menu)[6:8] == ["‹", "More ›"]
        assert "✅ openai/gpt-5.2" not in labels(menu)
        await press(on, "anthropic", menu)
        assert labels(menu)[0] == "anthropic/claude-fable-5-1"
        listed = (await ask(on, "/model list openai")).text
        assert "openai/brandnew-1" in listed
        assert ".." not in listed


async def test_an_empty_catalogue_says_so(on: BotHarness) -> None:
    path = on.workspace / "models" / "models.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"models": {}}')
    async with running(on):
        text = (await ask(on, "/model list openai")).text
        assert text.startswith("I don't know any models of openai: models/models.json lists none.")
        everything = (await ask(on, "/model list")).text
        assert "local/smollm2-135m-instruct" in everything
        assert "I don't know any models of ollama, openai:" in everything
        assert labels(await ask(on, "/model smart")) != []


async def test_the_picker_opens_when_no_allowed_provider_has_a_key(on: BotHarness) -> None:
    on.env["BOT_MODEL_SELECTION_ALLOWED_PROVIDERS"] = "mistral"
    async with running(on):
        menu = await ask(on, "/model coding")
        assert menu.text.startswith("The model for coding is openai/gpt-5.2.")
        assert labels(menu)[0] == "✅ openai/gpt-5.2"


async def test_the_menu_leads_from_tier_to_model_to_level_and_back(on: BotHarness) -> None:
    async with running(on):
        menu = await ask(on, "/model")
        await press(on, "coding", menu)
        assert "openai/gpt-5.2" in menu.text
        await press(on, "high", menu)
        assert table(menu)[2] == "coding: openai/gpt-5.2, reasoning high, override"
        await press(on, "coding", menu)
        assert "✅ high" in [button["text"] for button in menu.buttons]
        await press(on, "« Back", menu)
        assert menu.text.splitlines()[2] == "coding: openai/gpt-5.2, reasoning high, override"
        await press(on, "coding", menu)
        await press(on, "↩ Reset", menu)
        assert table(menu) == DEFAULTS
        assert menu.chat.from_bot() == [menu]
