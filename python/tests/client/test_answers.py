"""Tests broken answers, and answers that a proxy sends instead of the server. If a caller repeats a
write as the error advises, the write takes effect only once.

The tested HTTP statuses are read from docs/reference/client-outcomes.md. The SDK's test reads the
same page.
"""

from __future__ import annotations

import json
import os
import re
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hostile import FLAVOURS, QUICK, Broken, Request, ask, hostile

from tallystick import ApiError, Tallystick, TallystickError, TallystickOperator, UnexpectedAnswerError, UnknownOutcomeError
from tallystick._core.http_fields import RETRY_AFTER_SECONDS_MAX, http_date_of, media_type_of, retry_after_of

URL = os.environ.get('TALLYSTICK_URL', '')
real = pytest.mark.skipif(not URL, reason='`npm run python` starts a server')
PAGE = Path(__file__).parents[3] / 'docs' / 'reference' / 'client-outcomes.md'
ROWS = [
    (int(status), again == 'yes', outcome == 'nothing done')
    for status, again, outcome in re.findall(r'^\| (\d{3}) \|[^|]*\| (yes)? ?\| (unknown|nothing done) \|$', PAGE.read_text(), re.M)
]
RETRIES = 1

CREATED = b'HTTP/1.1 201 Created\r\ncontent-type: application/json\r\n'
BODY = b'{"id":"rec_x","payload":{}}'
BROKEN = {
    'nothing at all': b'',
    'half a status line': b'HTTP/1.1 20',
    'half a head': CREATED + b'content-le',
    'a head only': CREATED + b'content-length: 27\r\n\r\n',
    'a body that is cut': CREATED + b'content-length: 77\r\n\r\n' + BODY,
    'a chunk that is cut': CREATED + b'transfer-encoding: chunked\r\n\r\n1b\r\n' + BODY[:9],
    'chunks without an end': CREATED + b'transfer-encoding: chunked\r\n\r\n1b\r\n' + BODY + b'\r\n',
    'a chunk of no length': CREATED + b'transfer-encoding: chunked\r\n\r\nxyz\r\n' + BODY,
    'half of it until the end': CREATED + b'connection: close\r\n\r\n' + BODY[:9],
    'a length that is too small': CREATED + b'content-length: 9\r\nconnection: close\r\n\r\n' + BODY,
    'two lengths': CREATED + b'content-length: 9\r\ncontent-length: 27\r\n\r\n' + BODY,
    'gzip that is none': CREATED + b'content-encoding: gzip\r\ncontent-length: 27\r\n\r\n' + BODY,
    'no HTTP': b'SSH-2.0-OpenSSH_9.2\r\n',
    '100, then nothing': b'HTTP/1.1 100 Continue\r\n\r\n',
    '103, then nothing': b'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n',
    '101': b'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n',
    'a status beyond 599': b'HTTP/1.1 999 X\r\nconnection: close\r\ncontent-length: 0\r\n\r\n',
}
FOREIGN = {
    'no content type': b'HTTP/1.1 201 Created\r\ncontent-length: 27\r\n\r\n' + BODY,
    'a type that begins alike': b'HTTP/1.1 201 Created\r\ncontent-type: application/jsonp\r\ncontent-length: 27\r\n\r\n' + BODY,
    'a list': CREATED + b'content-length: 2\r\n\r\n[]',
    'another object': CREATED + b'content-length: 27\r\n\r\n' + BODY,
}


@dataclass
class Proxy:
    """Forwards requests to the server, or answers instead of the server."""

    url: str = ''
    faults: list[tuple[bool, bytes, bool]] = field(default_factory=list)
    """(forwards, answer, resets), one for each of the next requests."""
    keys: list[str | None] = field(default_factory=list)

    def fail(self, *faults: tuple[bool, bytes, bool]) -> None:
        self.faults, self.keys = list(faults), []

    def answer(self, connection: socket.socket, _number: int, request: Request) -> None:
        self.keys.append(request.headers.get('idempotency-key'))
        forwards, answer, resets = self.faults.pop(0) if self.faults else (True, None, False)
        if forwards:
            headers = {name: value for name, value in request.headers.items() if name not in ('host', 'connection', 'content-length')}
            passed = httpx2.request(request.method, URL + request.target, headers=headers, content=request.body, trust_env=False)
            if answer is None:
                head = f'HTTP/1.1 {passed.status_code} X\r\ncontent-type: {passed.headers["content-type"]}'
                answer = f'{head}\r\ncontent-length: {len(passed.content)}\r\nconnection: close\r\n\r\n'.encode() + passed.content
        connection.sendall(answer or b'')
        if resets:
            time.sleep(0.01)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        raise Broken


