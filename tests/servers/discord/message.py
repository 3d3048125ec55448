"""A message with every version. Times `at` are the server's clock, in Unix seconds."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.servers.discord.values import BOT_ID, EPHEMERAL, LOADING, Attachment, Channel, Json, User

if TYPE_CHECKING:
    from tests.servers.discord.journal import Interaction


@dataclass(frozen=True, slots=True)
class Pings:
    """The people whom a message notifies or highlights; false if there are none."""

    users: frozenset[int] = frozenset()
    roles: frozenset[int] = frozenset()
    everyone: bool = False

    def __bool__(self) -> bool:
        return bool(self.users or self.roles or self.everyone)

    def __or__(self, other: "Pings") -> "Pings":
        return Pings(self.users | other.users, self.roles | other.roles, self.everyone or other.everyone)


@dataclass(frozen=True, slots=True)
class Version:
    """One state of a message: as sent, or after an edit."""

    text: str
    embeds: list[Json]
    components: list[Json]
    attachments: list[Attachment]
    pings: Pings
    at: float


@dataclass(slots=True, eq=False)
class Message:
    """`pings` joins those of every version. Discord notifies of an edit only where it fills a deferred answer; any
    other edit merely highlights the name, which is counted here all the same. `interaction` is set on answers."""

    channel: Channel
    id: int
    author: User
    at: float
    versions: list[Version]
    kind: int = 0
    flags: int = 0
    nonce: str | int | None = None
    reply_to: "Message | None" = None
    interaction: "Interaction | None" = None
    reactions: dict[str, set[int]] = field(default_factory=dict)
    thread: Channel | None = None
    deleted: bool = False
    edited: float | None = None

    @property
    def from_bot(self) -> bool:
        """Whether it is the bot's; other bots count as people here."""
        return self.author.id == BOT_ID

    @property
    def text(self) -> str:
        return self.versions[-1].text

    @property
    def embeds(self) -> list[Json]:
        return self.versions[-1].embeds

    @property
    def components(self) -> list[Json]:
        return self.versions[-1].components

    @property
    def attachments(self) -> list[Attachment]:
        return self.versions[-1].attachments

    @property
    def ephemeral(self) -> bool:
        return bool(self.flags & EPHEMERAL)

    @property
    def loading(self) -> bool:
        """Whether it is still a deferral, shown as "thinking …"."""
        return bool(self.flags & LOADING)

    @property
    def pings(self) -> Pings:
        joined = Pings()
        for version in self.versions:
            joined |= version.pings
        return joined

    @property
    def controls(self) -> list[Json]:
        """All buttons and menus, row by row."""
        return list(controls_of(self.components))

    @property
    def buttons(self) -> list[Json]:
        return [control for control in self.controls if control["type"] == 2]

    @property
    def selects(self) -> list[Json]:
        return [control for control in self.controls if control["type"] in (3, 5, 6, 7, 8)]


def controls_of(components: list[Json]) -> list[Json]:
    """Buttons and menus at any depth."""
    found: list[Json] = []
    for component in components:
        if component["type"] in (2, 3, 5, 6, 7, 8):
            found.append(component)
        inner = [*component.get("components", []), *([component["accessory"]] if "accessory" in component else [])]
        found += controls_of(inner)
    return found
