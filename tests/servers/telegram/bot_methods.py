"""Methods about the bot, its commands, its webhook, chats and members."""

import json
from typing import Any

from tests.servers.telegram.errors import bad_request
from tests.servers.telegram.values import Chat, Json, User
from tests.servers.telegram.world import Handler, World, file_json

MAX_DOWNLOAD = 20 * 2**20
"""In bytes; the cloud server serves no larger files."""


def get_me(world: World, params: Json) -> Json:
    return world.bot.json() | {
        "can_join_groups": True,
        "can_read_all_group_messages": not world.privacy,
        "supports_inline_queries": False,
        "can_connect_to_business": False,
        "has_main_web_app": False,
    }


def set_webhook(world: World, params: Json) -> bool:
    world.updates.set_webhook(params)
    return True


def delete_webhook(world: World, params: Json) -> bool:
    world.updates.set_webhook({"drop_pending_updates": params.get("drop_pending_updates", False)})
    return True


def get_webhook_info(world: World, params: Json) -> Json:
    return world.updates.webhook_info()


def get_file(world: World, params: Json) -> Json:
    stored = world.files.get(params["file_id"])
    if stored is None:
        raise bad_request("invalid file_id")
    if len(stored.data) > MAX_DOWNLOAD:
        raise bad_request("file is too big")
    return file_json(stored) | {"file_path": stored.path}


def _command_key(world: World, params: Json) -> str:
    scope = params.get("scope", {"type": "default"})
    if "chat_id" in scope:
        world.known_chat(scope["chat_id"])
    return json.dumps([scope, params.get("language_code", "")], sort_keys=True)


def set_commands(world: World, params: Json) -> bool:
    world.commands[_command_key(world, params)] = params["commands"]
    world.changed()
    return True


def get_commands(world: World, params: Json) -> list[Json]:
    return world.commands.get(_command_key(world, params), [])


def delete_commands(world: World, params: Json) -> bool:
    world.commands.pop(_command_key(world, params), None)
    world.changed()
    return True


def get_chat(world: World, params: Json) -> Json:
    chat = world.known_chat(params["chat_id"])
    gifts = ("unlimited_gifts", "limited_gifts", "unique_gifts", "premium_subscription", "gifts_from_channels")
    return chat.json() | {
        "accent_color_id": 0,
        "max_reaction_count": 11,
        "accepted_gift_types": dict.fromkeys(gifts, False),
    }


def member_json(chat: Chat, user: User) -> Json:
    if user.is_bot:
        return _bot_member(chat, user)
    return {"status": "member" if user.id in chat.members else "left", "user": user.json()}


def _bot_member(chat: Chat, bot: User) -> Json:
    if chat.refusal is not None:
        if "kicked" in chat.refusal or "blocked" in chat.refusal:
            return {"status": "kicked", "user": bot.json(), "until_date": 0}
        return {"status": "left", "user": bot.json()}
    if chat.bot_is_admin:
        return {"status": "administrator", "user": bot.json(), "can_be_edited": False, **_RIGHTS}
    return {"status": "member", "user": bot.json()}


_RIGHTS = dict.fromkeys(
    [
        "can_manage_chat",
        "can_delete_messages",
        "can_restrict_members",
        "can_promote_members",
        "can_change_info",
        "can_invite_users",
        "can_post_stories",
        "can_edit_stories",
        "can_delete_stories",
        "can_manage_video_chats",
        "is_anonymous",
    ],
    True,
)


def get_member(world: World, params: Json) -> Json:
    chat = world.open_chat(params["chat_id"])
    user = world.bot if params["user_id"] == world.bot.id else world.users.get(params["user_id"])
    if user is None:
        raise bad_request("user not found")
    return member_json(chat, user)


def get_administrators(world: World, params: Json) -> list[Json]:
    chat = world.open_chat(params["chat_id"])
    if chat.is_private:
        raise bad_request("there are no administrators in the private chat")
    return [_bot_member(chat, world.bot)] if chat.bot_is_admin else []


def get_member_count(world: World, params: Json) -> int:
    return len(world.open_chat(params["chat_id"]).members) + 1


def leave_chat(world: World, params: Json) -> bool:
    chat = world.open_chat(params["chat_id"])
    chat.refusal = f"bot is not a member of the {chat.type} chat"
    world.changed()
    return True


def create_topic(world: World, params: Json) -> Json:
    chat = world.open_chat(params["chat_id"])
    if not chat.is_forum and not chat.is_private:
        raise bad_request("the chat is not a forum")
    topic = world.open_topic(chat, params["name"], world.bot)
    return {"message_thread_id": topic.id, "name": topic.name, "icon_color": 7322096}


def _profile_setter(field: str) -> Handler:
    def handler(world: World, params: Json) -> bool:
        world.profile[field, params.get("language_code", "")] = params.get(field, "")
        return True

    return handler


def _profile_getter(field: str) -> Handler:
    def handler(world: World, params: Json) -> Json:
        return {field: world.profile.get((field, params.get("language_code", "")), "")}

    return handler


ASKING: dict[str, Any] = {
    "getMe": get_me,
    "setWebhook": set_webhook,
    "deleteWebhook": delete_webhook,
    "getWebhookInfo": get_webhook_info,
    "getFile": get_file,
    "setMyCommands": set_commands,
    "getMyCommands": get_commands,
    "deleteMyCommands": delete_commands,
    "getChat": get_chat,
    "getChatMember": get_member,
    "getChatAdministrators": get_administrators,
    "getChatMemberCount": get_member_count,
    "leaveChat": leave_chat,
    "createForumTopic": create_topic,
    "getChatMenuButton": lambda world, params: {"type": "default"},
    **{
        f"setMy{name}": _profile_setter(field)
        for name, field in (("Name", "name"), ("Description", "description"), ("ShortDescription", "short_description"))
    },
    **{
        f"getMy{name}": _profile_getter(field)
        for name, field in (("Name", "name"), ("Description", "description"), ("ShortDescription", "short_description"))
    },
}
