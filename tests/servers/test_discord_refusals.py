"""The loopback Discord refuses what Discord refuses, and records mistakes that no correct bot makes."""

from typing import Any

import aiohttp
import pytest

from tests.servers.discord import DiscordServer
from tests.servers.discord.sdk import Raw

BUTTON = {"type": 2, "style": 1, "label": "x", "custom_id": "x"}
OPTION = {"label": "x", "value": "x"}
MENU = {"type": 3, "custom_id": "m", "options": [OPTION]}


def row(*controls: Any) -> dict[str, Any]:
    return {"components": [{"type": 1, "components": list(controls)}]}


SAID: list[tuple[Any, str]] = [
    ({"content": "x" * 2001}, "content: Must be 2000 or fewer"),
    ({"content": 7}, "content: "),
    ({"content": "x", "contents": "x"}, "'contents' was unexpected"),
    ({"embeds": [{"title": "x" * 257}]}, "embeds.0.title"),
    ({"embeds": [{"title": "x"}] * 11}, "embeds: "),
    ({"embeds": [{"color": 1}]}, "embeds.0.description"),
    ({"embeds": [{"description": "x" * 4000}] * 2}, "maximum size of 6000"),
    ({"content": "x", "nonce": "x" * 26}, "nonce"),
    ({"content": "x", "flags": 64}, "flags 64"),
    ({"content": "x", "allowed_mentions": {"parse": ["users"], "users": ["1"]}}, "mutually exclusive"),
    ({"content": "x", "allowed_mentions": {"parse": ["all"]}}, "allowed_mentions"),
    ({"content": "x", "message_reference": {}}, "message_reference"),
    ({"content": "x", "attachments": [{"filename": "x"}]}, "attachments.0"),
    (row(*[BUTTON | {"custom_id": str(number)} for number in range(6)]), "components.0.components"),
    (row(BUTTON, MENU), "maximum width"),
    (row(BUTTON, BUTTON), "duplicated"),
    (row(BUTTON | {"custom_id": "x" * 101}), "components.0"),
    (row(BUTTON | {"custom_id": None}), "custom id is required"),
    (row(BUTTON | {"style": 5}), "a link has a url"),
    (row(BUTTON | {"label": None}), "label or an emoji"),
    (row(BUTTON | {"label": "x" * 81}), "components.0"),
    (row(MENU | {"options": [{"label": str(n), "value": str(n)} for n in range(26)]}), "components.0"),
    (row(MENU | {"options": [OPTION, OPTION]}), "already used"),
    (row(MENU | {"max_values": 2}), "above the number of options"),
    (row(MENU | {"min_values": 2, "max_values": 1}), "min_values is above"),
    ({"components": row(BUTTON)["components"] * 6}, "components: Must be between"),
    ({"components": [BUTTON]}, "components.0"),
    ({"components": [{"type": 10, "content": "x"}]}, "only rows"),
    ({"components": [{"type": 10, "content": "x"}], "content": "x", "flags": 1 << 15}, "no content"),
    ([], "body: "),
    (None, "body: This field is required"),
]


@pytest.mark.parametrize(("body", "reason"), SAID)
async def test_a_wrong_message_is_refused_and_recorded(dc: DiscordServer, http: Raw, body: Any, reason: str) -> None:
    status, answer = await http.call(f"POST /channels/{dc.dm().id}/messages", body)
    assert (status, answer["code"], answer["message"]) == (400, 50035, "Invalid Form Body")
    [violation] = dc.violations
    assert reason in violation.description, violation.description
    where, errors = violation.description.partition(":")[0], answer["errors"]
    for key in where.split(".") if where != "body" else []:
        errors = errors[key]
    assert errors["_errors"][0]["message"] in violation.description
    assert dc.dm().messages == []


async def test_size_limits_and_empty_messages(dc: DiscordServer, http: Raw) -> None:
    send = f"POST /channels/{dc.dm().id}/messages"
    for text in ("🙂" * 2000, "x" * 2000):
        assert (await http.call(send, {"content": text}))[0] == 200
    empty: list[Any] = [{"content": " \n "}, {}, {"content": None, "embeds": []}]
    for body in empty:
        assert (await http.call(send, body))[1]["code"] == 50006
    form = aiohttp.FormData(quote_fields=False)
    form.add_field("payload_json", '{"content": "x"}', content_type="application/json")
    form.add_field("files[0]", b"x" * (10 * 2**20 + 1), filename="big")
    status, answer = await http.call(send, data=form)
    assert (status, answer["code"]) == (413, 40005)
    sent = dc.dm().messages[0]
    assert (await http.call(f"PATCH /channels/{dc.dm().id}/messages/{sent.id}", {"content": ""}))[1]["code"] == 50006
    assert len(dc.violations) == 5
    assert len(dc.dm().messages) == 2


