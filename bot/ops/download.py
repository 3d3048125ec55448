"""`tierbot model`: downloads a good small model and sets the four tiers to it."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import httpx
from dotenv import dotenv_values

from bot.config.environment import Environment
from bot.config.settings import pool_variable
from bot.config.workspace import Workspace
from bot.ops import env_file
from bot.ops.web import client
from routing.errors import ConfigError
from routing.types.tiers import TIERS

HUB = "https://huggingface.co"
SPARE_BYTES = 200_000_000
"""Minimum free disk space after the download."""
CHUNK = 1 << 20
SECONDS = 60.0
"""Give up after this time without data; the next run resumes the download."""


@dataclass(frozen=True, slots=True)
class Weights:
    """A GGUF file on Hugging Face. `sha256` and `size` are those shown there for the file at `revision`."""

    name: str
    repository: str
    revision: str
    file: str
    size: int
    sha256: str
    licence: str

    @property
    def path(self) -> str:
        """Path below the Hub's address. The revision is pinned, so the file can't change."""
        return f"{self.repository}/resolve/{self.revision}/{self.file}"


WEIGHTS: tuple[Weights, ...] = (
    Weights(
        name="qwen2.5-1.5b-instruct",
        repository="Qwen/Qwen2.5-1.5B-Instruct-GGUF",
        revision="91cad51170dc346986eccefdc2dd33a9da36ead9",
        file="qwen2.5-1.5b-instruct-q4_k_m.gguf",
        size=1_117_320_736,
        sha256="6a1a2eb6d15622bf3c96857206351ba97e1af16c30d7a74ee38970e434e9407e",
        licence="Apache-2.0",
    ),
)
"""The first one is the default."""


def fetch_model(environment: Environment, workspace: Workspace, name: str) -> int:
    """Download and verify the model, and set the tiers. Raises ConfigError with what to do."""
    found = next((each for each in WEIGHTS if each.name == (name or WEIGHTS[0].name)), None)
    if found is None:
        raise ConfigError(f"There is no model {name}; available: {', '.join(each.name for each in WEIGHTS)}.")
    print(f"{found.name}: {found.size / 1e9:.2f} GB, {found.licence}, from {found.repository}", flush=True)
    base = environment.variables.get("HF_ENDPOINT", HUB)
    proxy = environment.settings.https_proxy
    target = asyncio.run(fetch(found, workspace.models, base, lambda: client(proxy), show_progress))
    print(f"Saved as {target}")
    for line in set_tiers(workspace.root / ".env", f"local/{target.stem}"):
        print(line)
    print("Restart a running bot to use it.")
    return 0


async def fetch(
    weights: Weights,
    folder: Path,
    base: str,
    web: Callable[[], httpx.AsyncClient],
    progress: Callable[[int, int], None],
) -> Path:
    """Download and verify the file, resuming an earlier download. Raises ConfigError."""
    target, part = folder / weights.file, folder / f"{weights.file}.part"
    if target.is_file() and target.stat().st_size == weights.size:
        return target
    try:
        have = _partial_size(folder, part)
        if have < weights.size:
            _check_space(folder, weights.size - have)
            async with web() as session:
                await _download(session, f"{base.rstrip('/')}/{weights.path}", part, have, weights.size, progress)
        if await asyncio.to_thread(_digest, part) != weights.sha256:
            part.unlink()
            raise ConfigError(f"{weights.file} arrived damaged (its SHA-256 does not match). Run `make model` again.")
        part.replace(target)
    except OSError as error:
        raise ConfigError(f"{folder} can't be written ({error.strerror}): free some space, or set WORKSPACE.") from None
    return target


async def _download(
    web: httpx.AsyncClient, url: str, part: Path, have: int, size: int, progress: Callable[[int, int], None]
) -> None:
    headers = {"range": f"bytes={have}-"} if have else {}
    try:
        async with web.stream("GET", url, headers=headers, follow_redirects=True, timeout=SECONDS) as response:
            if response.status_code not in (200, 206):
                raise ConfigError(f"Hugging Face answered {response.status_code} for {url}. Try again later.")
            resumed = response.status_code == 206
            done = have if resumed else 0
            with part.open("ab" if resumed else "wb") as file:
                async for chunk in response.aiter_bytes(CHUNK):
                    done += len(chunk)
                    if done > size:
                        raise ConfigError(
                            f"{url} is longer than it should be. Delete {part} and run `make model` again."
                        )
                    file.write(chunk)
                    progress(done, size)
    except httpx.HTTPError as error:
        raise ConfigError(
            f"The download stopped ({type(error).__name__}). Run `make model` again: it resumes where it stopped."
        ) from None
    if done < size:
        raise ConfigError("The download stopped early. Run `make model` again: it resumes where it stopped.")


def set_tiers(path: Path, model: str) -> list[str]:
    """Add the model to `.env` as the pool of each tier without one; returns one line per tier. Raises ConfigError if
    the file can't be changed."""
    try:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} can't be read ({error}). Add TIER_BALANCED_POOL={model} to it.") from None
    values = {name.upper(): value for name, value in dotenv_values(stream=StringIO(text), interpolate=False).items()}
    report, added = [], {}
    for tier in TIERS:
        variable = pool_variable(tier)
        if pool := values.get(variable):
            report.append(f"{tier}: {pool} (unchanged in {path})")
        else:
            added[variable] = model
            report.append(f"{tier}: {model}")
    if added:
        env_file.update(path, added)
    return report


def _partial_size(folder: Path, part: Path) -> int:
    """Size in bytes of a partial download."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return part.stat().st_size if part.exists() else 0


def _check_space(folder: Path, wanted: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < wanted + SPARE_BYTES:
        raise ConfigError(f"{folder} has {free / 1e9:.1f} GB free and needs {(wanted + SPARE_BYTES) / 1e9:.1f} GB.")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def show_progress(done: int, size: int) -> None:
    """Print progress: one updating line on a terminal, else a line for every 10 %."""
    if sys.stdout.isatty():
        print(
            f"\r{done / 1e6:,.0f} of {size / 1e6:,.0f} MB ({done / size:.0%})",
            end="\n" if done == size else "",
            flush=True,
        )
    elif done == size or done * 10 // size > (done - CHUNK) * 10 // size:
        print(f"{done / 1e6:,.0f} of {size / 1e6:,.0f} MB ({done / size:.0%})", flush=True)
