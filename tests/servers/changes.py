"""Waiting for changes."""

import asyncio


class Changes:
    """`changed` is called for every change and wakes the waiting tasks; `seq` counts the changes."""

    def __init__(self) -> None:
        self.seq = 0
        self._serial = 0
        self._waiting: list[asyncio.Future[None]] = []

    def changed(self) -> None:
        self.seq += 1
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def wait_for_change(self, seconds: float) -> bool:
        """Returns False if nothing changed in that time."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        done, _ = await asyncio.wait({future}, timeout=max(seconds, 0))
        return bool(done)

    def serial(self) -> int:
        """A new number, for ids of all kinds."""
        self._serial += 1
        return self._serial
