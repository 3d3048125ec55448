"""Waiting for the bot's actions, and queries about them."""

from tests.servers.discord.journal import Interaction, Request
from tests.servers.discord.message import Message
from tests.servers.discord.people import Where, Who
from tests.servers.discord.script import Script
from tests.servers.discord.session import Session
from tests.servers.discord.transcript import transcript
from tests.servers.discord.values import Channel, Json, User
from tests.servers.waiting import TIMEOUT_SECONDS, Waiting

Source = Message | Channel | User | Interaction | int | str


class Observing(Script, Waiting[Source, Message]):
    """Waits and queries for stories."""

    def replies_to(self, to: Source | None, after: Message | None) -> list[Message]:
        """`to` is a channel, a message in it, a user (their DM), an id, a channel's name in Team, or an interaction
        (its answers). A deferral is not a message."""
        if isinstance(to, Interaction):
            found = [message for message in to.answers if not message.deleted]
        else:
            found = self.place(to, self.user()).from_bot()
        return [each for each in found if not each.loading and (after is None or each.id > after.id)]

    def log(self) -> str:
        return transcript(self)

    async def ready(self, timeout: float = TIMEOUT_SECONDS) -> Session:
        """The newest connected session, once everything so far was sent to it."""
        found = await self.wait_for(lambda dc: [one for one in dc.sessions if one.is_connected], timeout)
        return found[-1]

    async def autocomplete(
        self,
        name: str,
        options: Json,
        focused: str,
        *,
        user: Who = None,
        where: Where = None,
        timeout: float = TIMEOUT_SECONDS,
    ) -> list[Json]:
        """The choices while `focused` is typed: name and value of each."""
        return (await self.answered(self.suggest(name, options, focused, user=user, where=where), timeout)).choices

    async def answered(self, interaction: Interaction, timeout: float = TIMEOUT_SECONDS) -> Interaction:
        """The interaction, once its first answer has come."""
        await self.wait_for(lambda _: interaction.response is not None, timeout)
        return interaction

    def calls(self, method: str, route: str = "") -> list[Request]:
        """The calls of a route as the schema writes it, such as "/channels/{channel_id}/messages"."""
        return [entry for entry in self.requests if entry.method == method and route in ("", entry.route)]

    @property
    def refusals(self) -> list[Request]:
        """Calls answered with an error, including injected faults."""
        return [request for request in self.requests if request.refused]

    @property
    def sessions(self) -> list[Session]:
        """Every session so far, oldest first."""
        return self.events.sessions

    def transcript(self, channel: Channel | None = None) -> str:
        """The log of one channel, or of all channels, as text."""
        return transcript(self, channel)
