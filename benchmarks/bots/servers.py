"""The two loopback servers as separate processes, and the benchmark's requests to them."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[2]
ANSWER = (
    "Certainly. The **short** answer is that it depends on the size of the garden: a small one is watered by hand in "
    "ten minutes, a large one wants a hose, and `cron` helps nobody here. Water early, before the sun stands high."
)
"""The model's answer to every question: 220 characters with a little Markdown."""
CHUNKS = 8
TIMEOUT_SECONDS = 60.0

Call = tuple[str, dict[str, object]]
"""A tool and its arguments."""


class Control:
    """JSON over one kept connection."""

    def __init__(self, root: str) -> None:
        address = urlsplit(root)
        self._http = http.client.HTTPConnection(address.hostname or "", address.port, timeout=TIMEOUT_SECONDS)

    def get(self, path: str) -> Any:
        """The answer to GET /control/`path`."""
        return self._ask("GET", path, None)

    def post(self, command: str, **fields: object) -> Any:
        """The answer to POST /control/`command`."""
        return self._ask("POST", command, json.dumps(fields))

    def _ask(self, method: str, path: str, body: str | None) -> Any:
        self._http.request(method, f"/control/{path}", body)
        response = self._http.getresponse()
        answer = json.loads(response.read())
        if response.status != 200:
            raise RuntimeError(f"{method} {path}: {answer}")
        return answer


@dataclass(frozen=True, slots=True)
class Reply:
    """A message of the bot, as sent or edited; `at`, when it was sent, in monotonic seconds."""

    user: int
    message_id: int
    at: float
    text: str = field(compare=False)


class People:
    """Everyone who writes to the bot. A person's id is also that of their private chat; times are monotonic seconds."""

    def __init__(self, root: str) -> None:
        self._control = Control(root)
        self._seen = 0

    def say(self, user: int, text: str) -> float:
        """Sends one message; returns the time."""
        return float(self._control.post("say", user=user, text=text)["at"])

    def all_say(self, users: Sequence[int], text: str) -> None:
        """One message each."""
        self.each_says([(user, text) for user in users])

    def each_says(self, messages: Sequence[tuple[int, str]]) -> None:
        """Sends messages, as (user, text), in this order."""
        self._control.post("say_many", messages=[{"user": user, "text": text} for user, text in messages])

    def replies(self) -> list[Reply]:
        """What the bot has sent since the last call; waits for a change."""
        state = self._control.get(f"state?since={self._seen}&wait={TIMEOUT_SECONDS}")
        if state["violations"]:
            raise RuntimeError(f"the Telegram server was asked something illegal: {state['violations']}")
        self._seen = state["seq"]
        sent = [each for each in state["messages"] if each["from_bot"]]
        return [Reply(each["chat_id"], each["id"], each["at"], each["text"]) for each in sent]

    def telegram_fails(self, method: str, kind: str) -> None:
        """Fails the bot's next call of a method; `kind` is a fault of the Telegram server."""
        self._control.post("fault", method=method, kind=kind)

    def first_call(self, method: str, since: float) -> float:
        """When the bot first called a method after `since`."""
        return min(self.calls(method, since))

    def calls(self, method: str, since: float) -> list[float]:
        """When the bot called a method after `since`: the last 1000 times at most."""
        calls = self._control.post("requests", method=method, last=1000)
        return [float(call["at"]) for call in calls if call["at"] >= since]


class Model:
    """The model's side."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._control = Control(root)

    def last_messages(self) -> list[dict[str, Any]]:
        """The contents of the newest model request."""
        return list(self._control.get("journal?since=0")["journal"][-1]["body"]["messages"])

    def request_bytes(self) -> tuple[int, int]:
        """The size of the newest request's body, and the share of tool definitions."""
        newest = self._control.get("journal?since=0")["journal"][-1]
        tools = newest["body"].get("tools")
        size = len(json.dumps(tools, ensure_ascii=False, separators=(",", ":")).encode()) if tools else 0
        return int(newest["headers"]["content-length"]), size

    def last_tools(self) -> list[str]:
        """The names of the tools in the newest model request."""
        tools = self._control.get("journal?since=0")["journal"][-1]["body"].get("tools") or ()
        return [str(tool["function"]["name"]) for tool in tools]

    def asked(self) -> int:
        """How many requests have come in so far."""
        return int(self._control.get("state")["seen"])

    def will_call(self, calls: Sequence[Call], user_says: str = "") -> None:
        """Answers the next request whose newest question contains `user_says` with tool calls, once."""
        self._control.post("script", kind="call_tools", calls=calls, when={"user_contains": user_says})

    def will_take(self, seconds: float, user_says: str) -> None:
        """Answers a question that contains `user_says` with the usual text over `seconds`, once."""
        pace = {"chunks": CHUNKS, "delay": seconds / CHUNKS}
        self._control.post("script", kind="reply", text=ANSWER, when={"user_contains": user_says}, **pace)

    def will_fail(self, fault: Mapping[str, object], user_says: str) -> None:
        """Fails a question that contains `user_says`, once; `fault` is a script of the model server."""
        self._control.post("script", when={"user_contains": user_says}, **fault)

    def seconds(self, *, stream: bool, times: int = 100) -> list[float]:
        """The model's own latency, measured by a plain HTTP client."""
        address = urlsplit(self.root)
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=TIMEOUT_SECONDS)
        question = {"model": "gpt-5.1", "messages": [{"role": "user", "content": "hello"}], "stream": stream}
        headers = {"Authorization": "Bearer benchmark", "Content-Type": "application/json"}
        taken = []
        for _ in range(times):
            began = time.perf_counter()
            connection.request("POST", "/v1/chat/completions", json.dumps(question), headers)
            connection.getresponse().read()
            taken.append(time.perf_counter() - began)
        return taken


@dataclass(frozen=True, slots=True)
class Servers:
    """Both servers, running."""

    telegram_root: str
    token: str
    people: People
    model: Model


@contextmanager
def servers() -> Iterator[Servers]:
    """Start both on free ports; they end with the block."""
    model = ("tests.servers.model", "--quiet", "--text", ANSWER, "--chunks", str(CHUNKS), "--keep", "50")
    with _process("tests.servers.telegram") as line, _process(*model) as root:
        found = re.search(r"(http://\S+)\s+token (\S+)", line)
        if found is None:
            raise RuntimeError(f"the Telegram server said {line!r}")
        yield Servers(found[1], found[2], People(found[1]), Model(root.strip()))


@contextmanager
def _process(module: str, *arguments: str) -> Iterator[str]:
    """Run a server; its first line."""
    command = [sys.executable, "-m", module, "--port", "0", *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline()
        finally:
            process.terminate()
            process.wait()
