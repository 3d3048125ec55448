"""Run the server by hand: `python -m tests.servers.discord`, start the bot with what it prints, then type.

hello                    Alice says it in her DM          @general hello   she says it in a channel, to the bot
/tier tier=smart         a slash command                  !press More      a button of the newest message that has it
bob: hello               Bob says it in his DM            bob: @general hello   and there
!thread Plans hello      she says it in a thread          !kick [guild]    the bot is removed
!react 👍                a reaction to the bot's newest message; !unreact takes it away
!forbid general send_messages                             a permission is taken; !allow gives it back
!fault "POST /channels/*/messages" rate_limit             the next such call fails; the kinds are in faults.py
!advance 3600            the clock goes on                !reconnect  !invalidate  !silent  !cut   the gateway
"""

import argparse
import asyncio
import re
import shlex
from collections.abc import Callable
from typing import Any, cast

from tests.servers.discord.faults import Kind
from tests.servers.discord.message import Message
from tests.servers.discord.server import TOKEN, DiscordServer
from tests.servers.discord.transcript import line


def main() -> None:
    description, form = __doc__ or "", argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="python -m tests.servers.discord", description=description, formatter_class=form
    )
    parser.add_argument("--port", type=int, default=8082, help="0 takes a free one (default: %(default)s)")
    parser.add_argument("--token", default=TOKEN, help="the bot's token (default: %(default)s)")
    parser.add_argument("--username", default="tierbot", help="the bot's name (default: %(default)s)")
    parser.add_argument("--limits", action="store_true", help="enforce rate limits")
    parser.add_argument("--no-content", action="store_true", help="without the message-content intent")
    options = parser.parse_args()
    granted = () if options.no_content else ("message_content",)
    server = DiscordServer(
        options.token, options.port, username=options.username, privileged=granted, limits=options.limits
    )
    try:
        asyncio.run(_serve(server))
    except (KeyboardInterrupt, EOFError):
        print("bye")


async def _serve(dc: DiscordServer) -> None:
    async with dc:
        dc.guild()
        variables = (
            f"DISCORD_BOT_TOKEN={dc.token}",
            f"DISCORD_API_ROOT={dc.root}",
            f"DISCORD_GATEWAY_URL={dc.gateway}",
        )
        print("\n".join(variables), flush=True)
        showing = asyncio.create_task(_show(dc))
        try:
            while True:
                text = await asyncio.to_thread(input)
                try:
                    run_line(dc, text)
                except (AssertionError, LookupError, ValueError) as error:
                    print(f"? {error}", flush=True)
        finally:
            showing.cancel()


def run_line(dc: DiscordServer, text: str) -> Any:
    """Carries out one typed line."""
    if not text.strip():
        return None
    if text.startswith("/"):
        return _slash(dc, text)
    if text.startswith("!"):
        return _other_event(dc, text)
    spoken = re.fullmatch(r"(?:(\w+): )?(.*)", text, re.S)
    assert spoken is not None
    who, words = spoken.groups()
    if words.startswith("@"):
        channel, _, rest = words.removeprefix("@").partition(" ")
        return dc.say(rest, user=who, channel=channel, mention=True)
    return dc.say(words, user=who)


def _other_event(dc: DiscordServer, text: str) -> Any:
    """Events other than typed messages. Raises LookupError for an unknown command."""
    first, _, rest = text.partition(" ")
    words = shlex.split(rest)
    match first, words:
        case "!press", _:
            return _press(dc, rest)
        case "!react" | "!unreact", [emoji]:
            return getattr(dc, first[1:])(_newest(dc), emoji)
        case "!thread", [name, *words]:
            return dc.say(" ".join(words), thread=dc.thread(name), mention=True)
        case "!fault", [call, kind]:
            return dc.fault(call, cast(Kind, kind))
        case "!kick", [*guild]:
            return dc.kick(*guild)
        case "!forbid" | "!allow", [channel, *permissions]:
            return getattr(dc, first[1:])(channel, *permissions)
        case "!advance", [seconds]:
            return dc.advance(float(seconds))
    actions: dict[str, Any] = {"!reconnect": dc.ask_reconnect, "!invalidate": dc.invalidate}
    actions |= {"!silent": dc.gateway_silent, "!cut": dc.cut_gateway}
    if first not in actions:
        raise LookupError(f"no such command: {text}")
    return actions[first]()


def _press(dc: DiscordServer, button: str) -> Any:
    return dc.press(_newest(dc, lambda message: bool(message.buttons)), button)


def _newest(dc: DiscordServer, fits: Callable[[Message], bool] = lambda _: True) -> Message:
    found = [m for channel in dc.channels.values() for m in channel.from_bot() if fits(m)]
    if not found:
        raise LookupError("no message of the bot matches")
    return max(found, key=lambda message: message.id)


def _slash(dc: DiscordServer, text: str) -> Any:
    """Converts numbers and booleans."""
    words = shlex.split(text)
    options: dict[str, Any] = {}
    for word in words:
        name, is_option, value = word.partition("=")
        if is_option:
            truth: Any = {"true": True, "false": False}.get(value, value)
            options[name] = int(value) if value.isdigit() else truth
    return dc.slash(" ".join(word for word in words if "=" not in word), options)


async def _show(dc: DiscordServer) -> None:
    """Prints the bot's messages and their edits."""
    shown: dict[int, str] = {}
    while True:
        await dc.wait_for_change(3600)
        for channel in list(dc.channels.values()):
            for message in channel.from_bot():
                text = line(message)
                if shown.get(message.id) != text:
                    shown[message.id] = text
                    print(f"{channel.name or 'DM'} | {text}", flush=True)
        for violation in dc.violations:
            print(f"VIOLATION {violation}", flush=True)
        dc.violations.clear()


if __name__ == "__main__":
    main()