async def test_ids_may_be_numbers_and_a_file_needs_no_text(dc: DiscordServer, http: Raw) -> None:
    message = dc.say("hi")
    status, answer = await http.call("POST /users/@me/channels", {"recipient_id": message.author.id})
    assert (status, answer["id"]) == (200, str(dc.dm().id))
    form = aiohttp.FormData(quote_fields=False)
    reference = f'{{"message_reference": {{"message_id": {message.id}}}, "attachments": [{{"id": 0}}]}}'
    form.add_field("payload_json", reference, content_type="application/json")
    form.add_field("files[0]", b"abc", filename="a.txt", content_type="text/plain")
    assert (await http.call(f"POST /channels/{dc.dm().id}/messages", data=form))[0] == 200
    [sent] = dc.dm().from_bot()
    assert sent.reply_to is message
    assert sent.attachments[0].data == b"abc"
    assert dc.violations == []


STRANGE: list[tuple[str, Any, int, int, str]] = [
    ("POST /channels/1/telepathy", {}, 404, 0, "no such route"),
    ("POST /users/@me", {}, 404, 0, "no such route"),
    ("GET /stickers/1", None, 404, 0, "not modelled"),
    ("GET /channels/abc", None, 400, 50035, "channel_id"),
    ("GET /users/@me?x=1", None, 400, 50035, "x: no such query"),
    ("GET /channels/1/messages?limit=101", None, 400, 50035, "limit"),
    ("GET /channels/1/messages?limit=many", None, 400, 50035, "limit"),
    ("POST /channels/1/typing", {"a": 1}, 400, 50035, "takes no body"),
    ("GET /channels/1", None, 404, 10003, ""),
    ("GET /users/1", None, 404, 10013, ""),
    ("GET /guilds/1", None, 404, 10004, ""),
    ("PUT /applications/1/commands", [], 403, 50001, ""),
    ("DELETE /applications/4242424242424242/commands/1", None, 404, 10063, ""),
    ("POST /interactions/1/x/callback", {"type": 5}, 404, 10062, ""),
    ("POST /webhooks/4242424242424242/x", {"content": "x"}, 401, 50027, ""),
    ("POST /webhooks/1/x", {"content": "x"}, 404, 10015, ""),
]


@pytest.mark.parametrize(("call", "body", "status", "code", "reason"), STRANGE)
async def test_unknown_objects_are_404(
    dc: DiscordServer, http: Raw, call: str, body: Any, status: int, code: int, reason: str
) -> None:
    found, answer = await http.call(call, body)
    assert (found, answer["code"]) == (status, code)
    assert [reason in violation.description for violation in dc.violations] == [True] * bool(reason)


async def test_unknown_paths_are_404() -> None:
    async with DiscordServer() as dc, aiohttp.ClientSession() as session:
        for path in ("/gateway", "/api/v9/gateway", "/attachments/1/1/x"):
            async with session.get(f"http://127.0.0.1:{dc.port}{path}") as answer:
                assert (answer.status, await answer.json()) == (404, {"message": "404: Not Found", "code": 0})
        assert len(dc.violations) == 3


async def test_the_token_is_required(dc: DiscordServer, http: Raw) -> None:
    assert await http.call("GET /users/@me", token="wrong") == (401, {"message": "401: Unauthorized", "code": 0})
    dc.revoke()
    assert (await http.call("GET /users/@me"))[0] == 401
    dc.restore()
    assert (await http.call("GET /users/@me"))[0] == 200
    assert (await http.call("GET /gateway", token="none"))[0] == 200
    assert dc.violations == []


async def test_a_body_that_is_not_json_is_refused(dc: DiscordServer, http: Raw) -> None:
    send = f"POST /channels/{dc.dm().id}/messages"
    assert (await http.call(send, data=b"content=x"))[1]["code"] == 50035
    assert len(dc.violations) == 1
    async with aiohttp.ClientSession() as session:
        headers = {"Authorization": f"Bot {dc.token}", "Content-Type": "application/json"}
        async with session.post(f"{dc.root}/channels/1/messages", data=b"{", headers=headers) as answer:
            assert (await answer.json())["code"] == 50109
