"""The model catalogue, read from `models.json`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from rapidfuzz import fuzz

from routing.bounded import Bounded
from routing.catalog.cards import ModelCard, read_card, read_defaults
from routing.config import jsonfile
from routing.config.jsonfile import JsonFile

BUNDLED = Path(__file__).with_name("models.json")

_SEPARATORS = "-:@."
_REMEMBERED = 2048
# Minimum similarity (0-100) of a suggestion; the tests have examples on both sides.
_ALIKE = 60.0


class Catalog:
    """Model cards by name; immutable."""

    def __init__(self, file: JsonFile) -> None:
        """Raises ConfigError with file, line and reason for invalid values."""
        root = file.root()
        models = root.child("models")
        if models is None:
            raise file.fault((), 'has no object "models"')
        self._defaults = read_defaults(root)
        self._cards = {key: read_card(models, key, self._defaults) for key in models.values}
        scoped = {key for key, card in self._cards.items() if key.startswith(f"{card.provider}/")}
        self._scoped = {key: card for key, card in self._cards.items() if key in scoped}
        self._plain = {key: card for key, card in self._cards.items() if key not in scoped}
        self._found = Bounded[str, ModelCard](_REMEMBERED)  # people can enter any model name

    @classmethod
    def load(cls, path: Path) -> Catalog:
        """Read a file. Raises ConfigError with file, line and reason."""
        return cls(jsonfile.load(path))

    @classmethod
    def parse(cls, text: str, origin: str) -> Catalog:
        """Read text; errors call it `origin`."""
        return cls(jsonfile.parse(text, origin))

    def models(self) -> tuple[ModelCard, ...]:
        """All entries, in the order of the file."""
        return tuple(self._cards.values())

    def lookup(self, name: str) -> ModelCard:
        """The card for `provider/model`: exact match, match without the provider, longest prefix, else the defaults.

        In each step an id with its provider wins over one without; it never matches another provider. Several prefixes
        of a gateway (`openrouter/openai/gpt-5.2`) are removed one by one.
        """
        card = self._found.get(name)
        if card is None:
            card = self._found[name] = self._resolve(name.strip())
        return card

    def nearest(self, name: str, allowed_providers: Collection[str], count: int = 3) -> tuple[str, ...]:
        """The full names most similar to a mistyped one, best first, limited to these providers."""
        scores = {
            card.name: _similarity(name.strip().lower(), card.name.lower())
            for card in self.models()
            if card.provider in allowed_providers
        }
        best = sorted((full for full in scores if scores[full] >= _ALIKE), key=lambda full: -scores[full])
        return tuple(best[:count])

    def _resolve(self, name: str) -> ModelCard:
        bare = tuple(_without_prefixes(name))
        exact = self._cards.get(name) or _first(self._plain.get(rest) for rest in bare)
        prefix = exact or _longest_prefix(name, self._scoped)
        found = prefix or _first(_longest_prefix(rest, self._plain) for rest in (name, *bare))
        if found is not None:
            return found
        provider, slash, model = name.partition("/")
        return replace(self._defaults, id=name, provider=provider if slash else "", display_name=model or name)


def _first(cards: Iterator[ModelCard | None]) -> ModelCard | None:
    return next((card for card in cards if card is not None), None)


def _without_prefixes(name: str) -> Iterator[str]:
    while "/" in name:
        name = name.partition("/")[2]
        yield name


def _longest_prefix(name: str, cards: Mapping[str, ModelCard]) -> ModelCard | None:
    return _first(cards.get(name[:cut]) for cut in range(len(name) - 1, 0, -1) if _ends_word(name, cut))


def _ends_word(name: str, cut: int) -> bool:
    """Whether a model's name may end before `cut`: at one of - : @ . but not inside a version number.

    So gpt-5.1-mini matches gpt-5.1; gpt-5.10 matches neither gpt-5.1 nor gpt-5.
    """
    if name[cut] not in _SEPARATORS:
        return False
    inside_number = name[cut] == "." and name[cut - 1].isdigit() and name[cut + 1 : cut + 2].isdigit()
    return not inside_number


def _similarity(query: str, full: str) -> float:
    """Similarity (0-100) of the model part; the provider, often forgotten or wrong, only breaks ties."""
    provider, _, model = full.partition("/")
    return 0.99 * fuzz.WRatio(query.rpartition("/")[2], model) + query.startswith(f"{provider}/")


def vendor_of(model: str, catalog: Catalog) -> str:
    """The vendor of a model, also behind a gateway: `openrouter/google/gemini-2.5-pro` and `gemini/gemini-2.5-pro` →
    `gemini`; for unknown models, the part before the name."""
    own = "/".join(model.split("/")[-2:])
    card = catalog.lookup(own)
    return card.provider if card.known else own.partition("/")[0]
