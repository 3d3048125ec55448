"""/voice: whether answers are also spoken."""

from __future__ import annotations

from dataclasses import replace

from handlers.context import CommandContext, CommandSpec, Handler, Reply, unknown_subcommand
from handlers.dependencies import CommandDependencies
from routing.errors import Refused
from routing.llm.media.speech import Speaker
from routing.ports import PreferenceStore
from routing.types.messages import Button

SPEC = CommandSpec(
    "voice",
    "Hear my answers as voice messages",
    ("/voice", "/voice on", "/voice off"),
    choices=(("on", "off"),),
    changes=True,
    personal=True,
)


def build(dependencies: CommandDependencies) -> Handler:
    return VoiceCommand(dependencies.preferences, dependencies.speaker)


class VoiceCommand:
    """Is set per person."""

    def __init__(self, preferences: PreferenceStore, speaker: Speaker) -> None:
        self._preferences = preferences
        self._speaker = speaker

    async def __call__(self, ask: CommandContext) -> Reply:
        settings = await self._preferences.settings(ask.person.id)
        order = await self._speaker.order(ask.say.language)
        if ask.arguments:
            wanted = ask.arguments[0].lower()
            if wanted not in ("on", "off"):
                raise unknown_subcommand(SPEC, wanted)
            if wanted == "on" and not order:
                raise Refused(
                    "No model here can speak. The owner can switch it on with OPENAI_API_KEY, another provider's key "
                    "and SPEECH_MODEL, or a Piper voice. Nothing was changed."
                )
            settings = replace(settings, voice=wanted == "on")
            await self._preferences.set_settings(ask.person.id, settings)
        if not settings.voice:
            words = ask.say("🔇 My answers are text only.")
        elif order:
            words = ask.say("🔊 {model} speaks my answers; the text comes first.", model=f"`{order[0]}`")
        else:
            words = ask.say("🔇 You want to hear my answers, but no model here can speak now.")
        button = Button(ask.say("Off"), "/voice off") if settings.voice else Button(ask.say("On"), "/voice on")
        return Reply(words, ((button,),))
