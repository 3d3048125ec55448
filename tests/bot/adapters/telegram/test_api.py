"""The HTTP connection: proxies, malformed responses, log lines."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest
import telegram.error
from aiohttp import web
from telegram.error import ChatMigrated, RetryAfter, TelegramError, TimedOut

from bot.adapters.shared.outbound import NOT_SENT
from bot.adapters.telegram.api import Api, ServerError, TooMany
from bot.adapters.telegram.failures import failure
from bot.adapters.telegram.settings import Pace, TelegramSettings
from bot.platform import SendLater, SendRefused

_NUMBERED: tuple[type[TelegramError], ...] = (ChatMigrated, RetryAfter)


async def test_malformed_responses_are_library_errors() -> None:
    bodies = iter(['{"ok": true}', "[1]", "<html>", '{"ok": true, "result": {"message_id": 5}}'])

    async def answer(request: web.BaseRequest) -> web.Response:
        return web.Response(text=next(bodies))

    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    # Whatever the proxy: a server on the same machine is reached directly.
    root = f"http://127.0.0.1:{runner.addresses[0][1]}"
    given = {"telegram_bot_token": "1:a", "telegram_api_root": root, "telegram_proxy": "http://127.0.0.1:1"}
    api = Api(TelegramSettings.model_validate(given), Pace())
    for _ in range(3):
        with pytest.raises(TelegramError) as caught:
            await api.call("sendMessage", {"chat_id": 1, "text": "x"})
        failed = failure(caught.value)
        assert isinstance(failed, SendLater)
        assert failed.maybe_sent
    assert await api.call("sendMessage", {"chat_id": 1, "text": "x"}) == {"message_id": 5}
    await api.disconnect()
    await runner.cleanup()


@pytest.mark.parametrize(
    ("code", "maybe_sent", "seconds"), [(500, False, None), (502, False, None), (503, False, None), (504, True, 30)]
)
def test_only_a_gateway_timeout_is_ambiguous(code: int, maybe_sent: bool, seconds: float | None) -> None:
    failed = failure(ServerError(code))
    assert isinstance(failed, SendLater)
    assert (failed.maybe_sent, failed.seconds) == (maybe_sent, seconds)


@pytest.mark.parametrize("cause", NOT_SENT)
def test_failures_before_the_request_mean_not_sent(cause: type[aiohttp.ClientError]) -> None:
    error = TimedOut()
    error.__cause__ = cause.__new__(cause)
    failed = failure(error)
    assert isinstance(failed, SendLater)
    assert (failed.maybe_sent, failed.seconds) == (False, None)


def test_every_library_error_is_mapped() -> None:
    made: list[TelegramError] = [TooMany(3), ServerError(500)]
    for thing in list(vars(telegram.error).values()):
        if isinstance(thing, type) and issubclass(thing, TelegramError):
            argument: Any = 5 if thing in _NUMBERED else "x"
            made.append(thing(argument))
    assert len(made) > 10
    assert all(isinstance(failure(error), SendLater | SendRefused) for error in made)
