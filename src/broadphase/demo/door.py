"""Who may connect to the demo, what is served to them, and what they may send.

Any web page that a browser shows can open a WebSocket to this machine, and any name can be made to resolve to it. So
the door compares the ``Host`` and ``Origin`` of each request, and requires a token where other machines can connect.
What a page sends is checked message by message (`broadphase.demo.messages`) before viser sees it.

viser has no hook for this. It calls ``websockets.asyncio.server.serve``, whose public options are enough: `Door.open`
adds them to that one call. If a version of viser does not make that call, the demo does not start.
"""

from __future__ import annotations

import asyncio
import hmac
import http
import ipaddress
import logging
import secrets
import socket
import threading
import time
from contextlib import contextmanager
from importlib import metadata
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from broadphase.demo.mesh_files import fault_of_file
from broadphase.demo.messages import (
    MOST_MESSAGE_BYTES,
    FileTransferPart,
    FileTransferStartUpload,
    RefusedError,
    read_message,
    write_message,
)
from broadphase.errors import clipped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["MOST_PAGES", "Door", "is_local"]

MOST_PAGES = 24
"""More pages at a time are refused. viser has one thread pool of 32 for all."""
_MOST_CONNECTIONS = 128  # of all states: each takes a file descriptor
_MOST_UPLOADS = 4  # at a time, of all pages
_OPEN_SECONDS, _CLOSE_SECONDS = 5.0, 2.0
_RATE, _BURST = 400.0, 800.0  # messages per second of one page, which sends some 120 while something is dragged
_MOST_DELAYED, _MOST_REFUSED = 1000, 20  # messages of one page, before it is disconnected
_LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")
_HEADERS = {
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",  # the address has the token
    "X-Content-Type-Options": "nosniff",
}
_log = logging.getLogger("broadphase.demo")
_log.addHandler(logging.NullHandler())
_installing = threading.Lock()


