"""Time zones of the United States, from tzdata's zone.tab, with their old names."""

from __future__ import annotations

_AMERICA = (
    *("Adak", "Anchorage", "Boise", "Chicago", "Denver", "Detroit", "Indiana/Indianapolis", "Indiana/Knox"),
    *("Indiana/Marengo", "Indiana/Petersburg", "Indiana/Tell_City", "Indiana/Vevay", "Indiana/Vincennes"),
    *("Indiana/Winamac", "Indianapolis", "Juneau", "Kentucky/Louisville", "Kentucky/Monticello", "Los_Angeles"),
    *("Louisville", "Menominee", "Metlakatla", "New_York", "Nome", "North_Dakota/Beulah", "North_Dakota/Center"),
    *("North_Dakota/New_Salem", "Phoenix", "Sitka", "Yakutat"),
)
_OLD = (
    *("Alaska", "Aleutian", "Arizona", "Central", "East-Indiana", "Eastern", "Hawaii", "Indiana-Starke", "Michigan"),
    *("Mountain", "Pacific"),
)
US_ZONES = frozenset({"Pacific/Honolulu", *(f"America/{name}" for name in _AMERICA), *(f"US/{name}" for name in _OLD)})
