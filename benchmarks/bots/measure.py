"""Measures one bot from its first start to its end, in the units of the table."""

from __future__ import annotations

import itertools
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.bots.contestants import OURS, Contestant, Process, prepare_workspace, start_process
from benchmarks.bots.servers import TIMEOUT_SECONDS, Reply, Servers, servers

TURNS_A_CHAT = 5
"""A measured conversation: its questions have 0, 2, 4, 6 and 8 earlier messages."""
WARM_UP = 10
SLOW_SECONDS = 3.0
"""Long enough to see the answer being streamed; platforms allow about one edit per second."""
SLOW_WAVES = 1
GREETING = "hello"
QUESTION = "How often should I water the tomatoes in August?"

Figures = dict[str, float]


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a round: serial turns, and concurrent chats in the busy part, which has twice the turns."""

    turns: int
    chats: int


@dataclass(slots=True)
class Session:
    """A running bot; `chats` provides people who have never written before."""

    servers: Servers
    process: Process
    workspace: Path
    chats: Iterator[int]
    figures: Figures = field(default_factory=dict)

    def reply(self, user: int, since: float) -> float:
        """When the answer to what `user` said at `since` was sent, in monotonic seconds."""
        while time.monotonic() < since + TIMEOUT_SECONDS:
            for reply in self.servers.people.replies():
                if reply.user == user and reply.at >= since:
                    return reply.at
        raise TimeoutError(f"no reply to {user}")

    def turn(self, user: int) -> float:
        """Seconds from a message to its answer."""
        sent = self.servers.people.say(user, QUESTION)
        return self.reply(user, sent) - sent

    @contextmanager
    def cpu(self, name: str, turns: int) -> Iterator[None]:
        """Milliseconds of CPU for each turn inside the block."""
        before = self.process.cpu_seconds()
        yield
        self.figures[name] = (self.process.cpu_seconds() - before) * 1000 / turns


def measure(contestant: Contestant, servers: Servers, size: Size, folder: Path, chats: Iterator[int]) -> Figures:
    """All figures of one round."""
    workspace = folder / "workspace"
    prepare_workspace(workspace, servers)
    with started_session(contestant, servers, workspace, chats) as first:
        request, tools = servers.model.request_bytes()
    with started_session(contestant, servers, workspace, chats) as session:
        session.figures["RSS when ready, MB"] = session.process.rss_mb()
        for user in itertools.islice(chats, WARM_UP):
            session.turn(user)
        _serial(session, contestant, size)
        busy(session, size)
        _slow(session, size)
        session.figures["RSS at the end, MB"] = session.process.rss_mb()
    return session.figures | {
        "very first start to first poll, s": first.figures["start to first poll, s"],
        "request for hello without its tools, bytes": float(request - tools),
        "tools in the request for hello, bytes": float(tools),
    }


@contextmanager
def started_session(
    contestant: Contestant, servers: Servers, workspace: Path, chats: Iterator[int]
) -> Iterator[Session]:
    """Start with a message waiting; the times to the first poll and to its answer."""
    user = next(chats)
    sent = servers.people.say(user, GREETING)
    with start_process(contestant, servers, workspace) as process:
        session = Session(servers, process, workspace, chats)
        replied = session.reply(user, sent)
        polled = servers.people.first_call("getUpdates", process.spawned)
        session.figures["start to first poll, s"] = polled - process.spawned
        session.figures["start to first reply, s"] = replied - process.spawned
        yield session


@contextmanager
def alone(first_chat: int) -> Iterator[Session]:
    """Our own bot, with servers and a workspace that go with it; people are numbered from `first_chat`."""
    with tempfile.TemporaryDirectory() as folder, servers() as both:
        workspace = Path(folder) / "workspace"
        prepare_workspace(workspace, both)
        with started_session(OURS, both, workspace, itertools.count(first_chat)) as session:
            yield session


def _serial(session: Session, contestant: Contestant, size: Size) -> None:
    """Fresh chats first, one turn each; then the rest of their conversations, one turn after the other."""
    people = list(itertools.islice(session.chats, max(1, size.turns // (TURNS_A_CHAT - 1))))
    model = statistics.median(session.servers.model.seconds(stream=contestant.streams))
    with session.cpu("CPU of a first turn, ms", len(people)):
        first = [session.turn(user) - model for user in people]
    later = [user for user in people for _ in range(TURNS_A_CHAT - 1)]
    with session.cpu("CPU a turn, ms", len(later)):
        taken = sorted(session.turn(user) - model for user in later)
    session.figures |= {
        "model alone, ms": model * 1000,
        "serial turn p50, ms": statistics.median(taken) * 1000,
        "serial turn p95, ms": taken[int(len(taken) * 0.95)] * 1000,
        "first turn in a chat p50, ms": statistics.median(first) * 1000,
    }


def busy(session: Session, size: Size) -> None:
    """`chats` people at a time; each writes again once answered, and the next person takes a finished one's place."""
    conversations = max(size.chats, size.turns * 2 // TURNS_A_CHAT)
    people = list(itertools.islice(session.chats, conversations))
    began = time.monotonic()
    with session.cpu("CPU a turn with many chats, ms", conversations * TURNS_A_CHAT):
        ended = _talk(session, people, size.chats)
    session.figures["turns a second with many chats"] = conversations * TURNS_A_CHAT / (ended - began)


def _slow(session: Session, size: Size) -> None:
    """Second turns of `chats` people at a time, answered by a slow model."""
    people, model = session.servers.people, session.servers.model
    users = list(itertools.islice(session.chats, SLOW_WAVES * size.chats))
    for user in users:
        session.turn(user)
        model.will_take(SLOW_SECONDS, f"number {user}.")
    began = time.monotonic()
    with session.cpu("CPU a turn with a slow model, ms", len(users)):
        for first in range(0, len(users), size.chats):
            waiting = set(users[first : first + size.chats])
            people.each_says([(user, f"{QUESTION} I am number {user}.") for user in sorted(waiting)])
            while waiting:
                waiting -= {reply.user for reply in people.replies()}
    previews = [people.calls(method, began) for method in ("sendMessageDraft", "editMessageText")]
    session.figures["previews of a slow answer"] = sum(map(len, previews)) / len(users)


def _talk(session: Session, people: list[int], at_a_time: int) -> float:
    """Complete every conversation; returns when the last answer was sent, in monotonic seconds."""
    left = dict.fromkeys(people, TURNS_A_CHAT)
    arriving = iter(people)
    answers: set[Reply] = set()
    session.servers.people.all_say(list(itertools.islice(arriving, at_a_time)), QUESTION)
    while any(left.values()):
        new = set(session.servers.people.replies()) - answers
        new = {reply for reply in new if left.get(reply.user)}
        answers |= new
        for reply in new:
            left[reply.user] -= 1
        onward = [reply.user if left[reply.user] else next(arriving, None) for reply in new]
        session.servers.people.all_say([user for user in onward if user is not None], QUESTION)
    return max(reply.at for reply in answers)