class Door:
    """The checks of one server, which listens at `host`.

    `say` is called with a text if a file is refused. `read` is called with the options of an address, and returns what
    to do when a browser has opened it; it raises ValueError if the options are not allowed.
    """

    def __init__(
        self, host: str, say: Callable[[str], None], read: Callable[[dict[str, str]], Callable[[], None]]
    ) -> None:
        self.token = None if is_local(host) else secrets.token_urlsafe(24)  # None: only this machine can connect
        self.say, self._read = say, read
        self.connections: set[Any] = set()
        self.pages: set[Any] = set()  # those of the connections that are past the handshake
        self.uploads = 0  # files that are being sent
        self._names = {*_LOCAL_NAMES, host.lower(), f"[{host.lower()}]"}
        self._cookie = "broadphase-demo"
        self._is_installed = False

    @contextmanager
    def open(self) -> Iterator[None]:
        """Guard the server of viser that is made within the block.

        Raises RuntimeError if viser makes it in another way than this module knows. The caller must stop that server.
        """
        from websockets.asyncio import server

        serve = server.serve

        def guarded(handler: Any, *where: Any, **options: Any) -> Any:
            if not getattr(handler, "__module__", "").startswith("viser.") or "process_request" not in options:
                return serve(handler, *where, **options)  # that of another program in this process
            self._is_installed = True
            return serve(handler, *where, **options | self._options(options["process_request"]))

        with _installing:
            server.serve = guarded  # type: ignore[assignment, misc]
            try:
                yield
            finally:
                server.serve = serve  # type: ignore[misc]
        if not self._is_installed:
            raise RuntimeError(
                f"the demo cannot check who connects to viser {metadata.version('viser')}: it does not start"
            )

    def refusal(self, path: str, headers: Any) -> tuple[http.HTTPStatus, str] | None:
        """Return why a request, by a path with its query, is refused, or None if it is not."""
        try:
            host, origin = _single(headers, "Host"), _single(headers, "Origin")
            upgrade, site = _single(headers, "Upgrade"), _single(headers, "Sec-Fetch-Site")
            address = urlsplit(path)
            token, query = _query_of(path)
        except ValueError:
            return http.HTTPStatus.BAD_REQUEST, "a header or the address is malformed"
        if host is None or (self.token is None and _name_of(host) not in self._names):
            return http.HTTPStatus.MISDIRECTED_REQUEST, "the demo has another name"
        if origin is not None and origin.lower() not in (f"http://{host.lower()}", f"https://{host.lower()}"):
            return http.HTTPStatus.FORBIDDEN, "pages of other origins may not use the demo"
        if self.token is not None and not self._is_known(token, headers):
            return http.HTTPStatus.FORBIDDEN, "the address lacks the token that the demo has printed"
        try:
            self._read(query)  # viser's page would load scenes from the addresses in options of its own
        except ValueError as error:
            return http.HTTPStatus.BAD_REQUEST, clipped(str(error))
        if upgrade is not None:
            if origin is None or upgrade.lower() != "websocket" or address.path != "/":
                return http.HTTPStatus.FORBIDDEN, "only the page of the demo may connect"
            if site not in (None, "same-origin"):
                return http.HTTPStatus.FORBIDDEN, "pages of other origins may not use the demo"
            if f"viser-v{metadata.version('viser')}" not in _protocols(headers):
                return http.HTTPStatus.BAD_REQUEST, "the page is of another version: reload it"
            if len(self.pages) >= MOST_PAGES:
                return http.HTTPStatus.SERVICE_UNAVAILABLE, "too many pages are open"
        elif not _is_plain(address.path):
            return http.HTTPStatus.NOT_FOUND, "not found"
        return None

    def _options(self, process: Callable[[Any, Any], Any]) -> dict[str, Any]:
        def process_request(connection: Any, request: Any) -> Any:
            refusal = self.refusal(request.path, request.headers)
            response = connection.respond(refusal[0], f"{refusal[1]}\n") if refusal else process(connection, request)
            if response is None and connection in self.connections:  # not lost meanwhile
                self.pages.add(connection)
            if response is not None:
                # Of an address that was opened, not of a picture in another page.
                if refusal is None and request.headers.get_all("Sec-Fetch-Dest") in ([], ["document"]):
                    _, query = _query_of(request.path)
                    if query:
                        self._read(query)()
                for name, value in _HEADERS.items():
                    response.headers[name] = value
                if refusal is None and self.token is not None:
                    response.headers["Set-Cookie"] = (
                        f"{self._cookie}={self.token}; HttpOnly; SameSite=Strict; Path=/; Max-Age=86400"
                    )
            return response

        return {
            "process_request": process_request,
            "create_connection": _guarded_connection(self),
            "max_size": MOST_MESSAGE_BYTES,
            "open_timeout": _OPEN_SECONDS,
            "close_timeout": _CLOSE_SECONDS,
            "server_header": None,
            "logger": _log,
        }

    def _is_known(self, given: str | None, headers: Any) -> bool:
        known = [given] if given is not None else []
        for line in headers.get_all("Cookie"):
            parts = (part.strip().partition("=") for part in line.split(";"))
            known += [value for name, _, value in parts if name == self._cookie]
        token = (self.token or "").encode()
        return any(hmac.compare_digest(one.encode("utf-8", "replace"), token) for one in known)


