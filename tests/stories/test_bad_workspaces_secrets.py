"""No secret in any log, at any level, in either format."""

import json
import logging
import re
from collections.abc import Iterator
from typing import Literal

import httpx
import pytest

from bot.observability import logs
from tests.polling import until
from tests.stories.harness import BotHarness, BotProcess

TOKEN = "123456:TEST-TOKEN"
ENV_KEY = "sk-test-openai-000000000000"
FILE_KEY = 'quoted"key\\with-signs-4711'
OTHER_FILE_KEY = "plain-key-0042"
"""Also the name of a model, which the log is certain to contain."""
HOOK_SECRET = "hook-secret-0815"
PROXY_PASSWORD = "proxy-pass-2222"


async def test_a_run_at_debug_shows_no_secret(on: BotHarness) -> None:
    """A pairing, a refused key, an outage and a lost connection, all at DEBUG, as JSON. The table below has both
    formats."""
    own = {"apiType": "openai", "baseUrl": on.ms.openai_base, "apiKey": FILE_KEY}
    openai = {"apiType": "openai", "baseUrl": on.ms.openai_base}
    on.config["llm"] = {"providers": {"openai": openai, "own": own, "other": own | {"apiKey": OTHER_FILE_KEY}}}
    on.config["modelRouter"] = {"codingModel": f"own/{OTHER_FILE_KEY}"}
    on.env |= {"LOG_LEVEL": "DEBUG", "LOG_FORMAT": "json", "BOT_OWNERS": "", "TELEGRAM_WEBHOOK_SECRET": HOOK_SECRET}
    async with BotProcess(on) as bot:
        await until(lambda: "Owner code: " in bot.log)
        found = re.search(r"Owner code: (\S+)", bot.log)
        assert found is not None
        on.tg.say(found[1])
        assert "owner now" in (await on.tg.reply()).text
        on.tg.say("let me in", user="bob")
        pairing = re.search(r"[Cc]ode is `?([\w-]+)", (await on.tg.reply(on.tg.private("bob"))).text)
        assert pairing is not None
        on.ms.fail(401, message=f"Incorrect API key provided: {ENV_KEY}.")
        on.tg.say("hello")
        await on.tg.reply(matching="OPENAI_API_KEY")
        await _own_model_fails(on)
        on.tg.fault("sendMessage", "drop_before")
        on.tg.say("/whoami")
        async with on.tg.outage():
            await until(lambda: "no connection to Telegram" in bot.log)
        on.tg.revoke()
        await until(lambda: "refuses the token" in bot.log)
        on.tg.restore()
        await bot.kill()
    rest = re.sub(r"(?m)^Owner code: .*$", "", bot.log)
    expected = (
        "refused the key",
        "own/gpt-5.1 failed",
        "selected model: own/***",
        "no connection",
        "refuses the token",
    )
    assert [words for words in expected if words not in rest] == []
    for secret in (TOKEN, "TEST-TOKEN", ENV_KEY, FILE_KEY, "4711", OTHER_FILE_KEY, HOOK_SECRET, found[1], pairing[1]):
        assert secret not in rest, [line for line in rest.splitlines() if secret in line][:3]
        assert secret.replace("-", "") not in rest
    assert all("message" in json.loads(line) for line in rest.splitlines() if line)


async def _own_model_fails(on: BotHarness) -> None:
    """The provider repeats the key from the configuration file in its error."""
    on.tg.say("/model balanced own/gpt-5.1")
    await on.tg.reply(matching="own/gpt-5.1")
    on.ms.fail(400, message=f"The key {FILE_KEY} may not do this.")
    on.tg.say("hello")
    reply = await on.tg.reply(matching="own/gpt-5.1")
    assert "4711" not in reply.text
    on.tg.say("!coding hello")
    await on.tg.reply(matching="You said: hello")


@pytest.fixture
def logging_restored() -> Iterator[None]:
    """Restores the tests' logging at the end."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.mark.parametrize("style", ["text", "json"])
@pytest.mark.parametrize("secret", [TOKEN, ENV_KEY, FILE_KEY, "päss-wörd"])
def test_a_traceback_and_an_address_show_no_secret(
    logging_restored: None, capsys: pytest.CaptureFixture[str], style: Literal["text", "json"], secret: str
) -> None:
    logs.configure("DEBUG", style, [secret, PROXY_PASSWORD])
    log = logging.getLogger("bot.story")
    try:
        try:
            raise httpx.ConnectError(f"no route to http://user:{PROXY_PASSWORD}@proxy/bot{secret}/sendMessage")
        except httpx.ConnectError as error:
            raise RuntimeError(f"while using {secret}") from error
    except RuntimeError:
        log.exception("It broke at %s", f"https://api/bot{secret}/getMe?token={secret}", stack_info=True)
    log.debug("arguments %s %r", (secret, {"key": secret}), secret.encode())
    log_text = capsys.readouterr().err
    assert "It broke" in log_text
    assert "while using" in log_text
    assert secret not in log_text
    assert PROXY_PASSWORD not in log_text
    assert json.dumps(secret)[1:-1] not in log_text
    assert repr(secret.encode())[2:-1] not in log_text
