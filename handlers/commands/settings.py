"""/settings: language, streaming, footer, learning, time zone, personal instructions."""

from __future__ import annotations

from dataclasses import replace
from zoneinfo import ZoneInfoNotFoundError

from handlers.access.roles import check_shared
from handlers.context import CommandContext, CommandSpec, Handler, Reply
from handlers.dependencies import CommandDependencies
from handlers.languages import Say, languages
from handlers.schedules.schedules import Schedules
from routing.errors import Refused
from routing.learning.learning import Learning
from routing.ports import ChatStore, PreferenceStore
from routing.types.messages import Button
from routing.types.people import PersonSettings
from routing.types.time_zones import time_zone

SPEC = CommandSpec(
    "settings",
    "Language, streaming, footer, time zone, your own instructions",
    (
        "/settings",
        "/settings language de",
        "/settings streaming off",
        "/settings footer on",
        "/settings learning off",
        "/settings timezone Europe/Berlin",
        "/settings instructions Answer briefly.",
    ),
    free_text=True,
    choices=(("language", "streaming", "footer", "learning", "timezone", "instructions"), ("on", "off", *languages())),
    changes=True,
    personal=True,
)
MAX_INSTRUCTIONS_CHARACTERS = 2000


def build(dependencies: CommandDependencies) -> Handler:
    return SettingsCommand(
        dependencies.preferences, dependencies.chats, dependencies.schedules, dependencies.learner.learning
    )


class SettingsCommand:
    """Streaming and learning are set per chat, everything else per person."""

    def __init__(
        self, preferences: PreferenceStore, chats: ChatStore, schedules: Schedules, learning: Learning
    ) -> None:
        self._schedules = schedules
        self._preferences = preferences
        self._chats = chats
        self._learning = learning

    async def __call__(self, ask: CommandContext) -> Reply:
        settings = await self._preferences.settings(ask.person.id)
        zone, moved = settings.time_zone, 0
        if ask.arguments:
            name, *words = ask.arguments
            value = words[0] if len(words) == 1 else ask.rest[len(ask.rest.split(None, 1)[0]) :].strip()
            settings = await self._change(ask, settings, name.lower(), value)
            ask = replace(ask, say=Say(settings.language or ask.say.language))
        if settings.time_zone != zone:
            moved = await self._schedules.move(ask.person.id, settings.time_zone)
        shown = await self._show(ask, settings)
        if not moved:
            return shown
        note = ask.say("Repeated reminders and tasks that follow the new time zone: {n}", n=moved)
        return replace(shown, text=f"{shown.text}  \n{note}")

    async def _change(self, ask: CommandContext, settings: PersonSettings, name: str, value: str) -> PersonSettings:
        match name:
            case "language":
                settings = replace(settings, language=_language(value))
            case "timezone" | "time_zone" | "time":
                settings = replace(settings, time_zone=await _time_zone(value))
            case "instructions":
                settings = replace(settings, instructions=_instructions(value))
            case "footer":
                settings = replace(settings, footer=_on(value))
            case "streaming":
                check_shared(ask.person, ask.message)
                await self._chats.set_streaming(ask.message.chat, _on(value))
                return settings
            case "learning":
                check_shared(ask.person, ask.message)
                if not self._learning.config.enabled:
                    raise Refused("The owner has switched learning off. Nothing was changed.")
                await self._chats.set_learning(ask.message.chat, _on(value))
                return settings
            case _:
                known = "language, streaming, footer, learning, timezone, instructions"
                raise Refused(
                    "There is no setting {name}. The settings are {known}. Nothing was changed.", name=name, known=known
                )
        await self._preferences.set_settings(ask.person.id, settings)
        return settings

    async def _show(self, ask: CommandContext, settings: PersonSettings) -> Reply:
        streaming = await self._chats.streaming(ask.message.chat)
        learning = await self._learning.applies(ask.message.private, ask.message.chat)
        names = languages()
        lines = [
            ask.say("Language: {language}", language=names[ask.say.language]),
            ask.say("Streaming in this chat: {state}", state=ask.say("on" if streaming else "off")),
            ask.say("Learning tools and tiers in this chat: {state}", state=ask.say("on" if learning else "off")),
            ask.say("Footer: {state}", state=ask.say("on" if settings.footer else "off")),
            ask.say("Time zone: {zone}", zone=settings.time_zone),
            ask.say("Instructions: {text}", text=settings.instructions or ask.say("none")),
        ]
        speak = tuple(
            Button(f"✅ {name}" if code == ask.say.language else name, f"/settings language {code}")
            for code, name in names.items()
        )
        toggle = Button(
            ask.say("Streaming off") if streaming else ask.say("Streaming on"),
            f"/settings streaming {'off' if streaming else 'on'}",
        )
        below = Button(
            ask.say("Footer off") if settings.footer else ask.say("Footer on"),
            f"/settings footer {'off' if settings.footer else 'on'}",
        )
        learn = Button(
            ask.say("Learning off") if learning else ask.say("Learning on"),
            f"/settings learning {'off' if learning else 'on'}",
        )
        return Reply("  \n".join(lines), (speak, (toggle, below), (learn,)))


def _language(value: str) -> str:
    names = languages()
    code = next((code for code, name in names.items() if value.lower() in (code, name.lower())), None)
    if code is None:
        known = ", ".join(f"{code} ({name})" for code, name in names.items())
        raise Refused("I speak {known}. Nothing was changed.", known=known)
    return code


async def _time_zone(value: str) -> str:
    if not value:
        raise Refused("Write {usage}. Nothing was changed.", usage="/settings timezone Europe/Berlin")
    try:
        return (await time_zone(value)).key
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise Refused(
            "{zone} is not a time zone. Write it like Europe/Berlin or UTC. Nothing was changed.", zone=value
        ) from None


def _instructions(value: str) -> str:
    if len(value) > MAX_INSTRUCTIONS_CHARACTERS:
        raise Refused(
            "Instructions can have up to {most} characters. Nothing was changed.", most=MAX_INSTRUCTIONS_CHARACTERS
        )
    return "" if value.lower() in ("none", "off", "-") else value


def _on(value: str) -> bool:
    if value.lower() not in ("on", "off"):
        raise Refused("Write on or off. Nothing was changed.")
    return value.lower() == "on"
