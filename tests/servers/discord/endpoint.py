"""One API call from its HTTP request to its answer; every call is logged, every violation recorded."""

import asyncio
from typing import Any

from aiohttp import web

from tests.servers.discord.bot_routes import ASKING
from tests.servers.discord.call import Call, Created
from tests.servers.discord.commands import COMMANDS
from tests.servers.discord.errors import ApiError, Blocked, Breach, invalid, not_found, unauthorized
from tests.servers.discord.faults import Fault
from tests.servers.discord.interaction_routes import INTERACTING
from tests.servers.discord.journal import Request
from tests.servers.discord.limits import Limits
from tests.servers.discord.message_routes import SENDING
from tests.servers.discord.schema import Operation, Problem, Schema, schema
from tests.servers.discord.wire import answer, read_body, refused
from tests.servers.discord.world import World
from tests.servers.injected_faults import Dropped
from tests.servers.listener import drip
from tests.servers.uploads import Upload

BASE = "/api/v10"
HANDLERS = SENDING | ASKING | COMMANDS | INTERACTING


class Endpoint:
    """`faults` apply in the order in which they were added; `revoked` makes the token invalid."""

    def __init__(self, world: World, token: str, *, limits: bool) -> None:
        self.faults: list[Fault] = []
        self.revoked = False
        self._world = world
        self._token = token
        self._limits = Limits(world.now, limits)
        self._schema: Schema | None = None

    async def call(self, request: web.BaseRequest) -> web.StreamResponse:
        entry = Request(request.method, request.path.removeprefix(BASE), self._world.now())
        self._world.requests.append(entry)
        path: dict[str, str] = {}
        try:
            entry.query = dict(request.query)
            entry.body, files = await read_body(request)
            entry.files = list(files.values())
            operation, path = await self._operation(entry, request.path.startswith(f"{BASE}/"))
            entry.answer = await self._run(entry, operation, path, files, request.headers.get("Authorization"))
            entry.status = _status(entry.answer)
            if isinstance(entry.answer, Created):
                entry.answer = entry.answer.body
            given = answer(entry.status, entry.answer, self._headers(entry, path))
            return await drip(request, given, entry.drip) if entry.drip else given
        except ApiError as error:
            entry.status, entry.code, entry.answer = error.status, error.code, error.json()
            if isinstance(error, Breach):
                self._world.violate(str(entry), error.reason, entry.body)
            return refused(error, self._headers(entry, path))
        except Blocked as blocked:
            entry.status = blocked.status
            return web.Response(status=blocked.status, body=blocked.body, content_type="text/html")
        except Dropped:
            if request.transport is not None:
                request.transport.close()
            return web.Response()
        finally:
            self._world.changed()

    async def _operation(self, entry: Request, is_api: bool) -> tuple[Operation, dict[str, str]]:
        if self._schema is None:
            self._schema = await asyncio.to_thread(schema)
        found = self._schema.match(entry.method, entry.path) if is_api else None
        if found is None:
            self._world.violate(str(entry), "no such route", entry.body)
            raise not_found()
        entry.route = found[0].route
        return found

    async def _run(
        self, entry: Request, operation: Operation, path: dict[str, str], files: dict[int, Upload], token: str | None
    ) -> Any:
        if operation.needs_token and (token != f"Bot {self._token}" or self.revoked):
            raise unauthorized()
        fault = next((one for one in self.faults if one.strikes(entry.method, entry.path, entry.body)), None)
        if fault is not None:
            self._world.changed()
            await self._strike_before(fault)
        call = Call(f"{entry.method} {operation.route}", path, entry.query, entry.body, files)
        handler = HANDLERS.get(call.route)
        if handler is None:
            self._world.violate(str(entry), "not modelled by this server", entry.body)
            raise not_found()
        self._check(operation, call)
        self._limits.spend(call.route, path.get("channel_id", ""))
        result = handler(self._world, call)
        if fault is not None:
            self._world.changed()
            await self._strike_after(fault)
            entry.drip = fault.seconds if fault.kind == "drip" else 0.0
        return result

    def _check(self, operation: Operation, call: Call) -> None:
        assert self._schema is not None
        for name, value in call.path.items():
            if name.endswith("_id") and not value.isdigit():
                raise invalid(name, "NUMBER_TYPE_COERCE", f'Value "{value}" is not snowflake.')
        problem = self._schema.check_query(operation, call.query)
        if call.body is not None and not operation.takes_body:
            problem = problem or Problem("", "UNEXPECTED_BODY", "this route takes no body")
        elif call.body is None and operation.needs_body:
            problem = problem or Problem("", "BASE_TYPE_REQUIRED", "This field is required")
        elif call.body is not None:
            problem = problem or self._schema.check_body(operation, call.body)
        if problem is not None:
            raise invalid(problem.path, problem.code, problem.reason)

    def _headers(self, entry: Request, path: dict[str, str]) -> dict[str, str]:
        return self._limits.headers(f"{entry.method} {entry.route}", path.get("channel_id", ""))

    async def _strike_before(self, fault: Fault) -> None:
        if (refusal := fault.answer()) is not None:
            raise refusal
        if fault.kind == "cloudflare":
            raise Blocked(429, b"<html>error code: 1015</html>")
        if fault.kind == "latin_1":
            raise Blocked(fault.status or 502, "<html>Passerelle indisponible, réessayez</html>".encode("latin-1"))
        await fault.before_the_call()

    async def _strike_after(self, fault: Fault) -> None:
        await fault.after_the_call()
        if fault.kind == "error_after":
            raise ApiError(fault.status or 504, 0, fault.text or "504: Gateway Timeout")


def _status(result: Any) -> int:
    if isinstance(result, Created):
        return 201
    return 204 if result is None else 200
