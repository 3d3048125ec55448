"""Files inside messages, in both directions: the JSON of a photo, a document, a voice message and the like."""

from collections.abc import Callable

from tests.servers.telegram.errors import Breach, bad_request
from tests.servers.telegram.values import Json, StoredFile
from tests.servers.telegram.world import World, file_json
from tests.servers.uploads import Upload

PICTURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")
"""The first bytes of files that the server turns into photos."""
_THUMBNAIL = {"width": 90, "height": 67}
_FULL = {"width": 1280, "height": 960}


def photo(world: World, stored: StoredFile) -> Json:
    """Two sizes, the small one first, as the server lists them; both are the same bytes here."""
    small = world.store(Upload(stored.name, stored.data, stored.mime), "thumbnails")
    return {"photo": [file_json(small) | _THUMBNAIL, file_json(stored) | _FULL]}


def document(world: World, stored: StoredFile) -> Json:
    return {"document": file_json(stored) | {"file_name": stored.name, "mime_type": stored.mime}}


def voice(world: World, stored: StoredFile) -> Json:
    return {"voice": file_json(stored) | {"duration": 2, "mime_type": stored.mime}}


def audio(world: World, stored: StoredFile) -> Json:
    named = {"duration": 2, "mime_type": stored.mime, "file_name": stored.name}
    return {"audio": file_json(stored) | named}


def video(world: World, stored: StoredFile) -> Json:
    return {"video": file_json(stored) | _FULL | {"duration": 2, "mime_type": stored.mime}}


def animation(world: World, stored: StoredFile) -> Json:
    return {"animation": file_json(stored) | _FULL | {"duration": 2, "mime_type": stored.mime}}


def sticker(world: World, stored: StoredFile) -> Json:
    shape = {"type": "regular", "width": 512, "height": 512, "is_animated": False, "is_video": False}
    return {"sticker": file_json(stored) | shape}


MEDIA: dict[str, Callable[[World, StoredFile], Json]] = {
    "photo": photo,
    "document": document,
    "voice": voice,
    "audio": audio,
    "video": video,
    "animation": animation,
    "sticker": sticker,
}


def given_file(world: World, kind: str, value: Upload | str, params: Json) -> StoredFile:
    """The file a call names: a part of the request, attach://part, or the id of a stored file."""
    if isinstance(value, str) and value.startswith("attach://"):
        value = params[value.removeprefix("attach://")]
    if isinstance(value, Upload):
        return world.store(value, f"{kind}s")
    if not value:
        raise Breach(f"there is no {kind} in the request")
    if "://" in value:
        raise bad_request("failed to get HTTP URL content")
    return world.file(value)
