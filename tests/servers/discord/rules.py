"""The documented limits of messages that the schema lacks. Breaking one raises `Breach`."""

from tests.servers.discord.components import check_components
from tests.servers.discord.errors import Breach, invalid
from tests.servers.discord.pings import check_allowed_mentions
from tests.servers.discord.values import Json
from tests.servers.uploads import Upload

MAX_TEXT = 2000
"""Code points: Discord's API counts with Python's len (a developer of Discord in discord-api-docs issue 1315)."""
MAX_EMBEDS_TEXT = 6000
"""Characters of all embeds of a message together."""
MAX_FILE = 10 * 2**20
"""Bytes a file without boosts (API reference, "Uploading Files")."""
MAX_FILES = 10
COMPONENTS_V2 = 1 << 15
SENDABLE_FLAGS = 1 << 2 | 1 << 12 | 1 << 13 | COMPONENTS_V2
"""What a bot may set on a message: no embeds, silent, voice, components v2. A callback may add ephemeral."""


def check_message(body: Json, files: dict[int, Upload], *, flags: int = SENDABLE_FLAGS, had: int = 0) -> None:
    """`flags` may be set here; `had` are those of the message that is edited."""
    if len(body.get("content") or "") > MAX_TEXT:
        raise invalid("content", "BASE_TYPE_MAX_LENGTH", f"Must be {MAX_TEXT} or fewer in length.")
    given = body.get("flags") or 0
    if given & ~flags:
        raise invalid("flags", "MESSAGE_FLAGS_INVALID", f"flags {given & ~flags} can't be set here")
    _check_embeds(body.get("embeds") or [])
    _check_files(body, files)
    check_allowed_mentions(body.get("allowed_mentions"))
    is_v2 = bool((given | had) & COMPONENTS_V2)
    if is_v2 and (body.get("content") or body.get("embeds")):
        raise invalid("content", "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2", "no content with components v2")
    check_components(body.get("components") or [], is_v2=is_v2)


def check_not_empty(text: str, *others: object) -> None:
    """`others`: embeds, components, files."""
    if not text.strip() and not any(others):
        raise Breach("empty message", 400, 50006, "Cannot send an empty message")


def _check_embeds(embeds: list[Json]) -> None:
    total = 0
    for number, embed in enumerate(embeds):
        parts = [embed.get("title"), embed.get("description")]
        parts += [(embed.get("footer") or {}).get("text"), (embed.get("author") or {}).get("name")]
        for field in embed.get("fields") or []:
            parts += [field.get("name"), field.get("value")]
        if not any(parts) and not any(embed.get(key) for key in ("image", "thumbnail", "video", "url")):
            raise invalid(f"embeds.{number}.description", "BASE_TYPE_REQUIRED", "This field is required")
        total += sum(len(part or "") for part in parts)
    if total > MAX_EMBEDS_TEXT:
        reason = f"Embed size exceeds maximum size of {MAX_EMBEDS_TEXT}"
        raise invalid("embeds", "MAX_EMBED_SIZE_EXCEEDED", reason)


def _check_files(body: Json, files: dict[int, Upload]) -> None:
    if len(files) > MAX_FILES:
        raise invalid("files", "BASE_TYPE_MAX_LENGTH", f"Must be {MAX_FILES} or fewer in length.")
    if any(len(file.data) > MAX_FILE for file in files.values()):
        raise Breach("a file is too large", 413, 40005, "Request entity too large")
    named = {str(entry["id"]) for entry in body.get("attachments") or []}
    if body.get("attachments") is not None and not {str(number) for number in files} <= named:
        raise invalid("attachments", "ATTACHMENT_NOT_FOUND", "a file has no entry in attachments")
