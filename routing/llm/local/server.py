"""`python -m routing.llm.local.server --model FILE`: llama.cpp as an OpenAI-compatible server on 127.0.0.1.

The first line of stdin is the API key, which keeps it out of process lists. Once the server accepts requests, it
writes one line of JSON, `{"port": N}`, to stdout; llama.cpp's output goes to stderr. The process exits on SIGTERM, and
when stdin closes after loading. The only importer of xllamacpp.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

EXIT_LOAD_FAILED = 1
EXIT_PACKAGE_MISSING = 3
EXIT_PACKAGE_BROKEN = 4

# Memory bandwidth limits generation: more threads gain almost nothing on small machines.
MAX_THREADS = 4
# Parallel answers, each with its own context. With a shared one both fail when their sum is too long.
SLOTS = 2
# Larger weights get one slot, because each context costs gigabytes; a second answer waits.
ONE_SLOT_BYTES = 1 << 30
# How often a waiting thread spins before it sleeps. Tokens/s of the shipped model on two busy cores / two idle ones:
# libgomp's default (300,000) 7 / 76; this value 36 / 75; no spinning (OMP_WAIT_POLICY=passive) 29 / 32.
SPIN_COUNT = 10_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until stdin closes. Returns 0 or one of EXIT_*; stderr has the cause."""
    options = _options(arguments)
    report = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    api_key = sys.stdin.buffer.readline().decode().strip()
    if not api_key:
        print("the first line of stdin must be the API key", file=sys.stderr)
        return EXIT_LOAD_FAILED
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


def _load(options: argparse.Namespace, api_key: str) -> Any:
    """Load and start the server. Raises ImportError (package) or RuntimeError (weights, memory)."""
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
    """Check the server's health and return its port. Raises OSError or RuntimeError."""
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
    """Number of parallel answers for this model."""
    return SLOTS if weights.stat().st_size < ONE_SLOT_BYTES else 1


def thread_count() -> int:
    """Usable physical cores, at most MAX_THREADS and within the container's CPU quota."""
    cpus = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    cores = {_siblings(cpu) for cpu in cpus}
    return max(1, min(len(cores), MAX_THREADS, _quota()))


def _siblings(cpu: int) -> str:
    """The logical CPUs that share a core with `cpu`; `cpu` itself if the system doesn't tell."""
    try:
        return Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list").read_text("ascii").strip()
    except OSError:
        return str(cpu)


def _quota() -> int:
    """Whole CPUs that the control group grants; MAX_THREADS if unlimited."""
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text("ascii").split()
    except (OSError, ValueError):
        return MAX_THREADS
    return MAX_THREADS if quota == "max" else int(quota) // int(period)


def _run() -> None:
    code = main()
    sys.stderr.flush()
    # Not sys.exit: the server's destructor would wait for running answers.
    os._exit(code)


if __name__ == "__main__":
    _run()
