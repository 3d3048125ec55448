"""The log as JSON, for the control interface."""

import itertools

from tests.servers.telegram.server import TelegramServer
from tests.servers.telegram.values import Chat, Json, Message


def state(tg: TelegramServer, since: int) -> Json:
    """Counts, and the messages, drafts and chats that changed after `since`; the cost depends on the number of
    changes."""
    recent = itertools.takewhile(lambda entry: entry[0] > since, reversed(tg.touched))
    messages = list(dict.fromkeys(message for _, message in recent))
    return {
        "seq": tg.seq,
        "counts": counts(tg),
        "messages": [message_json(message) for message in reversed(messages)],
        "drafts": [
            {"chat_id": draft.chat_id, "draft_id": draft.draft_id, "text": draft.text, "entities": draft.entities}
            for draft in tg.all_live_drafts()
        ],
        "violations": [str(violation) for violation in tg.violations[-20:]],
    }


def counts(tg: TelegramServer) -> Json:
    return {
        "pending": len(tg.updates.pending),
        "sent": tg.sent,
        "requests": len(tg.requests),
        "violations": len(tg.violations),
    }


def message_json(message: Message) -> Json:
    """A message with its history; `at` is in monotonic seconds."""
    return {
        "chat_id": message.chat.id,
        "id": message.id,
        "from": message.sender.first_name,
        "from_bot": message.from_bot,
        "text": message.text,
        "entities": message.entities,
        "reply_markup": message.reply_markup,
        "content": message.content,
        "thread_id": message.thread_id,
        "reply_to": message.reply_to.id if message.reply_to else None,
        "reactions": message.emoji,
        "deleted": message.deleted,
        "at": message.at,
        "versions": [{"text": version.text, "at": version.at} for version in message.versions],
        "update_id": message.update["update_id"] if message.update else None,
    }


def chat_json(chat: Chat) -> Json:
    title = chat.title or (chat.user.first_name if chat.user else "")
    topics = [{"id": topic.id, "name": topic.name} for topic in chat.topics.values() if not topic.deleted]
    return {"id": chat.id, "type": chat.type, "title": title, "is_forum": chat.is_forum, "topics": topics}