@contextmanager
def world(flavour: str) -> Iterator[tuple[Proxy, Callable[..., Any], list[str]]]:
    """Yields a ledger behind a proxy. At the end, checks that the ledger has exactly the intended
    records.
    """
    proxy, meant = Proxy(), list[str]()
    with TallystickOperator(operator_key=os.environ['TALLYSTICK_OPERATOR_KEY']) as operator:
        key = operator.ledgers.create(name='behind a proxy').key.key

    def write(mark: str, *faults: tuple[bool, bytes, bool]) -> tuple[TallystickError | None, int]:
        """Notarizes a record. If the error allows a repeat, repeats the call as an application would.
        Returns the error of the first call, and the number of tries.
        """
        meant.append(mark)
        payload = {'mark': mark}
        proxy.fail(*faults)
        try:
            call(lambda client: client.records.notarize(payload=payload))
            return None, len(proxy.keys)
        except TallystickError as error:
            tries = len(proxy.keys)
            assert len(set(proxy.keys)) == 1
            again = {}
            if isinstance(error, UnknownOutcomeError):
                assert error.idempotency_key == proxy.keys[0]
                again = {'idempotency_key': error.idempotency_key}
            proxy.fail()
            call(lambda client: client.records.notarize(payload=payload, **again))
            return error, tries

    def call(of: Callable[[Any], Any]) -> Any:
        return ask(flavour, proxy.url, of, api_key=key, max_retries=RETRIES, retry_delays=QUICK)

    with hostile(proxy.answer) as server:
        proxy.url = server.base_url
        yield proxy, write, meant
    with Tallystick(api_key=key) as direct:
        found = [record.payload['mark'] for record in direct.records.list(limit=200) if record.payload]
    assert sorted(found) == sorted(meant)


def page_of(status: int) -> bytes:
    location = 'location: /elsewhere\r\n' if 300 <= status < 400 and status != 304 else ''
    body = '\r\n' if status in (204, 205, 304) else 'content-type: text/html\r\ncontent-length: 6\r\n\r\n<html>'
    return f'HTTP/1.1 {status} X\r\nconnection: close\r\n{location}{body}'.encode()


def problem(status: int, code: str) -> bytes:
    members = {'title': 'T', 'detail': 'd', 'requestId': 'req_1', 'status': status, 'code': code, 'retryable': status == 503}
    text = json.dumps(members)
    head = f'HTTP/1.1 {status} X\r\ncontent-type: Application/Problem+JSON; charset=utf-8\r\nconnection: close'
    return f'{head}\r\ncontent-length: {len(text)}\r\n\r\n{text}'.encode()


@real
@pytest.mark.parametrize('flavour', FLAVOURS)
def test_each_status_that_a_proxy_answers_for_a_server_that_committed(flavour: str) -> None:
    assert len(ROWS) >= 80
    with world(flavour) as (_, write, _meant):
        for status, again, nothing_done in ROWS:
            fault = (not nothing_done, page_of(status), False)
            error, tries = write(f'lasting {status}', *[fault] * (RETRIES + 1))
            assert isinstance(error, UnexpectedAnswerError), (status, error)
            found = (error.status, error.retryable, error.nothing_done, tries)
            assert found == (status, again, nothing_done, RETRIES + 1 if again else 1)
            if again:
                assert write(f'passing {status}', fault)[0] is None


