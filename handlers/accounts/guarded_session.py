"""HTTP sessions for connected accounts: checked addresses, bounded answers, no redirects to other hosts.

It imports requests, so it is imported when the first account is used. Everything here blocks; call it in a thread.
"""

from __future__ import annotations

import socket
import threading
import time
from dataclasses import replace
from typing import Any
from urllib.parse import urljoin, urlsplit

import requests
from requests.adapters import HTTPAdapter
from requests.auth import HTTPBasicAuth, HTTPDigestAuth
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.util import connection

from handlers.accounts.kinds import ServiceFailed
from handlers.accounts.reachable import Reachable
from handlers.http.addresses import is_public
from routing.errors import Reason, system_reason

MAX_BYTES = 8_000_000
"""Maximum size of an answer; a thousand events have about 1 MB."""
CONNECT_SECONDS = 10.0
REQUEST_SECONDS = 20.0
"""Maximum time of one request with its answer."""
SESSION_SECONDS = 50.0
"""Maximum time of all requests of one session."""
MAX_REDIRECTS = 5
_CHUNK = 65_536


def host_of(url: str) -> str:
    """The host in an address; empty if there is none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def joined(url: str, link: str) -> str:
    """The address of a link; that of the page itself if the link can't be one."""
    try:
        return urljoin(url, link.strip())
    except ValueError:
        return url


class GuardedSession:
    """A session with one server. It has the methods of requests.Session that the library `caldav` uses."""

    def __init__(self, reachable: Reachable, user: str, secret: str) -> None:
        self._opened: list[socket.socket] = []
        self._ends = time.monotonic() + SESSION_SECONDS
        self._session = requests.Session()
        self._session.trust_env = False  # no proxy and no .netrc of the machine
        adapter = _BoundedAdapter(reachable, self._opened)
        self._session.mount("https://", adapter)
        self._session.mount("http://", adapter)
        user, secret = user.encode().decode("latin-1"), secret.encode().decode("latin-1")
        self._auth: Any = HTTPBasicAuth(user, secret)
        self._digest = HTTPDigestAuth(user, secret)

    def request(
        self, method: str, url: str, data: Any = None, headers: Any = None, **_unused: object
    ) -> requests.Response:
        """Make a request and read the whole answer. Redirects on the same host are followed. Raises ServiceFailed."""
        host = host_of(url)
        for _ in range(MAX_REDIRECTS):
            response = self._once(method, url, data, headers)
            if response.status_code not in (301, 302, 303, 307, 308) or "location" not in response.headers:
                return response
            url = joined(url, response.headers["location"])
            if host_of(url) != host:
                words = "{host} sends us to {other}; give that address if you trust it"
                raise ServiceFailed(words, host=host, other=host_of(url))
        raise ServiceFailed("{host} redirects too often", host=host)

    def close(self) -> None:
        """Close all connections."""
        self._session.close()
        self._drop()

    def _once(self, method: str, url: str, data: Any, headers: Any) -> requests.Response:
        headers = {**dict(headers or {}), "Accept-Encoding": "identity"}
        response = self._send(method, url, data, headers)
        offered = str(response.headers.get("www-authenticate", "")).lower()
        if response.status_code == 401 and "digest" in offered and self._auth is not self._digest:
            self._auth = self._digest
            response = self._send(method, url, data, headers)
        return response

    def _send(self, method: str, url: str, data: Any, headers: Any) -> requests.Response:
        host = host_of(url)
        late = min(self._ends, time.monotonic() + REQUEST_SECONDS)
        watch = threading.Timer(max(0.0, late - time.monotonic()), self._drop)
        watch.daemon = True
        watch.start()
        times = (CONNECT_SECONDS, REQUEST_SECONDS)
        failed: BaseException | None = None
        try:
            response = self._session.request(
                method, url, data=data, headers=headers, auth=self._auth, timeout=times, allow_redirects=False
            )
        except (requests.exceptions.RequestException, OSError, ValueError) as error:
            failed = error
        finally:
            watch.cancel()
        if time.monotonic() >= late or isinstance(failed, requests.exceptions.Timeout):
            raise ServiceFailed("{host} does not answer in time", host=host)
        if failed is not None:
            raise _explained(failed, host)
        return response

    def _drop(self) -> None:
        """Break all connections: a thread that waits for one fails."""
        while self._opened:
            opened = self._opened.pop()
            try:
                opened.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # closed by the server
            finally:
                opened.close()


