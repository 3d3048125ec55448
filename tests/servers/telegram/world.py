"""The state behind the API: people, messages and files."""

import time
from collections.abc import Callable
from typing import Any

from tests.servers.changes import Changes
from tests.servers.telegram.errors import ApiError, Breach, bad_request, forbidden
from tests.servers.telegram.journal import Action, Draft, Press, Request, Violation
from tests.servers.telegram.updates import UpdateQueue
from tests.servers.telegram.values import Chat, Json, Message, StoredFile, Topic, User, Version
from tests.servers.uploads import Upload

GENERAL_TOPIC = 1
FIRST_TOPIC_MESSAGE = 10
"""Message ids of a supergroup start above this, so that none is taken for the General topic."""


class World(Changes):
    """The server's state."""

    def __init__(self, bot: User) -> None:
        super().__init__()
        self.bot = bot
        self.privacy = False
        """Whether groups show the bot only commands, mentions of it and answers to it (BotFather's /setprivacy)."""
        self.users: dict[int, User] = {}
        self.chats: dict[int, Chat] = {}
        self.files: dict[str, StoredFile] = {}
        self.presses: dict[str, Press] = {}
        self.commands: dict[str, list[Json]] = {}
        self.profile: dict[tuple[str, str], str] = {}
        self.drafts: list[Draft] = []
        self.actions: list[Action] = []
        self.requests: list[Request] = []
        self.violations: list[Violation] = []
        self.updates = UpdateQueue(self.changed)
        self.touched: list[tuple[int, Message]] = []
        """Messages with the `seq` at which they were sent or changed; one may occur several times."""
        self.sent = 0
        """Messages the bot has sent, deleted ones included."""
        self._message_ids = 0

    # --- chats, as the bot's calls see them -------------------------------------------------------------------

    def known_chat(self, chat_id: int | str) -> Chat:
        """The chat that a call names; refused if it doesn't exist or was migrated."""
        chat = self.chats.get(chat_id) if isinstance(chat_id, int) else self._by_username(chat_id)
        if chat is None:
            raise bad_request("chat not found")
        if chat.migrated_to is not None:
            raise bad_request("group chat was upgraded to a supergroup chat", migrate_to_chat_id=chat.migrated_to)
        return chat

    def open_chat(self, chat_id: int | str) -> Chat:
        """The same for a call that shows something there; refused if the bot was blocked or removed."""
        chat = self.known_chat(chat_id)
        if chat.refusal is not None:
            raise forbidden(chat.refusal)
        return chat

    def check_thread(self, chat: Chat, thread_id: int | None, *, general: bool = False) -> None:
        """`general`: whether the call may name the General topic (only chat actions may)."""
        if thread_id is None or (general and chat.is_forum and thread_id == GENERAL_TOPIC):
            return
        if chat.is_forum and thread_id == GENERAL_TOPIC:
            raise Breach("message thread not found")
        topic = chat.topics.get(thread_id)
        if topic is None or topic.deleted:
            raise bad_request("message thread not found")
        if topic.closed and not chat.bot_is_admin:
            raise bad_request("TOPIC_CLOSED")

    def _by_username(self, name: str) -> Chat | None:
        wanted = name.removeprefix("@").lower()
        return next((c for c in self.chats.values() if c.user and (c.user.username or "").lower() == wanted), None)

    # --- messages ---------------------------------------------------------------------------------------------

    def add_message(
        self,
        chat: Chat,
        sender: User,
        text: str = "",
        entities: list[Json] | None = None,
        *,
        content: Json | None = None,
        captioned: bool = False,
        reply_markup: Json | None = None,
        thread_id: int | None = None,
        reply_to: Message | None = None,
    ) -> Message:
        """Append to the chat's log. In a topic a message answers the topic's first one unless it answers another."""
        if thread_id is not None and reply_to is None:
            reply_to = chat.by_id.get(thread_id)
        message = Message(
            chat=chat,
            id=self._next_message_id(chat),
            sender=sender,
            date=int(time.time()),
            versions=[Version(text, entities or [], reply_markup, time.monotonic())],
            content=content or {},
            captioned=captioned,
            thread_id=thread_id,
            reply_to=reply_to,
        )
        chat.messages.append(message)
        chat.by_id[message.id] = message
        self.sent += sender.is_bot
        self.touch(message)
        return message

    def touch(self, message: Message) -> None:
        self.touched.append((self.seq + 1, message))
        self.changed()

    def revise(self, message: Message, text: str, entities: list[Json], reply_markup: Json | None) -> None:
        message.versions.append(Version(text, entities, reply_markup, time.monotonic()))
        message.edit_date = int(time.time())
        self.touch(message)

    def _next_message_id(self, chat: Chat) -> int:
        """Supergroups have separate counts; private chats and small groups share one per bot."""
        if chat.type == "supergroup":
            chat.last_message_id = max(chat.last_message_id, FIRST_TOPIC_MESSAGE) + 1
            return chat.last_message_id
        self._message_ids += 1
        return self._message_ids

    def open_topic(self, chat: Chat, name: str, creator: User) -> Topic:
        """A new topic; its id is the id of the service message that created it."""
        created = {"forum_topic_created": {"name": name, "icon_color": 7322096}}
        message = self.add_message(chat, creator, content=created)
        message.thread_id = message.id
        topic = chat.topics[message.id] = Topic(message.id, name)
        return topic

    # --- files ------------------------------------------------------------------------------------------------

    def store(self, upload: Upload, folder: str) -> StoredFile:
        number = self.serial()
        suffix = upload.name[upload.name.rfind(".") :] if "." in upload.name else ""
        stored = StoredFile(
            id=f"{folder}-file-{number}",
            unique_id=f"unique-{number}",
            path=f"{folder}/file_{number}{suffix}",
            name=upload.name,
            mime=upload.mime,
            data=upload.data,
        )
        self.files[stored.id] = stored
        return stored

    def file(self, file_id: str) -> StoredFile:
        if file_id not in self.files:
            raise bad_request("wrong file identifier/HTTP URL specified")
        return self.files[file_id]

    def file_at(self, path: str) -> StoredFile:
        for stored in self.files.values():
            if stored.path == path:
                return stored
        raise ApiError(404, "Not Found")


def file_json(stored: StoredFile) -> Json:
    """The fields common to all kinds of files."""
    return {"file_id": stored.id, "file_unique_id": stored.unique_id, "file_size": len(stored.data)}


Result = Any
Handler = Callable[[World, Json], Result]
