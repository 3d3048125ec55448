"""Methods that show, change and remove messages."""

import time
from typing import Any

from tests.servers.telegram.errors import Breach, bad_request
from tests.servers.telegram.journal import Action, Draft
from tests.servers.telegram.media import MEDIA, PICTURES, given_file
from tests.servers.telegram.rules import prepare
from tests.servers.telegram.values import Chat, Json, Message
from tests.servers.telegram.world import Handler, World

NOT_MODIFIED = (
    "message is not modified: specified new message content and reply markup are exactly the same as a current "
    "content and reply markup of the message"
)


def send_message(world: World, params: Json) -> Json:
    return _show(world, params, params["text"], params["entities"])


def _show(world: World, params: Json, text: str, entities: list[Json], content: Json | None = None) -> Json:
    chat = world.open_chat(params["chat_id"])
    world.check_thread(chat, params.get("message_thread_id"))
    message = world.add_message(
        chat,
        world.bot,
        text,
        entities,
        content=content,
        captioned=content is not None,
        reply_markup=params.get("reply_markup"),
        thread_id=params.get("message_thread_id"),
        reply_to=_replied(chat, params.get("reply_parameters")),
    )
    return message.json()


def _replied(chat: Chat, reply: Json | None) -> Message | None:
    if reply is None:
        return None
    message = chat.by_id.get(reply["message_id"])
    if message is not None and not message.deleted:
        return message
    if reply.get("allow_sending_without_reply"):
        return None
    raise bad_request("message to be replied not found")


def send_media(kind: str) -> Handler:
    """The handler of sendPhoto, sendDocument and similar methods."""

    def handler(world: World, params: Json) -> Json:
        chat = world.open_chat(params["chat_id"])
        world.check_thread(chat, params.get("message_thread_id"))
        file = given_file(world, kind, params[kind], params)
        if kind == "photo" and not file.data.startswith(PICTURES):
            raise bad_request("IMAGE_PROCESS_FAILED")
        content = MEDIA[kind](world, file)
        return _show(world, params, params.get("caption", ""), params.get("caption_entities", []), content)

    return handler


def send_media_group(world: World, params: Json) -> list[Json]:
    items = params["media"]
    if not 2 <= len(items) <= 10:
        raise Breach("media group must include 2-10 items")
    album = str(world.serial())
    sent = []
    for item in items:
        if item["type"] not in MEDIA:
            raise bad_request(f"media type {item['type']!r} is not served here")
        item = prepare("sendMediaGroup", item)
        content = MEDIA[item["type"]](world, given_file(world, item["type"], item["media"], params))
        content["media_group_id"] = album
        sent.append(_show(world, params, item.get("caption", ""), item.get("caption_entities", []), content))
    return sent


def send_other(world: World, params: Json) -> Json:
    """A kind of message whose content is not modelled."""
    return _show(world, params, "", [], {})


def send_draft(world: World, params: Json) -> bool:
    chat = world.open_chat(params["chat_id"])
    if not chat.is_private:
        raise Breach("TEXTDRAFT_PEER_INVALID")
    thread_id = params.get("message_thread_id")
    world.check_thread(chat, thread_id)
    text, entities = params.get("text", ""), params.get("entities", [])
    world.drafts.append(Draft(chat.id, params["draft_id"], thread_id, text, entities, time.monotonic()))
    world.changed()
    return True


def _editable(world: World, params: Json) -> Message:
    if "inline_message_id" in params:
        raise bad_request("message to edit not found")
    message = world.open_chat(params["chat_id"]).by_id.get(params["message_id"])
    if message is None or message.deleted:
        raise bad_request("message to edit not found")
    if not message.from_bot:
        raise bad_request("message can't be edited")
    return message


def edit_text(world: World, params: Json) -> Json:
    message = _editable(world, params)
    if message.captioned:
        raise bad_request("there is no text in the message to edit")
    return _revise(world, message, params["text"], params["entities"], params.get("reply_markup"))


def edit_caption(world: World, params: Json) -> Json:
    message = _editable(world, params)
    if not message.captioned:
        raise bad_request("there is no caption in the message to edit")
    caption, entities = params.get("caption", ""), params.get("caption_entities", [])
    return _revise(world, message, caption, entities, params.get("reply_markup"))


def edit_markup(world: World, params: Json) -> Json:
    message = _editable(world, params)
    return _revise(world, message, message.text, message.entities, params.get("reply_markup"))


def _revise(world: World, message: Message, text: str, entities: list[Json], markup: Json | None) -> Json:
    markup = markup if markup and markup.get("inline_keyboard") else None
    now = (message.text, _canonical(message.entities), message.reply_markup)
    if now == (text, _canonical(entities), markup):
        raise Breach(NOT_MODIFIED)
    world.revise(message, text, entities, markup)
    return message.json()


def _canonical(entities: list[Json]) -> list[list[tuple[str, str]]]:
    """A form that can be compared regardless of order."""
    return sorted(sorted((key, str(value)) for key, value in entity.items()) for entity in entities)


def delete_message(world: World, params: Json) -> bool:
    _delete(world, world.open_chat(params["chat_id"]), params["message_id"])
    return True


def delete_messages(world: World, params: Json) -> bool:
    chat = world.open_chat(params["chat_id"])
    for message_id in params["message_ids"]:
        if message_id in chat.by_id and not chat.by_id[message_id].deleted:
            _delete(world, chat, message_id)
    return True


def _delete(world: World, chat: Chat, message_id: int) -> None:
    message = chat.by_id.get(message_id)
    if message is None or message.deleted:
        raise bad_request("message to delete not found")
    if not (message.from_bot or chat.is_private or chat.bot_is_admin):
        raise bad_request("message can't be deleted")
    message.deleted = True
    world.touch(message)


def send_action(world: World, params: Json) -> bool:
    chat = world.open_chat(params["chat_id"])
    thread_id = params.get("message_thread_id")
    world.check_thread(chat, thread_id, general=True)
    world.actions.append(Action(chat.id, params["action"], thread_id, time.monotonic()))
    world.changed()
    return True


def set_reaction(world: World, params: Json) -> bool:
    message = world.open_chat(params["chat_id"]).by_id.get(params["message_id"])
    if message is None or message.deleted:
        raise bad_request("message to react not found")
    message.reactions = params.get("reaction", [])
    world.touch(message)
    return True


def answer_callback(world: World, params: Json) -> bool:
    press = world.presses.get(params["callback_query_id"])
    if press is None or press.expired or press.answer is not None:
        raise bad_request("query is too old and response timeout expired or query ID is invalid")
    press.answer = {key: value for key, value in params.items() if key != "callback_query_id"}
    world.changed()
    return True


SENDING: dict[str, Any] = {
    "sendMessage": send_message,
    "sendMessageDraft": send_draft,
    "sendMediaGroup": send_media_group,
    **{f"send{kind.capitalize()}": send_media(kind) for kind in MEDIA},
    "editMessageText": edit_text,
    "editMessageCaption": edit_caption,
    "editMessageReplyMarkup": edit_markup,
    "deleteMessage": delete_message,
    "deleteMessages": delete_messages,
    "sendChatAction": send_action,
    "setMessageReaction": set_reaction,
    "answerCallbackQuery": answer_callback,
}
