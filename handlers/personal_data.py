"""A person's own data: as one archive, or deleted."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO, Any

from handlers.access.linking import Linking
from handlers.context import CommandContext, Reply
from handlers.replies.export import MAX_BYTES, exported
from handlers.tools.files.person_files import PersonFiles
from handlers.tools.folder import parts_of
from routing.errors import Refused, ToolFailed
from routing.ports import PeopleStore, PersonalDataStore, PreferenceStore
from routing.types.history import Conversation, StoredMessage
from routing.types.messages import OutgoingFile, UserKey
from routing.types.time_zones import time_zone

NAME = "my-data.zip"
ROWS_PER_FILE = 20_000
SPARE_BYTES = 100_000
"""Room for the archive's list of files."""
DONE = "📦 Everything I have about you: conversations, memory, reminders, settings, usage, accounts and files."
WITHOUT_FILES = (
    "📦 Everything I have about you except your files, which are too large to be sent together: /files send <name> "
    "sends them one at a time."
)
TOO_LARGE = (
    "All your data has more than {most} MB, too much to be sent here. /history export sends one conversation, "
    "/memory export what I remember, and /files send <name> a file."
)
ForgetFiles = Callable[[int], None]
"""Deletes a person's folder by person id. May take seconds."""


class _TooLarge(Exception):
    """The archive can't be sent."""


class PersonalData:
    """Exports and deletes what is stored about people."""

    def __init__(
        self,
        store: PersonalDataStore,
        preferences: PreferenceStore,
        people: PeopleStore,
        linking: Linking,
        files: PersonFiles,
        forget_files: ForgetFiles,
    ) -> None:
        self._store = store
        self._preferences = preferences
        self._people = people
        self._linking = linking
        self._files = files
        self._forget_files = forget_files

    async def delete(self, person_id: int, by: UserKey) -> None:
        """Delete everything about a person, after their running turns have ended."""
        await self._linking.end_turns(person_id)
        await self._linking.adopt()  # files of a linked account that still have to move
        await asyncio.to_thread(self._forget_files, person_id)
        await self._people.forget(person_id, str(by))

    async def export(self, ask: CommandContext) -> Reply:
        """Send the person's data in a zip file, as JSON and Markdown. Raises Refused if it is too large."""
        most = ask.files.most_bytes
        try:
            data, text = await self._archive(ask, most, with_files=True), ask.say(DONE)
        except _TooLarge:
            try:
                data, text = await self._archive(ask, most, with_files=False), ask.say(WITHOUT_FILES)
            except _TooLarge:
                raise Refused(TOO_LARGE, most=most // 2**20) from None
        ask.files.attach(OutgoingFile(NAME, "application/zip", data))
        return Reply(text, apart=True)

    async def _archive(self, ask: CommandContext, most: int, with_files: bool) -> bytes:
        with await asyncio.to_thread(tempfile.TemporaryFile) as file:
            archive = _Archive(file, most)
            try:
                for name in await self._store.names():
                    await self._add_table(archive, ask.person.id, name)
                for conversation in await self._store.conversations(ask.person.id):
                    await self._add_conversation(archive, ask, conversation)
                if with_files:
                    await asyncio.to_thread(archive.add_files, self._files, ask.person.id)
            finally:
                await asyncio.to_thread(archive.close)
            return await asyncio.to_thread(archive.content)

    async def _add_table(self, archive: _Archive, person_id: int, name: str) -> None:
        """Add the rows of a table as JSON files with one row a line."""
        lines: list[str] = []
        after, part = 0, 1
        while rows := await self._store.rows(person_id, name, after):
            lines += [json.dumps(row, ensure_ascii=False) for row in rows]
            after = rows[-1].get("id", 1)
            if len(lines) >= ROWS_PER_FILE:
                await asyncio.to_thread(archive.add, f"{name}-{part}.json", _json_list(lines))
                part += 1
                lines.clear()
        if lines or part == 1:
            suffix = f"-{part}" if part > 1 else ""
            await asyncio.to_thread(archive.add, f"{name}{suffix}.json", _json_list(lines))

    async def _add_conversation(self, archive: _Archive, ask: CommandContext, conversation: Conversation) -> None:
        found: list[StoredMessage] = []
        length = 0
        while page := await self._store.messages(ask.person.id, conversation.id, found[-1].id if found else 0):
            found += page
            length += sum(len(each.text) for each in page)
            if length > MAX_BYTES:
                raise _TooLarge
        zone = await time_zone((await self._preferences.settings(ask.person.id)).time_zone)
        made = await asyncio.to_thread(exported, conversation, found, zone, ask.say)
        folder = f"conversations/{made.name.removesuffix('.md')}"
        await asyncio.to_thread(archive.add, f"{folder}.md", made.text)
        rows = [_row(each) for each in found]
        about = {"id": conversation.id, "chat": f"{conversation.chat.platform}:{conversation.chat.chat_id}"}
        text = json.dumps(about | {"messages": rows}, ensure_ascii=False, indent=1)
        await asyncio.to_thread(archive.add, f"{folder}.json", text)


class _Archive:
    """A zip file of at most `most` bytes. Raises _TooLarge."""

    def __init__(self, file: IO[bytes], most: int) -> None:
        self._file = file
        self._most = most - SPARE_BYTES
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED)

    def add(self, name: str, text: str) -> None:
        self._zip.writestr(name, text)
        self.check()

    def add_files(self, files: PersonFiles, person_id: int) -> None:
        """Add the person's folder; what can't be read is left out."""
        for found in files.found(person_id, everything=True):
            with (
                suppress(ToolFailed),
                files.open(person_id, parts_of(found.path)) as handle,
                os.fdopen(os.dup(handle), "rb") as source,
                self._zip.open(f"files/{found.path}", "w", force_zip64=True) as target,
            ):
                while data := source.read(1 << 18):
                    target.write(data)
                    self.check()

    def check(self) -> None:
        if self._file.tell() > self._most:
            raise _TooLarge

    def close(self) -> None:
        self._zip.close()

    def content(self) -> bytes:
        self._file.seek(0)
        return self._file.read()


def _json_list(lines: Sequence[str]) -> str:
    return "[\n" + ",\n".join(lines) + "\n]\n"


def _row(message: StoredMessage) -> dict[str, Any]:
    calls = [{"tool": call.name, "arguments": call.arguments} for call in message.calls]
    fields = {"model": message.model, "tool": message.tool, "calls": calls}
    fields["pictures"] = [picture.name for picture in message.pictures]
    row = {"at": message.at, "role": message.role, "text": message.text}
    return row | {name: value for name, value in fields.items() if value}
