"""Changes to `.env` and runtime-config.json that are checked before they are saved."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bot.adapters.shared.descriptor import PlatformDescriptor
from bot.config.environment import Environment, load
from bot.config.settings import Settings, pool_variable
from bot.config.workspace import Workspace
from bot.ops import env_file
from bot.platforms import PLATFORMS
from handlers.languages import Say
from routing.config import jsonfile
from routing.config.kinds import ADDRESS
from routing.config.runtime import API_TYPES, address_variable, parse_pool, variable
from routing.errors import ConfigError, Reason, file_reason
from routing.policy.models import Models
from routing.types.messages import UserKey
from routing.types.model_names import OWN_MACHINE, provider_of
from routing.types.tiers import TIERS

POOLS = tuple(map(pool_variable, TIERS))
POOLS_AND_OWNERS = (*POOLS, "BOT_OWNERS")
"""No service can check these variables; the models of the pools are asked when the keys are checked."""
_PROXY = "HTTPS_PROXY"


@dataclass(frozen=True, slots=True)
class Draft:
    """What will be in the two files; every change makes a new draft.

    `environment` and `workspace` are as they will be after `save`. Raises ConfigError for values that the bot would
    refuse, and for files that can't be read.
    """

    saved: Environment
    variables: Mapping[str, str | None] = field(default_factory=dict)
    """Changed variables of `.env`; None: removed."""
    document: Mapping[str, Any] = field(default_factory=dict)
    """The whole of runtime-config.json."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Variables of the process environment that are ignored here, but not by a bot that starts from this shell."""

    @classmethod
    def of(cls, environment: Environment) -> Draft:
        """No changes yet."""
        workspace = Workspace(environment)
        file = workspace.config_source()
        workspace.config(file)
        return cls(environment, {}, file.document)

    @property
    def environment(self) -> Environment:
        """The environment with these changes."""
        if not self.variables:
            return self.saved
        changed = {name: value or "" for name, value in self.variables.items()}
        environment = load(dict(self.saved.given) | changed)
        return Environment(environment.settings, environment.keys, environment.variables, self.saved.given)

    @property
    def models(self) -> Models:
        """The models with these changes."""
        workspace = Workspace(self.environment)
        file = jsonfile.parse(json.dumps(self.document), workspace.config_file.name)
        return Models(workspace.config(file), workspace.catalog())

    @property
    def has_model(self) -> bool:
        """Whether a tier has a model with a key, or one of this machine."""
        config = self.models.config
        providers = {provider_of(model) for pool in config.pools.values() for model in pool}
        return any(provider in OWN_MACHINE or config.profile(provider).api_key for provider in providers)

    @property
    def changed(self) -> bool:
        """Whether there is anything to save."""
        return bool(self.variables) or self.document != Workspace(self.saved).config_source().document

    @property
    def shadowed(self) -> tuple[str, ...]:
        """Changed variables to which the process environment gives another value, which wins over `.env`."""
        shell = {name: self._from_shell(name) or self.left_out.get(name, "") for name in self.variables}
        return tuple(name for name, value in self.variables.items() if shell[name] not in ("", value or ""))

    def put(self, values: Mapping[str, str | None]) -> Draft:
        """With these variables."""
        return replace(self, variables={**self.variables, **values})

    def given(self, secret: str) -> str:
        """The value of a secret that the process environment sets, itself or with X_FILE; empty if it does not."""
        is_given = self._from_shell(secret) or self._from_shell(_pointer(secret))
        return self.saved.variables.get(secret, "") if is_given else ""

    def _from_shell(self, name: str) -> str:
        """A variable of the process environment; the path of a secret's file is absolute. Empty if it is not set."""
        value = self.saved.given.get(name, "").strip()
        return str(Path(value).absolute()) if value and name.endswith(_pointer("")) else value

    def without(self, *names: str) -> Draft:
        """As if the process environment did not have these variables or secrets."""
        names = (*names, *map(_pointer, names))
        left_out = {name: value for name in names if (value := self._from_shell(name))}
        given = {name: value for name, value in self.saved.given.items() if name not in names}
        return replace(self, saved=load(given), left_out={**self.left_out, **left_out})

    def put_given(self, *names: str) -> Draft:
        """With these variables of the process environment, which a service does not inherit."""
        return self.put({name: value for name in names if (value := self._from_shell(name))})

    def put_secret(self, name: str, value: str | None) -> Draft:
        """With this secret; None: without it. One that is saved already, itself or with X_FILE, stays as it is. One
        from a file that X_FILE of the process environment names is saved as X_FILE."""
        if value and not self.given(name) and value == self.environment.variables.get(name):
            return self
        path = self._from_shell(_pointer(name))
        if value and path and value == self.given(name) and not self._from_shell(name):
            return self.put({name: None, _pointer(name): path})
        return self.put({name: value, _pointer(name): None})

    def put_token(self, platform: PlatformDescriptor, token: str | None) -> Draft:
        """With this token, and with the addresses of the process environment that it was checked with."""
        addressed = self.put_given(*_addresses(platform), _PROXY) if token else self
        return addressed.put_secret(platform.enabled_by.upper(), token)

    def put_key(self, provider: str, key: str) -> Draft:
        """With this key. Pools of models on this machine are removed, because they would keep the provider unused."""
        settings = self.environment.settings
        pools = {name: parse_pool(getattr(settings, name.lower())) for name in POOLS}
        local = {name: None for name, pool in pools.items() if pool and {*map(provider_of, pool)} <= OWN_MACHINE}
        return self.put(local).put_given(_PROXY).put_secret(variable(provider), key).put_provider(provider)

    def put_given_key(self, provider: str) -> Draft:
        """With the provider's key of the process environment. The pools stay."""
        name = variable(provider)
        return self.put_given(_PROXY).put_secret(name, self.given(name)).put_provider(provider)

    def put_provider(self, provider: str, base: str = "") -> Draft:
        """With the provider in runtime-config.json; with its address, if it is given here or in the process
        environment, which a service does not inherit."""
        llm = _object(self.document, "llm")
        providers = _object(llm, "providers")
        profile = dict(_object(providers, provider))
        given = self.saved.given
        base = base or ("" if profile.get("baseUrl") else given.get(address_variable(provider, given), "").strip())
        try:
            ADDRESS.read(base)
        except ValueError:
            rule = Reason(ADDRESS.rule)
            raise ConfigError("The address of {provider} {rule}.", provider=provider, rule=rule) from None
        if base:
            native = provider if provider in API_TYPES else "openai"
            profile |= {"apiType": profile.get("apiType") or native, "baseUrl": base}
        document = {**self.document, "llm": {**llm, "providers": {**providers, provider: profile}}}
        return replace(self, document=document)

    def put_pools(self, model: str) -> Draft:
        """With this model as the only one of each tier."""
        return self.put(dict.fromkeys(POOLS, model))

    def put_owners(self, owners: Iterable[str]) -> Draft:
        """With these owners only. Raises ConfigError for a wrong form, and for a new owner on an unknown platform."""
        draft = self.put({"BOT_OWNERS": ",".join(dict.fromkeys(owners)) or None})
        known = [platform.name for platform in PLATFORMS]
        for owner in draft.environment.settings.owners:
            if owner.platform not in known and owner not in self.environment.settings.owners:
                words = "BOT_OWNERS: the platform of {owner} is unknown. Use one of these: {known}."
                raise ConfigError(Reason(words, owner=owner, known=", ".join(known)))
        return draft

    def add_owners(self, *owners: UserKey | str) -> Draft:
        """With these owners added. Raises ConfigError like `put_owners`."""
        return self.put_owners(map(str, (*self.environment.settings.owners, *owners)))

    def save(self) -> tuple[Path, ...]:
        """Write what has changed; returns the files. Raises ConfigError that says what was not saved."""
        workspace, written = Workspace(self.saved), []
        if self.variables:
            env_file.update(workspace.env_file, self.variables)
            written.append(workspace.env_file)
        if self.document != workspace.config_source().document or not workspace.config_file.exists():
            try:
                workspace.config_file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                jsonfile.write(workspace.config_file, self.document)
            except OSError as error:
                words = "{path} can't be written: {reason}. What belongs into it was not saved."
                raise ConfigError(words, path=workspace.config_file, reason=file_reason(error)) from None
            written.append(workspace.config_file)
        return tuple(written)

    def reread(self) -> Draft:
        """Without changes, from the saved files."""
        return replace(Draft.of(load(self.saved.given)), left_out=self.left_out)


def saved_lines(draft: Draft, written: Sequence[Path], say: Say) -> Iterator[str]:
    """What to say after the draft was saved in these files."""
    if not written:
        yield say("Nothing has changed.")
        return
    yield say("✓ Saved in {files}.", files=", ".join(map(str, written)))
    if draft.shadowed:
        words = "{names}: the environment of this shell has other values, which win over the file."
        yield say(words, names=", ".join(draft.shadowed))
    if Workspace(draft.saved).in_use():
        yield say("The bot is running: it uses new keys within seconds, and new tokens after a restart.")


def _pointer(secret: str) -> str:
    """The variable that names a secret's file."""
    return f"{secret}_FILE"


def _addresses(platform: PlatformDescriptor) -> tuple[str, ...]:
    """The platform's variables that are no secrets."""
    fields = (name for name in Settings.model_fields if name.startswith(f"{platform.name}_"))
    return tuple(name.upper() for name in fields if name.endswith(("_root", "_url", "_proxy")))


def _object(parent: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The object under a key; empty if absent or null. `Workspace.config` has refused any other value."""
    return parent.get(key) or {}