class _BoundedAdapter:
    """A transport of requests that reads at most MAX_BYTES."""

    def __init__(self, reachable: Reachable, opened: list[socket.socket]) -> None:
        self._inner = HTTPAdapter()
        self._inner.poolmanager.pool_classes_by_scheme = _pools(reachable, opened)

    def send(self, request: Any, stream: bool = False, **options: Any) -> Any:
        response = self._inner.send(request, stream=True, **options)
        response.connection = self
        host = host_of(request.url)
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            response.close()
            raise ServiceFailed("{host} sends a compressed answer that was not asked for", host=host)
        body = bytearray()
        for chunk in response.iter_content(_CHUNK):
            body += chunk
            if len(body) > MAX_BYTES:
                response.close()
                raise ServiceFailed("the answer of {host} is too large", host=host)
        response._content = bytes(body)
        return response

    def close(self) -> None:
        self._inner.close()


def _pools(reachable: Reachable, opened: list[socket.socket]) -> dict[str, type[HTTPConnectionPool]]:
    """Pools whose connections go only where the person's accounts may be."""

    def connect(host: str, port: int, encrypted: bool, timeout: Any) -> socket.socket:
        """A public server may not lead into a private network."""
        nonlocal reachable
        error: OSError | None = None
        for address in reachable.addresses(host, port, encrypted):
            try:
                made = connection.create_connection((address, port), timeout)
            except OSError as failed:
                error = failed
                continue
            opened.append(made.dup())
            if is_public(address):
                reachable = replace(reachable, private=False)
            return made
        assert error is not None
        raise error

    class Plain(HTTPConnection):
        def _new_conn(self) -> socket.socket:
            return connect(self._dns_host, self.port or 80, False, self.timeout)

    class Encrypted(HTTPSConnection):
        def _new_conn(self) -> socket.socket:
            return connect(self._dns_host, self.port or 443, True, self.timeout)

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = Plain

    class EncryptedPool(HTTPSConnectionPool):
        ConnectionCls = Encrypted

    return {"http": PlainPool, "https": EncryptedPool}


def _explained(error: BaseException, host: str) -> ServiceFailed:
    """Why there is no answer."""
    if isinstance(inner := _inner(error, ServiceFailed), ServiceFailed):
        return inner
    if isinstance(error, requests.exceptions.SSLError):
        words = "the certificate of {host} is not valid ({reason})"
        return ServiceFailed(words, host=host, reason=_tls_reason(error))
    reason = _inner(error, OSError)
    why = system_reason(reason) if isinstance(reason, OSError) else Reason("it does not speak HTTP")
    return ServiceFailed("{host} can't be reached ({reason})", host=host, reason=why)


def _inner(error: BaseException | None, kind: type[BaseException]) -> Any:
    """The innermost error of a kind: libraries wrap them several times."""
    found = None
    for _ in range(20):
        if error is None:
            break
        if isinstance(error, kind) and not isinstance(error, requests.exceptions.RequestException):
            found = error
        reason = getattr(error, "reason", None)
        wrapped = [each for each in (*error.args, reason) if isinstance(each, BaseException)]
        error = wrapped[0] if wrapped else error.__cause__ or error.__context__
    return found


def _tls_reason(error: BaseException) -> str:
    import ssl

    inner = _inner(error, ssl.SSLError)
    if isinstance(inner, ssl.SSLCertVerificationError):
        return inner.verify_message
    return str(getattr(inner, "reason", "") or "TLS")
