"""A live reply for calls whose output is not shown."""

from __future__ import annotations


class NullLiveReply:
    """Shows nothing."""

    max_file_bytes = 50 * 2**20

    async def working(self) -> None: ...

    def show(self, text: str) -> None: ...

    async def acknowledge(self, text: str = "", spent: bool = False) -> None: ...

    async def erase(self) -> bool:
        return False

    async def close(self) -> str:
        return ""
