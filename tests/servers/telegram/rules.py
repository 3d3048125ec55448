"""Rules of the real server beyond types: sizes, names, allowed values. Breaking one raises Breach."""

import re
from collections.abc import Callable, Mapping

from tests.servers.telegram.entities import check_entities, utf16_length
from tests.servers.telegram.errors import Breach
from tests.servers.telegram.markup import parse
from tests.servers.telegram.schema import SCHEMA
from tests.servers.telegram.values import Json
from tests.servers.uploads import Upload

MAX_TEXT = 4096
MAX_CAPTION = 1024
MAX_CALLBACK_DATA = 64
"""In bytes of UTF-8."""
MAX_BUTTONS = 100
MAX_COMMANDS = 100
MAX_DESCRIPTION = 256
MAX_CALLBACK_ANSWER = 200
MAX_UPLOAD = 50 * 2**20
MAX_PHOTO = 10 * 2**20
ACTIONS = frozenset(
    [
        "typing",
        "upload_photo",
        "record_video",
        "upload_video",
        "record_voice",
        "upload_voice",
        "upload_document",
        "choose_sticker",
        "find_location",
        "record_video_note",
        "upload_video_note",
    ]
)
_EMOJI = frozenset(re.findall('"([^"]+)"', SCHEMA.describe("ReactionTypeEmoji", "emoji")))
_UPDATE_TYPES = SCHEMA.field_names("Update") - {"update_id"}
_BUTTON_KINDS = SCHEMA.field_names("InlineKeyboardButton") - {"text", "icon_custom_emoji_id", "style"}
_COMMAND = re.compile(r"[a-z0-9_]{1,32}")
_SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")
_FORMATTED = (("text", "entities", "parse_mode"), ("caption", "caption_entities", "parse_mode"))


def prepare(method: str, params: Json) -> Json:
    """The parameters with text and caption as the server keeps them: parsed, trimmed, entities checked."""
    prepared = dict(params)
    for text_key, entities_key, mode_key in _FORMATTED:
        if isinstance(params.get(text_key), str) and method != "answerCallbackQuery":
            text, entities = _formatted(params[text_key], params.get(entities_key), params.get(mode_key))
            prepared[text_key], prepared[entities_key] = text, entities
    _check_lengths(method, prepared)
    for value in params.values():
        if isinstance(value, Upload):
            _check_upload(method, value)
    if "reply_markup" in params:
        _check_markup(params["reply_markup"])
    if method in _BY_METHOD:
        _BY_METHOD[method](prepared)
    return prepared


def _formatted(text: str, entities: list[Json] | None, mode: str | None) -> tuple[str, list[Json]]:
    if mode and not entities:
        text, entities = parse(text, mode)
    entities = entities or []
    if problems := check_entities(text, entities):
        raise Breach("; ".join(problems))
    return trimmed(text, entities)


def trimmed(text: str, entities: list[Json]) -> tuple[str, list[Json]]:
    """Without white space at both ends; entities shifted, shortened or dropped accordingly."""
    kept = text.strip()
    if kept == text:
        return text, entities
    lead, end = utf16_length(text[: len(text) - len(text.lstrip())]), utf16_length(kept)
    moved = []
    for entity in entities:
        start = max(entity["offset"] - lead, 0)
        stop = min(entity["offset"] + entity["length"] - lead, end)
        if stop > start:
            moved.append({**entity, "offset": start, "length": stop - start})
    return kept, moved


def _check_lengths(method: str, params: Mapping[str, object]) -> None:
    text, caption = params.get("text"), params.get("caption")
    if method in ("sendMessage", "editMessageText") and not text and "rich_message" not in params:
        raise Breach("message text is empty")
    if isinstance(text, str) and method != "answerCallbackQuery" and utf16_length(text) > MAX_TEXT:
        raise Breach("message is too long")
    if isinstance(caption, str) and utf16_length(caption) > MAX_CAPTION:
        raise Breach("message caption is too long")


