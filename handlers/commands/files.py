"""/files: lists the person's folder, and sends or deletes a file of it."""

from __future__ import annotations

import asyncio
import mimetypes
from datetime import datetime
from zoneinfo import ZoneInfo

from handlers.context import CommandContext, CommandSpec, Handler, Reply, check_private, unknown_subcommand
from handlers.dependencies import CommandDependencies
from handlers.tools.files.person_files import FoundFile, PersonFiles
from routing.errors import Refused, ToolFailed
from routing.ports import PreferenceStore
from routing.text import nearest
from routing.types.messages import Button, OutgoingFile
from routing.types.time_zones import time_zone

SPEC = CommandSpec(
    "files",
    "List the files in your folder, send one or delete one",
    ("/files", "/files 2", "/files send report.pdf", "/files delete report.pdf"),
    choices=(("send", "delete"),),
    free_text=True,
    personal=True,
)
PAGE = 15
MAX_DIGITS = 4


def build(dependencies: CommandDependencies) -> Handler:
    return FilesCommand(dependencies.files, dependencies.preferences)


class FilesCommand:
    """Only the sender's own folder, and only in private. A file is named by its path or, if that is unique, by its name
    alone."""

    def __init__(self, files: PersonFiles, preferences: PreferenceStore) -> None:
        self._files = files
        self._preferences = preferences

    async def __call__(self, ask: CommandContext) -> Reply:
        check_private(ask)
        first = ask.arguments[0].lower() if ask.arguments else "1"
        name = ask.arguments[1] if len(ask.arguments) == 2 else ask.rest.partition(" ")[2].strip()
        if not name and first.isdecimal() and len(first) <= MAX_DIGITS:
            return await self._list(ask, max(1, int(first)))
        if name and first == "send":
            return await self._send(ask, name)
        if name and first == "delete":
            return await self._delete(ask, name)
        raise unknown_subcommand(SPEC, first)

    async def _list(self, ask: CommandContext, page: int) -> Reply:
        found = await self._found(ask)
        if not found:
            return Reply(ask.say("Your folder is empty. Send me a file, or ask for one."))
        used = await asyncio.to_thread(self._files.usage, ask.person.id)
        pages = -(-len(found) // PAGE)
        page = min(page, pages)
        zone = await time_zone((await self._preferences.settings(ask.person.id)).time_zone)
        shown = found[(page - 1) * PAGE : page * PAGE]
        title = ask.say("📂 Your files, {used} of {most} MB used", used=_megabytes(ask, used.length), most=self._most)
        more = f" ({ask.say('page {page} of {pages}', page=page, pages=pages)})" if pages > 1 else ""
        lines = [_line(ask, each, zone) for each in shown]
        turn = [(page - 1, "⬅️"), (page + 1, "➡️")]
        buttons = tuple(Button(label, f"/files {number}") for number, label in turn if 1 <= number <= pages)
        hint = ask.say("/files send <name> sends one; /files delete <name> deletes one.")
        if used.files > self._files.most_files:  # programs in the sandbox can make more than the quota
            words = "I looked at {n} files and folders of {all}; the rest is not listed."
            lines += ["", ask.say(words, n=self._files.most_files, all=used.files)]
        return Reply("\n".join([f"{title}{more}:", "", *lines, "", hint]), (buttons,) if buttons else ())

    @property
    def _most(self) -> int:
        return self._files.most_bytes // 2**20

    async def _send(self, ask: CommandContext, name: str) -> Reply:
        path = await self._path(ask, name)
        try:
            shown, data = await asyncio.to_thread(self._files.read, ask.person.id, path, ask.files.most_bytes)
            ask.files.attach(OutgoingFile(shown, mimetypes.guess_type(shown)[0] or "application/octet-stream", data))
        except ToolFailed as failed:
            raise Refused("That did not work: {problem}", problem=failed.words) from None
        return Reply(ask.say("📎 {name}", name=f"`{shown}`"), apart=True)

    async def _delete(self, ask: CommandContext, name: str) -> Reply:
        path = await self._path(ask, name)
        if not ask.pressed:
            words = "Delete {name}? It can't be brought back."
            button = Button(ask.say("🗑 Delete"), f"/files delete {path}")
            return Reply(ask.say(words, name=f"`{path}`"), ((button,),))
        try:
            shown = await asyncio.to_thread(self._files.delete, ask.person.id, path)
        except ToolFailed as failed:
            raise Refused("That did not work: {problem}", problem=failed.words) from None
        return Reply(ask.say("🗑 {name} is deleted.", name=f"`{shown}`"))

    async def _path(self, ask: CommandContext, name: str) -> str:
        """The path of a named file. Raises Refused if there is none, or several."""
        name = name.removeprefix("/files/")
        if (exact := await asyncio.to_thread(self._files.exact, ask.person.id, name)) is not None:
            return exact
        paths = [each.path for each in await self._found(ask)]
        for same in (
            [each for each in paths if each.casefold() == name.casefold()],
            [each for each in paths if each.rpartition("/")[2].casefold() == name.casefold()],
        ):
            if len(same) == 1:
                return same[0]
            if same:
                words = "Several files have that name: {names}. Write the whole path."
                raise Refused(words, names=", ".join(f"`{each}`" for each in same[:5]))
        like = nearest(name, [each.rpartition("/")[2] for each in paths])
        if like is not None:
            words = "There is no file {name} in your folder. Did you mean {like}?"
            raise Refused(words, name=f"`{name[:100]}`", like=f"`{like}`")
        raise Refused("There is no file {name} in your folder. /files lists them.", name=f"`{name[:100]}`")

    async def _found(self, ask: CommandContext) -> list[FoundFile]:
        try:
            return await asyncio.to_thread(self._files.found, ask.person.id, most=self._files.most_files)
        except ToolFailed as failed:
            raise Refused("That did not work: {problem}", problem=failed.words) from None


def _line(ask: CommandContext, file: FoundFile, zone: ZoneInfo) -> str:
    name = file.path.replace("`", "'")
    when = ask.say.time(datetime.fromtimestamp(file.changed, zone))
    size = ask.say("{n} bytes", n=file.size) if file.size < 10_000 else f"{_megabytes(ask, file.size)} MB"
    return f"- `{name}`, {size}, {when}"


def _megabytes(ask: CommandContext, size: int) -> str:
    return ask.say.number(size / 2**20, ",.2f" if size < 2**20 else ",.1f")
