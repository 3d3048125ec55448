"""A message in its conversation: what a short one leaves out, the one before it said."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from routing.tools.chooser import Activated, ToolChooser, ToolSelection
from routing.types.toolkits import Toolkit

FOLLOW_UP_CHARS = 60
""""And tomorrow?": a longer message says by itself what it is about."""
SURE = 0.98
"""What is more probable says by itself what a message is about. Of 37 follow-ups in ten languages two are, of short
messages with a matter of their own every second (measured)."""
MOST_EARLIER = 2
"""Messages that a follow-up goes back."""
FADING = 2.0
"""Odds that a question loses against the one behind it."""


async def select(
    chooser: ToolChooser, message: str, earlier: Sequence[str], used: Collection[str], toolkits: Sequence[Toolkit]
) -> ToolSelection:
    """What a message is about among `toolkits`, in its conversation: `earlier` are the person's last messages, newest
    first, `used` the tools that were called for them. A short message that does not say for sure what it is about goes
    on with the one before it, too; what goes on for longer has called a tool."""
    offered = {toolkit.name: toolkit for toolkit in toolkits}
    among = frozenset(offered)
    chosen = latest = await chooser.choose(message, among)
    found = {each.toolkit: each for each in chosen.activated}
    relevance = dict(chosen.relevance)
    for back, before in enumerate(earlier[:MOST_EARLIER], 1):
        if not _goes_on(message, latest):
            break
        message, latest = before, await chooser.choose(before, among)
        for each in latest.activated:
            if each.toolkit not in found:
                found[each.toolkit] = replace(each, why="follow-up")
                for card in offered[each.toolkit].tools:
                    faded = latest.relevance.get(card.name, 0.0) - back * FADING
                    relevance[card.name] = max(relevance.get(card.name, faded), faded)
    for toolkit in toolkits:
        theirs = [card.name for card in toolkit.tools if card.name in used]
        if theirs and toolkit.name not in found and not toolkit.base:
            found[toolkit.name] = Activated(toolkit.name, "used", 1.0)
        for name in theirs:
            relevance[name] = max(relevance.get(name, 0.0), 0.0)
    return ToolSelection(tuple(found.values()), relevance, chosen.doubt)


def _goes_on(message: str, chosen: ToolSelection) -> bool:
    """Whether a message may be about what the one before it was about."""
    sure = any(each.score >= SURE for each in chosen.activated)
    return len(message) <= FOLLOW_UP_CHARS and not sure
