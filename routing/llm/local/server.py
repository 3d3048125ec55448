"""`python -m routing.llm.local.server --model FILE`: llama.cpp as an OpenAI-compatible server on 127.0.0.1.

The first line of stdin is the API key, so that it is in no process list. One line of JSON, `{"port": N}`, goes to
stdout once the server answers; everything llama.cpp says goes to stderr. The process ends on SIGTERM and when stdin
closes, so it can't outlive whoever holds the other end. This is the only importer of xllamacpp.
"""

from __future__ import annotations

import argparse
import fcntl
import http.client
import json
import os
import select
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

EXIT_LOAD_FAILED = 1
EXIT_PACKAGE_MISSING = 3
EXIT_PACKAGE_BROKEN = 4

# Generation is bound by memory bandwidth: more threads than this gain next to nothing on small machines.
MAX_THREADS = 4
# Answers made side by side, each with a whole context: a shared one fails both answers when their sum is too long.
SLOTS = 2
# Weights from this size on get one slot, because a context costs them gigabytes; the second answer waits its turn.
ONE_SLOT_BYTES = 1 << 30
# Loops that a waiting thread spins before it sleeps. With libgomp's default (300,000) two busy cores made 7 tokens/s
# of the shipped model and a quiet pair 76; with this 36 and 75; asleep at once (OMP_WAIT_POLICY=passive) 29 and 32.
SPIN_COUNT = 10_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until stdin closes. Exit codes: 0, or one of EXIT_*; stderr says why."""
    options = _options(arguments)
    report = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    api_key = sys.stdin.buffer.readline().decode().strip()
    if not api_key:
        print("the first line of stdin must be the API key", file=sys.stderr)
        return EXIT_LOAD_FAILED
    _end_with_stdin_while_loading()
    os.putenv("GOMP_SPINCOUNT", str(SPIN_COUNT))
    try:
        server = _load(options, api_key)
    except ImportError as error:
        print(error, file=sys.stderr)
        return EXIT_PACKAGE_MISSING if isinstance(error, ModuleNotFoundError) else EXIT_PACKAGE_BROKEN
    except (RuntimeError, MemoryError, OSError) as error:
        print(repr(error), file=sys.stderr)
        return EXIT_LOAD_FAILED
    port = _checked_port(server.listening_address)
    signal.signal(signal.SIGIO, signal.SIG_IGN)
    with report:
        report.write(json.dumps({"port": port}) + "\n")
    sys.stdin.buffer.read()
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m routing.llm.local.server")
    parser.add_argument("--model", type=Path, required=True, help="a GGUF file")
    parser.add_argument("--name", default="local", help="what the server calls the model")
    parser.add_argument("--context", type=int, default=8192, help="tokens a slot; the model's own maximum caps it")
    parser.add_argument("--verbosity", type=int, default=1, help="llama.cpp's: 1 errors, 2 warnings, 3 everything")
    return parser.parse_args(arguments)


def _end_with_stdin_while_loading() -> None:
    """Loading holds the interpreter lock, so no thread of ours could watch stdin: the kernel's SIGIO ends us."""
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([0], [], [], 0)[0]:
        sys.exit(0)


def _load(options: argparse.Namespace, api_key: str) -> Any:
    """The running server. Raises ImportError (package), RuntimeError (weights, memory)."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(options.model)
    params.model_alias = {options.name}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [api_key]
    params.verbosity = options.verbosity
    params.offline = True
    params.ui = False
    params.endpoint_slots = False
    params.n_parallel = slots(options.model)
    params.n_ctx = options.context * params.n_parallel
    params.cache_ram_mib = 0
    params.cache_idle_slots = False
    params.fit_params = False
    params.warmup = False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = thread_count()
    return xllamacpp.Server(params)


def _checked_port(address: str) -> int:
    """The port of `address`, after its health check said yes. Raises OSError or RuntimeError."""
    port = urlsplit(address).port
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", "/health")
        status = connection.getresponse().status
    finally:
        connection.close()
    if port is None or status != 200:
        raise RuntimeError(f"the health check of {address} answered {status}")
    return port


def slots(weights: Path) -> int:
    """How many answers this model makes side by side."""
    return SLOTS if weights.stat().st_size < ONE_SLOT_BYTES else 1


def thread_count() -> int:
    """Physical cores that this process may use, at most MAX_THREADS; a container's CPU quota counts."""
    cpus = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    cores = {_siblings(cpu) for cpu in cpus}
    return max(1, min(len(cores), MAX_THREADS, _quota()))


def _siblings(cpu: int) -> str:
    """The logical processors on the same core as `cpu`; itself where the system does not say."""
    try:
        return Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list").read_text("ascii").strip()
    except OSError:
        return str(cpu)


def _quota() -> int:
    """Whole processors that the control group grants; MAX_THREADS where there is no limit."""
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text("ascii").split()
    except (OSError, ValueError):
        return MAX_THREADS
    return MAX_THREADS if quota == "max" else int(quota) // int(period)


def _run() -> None:
    code = main()
    sys.stderr.flush()
    # Not sys.exit: the server's destructor would first finish the answers under way.
    os._exit(code)


if __name__ == "__main__":
    _run()
