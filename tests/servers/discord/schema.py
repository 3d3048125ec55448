"""Discord's own OpenAPI document as a checker of every call: path, method, query and body.

Deliberately stricter than the real server, which ignores unknown fields. More lenient than the document
in one point, as the server is: an id may be a number. The document is read once a process, at the first call.
"""

import functools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from tests.servers.discord.values import Json

DATA = Path(__file__).with_name("discord-openapi.json")
METHODS = ("get", "put", "post", "patch", "delete")
_URN = "urn:discord"
_CODES = {
    "maxLength": "BASE_TYPE_MAX_LENGTH",
    "minLength": "BASE_TYPE_MIN_LENGTH",
    "maxItems": "BASE_TYPE_MAX_LENGTH",
    "minItems": "BASE_TYPE_MIN_LENGTH",
    "required": "BASE_TYPE_REQUIRED",
    "enum": "BASE_TYPE_CHOICES",
    "maximum": "NUMBER_TYPE_MAX",
    "minimum": "NUMBER_TYPE_MIN",
}
EXTRA: dict[str, tuple[str, ...]] = {
    "ApplicationCommandCreateRequest": ("nsfw",),
    "ApplicationCommandUpdateRequest": ("nsfw",),
    "MessageEditRequestPartial": ("tts",),
    "IncomingWebhookUpdateRequestPartial": ("tts",),
    "IncomingWebhookUpdateForInteractionCallbackRequestPartial": ("tts",),
    "MessageAttachmentRequest": ("url", "proxy_url", "size", "spoiler", "height", "width", "content_type"),
}
"""Fields outside the document that discord.py 2.7.1 sends; the server knows `nsfw` and ignores the others."""


@dataclass(frozen=True, slots=True)
class Problem:
    """An error and its place: `path` is "embeds.0.title", or "" for the body itself."""

    path: str
    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path of the document."""

    method: str
    route: str
    query: Mapping[str, Json]
    required_query: frozenset[str]
    takes_body: bool
    needs_body: bool
    needs_token: bool

    @property
    def pointer(self) -> str:
        escaped = self.route.replace("~", "~0").replace("/", "~1").replace("{", "%7B").replace("}", "%7D")
        return f"{_URN}#/paths/{escaped}/{self.method.lower()}"


class Schema:
    """The document, with validators that are built on first use."""

    def __init__(self, document: Json) -> None:
        _adapt(document["components"]["schemas"])
        resource = DRAFT202012.create_resource(document)
        self._registry: Any = Registry().with_resource(_URN, resource)
        self._validators: dict[str, Any] = {}
        self._checked: dict[tuple[str, str], Problem | None] = {}
        self._routes: list[tuple[re.Pattern[str], Operation]] = []
        for route, item in sorted(document["paths"].items(), key=lambda entry: entry[0].count("{")):
            pattern = re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(route)))
            for method in METHODS:
                if method in item:
                    self._routes.append((pattern, _operation(route, method, item)))

    def match(self, method: str, path: str) -> tuple[Operation, dict[str, str]] | None:
        """The operation and its path parameters; None when there is no such route. Fixed words go before ids."""
        for pattern, operation in self._routes:
            if operation.method == method and (found := pattern.fullmatch(path)):
                return operation, found.groupdict()
        return None

    def check_query(self, operation: Operation, query: Mapping[str, str]) -> Problem | None:
        for name, text in query.items():
            if name not in operation.query:
                return Problem(name, "UNKNOWN_FIELD", "no such query parameter")
            wanted = operation.query[name]
            if found := self._check_with(json.dumps(wanted), wanted, _read(text, wanted), name):
                return found
        missing = operation.required_query - query.keys()
        return Problem(min(missing), "BASE_TYPE_REQUIRED", "This field is required") if missing else None

    def check_body(self, operation: Operation, body: Any) -> Problem | None:
        """For a JSON body or a multipart body's payload_json."""
        reference = {"$ref": f"{operation.pointer}/requestBody/content/application~1json/schema"}
        asked = reference["$ref"], json.dumps(body)
        if asked not in self._checked:  # each bot registers the same commands, which takes 0.1 s to check
            self._checked[asked] = self._check_with(reference["$ref"], reference, body, "")
        return self._checked[asked]

    def check_answer(self, operation: Operation, status: int, body: Any) -> Problem | None:
        """Checks an answer of this server."""
        reference = {"$ref": f"{operation.pointer}/responses/{status}/content/application~1json/schema"}
        return self._check_with(reference["$ref"], reference, body, "")

    def _check_with(self, key: str, schema: Json, value: Any, path: str) -> Problem | None:
        if key not in self._validators:
            self._validators[key] = Draft202012Validator(schema, registry=self._registry)
        error = best_match(self._validators[key].iter_errors(value))
        if error is None:
            return None
        where = ".".join([path] * bool(path) + [str(part) for part in error.absolute_path])
        return Problem(where, _CODES.get(error.validator, "BASE_TYPE_BAD"), error.message[:300])


def _operation(route: str, method: str, item: Json) -> Operation:
    spec = item[method]
    parameters = [p for p in spec.get("parameters", []) + item.get("parameters", []) if p["in"] == "query"]
    body = spec.get("requestBody")
    return Operation(
        method=method.upper(),
        route=route,
        query={parameter["name"]: _absolute(parameter["schema"]) for parameter in parameters},
        required_query=frozenset(p["name"] for p in parameters if p.get("required")),
        takes_body=body is not None and "application/json" in body["content"],
        needs_body=body is not None and bool(body.get("required")),
        needs_token=not any(not choice for choice in spec.get("security", [{}])),
    )


def _absolute(schema: Json) -> Json:
    return {"$ref": _URN + schema["$ref"]} if "$ref" in schema else schema


def _read(text: str, schema: Json) -> Any:
    """A query value as the boolean or number that it stands for, else as text."""
    if schema.get("type") == "boolean":
        return {"1": True, "true": True, "0": False, "false": False}.get(text.lower(), text)
    if schema.get("type") == "integer" and re.fullmatch(r"-?\d{1,18}", text):
        return int(text)
    return text


def _adapt(schemas: Json) -> None:
    """Ids may be numbers, and objects with named fields have no others. No request's schema joins objects by allOf,
    so that is safe there; for answers it is not, but additional fields are what this server should not send either."""
    schemas["SnowflakeType"] = {"type": ["string", "integer"], "pattern": "^(0|[1-9][0-9]*)$"}
    for name, schema in schemas.items():
        if "properties" in schema and "allOf" not in schema and not name.endswith("Response"):
            schema["properties"] |= {field: {} for field in EXTRA.get(name, ())}
            schema.setdefault("additionalProperties", False)


@functools.cache
def schema() -> Schema:
    """Reads 1.2 MB from the disk at the first call."""
    return Schema(json.loads(DATA.read_bytes()))
