"""The environment: settings, keys and all variables, from everywhere they can be set. Nothing else reads it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qs, urlsplit

from dotenv.parser import parse_stream
from pydantic import SecretStr, ValidationError

from bot.config.settings import CUSTOM_SYNTAX, LIVE, POOL, SECRET_FIELDS, Settings
from routing.config.runtime import ADDRESS_ENDINGS
from routing.errors import ConfigError, Reason, file_reason
from routing.types.tiers import TIERS

_KEY_ENDING = "_API_KEY"
_FILE_ENDING = "_FILE"
_SECRET = frozenset({"DATABASE_URL", *map(str.upper, SECRET_FIELDS)})
"""Variables that can be read from a file (`X_FILE`), besides every provider's key."""


class Environment:
    """Settings, provider keys (by lower-case provider), and all variables (any can be used in mcp.json).

    `given` is the process environment. It takes precedence over files, also after `reload`.
    """

    def __init__(
        self,
        settings: Settings,
        keys: Mapping[str, str],
        variables: Mapping[str, str],
        given: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.given = given
        self.settings = settings
        self.keys = keys
        self.variables = variables

    def reload(self) -> tuple[str, ...]:
        """Read `.env` and files of secrets again. Keys and LIVE settings apply at once. Returns the names of changed
        variables that need a restart. Raises ConfigError without changing anything."""
        new = load(self.given)
        self.keys, self.variables = new.keys, new.variables
        before = self.settings
        changed = [name for name in Settings.model_fields if getattr(new.settings, name) != getattr(before, name)]
        self.settings = before.model_copy(update={name: getattr(new.settings, name) for name in LIVE})
        return tuple(name.upper() for name in changed if name not in LIVE)

    def with_settings(self, **changes: object) -> Environment:
        """The same with other values of these settings."""
        return Environment(self.settings.model_copy(update=changes), self.keys, self.variables, self.given)

    @property
    def language(self) -> str:
        """Language code of the terminal's locale, such as "de" of de_DE.UTF-8; empty for C and POSIX."""
        locale = next(filter(None, map(self.variables.get, ("LC_ALL", "LC_MESSAGES", "LANG"))), "")
        code = re.split("[_.@]", locale, maxsplit=1)[0].lower()
        return "" if code in ("c", "posix") else code

    def secrets(self) -> tuple[str, ...]:
        """All texts that must not appear in logs."""
        values = {name: getattr(self.settings, name) for name in Settings.model_fields}
        tokens = (value.get_secret_value() for value in values.values() if isinstance(value, SecretStr))
        addresses = (value for name, value in values.items() if name.endswith(("_proxy", "_url")) and value)
        passwords = (password for address in addresses for password in _passwords(address))
        return (*self.keys.values(), *tokens, *passwords)


class EnvironmentFault(ConfigError):
    """Every error in the environment, one sentence each. `rest` is the environment without the invalid values."""

    def __init__(self, faults: Sequence[Reason], rest: Environment) -> None:
        super().__init__("\n".join(faults))
        self.reason, more = faults[0], len(faults) - 1
        if more:
            self.reason = Reason("{first} ({count} more; see python -m bot doctor.)", first=faults[0], count=more)
        self.faults = tuple(faults)
        self.rest = rest


IS_CHECKOUT = (Path(__file__).resolve().parents[2] / "pyproject.toml").is_file()
"""Whether the program runs from a checkout instead of an installed package."""
UNREADABLE_CREDENTIAL = "The credential {name} can't be read: {reason}."
UNREADABLE_SECRET = "{name} names a file that can't be read: {reason}."


def load(environ: Mapping[str, str] | None = None, dotenv: str | None = None) -> Environment:
    """Read the process environment, systemd credentials, `*_FILE` variables and the workspace's `.env`, in order of
    precedence. With `dotenv`, this text is read instead of the file. Raises EnvironmentFault naming each invalid
    variable."""
    faults: list[Reason] = []
    given = process_environment() if environ is None else {name.upper(): value for name, value in environ.items()}
    workspace = workspace_folder(given)
    file = _dotenv(workspace / ".env", faults, dotenv)
    layers = (file, _credentials(given, faults), given)
    merged = {name: value.strip() for layer in layers for name, value in _with_files(layer, faults).items()}
    values = {name: value for name, value in merged.items() if value}
    known = {name: values[name.upper()] for name in Settings.model_fields if name.upper() in values}
    for name in values:
        if POOL.fullmatch(name) and name.lower() not in known:
            words = "{name} is for an unknown tier; the tiers are {tiers}."
            faults.append(Reason(words, name=name, tiers=", ".join(TIERS)))
    settings = _settings({**known, "workspace": workspace}, faults)
    keys = {
        name[: -len(_KEY_ENDING)].lower(): value.strip()
        for name, value in values.items()
        if name.endswith(_KEY_ENDING) and name != _KEY_ENDING and name.lower() not in Settings.model_fields
    }
    environment = Environment(settings, keys, values, given)
    if faults:
        raise EnvironmentFault(tuple(dict.fromkeys(faults)), environment)
    return environment


def process_environment(workspace: str = "") -> dict[str, str]:
    """The variables of this process, for `load`; `workspace` replaces WORKSPACE unless it is empty."""
    given = {name.upper(): value for name, value in os.environ.items()}
    return given | ({"WORKSPACE": workspace} if workspace else {})


def workspace_folder(given: Mapping[str, str]) -> Path:
    """The workspace that the process environment names, else the default one."""
    named = given.get("WORKSPACE", "").strip()
    return Path(named or default_workspace(given, IS_CHECKOUT)).expanduser().absolute()


def default_workspace(given: Mapping[str, str], checkout: bool) -> Path:
    """`workspace` in the current folder, for a checkout and wherever there is one; else the user's folder for data
    (the XDG Base Directory specification)."""
    here = Path("workspace")
    if checkout or here.is_dir():
        return here
    data = Path(given.get("XDG_DATA_HOME", ""))
    return (data if data.is_absolute() else Path("~/.local/share")) / "tierbot"


def _settings(values: Mapping[str, Any], faults: list[Reason]) -> Settings:
    """Parse the settings. Invalid ones are reported in `faults`, without their values, and replaced by the defaults."""
    try:
        settings = Settings(**values)
    except ValidationError as error:
        wrong = error.errors(include_input=False, include_url=False)
        words = "{name} is not valid: {problem}."
        faults += [Reason(words, name=str(each["loc"][0]).upper(), problem=each["msg"]) for each in wrong]
        names = {each["loc"][0] for each in wrong}
        settings = Settings(**{name: value for name, value in values.items() if name not in names})
    for name, read in CUSTOM_SYNTAX.items():
        try:
            read(getattr(settings, name))
        except ConfigError as error:
            faults.append(error.reason)
            settings = settings.model_copy(update={name: Settings.model_fields[name].default})
    return settings


def unknown_variables(path: Path) -> tuple[str, ...]:
    """Variables in a `.env` file that are not settings and are probably misspelled."""
    endings = (_KEY_ENDING, _KEY_ENDING + _FILE_ENDING, *ADDRESS_ENDINGS)
    known = {name.upper() for name in Settings.model_fields} | {name + _FILE_ENDING for name in _SECRET}
    names = (name for name in _dotenv(path, []) if not POOL.fullmatch(name))  # `load` rejects pools of unknown tiers
    return tuple(name for name in names if name not in known and not name.endswith(endings))


def _dotenv(path: Path, faults: list[Reason], text: str | None = None) -> dict[str, str]:
    if text is None and not path.is_file():
        return {}
    try:
        with path.open(encoding="utf-8") if text is None else StringIO(text) as file:
            lines = list(parse_stream(file))
    except (OSError, UnicodeDecodeError) as error:
        faults.append(Reason("{path} can't be read: {reason}.", path=path, reason=file_reason(error)))
        return {}
    wrong = (line.original.line for line in lines if line.error)
    faults += [Reason("{path} line {number}: not of the form NAME=value.", path=path, number=each) for each in wrong]
    return {line.key.upper(): line.value or "" for line in lines if line.key and not line.error}


def _credentials(given: Mapping[str, str], faults: list[Reason]) -> dict[str, str]:
    """Values from systemd's LoadCredential, in files named like the variable (case-insensitive)."""
    folder = given.get("CREDENTIALS_DIRECTORY")
    if not folder or not Path(folder).is_dir():
        return {}
    files = [path for path in sorted(Path(folder).iterdir()) if path.is_file()]
    return {path.name.upper(): _text(path, path.name, UNREADABLE_CREDENTIAL, faults) for path in files}


def _with_files(values: Mapping[str, str], faults: list[Reason]) -> dict[str, str]:
    """Read `X_FILE=/run/secrets/x` as X, unless X is set. Limited to our own secrets, because other programs use
    variables with this suffix too."""
    found = dict(values)
    for name, path in values.items():
        plain = name.removesuffix(_FILE_ENDING)
        ours = name != plain and (plain in _SECRET or plain.endswith(_KEY_ENDING))
        if ours and path.strip() and not values.get(plain, "").strip():
            found[plain] = _text(Path(path.strip()), name, UNREADABLE_SECRET, faults)
    return found


def _text(path: Path, name: str, template: str, faults: list[Reason]) -> str:
    try:
        return path.read_text(encoding="utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        faults.append(Reason(template, name=name, reason=file_reason(error)))
        return ""


def _passwords(address: str) -> Sequence[str]:
    """Before the host, and among PostgreSQL's options."""
    try:
        parts = urlsplit(address)
        return [*filter(None, [parts.password]), *parse_qs(parts.query).get("password", ())]
    except ValueError:
        return ()