def _check_upload(method: str, upload: Upload) -> None:
    if not upload.data:
        raise Breach("file must be non-empty")
    if len(upload.data) > (MAX_PHOTO if method == "sendPhoto" else MAX_UPLOAD):
        raise Breach(f"file {upload.name!r} of {len(upload.data)} bytes is too big")


def _check_markup(markup: Json) -> None:
    buttons = [button for row in markup.get("inline_keyboard", []) for button in row]
    if len(buttons) > MAX_BUTTONS:
        raise Breach("reply markup is too long")
    for button in buttons:
        kinds = _BUTTON_KINDS & button.keys()
        if len(kinds) != 1:
            raise Breach(f"inline button {button['text']!r} must have exactly one kind, has {sorted(kinds)}")
        if not button["text"]:
            raise Breach("inline keyboard button text must be non-empty")
        if "callback_data" in button and not 1 <= len(button["callback_data"].encode()) <= MAX_CALLBACK_DATA:
            raise Breach("BUTTON_DATA_INVALID")
    for row in markup.get("keyboard", []):
        if not row:
            raise Breach("keyboard row must be non-empty")


def _check_action(params: Json) -> None:
    if params["action"] not in ACTIONS:
        raise Breach("wrong parameter action in request")


def _check_reaction(params: Json) -> None:
    reactions = params.get("reaction", [])
    if len(reactions) > 1:
        raise Breach("REACTIONS_TOO_MANY")
    for reaction in reactions:
        if reaction["type"] == "paid" or reaction.get("emoji", "❤").replace("\ufe0f", "") not in _EMOJI:
            raise Breach("REACTION_INVALID")


def _check_commands(params: Json) -> None:
    if len(params["commands"]) > MAX_COMMANDS:
        raise Breach("BOT_COMMANDS_TOO_MUCH")
    for command in params["commands"]:
        if not _COMMAND.fullmatch(command["command"]):
            raise Breach(f"BOT_COMMAND_INVALID: {command['command']!r}")
        if not 1 <= len(command["description"]) <= MAX_DESCRIPTION:
            raise Breach(f"BOT_COMMAND_DESCRIPTION_INVALID: {command['command']!r}")
    _check_language(params)


def _check_language(params: Json) -> None:
    if not re.fullmatch("([a-z]{2})?", params.get("language_code", "")):
        raise Breach("invalid language code specified")


def _check_draft(params: Json) -> None:
    if params["draft_id"] == 0:
        raise Breach("draft identifier must be non-zero")


def _check_webhook(params: Json) -> None:
    secret = params.get("secret_token")
    if secret is not None and not _SECRET.fullmatch(secret):
        raise Breach("secret token contains unallowed characters")
    _check_update_types(params)


def _check_update_types(params: Json) -> None:
    if unknown := set(params.get("allowed_updates", [])) - _UPDATE_TYPES:
        raise Breach(f"unknown update type {min(unknown)!r} in allowed_updates")


def _check_callback_answer(params: Json) -> None:
    if utf16_length(params.get("text", "")) > MAX_CALLBACK_ANSWER:
        raise Breach("MESSAGE_TOO_LONG")


def _check_edit_target(params: Json) -> None:
    if "inline_message_id" not in params and not {"chat_id", "message_id"} <= params.keys():
        raise Breach("message identifier is not specified")


_BY_METHOD: dict[str, Callable[[Json], None]] = {
    "answerCallbackQuery": _check_callback_answer,
    "deleteMyCommands": _check_language,
    "editMessageCaption": _check_edit_target,
    "editMessageReplyMarkup": _check_edit_target,
    "editMessageText": _check_edit_target,
    "getMyCommands": _check_language,
    "getUpdates": _check_update_types,
    "sendChatAction": _check_action,
    "sendMessageDraft": _check_draft,
    "setMessageReaction": _check_reaction,
    "setMyCommands": _check_commands,
    "setWebhook": _check_webhook,
}
