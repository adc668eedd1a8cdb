"""A server that answers with exactly the bytes that a test defines. The module also calls this server
with the synchronous and the asynchronous client.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tallystick import AsyncTallystick, Tallystick

API_KEY = 'tly_hostile0secret'
QUICK = (0.001, 0.005)
FLAVOURS = ['sync', 'async']


@dataclass
class Request:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Answer = Callable[[socket.socket, int, Request], None]


@dataclass
class Hostile:
    base_url: str
    requests: list[Request] = field(default_factory=list)

    @property
    def keys(self) -> list[str | None]:
        return [request.headers.get('idempotency-key') for request in self.requests]


@contextmanager
def hostile(answer: Answer) -> Iterator[Hostile]:
    """Starts the server. Each connection has a thread.

    `answer` gets the socket, the request's number (counted from 1), and the request. It must not
    close the socket.
    """
    listener = socket.create_server(('127.0.0.1', 0))
    server = Hostile(f'http://127.0.0.1:{listener.getsockname()[1]}')
    lock = threading.Lock()

    def serve(connection: socket.socket) -> None:
        with connection:
            try:
                while (request := _read(connection)) is not None:
                    with lock:
                        server.requests.append(request)
                        number = len(server.requests)
                    answer(connection, number, request)
            except (OSError, Broken):
                return

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=[connection], daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield server
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


class Broken(Exception):
    """Raised by an answer to drop the connection."""


def _read(connection: socket.socket) -> Request | None:
    text = b''
    while b'\r\n\r\n' not in text:
        piece = connection.recv(65536)
        if not piece:
            return None
        text += piece
    head, body = text.split(b'\r\n\r\n', 1)
    first, *lines = head.decode('latin-1').split('\r\n')
    headers = {name.lower(): value.strip() for name, value in (line.split(':', 1) for line in lines)}
    while len(body) < int(headers.get('content-length', 0)):
        body += connection.recv(65536)
    method, target, _ = first.split(' ')
    return Request(method, target, headers, body)


def send(connection: socket.socket, status: int, content: bytes, media_type: str = 'application/json', **headers: str) -> None:
    lines = [f'HTTP/1.1 {status} Said', f'content-type: {media_type}', f'content-length: {len(content)}']
    lines += [f'{name.replace("_", "-")}: {value}' for name, value in headers.items()]
    connection.sendall('\r\n'.join(lines).encode() + b'\r\n\r\n' + content)


def send_json(connection: socket.socket, value: object, status: int = 200) -> None:
    send(connection, status, json.dumps(value).encode())


def send_problem(connection: socket.socket, status: int, code: str, headers: dict[str, str] | None = None, **more: Any) -> None:
    problem = {
        'type': f'https://tallystick.dev/errors/{code}',
        'title': 'The title',
        'status': status,
        'detail': 'the detail',
        'code': code,
        'requestId': 'req_' + '0' * 32,
        'retryable': status in (429, 503),
        **more,
    }
    send(connection, status, json.dumps(problem).encode(), 'application/problem+json', **(headers or {}))


AGENT = {'id': 'agt_1', 'name': 'a', 'registeredAt': '2026-11-20T12:00:00.000Z', 'disabledAt': None}


def ask(flavour: str, base_url: str, call: Callable[[Any], Any], **options: Any) -> Any:
    """Returns the answer of one call, and closes the client."""
    given = {'api_key': API_KEY, 'timeout': 5.0, 'retry_delays': QUICK, **options}
    if flavour == 'sync':
        with Tallystick(base_url=base_url, **given) as client:
            return call(client)

    async def run() -> Any:
        async with AsyncTallystick(base_url=base_url, **given) as client:
            return await call(client)

    return asyncio.run(run())


def collect(flavour: str, base_url: str, stream: Callable[[Any], Any], max: int = 10**6, **options: Any) -> list[Any]:
    """Returns the items of a stream, at most `max`."""

    async def gather(client: Any) -> list[Any]:
        found = []
        made = stream(client)
        if asyncio.iscoroutine(made):
            made = await made
        async for item in made:
            found.append(item)
            if len(found) == max:
                break
        return found

    def gather_now(client: Any) -> list[Any]:
        found = []
        for item in stream(client):
            found.append(item)
            if len(found) == max:
                break
        return found

    return ask(flavour, base_url, gather_now if flavour == 'sync' else gather, **options)
