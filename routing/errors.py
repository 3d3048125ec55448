"""One tree of errors, named by who is told.

TierbotError
├── ConfigError      the owner: a file, variable or database to fix; the process says it and ends
│   └── FileFault        a value in a JSON file, and where it stands
├── Refused          the person: what they asked can't be done, why, and what to do next
├── ToolFailed       the model: why its tool call did not work, in words that it can act on
│   └── BadArguments     they are not JSON, or not what the schema asks for
└── ModelError       the router: a model did not answer; another try or another model may
    ├── KeyRejected      401, 403, or no key at all
    ├── ModelUnknown     the provider has no such model
    ├── OutOfCredit      402, or whatever the vendor says when the account has no money left
    ├── RateLimited      429; carries the provider's Retry-After
    ├── Unreachable      connection refused or broken before the first token, 5xx, time-out
    │   └── TooSlow          reached, and not done in its tier's time
    ├── ContextOverflow  the prompt is longer than the model takes
    ├── PolicyRefused    the provider declined the content; never shopped around
    ├── EmptyAnswer      success without any text
    ├── BadModelRequest  any other 400
    └── OverBudget       it was not asked: a limit of money has no room for the call (routing.types.budgets)
"""

from __future__ import annotations

from collections.abc import Mapping


class TierbotError(Exception):
    """Root of everything this program raises on purpose."""


class ConfigError(TierbotError):
    """For the owner: one sentence that names what is wrong and how to mend it."""


class FileFault(ConfigError):
    """A value in a JSON file of the owner; `path` is the way to it, from the top."""

    def __init__(self, sentence: str, path: tuple[str | int, ...]) -> None:
        super().__init__(sentence)
        self.path = path


class StorageFault(TierbotError):
    """The database can't be read or written at the moment (a full disk, a lock); nothing was changed."""


class Refused(TierbotError):
    """For the person: a template and its values, so that it can be said in their language."""

    def __init__(self, template: str, **values: object) -> None:
        super().__init__(template.format(**values))
        self.template = template
        self.values = values


class ToolFailed(TierbotError):
    """For the model only: what went wrong with its call, and what would work."""


class UnknownTool(ToolFailed):
    """There is no tool of this name, or not for this person."""


class BadArguments(ToolFailed):
    """The arguments are not JSON, or not what the tool's schema asks for."""


class Reason(str):
    """A clause that says why, for people: English text that remembers its template, so that it can be translated."""

    template: str
    values: Mapping[str, object]

    def __new__(cls, template: str, /, **values: object) -> Reason:
        reason = super().__new__(cls, template.format(**values) if values else template)
        reason.template, reason.values = template, values
        return reason


class ModelError(TierbotError):
    """A model did not answer. `reason` is one short clause of ours. `raw` is what the provider said, without secrets,
    for owners and the log; empty where it said nothing."""

    retryable = False
    asked = True
    """False: the model was left alone, no call was made."""
    shared = False
    """True: every model of the provider would fail alike, because of its key or its account."""
    own = False
    """True: it is this model's trouble alone; another one of the same provider may answer."""

    def __init__(self, model: str, reason: str, retry_after: float | None = None, raw: str = "") -> None:
        super().__init__(f"{model}: {raw or reason}")
        self.model = model
        self.reason = reason
        self.raw = raw
        self.retry_after = retry_after


class KeyRejected(ModelError):
    """401 or 403, or the key is missing."""

    shared = True


class OutOfCredit(ModelError):
    """The account that the key belongs to has no money left."""

    shared = True


class ModelUnknown(ModelError):
    """The provider has no model of this name."""

    own = True


class RateLimited(ModelError):
    """429; `retry_after` in seconds when the provider said so."""

    retryable = True
    own = True


class Unreachable(ModelError):
    """No connection, a time-out, or a 5xx, before the first token. Only a 5xx is the model's `own`."""

    retryable = True


class TooSlow(Unreachable):
    """It was reached, and not done in the time that its tier gives it."""


class ContextOverflow(ModelError):
    """The prompt is longer than the model takes. `window` is the limit in tokens that the provider named."""

    window: int | None = None


class PolicyRefused(ModelError):
    """The provider declined the content."""


class EmptyAnswer(ModelError):
    """The model said nothing at all."""

    retryable = True


class BadModelRequest(ModelError):
    """The provider understood and refused for another reason."""


class EmbedderFailed(TierbotError):
    """For /status: one sentence that says why there are no vectors now and, where there is one, the mend."""