def is_local(host: str) -> bool:
    """Whether only this machine can connect to an address to listen at."""
    try:
        found = {entry[4][0] for entry in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
        return bool(found) and all(ipaddress.ip_address(str(one).partition("%")[0]).is_loopback for one in found)
    except (OSError, ValueError):
        return False


class Uploads:
    """The files that one page is sending: their kinds and sizes are checked before any of their bytes are kept."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._left: dict[str, int] = {}  # bytes to come, by transfer

    def accept(self, message: Any) -> bool:
        """Whether a message may pass."""
        if isinstance(message, FileTransferStartUpload):
            return self._begin(message)
        if isinstance(message, FileTransferPart):
            if message.transfer_uuid not in self._left:
                return False  # of a refused file
            left = self._left[message.transfer_uuid] - len(message.content)
            self._left[message.transfer_uuid] = left
            if left <= 0:
                self._end(message.transfer_uuid)
            return left >= 0
        return True

    def close(self) -> None:
        """Forget what has not arrived."""
        for transfer in list(self._left):
            self._end(transfer)

    def _begin(self, message: FileTransferStartUpload) -> bool:
        door, name = self._door, clipped(message.filename)
        parts = -(-message.size_bytes // (512 << 10))
        if (fault := fault_of_file(message.filename, message.size_bytes)) is not None:
            door.say(f"{name}: {fault}.")
        elif message.transfer_uuid in self._left or message.part_count != parts:
            raise RefusedError("a malformed upload")
        elif door.uploads >= _MOST_UPLOADS or self._left:
            door.say(f"{name}: another file is being loaded. Try again.")
        else:
            self._left[message.transfer_uuid] = message.size_bytes
            door.uploads += 1
            return True
        return False

    def _end(self, transfer: str) -> None:
        del self._left[transfer]
        self._door.uploads -= 1


def _guarded_connection(door: Door) -> Any:
    """Make the class of the connections through a door; its base is an extra."""
    from websockets.asyncio.server import ServerConnection

    class GuardedConnection(ServerConnection):
        def connection_made(self, transport: Any) -> None:
            door.connections.add(self)
            self._uploads = Uploads(door)
            self._credit, self._credited_at = _BURST, time.monotonic()
            self._delayed = self._refused = 0
            super().connection_made(transport)
            if len(door.connections) > _MOST_CONNECTIONS:
                transport.abort()

        def connection_lost(self, error: Exception | None) -> None:
            door.connections.discard(self)
            door.pages.discard(self)
            self._uploads.close()
            super().connection_lost(error)

        async def recv(self, decode: bool | None = None) -> Any:
            """Return the next message that is allowed."""
            while True:
                frame = await super().recv(decode)
                await self._pace()
                try:
                    message = read_message(frame)
                    if message is not None and self._uploads.accept(message):
                        return write_message(message)
                except RefusedError as error:
                    _log.info("refused a message: %s", error)
                    self._refused += 1
                    if self._refused > _MOST_REFUSED:
                        await self.close(1008, "not a page of the demo")

        async def _pace(self) -> None:
            now = time.monotonic()
            self._credit = min(_BURST, self._credit + (now - self._credited_at) * _RATE) - 1
            self._credited_at = now
            if self._credit < 0:
                self._delayed += 1
                if self._delayed > _MOST_DELAYED:  # or it would keep its place until a ping fails
                    await self.close(1008, "too many messages")
                await asyncio.sleep(-self._credit / _RATE)

    return GuardedConnection


def _single(headers: Any, name: str) -> str | None:
    values = headers.get_all(name)
    if len(values) > 1:
        raise ValueError(f"several headers {name}")
    return values[0] if values else None


def _protocols(headers: Any) -> set[str]:
    lines = headers.get_all("Sec-WebSocket-Protocol")
    return {one.strip() for line in lines for one in line.split(",")}


def _query_of(path: str) -> tuple[str | None, dict[str, str]]:
    """Return the token and the options of an address. Raises ValueError if one is malformed or given twice."""
    query = urlsplit(path).query
    pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    if len(dict(pairs)) < len(pairs):
        raise ValueError("an option is given twice")
    options = dict(pairs)
    return options.pop("token", None), options


def _name_of(host: str) -> str:
    """Return the name in a Host header, without the port."""
    name, _, port = host.rpartition(":")
    return (name if name and (port.isdigit() or not port) else host).lower()


def _is_plain(path: str) -> bool:
    """Whether a path can only name a file of viser's page: no way up, no drive, no NUL, no more than names may have."""
    parts = unquote(path).replace("\\", "/").split("/")
    return len(path) < 200 and not any(part == ".." or ":" in part or not part.isprintable() for part in parts)
