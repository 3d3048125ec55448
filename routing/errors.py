"""The error tree; each branch has one audience.

TierbotError
├── ConfigError      for the owner: a file, variable or database to fix; the process reports it and exits
│   └── FileFault        a value in a JSON file, with its path
├── Refused          for the person: what can't be done, why, and what to do next
├── ToolFailed       for the model: why its tool call failed, and what would work
│   └── BadArguments     not JSON, or not matching the schema
└── ModelError       for the router: a model did not answer; another attempt or model may
    ├── KeyRejected      401, 403, or no key at all
    ├── ModelUnknown     the provider has no such model
    ├── OutOfCredit      402, or the vendor's error for an account without credit
    ├── RateLimited      429; carries the provider's Retry-After
    ├── Unreachable      connection refused or broken before the first token, 5xx, time-out
    │   └── TooSlow          not finished within the tier's time
    ├── ContextOverflow  the prompt is longer than the model takes
    ├── PolicyRefused    the provider declined the content; no other model is tried
    ├── EmptyAnswer      success without any text
    ├── BadModelRequest  any other 400
    └── BudgetExceeded   not called: a spending limit has no room for it (routing.types.budgets)

ConfigError, StorageFault, SecretUnreadable and EmbedderFailed are ReasonedErrors: their words can be translated.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TypeVar

T = TypeVar("T")


class Reason(str):
    """Words for people: English text that keeps its template, so that it can be translated. A value may be a Reason."""

    template: str
    values: Mapping[str, object]

    def __new__(cls, template: str, /, **values: object) -> Reason:
        reason = super().__new__(cls, template.format(**values) if values else template)
        reason.template, reason.values = template, values
        return reason

    def changed(self, change: Callable[[str], str]) -> Reason:
        """The same words with every text among their values changed."""
        return Reason(self.template, **{name: changed(value, change) for name, value in self.values.items()})


NO_REASON = Reason("")
PROGRAM_ENDING = Reason("the program is ending")


def system_reason(error: OSError) -> str:
    """Why the system refused: its own words, as a Reason if it numbers the error."""
    numbered = error.errno is not None and error.errno > 0
    return Reason(os.strerror(error.errno or 0)) if numbered else error.strerror or str(error) or type(error).__name__


def file_reason(error: OSError | UnicodeDecodeError) -> str:
    """Why a text file can't be read, without its content."""
    return Reason("it is not UTF-8 text") if isinstance(error, UnicodeDecodeError) else system_reason(error)


def changed(value: T, change: Callable[[str], str]) -> T | str:
    """A text after the change; of a Reason, only the values are changed. Other values stay."""
    if isinstance(value, Reason):
        return value.changed(change)
    return change(value) if isinstance(value, str) else value


class TierbotError(Exception):
    """Base of all errors of this program."""


class ReasonedError(TierbotError):
    """Its words are a `reason`, which can be translated: a template with values."""

    def __init__(self, template: str, /, **values: object) -> None:
        self.reason = template if isinstance(template, Reason) else Reason(template, **values)
        super().__init__(str(self.reason))


class ConfigError(ReasonedError):
    """For the owner: one sentence that names the problem and its fix. `exit_code` is for scripts."""

    exit_code = 2


class NoDatabase(ConfigError):
    """There is nothing to back up."""

    exit_code = 3


class NewerDatabase(ConfigError):
    """A newer version of the program has migrated the database."""

    exit_code = 4


class FileFault(ConfigError):
    """An invalid value in one of the owner's JSON files; `path` leads to it from the top."""

    def __init__(self, path: tuple[str | int, ...], template: str, /, **values: object) -> None:
        super().__init__(template, **values)
        self.path = path


class StorageFault(ReasonedError):
    """The database can't be read or written now (full disk, lock); nothing was changed."""


class CommitUnknown(StorageFault):
    """The connection was lost during a commit: the changes may be stored or not."""


class SecretUnreadable(ReasonedError):
    """A stored secret can't be decrypted, or none can be encrypted: the key is missing, wrong or can't be read."""


class Refused(TierbotError):
    """For the person: a template with values, which can be translated."""

    def __init__(self, template: str, **values: object) -> None:
        super().__init__(template.format(**values))
        self.template = template
        self.values = values


class ToolFailed(TierbotError):
    """For the model: what went wrong with its tool call, and what would work. A command shows it to the person, too,
    translated if it was raised with a Reason."""

    @property
    def words(self) -> str:
        """The text, as a Reason if it was raised with one."""
        return self.args[0] if self.args and isinstance(self.args[0], Reason) else str(self)


class UnknownTool(ToolFailed):
    """No tool of this name exists for this person."""


class BadArguments(ToolFailed):
    """The arguments are not JSON, or don't match the tool's schema."""


class ModelError(TierbotError):
    """A model did not answer. `reason` is a short clause; `raw` is the provider's own message without secrets, for
    owners and the log, or empty."""

    retryable = False
    asked = True
    """False: no call was made."""
    shared = False
    """True: all models of the provider would fail the same way, because of its key or account."""
    own = False
    """True: only this model is affected; another one of the same provider may answer."""

    def __init__(self, model: str, reason: str, retry_after: float | None = None, raw: str = "") -> None:
        super().__init__(f"{model}: {raw or reason}")
        self.model = model
        self.reason = reason
        self.raw = raw
        self.retry_after = retry_after


class KeyRejected(ModelError):
    """401, 403, or no key."""

    shared = True


class OutOfCredit(ModelError):
    """The account of the key has no credit left."""

    shared = True


class ModelUnknown(ModelError):
    """The provider has no model of this name."""

    own = True


class RateLimited(ModelError):
    """429; `retry_after` is in seconds if the provider set it."""

    retryable = True
    own = True


class Unreachable(ModelError):
    """No connection, time-out, or 5xx before the first token. Only a 5xx is the model's `own`."""

    retryable = True


class TooSlow(Unreachable):
    """The answer did not finish within the time of its tier."""


class ContextOverflow(ModelError):
    """The prompt exceeds the model's window; `window` is the limit in tokens if the provider named it."""

    window: int | None = None


class PolicyRefused(ModelError):
    """The provider declined the content."""


class EmptyAnswer(ModelError):
    """The model returned no text."""

    retryable = True


class BadModelRequest(ModelError):
    """The provider rejected the request for another reason."""


class EmbedderFailed(ReasonedError):
    """For /status: why there are no vectors now and, if possible, the fix."""
