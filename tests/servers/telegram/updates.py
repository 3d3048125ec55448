"""The update queue: long polling, confirmation by offset, the one-poller rule, and webhook delivery."""

import asyncio
import contextlib
import itertools
import time
from collections.abc import Callable
from typing import Any

import aiohttp

from tests.servers.telegram.errors import ApiError
from tests.servers.telegram.values import Json

NOT_BY_DEFAULT = frozenset({"chat_member", "message_reaction", "message_reaction_count"})
MAX_POLL = 50
"""Seconds; a longer timeout is cut to this."""
FIRST_RETRY = 0.05
"""Seconds before a refused webhook delivery is repeated; doubled up to LAST_RETRY (the real server waits longer)."""
LAST_RETRY = 1.0


class UpdateQueue:
    """Updates that the bot has not confirmed. `next_id` may be set to any number: ids restart at random after a
    quiet week. Confirming means an offset above the id, or the webhook's 200."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self.next_id = 700_000_001
        self.pending: dict[int, Json] = {}
        self.allowed: frozenset[str] | None = None
        self.webhook: Json | None = None
        self.away = False
        """Whether the server is down, so that the webhook gets nothing."""
        self.last_error: tuple[int, str] | None = None
        self._changed = changed
        self._again: list[Json] = []
        self._poller: asyncio.Future[str] | None = None
        self._arrived = asyncio.Event()
        self._delivery: asyncio.Task[None] | None = None

    def push(self, kind: str, body: Json) -> Json | None:
        """The queued update, or None when the bot did not ask for this kind."""
        if not self.wants(kind):
            return None
        update = {"update_id": self.next_id, kind: body}
        self.next_id += 1
        self.queue(update)
        return update

    def queue(self, update: Json) -> None:
        self.pending[update["update_id"]] = update
        self._arrived.set()

    def repeat(self, update: Json) -> None:
        """Deliver an update once more, even to a poller whose offset has confirmed it."""
        if self.webhook is None:
            self._again.append(update)
            self._arrived.set()
        else:
            self.queue(update)

    def wants(self, kind: str) -> bool:
        return kind not in NOT_BY_DEFAULT if self.allowed is None else kind in self.allowed

    def subscribe(self, kinds: list[str] | None) -> None:
        """None keeps the previous choice, an empty list restores the default."""
        if kinds is not None:
            self.allowed = frozenset(kinds) or None

    async def poll(self, params: Json) -> list[Json]:
        """getUpdates. A second poller ends the first with 409; an active webhook refuses both."""
        if self.webhook is not None:
            raise ApiError(
                409,
                "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook "
                "to delete the webhook first",
            )
        self.interrupt("other getUpdates request; make sure that only one bot instance is running")
        self.subscribe(params.get("allowed_updates"))
        self._confirm(params.get("offset", 0))
        limit = params.get("limit", 100)
        limit = limit if 1 <= limit <= 100 else 100
        timeout = min(params.get("timeout", 0), MAX_POLL)
        if not self.pending and not self._again and timeout > 0:
            await self._wait(timeout)
        again, self._again = self._again, []
        return [*again, *itertools.islice(self.pending.values(), limit)]

    def interrupt(self, reason: str) -> None:
        """End a waiting long poll with 409."""
        if self._poller is not None and not self._poller.done():
            self._poller.set_result(reason)

    @property
    def is_polled(self) -> bool:
        """Whether a long poll is waiting at this moment."""
        return self._poller is not None and not self._poller.done()

    async def _wait(self, seconds: float) -> None:
        mine: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._poller = mine
        self._arrived.clear()
        arrival = asyncio.ensure_future(self._arrived.wait())
        self._changed()
        either: set[asyncio.Future[Any]] = {mine, arrival}
        try:
            await asyncio.wait(either, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            arrival.cancel()
            if self._poller is mine:
                self._poller = None
            self._changed()
        if mine.done():
            raise ApiError(409, f"Conflict: terminated by {mine.result()}")

    def _confirm(self, offset: int) -> None:
        if offset > 0:
            self.pending = {id_: update for id_, update in self.pending.items() if id_ >= offset}
        elif offset < 0:
            self.pending = dict(list(self.pending.items())[offset:])
        self._changed()

    def set_webhook(self, params: Json) -> None:
        self.interrupt("setWebhook request")
        self.subscribe(params.get("allowed_updates"))
        self._end_delivery()
        if params.get("drop_pending_updates"):
            self.pending.clear()
        self.last_error = None
        self.webhook = dict(params) if params.get("url") else None
        if self.webhook is not None:
            self._arrived.set()
            self._delivery = asyncio.create_task(self._deliver(self.webhook))

    def webhook_info(self) -> Json:
        hook = self.webhook or {}
        info: Json = {
            "url": hook.get("url", ""),
            "has_custom_certificate": "certificate" in hook,
            "pending_update_count": len(self.pending),
        }
        if self.last_error is not None:
            info["last_error_date"], info["last_error_message"] = self.last_error
        if hook:
            info["max_connections"] = hook.get("max_connections", 40)
        if self.allowed is not None:
            info["allowed_updates"] = sorted(self.allowed)
        return info

    def pause(self, away: bool) -> None:
        """Stop or resume the webhook's deliveries."""
        self.away = away
        self._arrived.set()

    async def aclose(self) -> None:
        if delivery := self._end_delivery():
            with contextlib.suppress(asyncio.CancelledError):
                await delivery

    def _end_delivery(self) -> asyncio.Task[None] | None:
        delivery, self._delivery = self._delivery, None
        if delivery is not None:
            delivery.cancel()
        return delivery

    async def _deliver(self, hook: Json) -> None:
        headers = {"X-Telegram-Bot-Api-Secret-Token": hook["secret_token"]} if "secret_token" in hook else {}
        pause = FIRST_RETRY
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as http:
            while True:
                while not self.pending or self.away:
                    self._arrived.clear()
                    await self._arrived.wait()
                update_id, update = next(iter(self.pending.items()))
                if await self._post(http, hook["url"], headers, update):
                    self.pending.pop(update_id, None)
                    pause = FIRST_RETRY
                else:
                    await asyncio.sleep(pause)
                    pause = min(pause * 2, LAST_RETRY)
                self._changed()

    async def _post(self, http: aiohttp.ClientSession, url: str, headers: dict[str, str], update: Json) -> bool:
        """Whether the bot answered 2xx; else the reason is kept for getWebhookInfo."""
        try:
            async with http.post(url, json=update, headers=headers) as answer:
                if answer.ok:
                    return True
                reason = f"Wrong response from the webhook: {answer.status} {answer.reason}"
        except (aiohttp.ClientError, TimeoutError) as error:
            reason = f"Connection failed: {type(error).__name__}"
        self.last_error = (int(time.time()), reason)
        return False
