"""Shows and deletes what was learned from how people use tools and tiers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from handlers.access.roles import may
from handlers.context import CommandContext, Reply
from handlers.learning import Learner
from handlers.replies.facts import code
from handlers.tool_reports.tool_list import plain
from routing.errors import Refused
from routing.types.learning import EFFECTS, Effect, Example, Learned
from routing.types.messages import Button
from routing.types.toolkits import Toolkit

FORGETTING = (["forget"], ["forget", "yes"], ["forget", "everyone"], ["forget", "everyone", "yes"])
"""The arguments of /tools that delete; any other text is a message to preview."""
LINES: Mapping[Effect, str] = {
    "show": "Shown for {like}: {name} (examples: {n})",
    "hide": "No longer shown for {like}: {name} (examples: {n})",
    "choose": "Tier for {like}: {name} (examples: {n})",
    "raise": "A higher tier than {name} for {like} (examples: {n})",
}
MAX_LINES, MESSAGE_CHARACTERS = 8, 60
TRIED = 5
"""Examples of which one should still have its message: the history may be shorter, and /retry replaces messages."""


async def lines(ask: CommandContext, learner: Learner) -> list[str]:
    """What was learned from this person and is in use, with one of their messages each; none if there is nothing. A
    group sees none of their messages, and nothing at all unless it is switched on there."""
    private = ask.message.private
    if not private and not await learner.learning.applies(private, ask.message.chat):
        return []
    number = len(await learner.learning.examples.of(ask.person.id))
    if not number:
        return []
    found = _in_use(await learner.learning.about_examples(ask.person.id), learner.toolbox.toolkits())
    newest = {key: [each.turn_id for each in examples[: -1 - TRIED : -1]] for key, examples in found.items()}
    texts = await _texts(ask, learner, [turn for turns in newest.values() for turn in turns]) if private else {}
    shown = [ask.say("🎓 Learned from you:")]
    for (effect, name), examples in list(found.items())[:MAX_LINES]:
        text = next((texts[turn] for turn in newest[effect, name] if turn in texts), "")
        like = ask.say("messages like {message}", message=text) if text else ask.say("similar messages")
        shown.append("- " + ask.say(LINES[effect], like=like, name=plain(name), n=len(examples)))
    if len(found) > MAX_LINES:
        shown.append("- " + ask.say("and {n} more", n=len(found) - MAX_LINES))
    if rest := number - len({each.id for examples in found.values() for each in examples}):
        shown.append("- " + ask.say("Examples that change nothing yet: {n}", n=rest))
    return [*shown, "", ask.say("/tools forget deletes what I learned from you.")]


async def forget(ask: CommandContext, learner: Learner) -> Reply:
    """Deletes what was learned from the person, or from everyone for an owner, after they pressed a button."""
    words = [each.lower() for each in ask.arguments]
    everyone, confirmed = "everyone" in words, words[-1] == "yes" and ask.pressed
    if everyone and not may(ask.person, "owner"):
        raise Refused("Only an owner can delete what I learned from everyone. Nothing was changed.")
    number = len(await learner.learning.examples.of(ask.person.id))
    if not everyone and not number:
        raise Refused("I have learned nothing from you.")
    if confirmed:
        number = await learner.learning.examples.clear(None if everyone else ask.person.id)
        if everyone:
            return Reply(ask.say("🗑 What I learned from everyone is deleted (examples: {n}).", n=number))
        return Reply(ask.say("🗑 What I learned from you is deleted (examples: {n}).", n=number))
    if everyone:
        button = Button(ask.say("🗑 Delete it for everyone"), "/tools forget everyone yes")
        return Reply(ask.say("This deletes what I learned about tools and tiers from everyone."), ((button,),))
    button = Button(ask.say("🗑 Delete it"), "/tools forget yes")
    told = "This deletes what I learned about tools and tiers from you (examples: {n})."
    return Reply(ask.say(told, n=number), ((button,),))


def _in_use(
    found: Iterable[tuple[Example, Learned]], toolkits: Sequence[Toolkit]
) -> Mapping[tuple[Effect, str], list[Example]]:
    """The examples that take effect for messages like their own, by effect and toolkit or tier."""
    kits = {kit.name: kit for kit in toolkits}
    of = {card.name: kit for kit in toolkits for card in kit.tools}
    in_use: dict[tuple[Effect, str], list[Example]] = {}
    for example, learned in found:
        effect, subject = EFFECTS[example.lesson.signal], example.lesson.subject
        kit = of.get(subject) if effect == "show" else kits.get(subject)
        match effect:
            case "show":
                works = kit is not None and learned.shows(kit)
            case "hide":
                works = kit is not None and learned.hides(kit)
            case "choose":
                works = learned.choice == subject
            case "raise":
                works = learned.disliked_enough(subject)
        if works:
            in_use.setdefault((effect, kit.name if kit else subject), []).append(example)
    return in_use


async def _texts(ask: CommandContext, learner: Learner, turn_ids: Sequence[str]) -> Mapping[str, str]:
    """The person's own messages by turn, as far as the history still has them."""
    messages = await learner.history.of_turns(ask.person.id, turn_ids)
    asked = (each for each in messages if each.role == "user")
    return {each.turn_id: code(each.own_words or each.text, MESSAGE_CHARACTERS) for each in asked}
