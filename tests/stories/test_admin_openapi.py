"""The OpenAPI description of the admin page, explored by schemathesis, which takes a second to import."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import positive_data_acceptance

from bot.admin import api
from handlers.version import VERSION
from tests.stories.admin_page import TOKEN, admin_page
from tests.stories.harness import BotHarness

pytestmark = pytest.mark.slow
BEARER = {"Authorization": f"Bearer {TOKEN}"}
EXAMPLES = 50


async def test_the_description_is_valid_and_holds(on: BotHarness) -> None:
    async with admin_page(on) as admin:
        served = (await admin.http.get("/api/openapi.json")).json()
        assert served == api.describe()
        assert served["info"]["version"] == VERSION
        await asyncio.to_thread(explore, str(admin.http.base_url.join("/api/openapi.json")))


def explore(address: str) -> None:
    """Calls every operation with generated values and checks each answer against the description. A provider without a
    key is refused although its name is valid, so that check is left out."""
    schema = schemathesis.openapi.from_url(address)
    for result in schema.get_all_operations():
        assert isinstance(result, Ok)
        operation = result.ok()

        @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy())
        def check(case: Any) -> None:
            case.validate_response(case.call(headers=BEARER), excluded_checks=[positive_data_acceptance])

        check()
