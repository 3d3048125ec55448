"""Run the server by hand: `python -m tests.servers.telegram --port 8081`, then open its page in a browser."""

import argparse
import asyncio

from tests.servers.telegram.control import Control
from tests.servers.telegram.server import TOKEN, TelegramServer


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.servers.telegram", description=__doc__)
    parser.add_argument("--port", type=int, default=8081, help="0 takes a free one (default: %(default)s)")
    parser.add_argument("--token", default=TOKEN, help="the bot's token (default: %(default)s)")
    parser.add_argument("--username", default="tierbot", help="the bot's username (default: %(default)s)")
    parser.add_argument("--flood", action="store_true", help="enforce the real flood limits")
    options = parser.parse_args()
    try:
        asyncio.run(_serve(options.token, options.port, options.username, options.flood))
    except KeyboardInterrupt:
        print("bye")


async def _serve(token: str, port: int, username: str, flood: bool) -> None:
    async with TelegramServer(token, port, username=username, flood=flood) as tg:
        tg.extra = Control(tg).handle
        tg.private()
        print(f"Bot API   {tg.root}   token {token}\npage      {tg.root}/", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    main()
