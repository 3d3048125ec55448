"""Our prices compared with the library's, for every model that has a price there."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from routing.llm.price_map import PriceMap, cost
from routing.policy.cheapest import cheapest_first
from routing.types.budgets import Price, Rates
from routing.types.llm import ProviderProfile
from tests.litellm_setup import litellm_without_clients

SHAPES = ((1, 0, 0), (1_000, 500, 0), (1_000, 500, 600), (150_000, 1_000, 0), (300_000, 20_000, 250_000))
"""Tokens of the prompt, the answer, and the cached part of the prompt; on both sides of every threshold."""


def profile(provider: str, base_url: str | None = None) -> ProviderProfile:
    return ProviderProfile(provider, None, base_url, None, 300.0, "X_API_KEY")


@pytest.fixture(scope="module")
def litellm() -> Any:
    library = litellm_without_clients()
    library.suppress_debug_info = True
    return library


def charged(litellm: Any, model: str, into: int, out: int, cached: int) -> Decimal | None:
    counted = litellm.Usage(
        prompt_tokens=into, completion_tokens=out, prompt_tokens_details={"cached_tokens": cached}
    )  # fmt: skip
    return cost(litellm, model, profile(model.partition("/")[0]), counted)


def test_a_price_never_differs_from_what_is_charged(litellm: Any) -> None:
    prices = PriceMap(litellm, profile)
    own = ("openai", "anthropic", "gemini", "mistral", "xai", "dashscope", "deepseek")
    compared, wrong = 0, []
    for key, entry in litellm.model_cost.items():
        provider = entry.get("litellm_provider", "")
        if provider not in own or entry.get("mode") not in ("chat", "responses") or "off_peak_pricing" in entry:
            continue
        model = key if key.startswith(f"{provider}/") else f"{provider}/{key}"
        price = prices(model)
        for shape in SHAPES:
            real = charged(litellm, model, *shape) or Decimal(0)
            ours = price.cost(*shape) if price else Decimal(0)
            compared += price is not None
            if abs(real - ours) > Decimal("1e-6") * real:
                wrong.append((model, shape, real, ours))
    assert compared > 1_000
    assert wrong == []


def test_long_prompts_cost_more_per_token(litellm: Any) -> None:
    price = PriceMap(litellm, profile)("gemini/gemini-2.5-pro")
    assert price is not None
    assert [each.above for each in price.rates] == [0, 200_000]
    assert price.cost(200_000, 0) == 200_000 * price.rates[0].input
    assert price.cost(200_001, 0) == 200_001 * price.rates[1].input
    assert price.rates[1].input > price.rates[0].input


@pytest.mark.parametrize(
    ("model", "base_url", "known"),
    [
        ("openai/gpt-5.1", None, True),
        ("openai/no-such-model", None, False),
        ("openrouter/openai/gpt-5", None, False),  # the map has zeros for it
        ("acme/gpt-5.1", "http://10.0.0.1", False),
        ("local/smollm2-135m-instruct", None, True),
        ("ollama/anything", "http://10.0.0.1", True),
    ],
)
def test_unknown_prices_stay_unknown(litellm: Any, model: str, base_url: str | None, known: bool) -> None:
    price = PriceMap(litellm, lambda provider: profile(provider, base_url))(model)
    assert (price is not None) is known
    if price is not None and not model.startswith("openai/"):
        assert price.cost(1_000_000, 1_000_000) == 0


def test_a_custom_base_url_has_its_own_price(litellm: Any) -> None:
    where: list[str | None] = [None]
    prices = PriceMap(litellm, lambda provider: profile(provider, where[0]))
    assert prices("mistral/mistral-large-latest") is not None
    where[0] = "http://10.0.0.1"
    assert prices("mistral/mistral-large-latest") is None


def test_cost_is_exact() -> None:
    rates = Rates(Decimal("1.25e-6"), Decimal("1e-5"), Decimal("1.25e-7"))
    assert Price((rates,)).cost(1_000, 100, 400) == Decimal("0.00075") + Decimal("0.00005") + Decimal("0.001")
    assert Price((rates,)).cost(10, 0, 99) == 10 * rates.cached, "no more can be cached than there is"
    assumed = Price.flat(Decimal(3))
    assert assumed.cost(500_000, 500_000) == 3


def test_the_cheapest_comes_first_and_has_a_known_price() -> None:
    dear, cheap = Price.flat(Decimal(10)), Price.flat(Decimal(1))
    known = {"a/dear": dear, "b/cheap": cheap, "c/too": cheap}
    assert cheapest_first(("x/unknown", "a/dear", "b/cheap", "c/too"), known.get, 100, 100) == (
        "b/cheap",
        "c/too",
        "a/dear",
    )
    assert cheapest_first(("x/unknown",), known.get, 100, 100) == ()
    assert cheapest_first((), known.get, 100, 100) == ()