@real
@pytest.mark.parametrize('flavour', FLAVOURS)
def test_each_way_in_which_an_answer_breaks(flavour: str) -> None:
    with world(flavour) as (_, write, _meant):
        for name, answer in BROKEN.items():
            for resets in (False, True):
                mark = f'{"reset" if resets else "close"} after {name}'
                error, tries = write(mark, *[(True, answer, resets)] * (RETRIES + 1))
                assert isinstance(error, UnknownOutcomeError) and error.retryable, (mark, error)
                assert tries == RETRIES + 1, mark
        for name, answer in FOREIGN.items():
            error, tries = write(name, (True, answer, False))
            assert isinstance(error, UnexpectedAnswerError) and not error.retryable and tries == 1, (name, error)


@real
@pytest.mark.parametrize('flavour', FLAVOURS)
def test_what_was_perhaps_done_stays_in_doubt(flavour: str) -> None:
    lost = (True, b'', True)
    with world(flavour) as (_, write, _meant):
        for status, code in [(503, 'unavailable'), (429, 'rate_limited'), (401, 'key_expired'), (403, 'ledger_frozen')]:
            error, _ = write(f'lost, then {code}', lost, (False, problem(status, code), False))
            assert isinstance(error, UnknownOutcomeError) and isinstance(error.__cause__, ApiError), (code, error)
            assert f'{code}: d' in str(error) and 'an earlier attempt had no answer; it is unknown whether it was written' in str(error)
            error, _ = write(f'only {code}', *[(False, problem(status, code), False)] * 2)
            assert isinstance(error, ApiError)
        error, _ = write('lost, then 429', lost, (False, page_of(429), False))
        assert isinstance(error, UnknownOutcomeError) and not error.nothing_done


NOW = 1_785_585_600.0
"""2026-08-01T12:00:00Z. The cases are those of test/proof/http-fields.test.ts."""


@pytest.mark.parametrize(
    ('lines', 'wait'),
    [
        (['120'], 120),
        (['0'], 0),
        ([' 12\t'], 12),
        (['1.5'], 1.5),
        (['999999999999999'], RETRY_AFTER_SECONDS_MAX),
        (['9' * 400], RETRY_AFTER_SECONDS_MAX),
        (['0' * 400], 0),
        (['Sat, 01 Aug 2026 12:01:30 GMT'], 90),
        (['Saturday, 01-Aug-26 12:01:30 GMT'], 90),
        (['Sat Aug  1 12:01:30 2026'], 90),
        (['Sat, 01 Aug 2026 11:00:00 GMT'], 0),
        (['Fri, 31 Dec 9999 23:59:59 GMT'], RETRY_AFTER_SECONDS_MAX),
        (['10, 30'], 30),
        (['10', '30'], 30),
        (['soon', '30'], 30),
        (['Sat, 01 Aug 2026 12:01:30 GMT', '5'], 90),
        *[([text], None) for text in ('', 'soon', '-5', '1e3', '0x10', '1.', '.5', '2026-08-01', 'Infinity', 'NaN', '١')],
        (['Xyz, 99 Foo 2026 25:61:61 GMT'], None),
        ([], None),
    ],
)
def test_retry_after_is_seconds_or_a_date_in_one_of_three_forms(lines: list[str], wait: float | None) -> None:
    assert retry_after_of(lines, NOW) == wait


def test_an_http_date_names_a_day_that_there_is() -> None:
    for text in ['Sun, 06 Nov 1994 08:49:37 GMT', 'Sunday, 06-Nov-94 08:49:37 GMT', 'Sun Nov  6 08:49:37 1994']:
        assert http_date_of(text, NOW) == 784_111_777
    # A year with two digits means the future if it is at most 50 years ahead. Otherwise it means
    # the past.
    assert http_date_of('Saturday, 01-Aug-76 00:00:00 GMT', NOW) == 3_363_465_600
    assert http_date_of('Saturday, 01-Aug-77 00:00:00 GMT', NOW) == 239_241_600
    for text in ['Sun, 31 Feb 2026 08:49:37 GMT', 'Sun, 06 Nov 1994 24:00:00 GMT', 'Sun, 06 Nov 1994 08:49:61 GMT', '1994-11-06']:
        assert http_date_of(text, NOW) is None


def test_a_media_type_has_no_case_and_no_parameters() -> None:
    assert media_type_of('Application/JSON; charset=utf-8') == media_type_of(' application/json ;x="a;b"') == 'application/json'
    assert media_type_of(None) == media_type_of('') == ''
