"""Messages other than text: photos, documents, voice messages, and kinds that a text bot can't read."""

from typing import TypedDict, Unpack

from tests.servers.telegram.media import MEDIA
from tests.servers.telegram.people import Where, Who
from tests.servers.telegram.talk import Talk
from tests.servers.telegram.values import Json, Message, Topic
from tests.servers.uploads import Upload

UNSUPPORTED: dict[str, Json] = {
    "sticker": {
        "sticker": {
            "file_id": "sticker-1",
            "file_unique_id": "s1",
            "type": "regular",
            "width": 512,
            "height": 512,
            "is_animated": False,
            "is_video": False,
            "emoji": "👍",
        }
    },
    "poll": {
        "poll": {
            "id": "1",
            "question": "Tea or coffee?",
            "options": [
                {"persistent_id": "1", "text": "Tea", "voter_count": 0},
                {"persistent_id": "2", "text": "Coffee", "voter_count": 0},
            ],
            "total_voter_count": 0,
            "is_closed": False,
            "is_anonymous": True,
            "type": "regular",
            "allows_multiple_answers": False,
            "allows_revoting": True,
            "members_only": False,
        }
    },
    "location": {"location": {"latitude": 52.52, "longitude": 13.405}},
    "contact": {"contact": {"phone_number": "+1555", "first_name": "Carol"}},
    "dice": {"dice": {"emoji": "🎲", "value": 4}},
    "video_note": {"video_note": {"file_id": "note-1", "file_unique_id": "n1", "length": 240, "duration": 3}},
}


class Place(TypedDict, total=False):
    """Who sends a file, and where."""

    user: Who
    group: Where | None
    topic: Topic | int | None
    reply_to: Message | None


class Sharing(Talk):
    """Files are stored and can be fetched with getFile."""

    def say_photo(
        self,
        data: bytes,
        *,
        caption: str = "",
        media_group: str | None = None,
        mime: str = "image/jpeg",
        **where: Unpack[Place],
    ) -> Message:
        """One photo; those with the same `media_group` form an album, each in its own update."""
        upload = Upload("photo.jpg", data, mime)
        return self._say_file("photo", upload, caption, media_group, **where)

    def say_document(
        self,
        name: str,
        data: bytes,
        mime: str = "text/plain",
        *,
        caption: str = "",
        media_group: str | None = None,
        **where: Unpack[Place],
    ) -> Message:
        upload = Upload(name, data, mime)
        return self._say_file("document", upload, caption, media_group, **where)

    def say_voice(
        self,
        data: bytes = b"OggS",
        *,
        mime: str = "audio/ogg",
        **where: Unpack[Place],
    ) -> Message:
        upload = Upload("voice.ogg", data, mime)
        return self._say_file("voice", upload, "", None, **where)

    def _say_file(
        self,
        kind: str,
        upload: Upload,
        caption: str,
        album: str | None,
        **where: Unpack[Place],
    ) -> Message:
        content = MEDIA[kind](self, self.store(upload, f"{kind}s"))
        if album is not None:
            content["media_group_id"] = album
        return self.say(caption, content=content, captioned=True, **where)

    def unsupported(self, kind: str = "sticker", *, user: Who = None, group: Where | None = None) -> Message:
        """Something a text bot cannot read: sticker, poll, location, contact, dice or video_note."""
        return self.say("", user=user, group=group, content=UNSUPPORTED[kind])
