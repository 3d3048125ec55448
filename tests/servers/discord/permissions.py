"""The names of permissions and their bits, as far as a chat bot meets them (API reference, "Permissions")."""

from collections.abc import Iterable

BITS = {
    "add_reactions": 1 << 6,
    "view_channel": 1 << 10,
    "send_messages": 1 << 11,
    "manage_messages": 1 << 13,
    "embed_links": 1 << 14,
    "attach_files": 1 << 15,
    "read_message_history": 1 << 16,
    "mention_everyone": 1 << 17,
    "use_application_commands": 1 << 31,
    "manage_threads": 1 << 34,
    "create_public_threads": 1 << 35,
    "create_private_threads": 1 << 36,
    "send_messages_in_threads": 1 << 38,
    "use_external_apps": 1 << 50,
}
ALL = sum(BITS.values())
"""What the bot may do where nothing is forbidden; it may even mention everyone, so that a mention would show."""


def bits(names: Iterable[str]) -> int:
    """KeyError for a name that is not in the table."""
    return sum(BITS[name] for name in names)
