"""The loopback Telegram server refuses what Telegram refuses."""

import httpx
import pytest
from telegram.error import InvalidToken

from tests.servers.sdk import Answer, a_bot
from tests.servers.telegram import TelegramServer

LONG = "x" * 4097
WRONG: list[tuple[str, Answer, str]] = [
    ("sendMessage", {"chat_id": 1001}, "text: required"),
    ("sendMessage", {"text": "x"}, "chat_id: required"),
    ("sendMessage", {"chat_id": 1001, "text": "x", "txt": "y"}, "txt: unknown parameter"),
    ("sendMessage", {"chat_id": [1], "text": "x"}, "chat_id: expected"),
    ("sendMessage", {"chat_id": 1001, "text": "x", "message_thread_id": "seven"}, "message_thread_id: expected"),
    ("sendMessage", {"chat_id": 1001, "text": "x", "reply_markup": "{"}, "can't parse JSON"),
    ("sendMessage", {"chat_id": 1001, "text": " \n "}, "message text is empty"),
    ("sendMessage", {"chat_id": 1001, "text": LONG}, "message is too long"),
    ("sendMessage", {"chat_id": 1001, "text": "🙂" * 2049}, "message is too long"),
    ("sendMessage", {"chat_id": 1001, "text": "<x>", "parse_mode": "HTML"}, "can't parse entities"),
    ("sendMessage", {"chat_id": 1001, "text": "x", "entities": [{"type": "bold", "offset": 0}]}, "length"),
    ("sendMessage", {"chat_id": 1001, "text": "x", "entities": [{"type": "bold", "offset": 0, "length": 2}]}, "after"),
    ("sendMessage", {"chat_id": 1001, "text": "x", "reply_parameters": {"message": 1}}, "message: unknown field"),
    ("sendMessage", {"chat_id": 1001, "text": "x", "link_preview_options": {"is_disabled": 1}}, "expected Boolean"),
    ("sendMessage", {"chat_id": 1001, "text": "x", "reply_markup": {"inline_keyboard": [[{"text": "a"}]]}}, "one kind"),
    (
        "sendMessage",
        {
            "chat_id": 1001,
            "text": "x",
            "reply_markup": {"inline_keyboard": [[{"text": "a", "callback_data": "é" * 33}]]},
        },
        "BUTTON_DATA_INVALID",
    ),
    (
        "sendMessage",
        {"chat_id": 1001, "text": "x", "reply_markup": {"inline_keyboard": [[{"text": "a", "callback": "b"}]]}},
        r"inline_keyboard\[0\]\[0\].callback: unknown field of InlineKeyboardButton",
    ),
    ("sendDocument", {"chat_id": 1001, "document": "attach://x"}, "attach://"),
    ("sendDocument", {"chat_id": 1001, "document": "id", "caption": "x" * 1025}, "caption is too long"),
    ("setMessageReaction", {"chat_id": 1001, "message_id": 1, "reaction": [{"type": "emoji"}]}, "emoji"),
    ("setMessageReaction", {"chat_id": 1001, "message_id": 1, "reaction": [{"type": "smile"}]}, "type: ReactionType"),
    (
        "setMessageReaction",
        {"chat_id": 1001, "message_id": 1, "reaction": [{"type": "emoji", "emoji": "🧮"}]},
        "REACTION_INVALID",
    ),
    ("setMyCommands", {"commands": [{"command": "Start", "description": "x"}]}, "BOT_COMMAND_INVALID"),
    ("setMyCommands", {"commands": [{"command": "a", "description": ""}]}, "DESCRIPTION_INVALID"),
    ("setMyCommands", {"commands": [{"command": "a", "description": "x"}] * 101}, "TOO_MUCH"),
    ("setMyCommands", {"commands": [], "scope": {"type": "chat"}}, "chat_id: required field of BotCommandScopeChat"),
    ("sendChatAction", {"chat_id": 1001, "action": "thinking"}, "wrong parameter action"),
    ("getUpdates", {"allowed_updates": ["messages"]}, "unknown update type"),
    ("setWebhook", {"url": "http://127.0.0.1/", "secret_token": "a b"}, "unallowed characters"),
    ("editMessageText", {"text": "x"}, "message identifier is not specified"),
]


@pytest.mark.parametrize(("method", "params", "reason"), WRONG)
async def test_an_invalid_request_is_refused_and_recorded(
    tg: TelegramServer, raw: httpx.AsyncClient, method: str, params: Answer, reason: str
) -> None:
    tg.say("hello")
    answer = (await raw.post(method, json=params)).json()
    assert (answer["ok"], answer["error_code"]) == (False, 400)
    [violation] = tg.violations
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(violation.description)
    assert answer["description"] == violation.description
    assert [request.status for request in tg.refusals] == [400]


async def test_unknown_methods_and_tokens_are_404_or_401(tg: TelegramServer, raw: httpx.AsyncClient) -> None:
    assert (await raw.post("sendTelepathy")).status_code == 404
    assert [violation.method for violation in tg.violations] == ["sendTelepathy"]
    async with httpx.AsyncClient(base_url=tg.root) as stranger:
        assert (await stranger.get("/bot1:other/getMe")).status_code == 401
        assert (await stranger.get("/botnonsense/getMe")).status_code == 404
        assert (await stranger.get("/file/bot1:other/documents/file_1")).status_code == 401
    with pytest.raises(InvalidToken):
        await a_bot(tg, "1:other").initialize()


async def test_parameters_may_be_query_form_json_or_multipart(tg: TelegramServer, raw: httpx.AsyncClient) -> None:
    tg.say("hello")
    params = {"chat_id": "1001", "text": "x", "disable_notification": "true"}
    answers = [
        await raw.get("sendMessage", params=params),
        await raw.post("sendMessage", data=params),
        await raw.post("sendMessage", json=params),
        await raw.post("SENDMESSAGE", files={name: (None, value) for name, value in params.items()}),
    ]
    assert [answer.status_code for answer in answers] == [200] * 4
    assert tg.calls("sendMessage")[3].params == {"chat_id": 1001, "text": "x", "disable_notification": True}
