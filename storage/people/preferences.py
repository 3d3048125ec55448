"""A person's tier, lock, models and settings."""

from __future__ import annotations

from collections.abc import Callable
from sys import getsizeof
from typing import TypeVar

from sqlalchemy import Connection, bindparam, delete, select

from routing.bounded import SizeBounded
from routing.types.people import Override, PersonSettings, Preferences
from routing.types.tiers import AUTO, Tier, TierChoice
from storage.codec import NAMES
from storage.database import Database
from storage.schema import overrides, preferences
from storage.upsert import upsert

_PREFERENCES = select(preferences).where(preferences.c.person_id == bindparam("person"))
_OVERRIDES = select(overrides).where(overrides.c.person_id == bindparam("person"))
_CLEAR = delete(overrides).where(overrides.c.person_id == bindparam("person"), overrides.c.tier == bindparam("of_tier"))

_CACHE_BYTES = 10_000_000
"""Maximum bytes of all cached people: 9,500 without instructions. The number of guests in groups is unlimited."""
_PERSON_BYTES, _OVERRIDE_BYTES = 1_000, 300
"""Bytes of a person and of an own model besides their texts, rounded up."""
_T = TypeVar("_T")
StoredPreferences = tuple[Preferences, PersonSettings]


class SqlPreferences:
    """Implements `routing.ports.PreferenceStore`. Caches what it reads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._cache = SizeBounded[int, StoredPreferences](_CACHE_BYTES, _size)
        self._changes = 0

    async def get(self, person_id: int) -> Preferences:
        return (await self._load(person_id))[0]

    async def settings(self, person_id: int) -> PersonSettings:
        return (await self._load(person_id))[1]

    async def set_tier(self, person_id: int, tier: TierChoice | None, force: bool) -> None:
        await self._change(person_id, tier=tier, force=force)

    async def set_settings(self, person_id: int, settings: PersonSettings) -> None:
        await self._change(
            person_id,
            language=settings.language,
            time_zone=settings.time_zone,
            instructions=settings.instructions,
            toolkits_off=NAMES.dump(tuple(sorted(settings.off))),
            footer=settings.footer,
            voice=settings.voice,
            memory=settings.memory,
        )

    async def set_override(self, person_id: int, tier: Tier, override: Override) -> None:
        row = {"person_id": person_id, "tier": tier, "model": override.model, "reasoning": override.reasoning}
        await self._write(person_id, lambda c: upsert(c, overrides, row))

    async def clear_override(self, person_id: int, tier: Tier) -> bool:
        def step(connection: Connection) -> bool:
            return connection.execute(_CLEAR, {"person": person_id, "of_tier": tier}).rowcount > 0

        return await self._write(person_id, step)

    def forget(self, person_id: int) -> None:
        """Clear a person's cached preferences."""
        self._changes += 1
        self._cache.take(person_id)

    def clear(self) -> None:
        """Clear the cache."""
        self._changes += 1
        self._cache.clear()

    @property
    def changes(self) -> int:
        """Counts changes, for `keep`."""
        return self._changes

    def keep(self, person_id: int, found: StoredPreferences, changes: int) -> None:
        """Cache what `read_preferences` returned, unless it may be stale: `changes` is the count before the read."""
        if changes == self._changes:
            self._cache[person_id] = found

    async def _load(self, person_id: int) -> StoredPreferences:
        if person_id not in self._cache:
            changes = self._changes
            found = await self._database.read(lambda c: read_preferences(c, person_id))
            self.keep(person_id, found, changes)
            return found
        return self._cache[person_id]

    async def _change(self, person_id: int, **values: object) -> None:
        row = {"person_id": person_id, **values}
        await self._write(person_id, lambda c: upsert(c, preferences, row))

    async def _write(self, person_id: int, step: Callable[[Connection], _T]) -> _T:
        """Run a step that changes a person's preferences, and clear their cache, even if the caller is cancelled."""
        try:
            return await self._database.write(step)
        finally:
            self.forget(person_id)


def _size(found: StoredPreferences) -> int:
    own, settings = found[0].overrides.values(), found[1]
    texts = [settings.instructions, *settings.off, *(each.model for each in own)]
    return _PERSON_BYTES + _OVERRIDE_BYTES * len(own) + sum(map(getsizeof, texts))


def read_preferences(connection: Connection, person_id: int) -> StoredPreferences:
    """What a person has set; defaults for the rest."""
    row = connection.execute(_PREFERENCES, {"person": person_id}).one_or_none()
    own = connection.execute(_OVERRIDES, {"person": person_id}).all()
    models = {each.tier: Override(each.model, each.reasoning) for each in own}
    if row is None:
        return Preferences(overrides=models), PersonSettings()
    auto = row.tier == AUTO
    chosen = Preferences(None if auto else row.tier, row.force, models, auto)
    off = frozenset(NAMES.load(row.toolkits_off))
    return chosen, PersonSettings(row.language, row.time_zone, row.instructions, off, row.footer, row.voice, row.memory)
