"""Ledgers of a real server, which `npm run python` starts, and a proxy that breaks connections."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import httpx2
import pytest

from tallystick import Tallystick

URL = os.environ.get('TALLYSTICK_URL', '')
needs_server = pytest.mark.skipif(not URL, reason='no server: run it by `npm run python`')
QUICK: dict[str, Any] = {'linger_s': 0.002, 'delay_s_min': 0.002, 'delay_s_max': 0.02, 'blocked_delay_s': 0.02}
"""Options with very short waits."""


class Ledger:
    """A new ledger with its first key."""

    def __init__(self) -> None:
        made = _post(URL, '/v1/ledgers', os.environ['TALLYSTICK_OPERATOR_KEY'], {'name': 'written by a notarizer'})
        self.key: str = made['key']['key']
        self.id: str = made['ledger']['id']
        self.agent: str = made['key']['agent']
        self.client = self.connect(URL)

    def connect(self, url: str, **options: Any) -> Tallystick:
        return Tallystick(base_url=url, api_key=options.pop('api_key', self.key), **options)

    def post(self, path: str, body: dict[str, Any]) -> Any:
        return _post(URL, path, self.key, body)

    def get(self, path: str) -> Any:
        answer = httpx2.get(URL + path, headers={'authorization': f'Bearer {self.key}'})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def records(self, **filters: str) -> list[dict[str, Any]]:
        """Returns the records that a search finds, or all records without filters. The oldest is
        first. Each record is as the server returns it.
        """
        found: list[dict[str, Any]] = []
        cursor, search = '', ''.join(f'&{name}={value}' for name, value in filters.items())
        while True:
            page = self.get(f'/v1/records?order=asc&limit=200{search}{cursor}')
            found += page['data']
            if page.get('nextCursor') is None:
                return found
            cursor = f'&cursor={page["nextCursor"]}'

    def numbers(self) -> list[int]:
        """Returns the member `i` of each record's payload."""
        return [record['payload']['i'] for record in self.records()]

    def lines(self, records: list[dict[str, Any]] | None = None, parent: str | None = None) -> list[str]:
        """Returns actions as an indented tree by their parents, with one line for each action. The
        line also shows the action's outcome.
        """
        found = self.records() if records is None else records
        lines = []
        for record in found:
            if record['parent'] != parent or record['type'] == 'agent-outcome/1':
                continue
            ends = [each['payload'] for each in found if each['parent'] == record['id'] and each['type'] == 'agent-outcome/1']
            lines += [_line(record, ends), *(f'  {line}' for line in self.lines(found, record['id']))]
        return lines


def _line(record: dict[str, Any], ends: list[dict[str, Any]]) -> str:
    payload = record['payload']
    if record['type'] == 'approval/1':
        return f'{payload["decision"]} by {payload["by"]["kind"]} {payload["by"].get("id", "")}'.strip()
    said = [end.get(name) for end in ends for name in ('status', 'errorType', 'error')]
    return ' · '.join(str(part) for part in (f'{payload["kind"]} {payload["name"]}', payload['told'], *said) if part)


def _post(url: str, path: str, key: str, body: dict[str, Any]) -> Any:
    answer = httpx2.post(url + path, headers={'authorization': f'Bearer {key}'}, json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()


def until(holds: Callable[[], bool], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, 'it has not come to pass'
        time.sleep(0.005)


class Proxy:
    """A proxy between client and server that simulates faults of a network."""

    def __init__(self, *, is_up: bool = True) -> None:
        host, _, port = URL.removeprefix('http://').rstrip('/').partition(':')
        self._target = (host, int(port))
        self._listener = socket.create_server(('127.0.0.1', 0))
        self._port: int = self._listener.getsockname()[1]
        self._open: set[socket.socket] = set()
        self._passes = threading.Event()
        self._passes.set()
        self._lost = 0
        self.url = f'http://127.0.0.1:{self._port}'
        self._accept(self._listener)
        if not is_up:
            self.refuse()

    def refuse(self) -> None:
        """Closes and refuses connections until `accept`."""
        _end(self._listener)
        self.cut()

    def accept(self) -> None:
        self._listener = socket.create_server(('127.0.0.1', self._port))
        self._accept(self._listener)

    def cut(self) -> None:
        for each in list(self._open):
            _end(each)

    def lose_answers(self, count: int) -> None:
        """Drops the next `count` answers. The server has done the requests, but the client gets no
        answer.
        """
        self._lost = count

    def hold(self) -> None:
        """Delays the server's answers until `resume`."""
        self._passes.clear()

    def resume(self) -> None:
        self._passes.set()

    def close(self) -> None:
        self.resume()
        self.refuse()

    def _accept(self, listener: socket.socket) -> None:
        def run() -> None:
            with suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    server = socket.create_connection(self._target)
                    self._open |= {client, server}
                    threading.Thread(target=self._pump, args=(client, server, False), daemon=True).start()
                    threading.Thread(target=self._pump, args=(server, client, True), daemon=True).start()

        threading.Thread(target=run, daemon=True).start()

    def _pump(self, source: socket.socket, to: socket.socket, is_answer: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                if is_answer:
                    self._passes.wait()
                    if self._lost > 0:
                        self._lost -= 1
                        break
                to.sendall(data)
        for each in (source, to):
            self._open.discard(each)
            _end(each)


def _end(each: socket.socket) -> None:
    with suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
    each.close()


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    made = Proxy()
    yield made
    made.close()
