"""A real CalDAV and CardDAV server, Radicale, on loopback, with faults that a test can switch on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from http.client import HTTPConnection
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

USER, PASSWORD = "ann", "correct horse battery"
Fault = Callable[[dict[str, Any], Any], Iterable[bytes]]


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None: ...


class RadicaleServer:
    """Users are `ann` and `ben` with the same password. While `fault` is set, it answers every request."""

    def __init__(self, folder: Path) -> None:
        from radicale.app import Application
        from radicale.config import load

        users = folder / "users"
        users.write_text(f"{USER}:{PASSWORD}\nben:{PASSWORD}\n")
        configuration = load()
        configuration.update(
            {
                "auth": {
                    "type": "htpasswd",
                    "htpasswd_filename": str(users),
                    "htpasswd_encryption": "plain",
                    "delay": "0",
                },
                "storage": {"filesystem_folder": str(folder / "collections"), "_filesystem_fsync": "False"},
                "logging": {"level": "critical"},
            },
            "test",
            privileged=True,
        )
        self._application = Application(configuration)
        self.fault: Fault | None = None
        self.keeps_deleted = False
        """As Nextcloud does: an item that was deleted can't be stored again under its name."""
        self._deleted: set[str] = set()
        self.requests: list[tuple[str, str]] = []
        self._http = make_server("127.0.0.1", 0, self._answer, _Server, _Quiet)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}/"

    def __enter__(self) -> RadicaleServer:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Refuse connections from now on."""
        if self._thread.is_alive():
            self._http.shutdown()
            self._http.server_close()
            self._thread.join()

    def calendar(self, user: str = USER, name: str = "home") -> str:
        """Creates a calendar; returns its path."""
        path = f"/{user}/{name}/"
        body = (
            '<c:mkcalendar xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><d:set><d:prop>'
            f"<d:displayname>{name}</d:displayname></d:prop></d:set></c:mkcalendar>"
        )
        self.send("MKCALENDAR", path, body, user)
        return path

    def address_book(self, user: str = USER, name: str = "people") -> str:
        """Creates an address book; returns its path."""
        path = f"/{user}/{name}/"
        body = (
            '<d:mkcol xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:carddav"><d:set><d:prop><d:resourcetype>'
            f"<d:collection/><c:addressbook/></d:resourcetype><d:displayname>{name}</d:displayname>"
            "</d:prop></d:set></d:mkcol>"
        )
        self.send("MKCOL", path, body, user)
        return path

    def put(self, path: str, text: str, user: str = USER) -> None:
        """Stores an event or a contact."""
        kind = "text/vcard" if path.endswith(".vcf") else "text/calendar"
        self.send("PUT", path, text, user, kind)

    def stored(self, path: str, user: str = USER) -> str:
        """All items of a collection as one text; empty if there are none."""
        return self.send("GET", path, "", user)

    def send(self, method: str, path: str, body: str, user: str = USER, kind: str = "application/xml") -> str:
        """A request of this user. Raises AssertionError if it fails."""
        from base64 import b64encode

        connection = HTTPConnection("127.0.0.1", self._http.server_port, timeout=10)
        login = b64encode(f"{user}:{PASSWORD}".encode()).decode()
        headers = {"Authorization": f"Basic {login}", "Content-Type": f"{kind}; charset=utf-8"}
        connection.request(method, path, body.encode(), headers)
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        assert response.status < 300, (response.status, text)
        return text

    def _answer(self, environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        self.requests.append((method, path))
        fault = self.fault
        if method == "PUT" and path in self._deleted:
            fault = _bad_request
        if method == "DELETE" and self.keeps_deleted:
            self._deleted.add(path)
        if fault is None:
            return self._application(environ, start)
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        return fault(environ, start)


def _bad_request(_environ: dict[str, Any], start: Any) -> Iterable[bytes]:
    start("400 Bad Request", [])
    return [b"Deleted calendar object with uid already exists in this calendar collection."]
