"""Order of questions and commands: a command runs at once and affects only later questions."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from handlers.storage_retry import retry_storage
from routing.ports import HistoryStore, InboxStore, LinkStore, PeopleStore, PreferenceStore
from routing.types.messages import ChatKey, UserKey
from routing.types.people import PersonSettings, Preferences
from routing.types.queues import InboxEntry
from routing.types.turns import TurnSettings


class CommandOrder:
    """Fixes the settings of unanswered questions before a later command changes them.

    This covers questions in the same chat and questions by the same person from any account. The fixed settings are
    stored with the question, so they survive a restart.
    """

    def __init__(
        self,
        inbox: InboxStore,
        people: PeopleStore,
        links: LinkStore,
        preferences: PreferenceStore,
        history: HistoryStore,
        open_access: bool,
    ) -> None:
        """With `open_access`, questions of people who are not known yet are answered, too."""
        self._open_access = open_access
        self._inbox = inbox
        self._people = people
        self._links = links
        self._preferences = preferences
        self._history = history
        self._unanswered: dict[ChatKey | UserKey, dict[int, InboxEntry]] = {}
        self._fixed: dict[int, TurnSettings] = {}
        self._kept: set[int] = set()
        self._fixing = asyncio.Lock()

    def asked(self, entry: InboxEntry) -> None:
        """Register a question that waits for its turn."""
        for key in _keys(entry):
            self._unanswered.setdefault(key, {})[entry.id] = entry
        if entry.fixed is not None:
            self._fixed[entry.id] = entry.fixed
            self._kept.add(entry.id)

    def answered(self, entries: Sequence[InboxEntry]) -> None:
        """Remove questions whose turn has ended."""
        for entry in entries:
            self._fixed.pop(entry.id, None)
            self._kept.discard(entry.id)
            for key in _keys(entry):
                waiting = self._unanswered.get(key, {})
                waiting.pop(entry.id, None)
                if not waiting:
                    self._unanswered.pop(key, None)

    def clear(self) -> None:
        """Remove all questions: other processes answer them."""
        self._unanswered.clear()
        self._fixed.clear()
        self._kept.clear()

    async def begin(self, entry: InboxEntry) -> InboxEntry:
        """The entry with the settings for its turn."""
        async with self._fixing:
            return replace(entry, fixed=await self._settings(entry))

    def waiting(self) -> bool:
        """Whether any question is unanswered."""
        return bool(self._unanswered)

    async def fix_before(self, command: InboxEntry) -> None:
        """Store the settings of all questions before this command, so that the command may take effect."""
        async with self._fixing:
            keys: set[ChatKey | UserKey] = {*_keys(command), *await self._accounts(command.message.user)}
            waiting = {each.id: each for key in keys for each in self._unanswered.get(key, {}).values()}
            earlier = [each for each in waiting.values() if each.id < command.id and each.id not in self._kept]
            found = {each.id: await self._settings(each) for each in earlier}
            fixed = {inbox_id: settings for inbox_id, settings in found.items() if settings is not None}
            if fixed:
                await retry_storage(self._inbox.fix, fixed)
                self._kept |= fixed.keys() & self._fixed.keys()  # skip questions answered meanwhile

    async def _accounts(self, user: UserKey) -> Sequence[UserKey]:
        """All accounts of the person who owns this account."""
        person = await retry_storage(self._people.find, user)
        accounts = await retry_storage(self._links.accounts, person.id) if person is not None else ()
        return [account.user for account in accounts]

    async def _settings(self, entry: InboxEntry) -> TurnSettings | None:
        """The fixed settings of a question, or else the current ones; None for somebody who gets no answer."""
        if entry.id not in self._fixed:
            person = await retry_storage(self._people.find, entry.message.user)
            if person.role == "blocked" if person else not self._open_access:
                return None
            conversation = await retry_storage(self._history.current, entry.message.chat)
            fixed = TurnSettings(
                conversation.id,
                await retry_storage(self._preferences.get, person.id) if person else Preferences(),
                await retry_storage(self._preferences.settings, person.id) if person else PersonSettings(),
                await retry_storage(self._history.switches, conversation.id),
            )
            if entry.id not in self._unanswered.get(entry.message.chat, {}):  # answered meanwhile
                return fixed
            self._fixed[entry.id] = fixed
        return self._fixed[entry.id]


def _keys(entry: InboxEntry) -> tuple[ChatKey, UserKey]:
    return entry.message.chat, entry.message.user
