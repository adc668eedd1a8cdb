"""Streams that break off, end early or never begin, and calls that are cancelled."""

from __future__ import annotations

import asyncio
import builtins
import json
import os
import time
from typing import Any

import httpx2
import pytest
from hostile import AGENT, API_KEY, FLAVOURS, QUICK, Broken, Hostile, ask, collect, hostile, send_json, send_problem

from tallystick import AsyncTallystick, ConnectionError, Tallystick, TimeoutError, UnexpectedAnswerError, UsageError
from tallystick._core.answers import Asked
from tallystick._core.lines import Lines, WholeExport
from tallystick._core.operations import GET_LEDGER, POST_AGENTS
from tallystick._core.options import Call
from tallystick._core.sse import SseParser, SseTooLongError

NDJSON = 'application/x-ndjson'
HEAD = b'HTTP/1.1 200 OK\r\ncontent-type: %s\r\ntransfer-encoding: chunked\r\n\r\n'
both = pytest.mark.parametrize('flavour', FLAVOURS)


def begin(connection: Any, media_type: str, *pieces: bytes) -> None:
    connection.sendall(HEAD % media_type.encode())
    for piece in pieces:
        connection.sendall(b'%x\r\n%s\r\n' % (len(piece), piece))


def entry(seq: int) -> bytes:
    line = {
        'seq': seq,
        'kind': 'record-notarized',
        'recordedAt': 't',
        'leaf': 'l',
        'chain': 'c',
        'envelope': 'e',
        'documents': [],
        'items': None,
    }
    return json.dumps(line).encode() + b'\n'


def event(number: int, cursor: str) -> bytes:
    data = {'id': f'evt_{number}', 'type': 'something.new', 'timestamp': 't', 'data': {'n': number}}
    return f'event: something.new\nid: {cursor}\nretry: 1\ndata: {json.dumps(data)}\n\n'.encode()


@both
def test_entries_go_on_behind_the_last_one_when_the_connection_breaks(flavour: str) -> None:
    def answer(connection: Any, number: int, _request: Any) -> None:
        if number == 1:
            begin(connection, NDJSON, entry(0), entry(1) + entry(2)[:20])
        elif number == 2:
            begin(connection, NDJSON, entry(2), b'')
            return
        raise Broken

    with hostile(answer) as server:
        found = collect(flavour, server.base_url, lambda client: client.entries.stream())
    assert [line.seq for line in found] == [0, 1, 2]
    assert [request.target for request in server.requests] == ['/v1/entries', '/v1/entries?after=1']


@both
def test_entries_that_break_off_without_progress_are_given_up(flavour: str) -> None:
    def answer(connection: Any, _number: int, _request: Any) -> None:
        begin(connection, NDJSON)
        raise Broken

    with hostile(answer) as server, pytest.raises(ConnectionError):
        collect(flavour, server.base_url, lambda client: client.entries.stream(max_retries=2))
    assert len(server.requests) == 3


@both
def test_an_entry_out_of_its_place_is_none(flavour: str) -> None:
    with (
        hostile(lambda connection, *_: begin(connection, NDJSON, entry(0), entry(0), b'')) as server,
        pytest.raises(UnexpectedAnswerError, match='something else than entry 1'),
    ):
        collect(flavour, server.base_url, lambda client: client.entries.stream())


@both
def test_a_tail_of_entries_asks_again_at_the_head(flavour: str) -> None:
    def answer(connection: Any, number: int, _request: Any) -> None:
        begin(connection, NDJSON, entry(number - 1), b'')

    with hostile(answer) as server:
        assert len(collect(flavour, server.base_url, lambda client: client.entries.tail(), max=2)) == 2


@both
@pytest.mark.parametrize('pieces', [[b'{"seq":0}\n'], [b'{"seq":0}\n{"checkpoint":1}'], []])
def test_an_export_that_is_not_whole_ends_with_an_error(flavour: str, pieces: list[bytes]) -> None:
    with (
        hostile(lambda connection, *_: begin(connection, NDJSON, *pieces, b'')) as server,
        pytest.raises(UnexpectedAnswerError, match='before the export'),
    ):
        collect(flavour, server.base_url, lambda client: client.exports.stream())


@both
def test_a_whole_export_is_passed_on_in_pieces_of_any_size(flavour: str) -> None:
    text = b'{"seq":0}\n{"checkpoint":{}}\n'
    pieces = [text[at : at + 1] for at in range(len(text))]
    with hostile(lambda connection, *_: begin(connection, NDJSON, *pieces, b'')) as server:
        assert b''.join(collect(flavour, server.base_url, lambda client: client.exports.stream())) == text


@both
def test_a_stream_that_falls_silent_is_given_up_in_time(flavour: str) -> None:
    def answer(connection: Any, _number: int, _request: Any) -> None:
        begin(connection, NDJSON, b'{"seq":0}\n')
        time.sleep(2)

    with hostile(answer) as server:
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            collect(flavour, server.base_url, lambda client: client.exports.stream(timeout=0.3))
        assert time.monotonic() - began < 1.5


@both
def test_a_tail_of_events_goes_on_behind_the_last_one_however_often_it_breaks(flavour: str) -> None:
    def answer(connection: Any, number: int, _request: Any) -> None:
        if number == 5:
            send_problem(connection, 503, 'overloaded', {'retry_after': '0'})
        begin(connection, 'text/event-stream', b': hello\n\n', event(number, f'c{number}'))
        raise Broken

    with hostile(answer) as server:
        found = collect(flavour, server.base_url, lambda client: client.events.tail(from_='beginning'), max=9)
    assert [(each.event.data['n'], each.cursor) for each in found][:3] == [(1, 'c1'), (2, 'c2'), (3, 'c3')]
    assert len({each.event.id for each in found}) == 9
    targets = [request.target for request in server.requests]
    assert targets[:2] == ['/v1/events?from=beginning', '/v1/events?cursor=c1']
    assert all(request.headers['accept'] == 'text/event-stream' for request in server.requests)


@both
def test_a_tail_of_a_revoked_key_ends(flavour: str) -> None:
    from tallystick import AuthenticationError

    def answer(connection: Any, number: int, _request: Any) -> None:
        if number == 1:
            begin(connection, 'text/event-stream', event(1, 'c1'))
            raise Broken
        send_problem(connection, 401, 'unauthenticated')

    with hostile(answer) as server, pytest.raises(AuthenticationError):
        collect(flavour, server.base_url, lambda client: client.events.tail())


@both
def test_the_connections_of_a_given_client_stay_open_and_those_of_a_closed_one_are_refused(flavour: str) -> None:
    with hostile(lambda connection, *_: send_json(connection, AGENT)) as server:
        made = httpx2.Client() if flavour == 'sync' else httpx2.AsyncClient()
        assert ask(flavour, server.base_url, lambda client: client.agents.get('agt_1'), http_client=made).id == 'agt_1'
        assert not made.is_closed

        def after_its_end(client: Any) -> Any:
            client.close()
            return client.agents.get('agt_1')

        if flavour == 'sync':
            with pytest.raises(UsageError, match='closed'):
                ask(flavour, server.base_url, after_its_end)


def test_a_cancelled_call_ends_at_once_and_its_client_goes_on() -> None:
    def answer(connection: Any, number: int, _request: Any) -> None:
        if number == 1:
            time.sleep(5)
        elif number == 2:
            send_problem(connection, 503, 'overloaded', {'retry_after': '30'})
        else:
            send_json(connection, AGENT)

    async def run(server: Hostile) -> float:
        async with AsyncTallystick(base_url=server.base_url, api_key=API_KEY, retry_delays=QUICK) as client:
            began = time.monotonic()
            for number in (1, 2):
                # The first call is cancelled while it waits for the answer, the second while it
                # waits for its next attempt.
                task = asyncio.create_task(client.agents.get('agt_1'))
                while len(server.requests) < number:
                    await asyncio.sleep(0.01)
                await asyncio.sleep(0.1)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            assert (await client.agents.get('agt_1')).id == 'agt_1'
            return time.monotonic() - began

    with hostile(answer) as server:
        assert asyncio.run(run(server)) < 4


def test_a_timeout_of_the_caller_is_the_caller_s() -> None:
    async def run(base_url: str) -> None:
        async with AsyncTallystick(base_url=base_url, api_key=API_KEY) as client, asyncio.timeout(0.3):
            await client.agents.get('agt_1')

    with hostile(lambda *_: time.sleep(2)) as server, pytest.raises(builtins.TimeoutError):
        asyncio.run(run(server.base_url))


def test_a_cancelled_reader_of_a_stream_closes_the_connection() -> None:
    gone = []

    def answer(connection: Any, _number: int, _request: Any) -> None:
        begin(connection, 'text/event-stream', event(1, 'c1'))
        connection.settimeout(5)
        gone.append(connection.recv(1) == b'')

    async def run(base_url: str) -> None:
        async with AsyncTallystick(base_url=base_url, api_key=API_KEY) as client:

            async def read() -> None:
                async for _ in client.events.tail():
                    pass

            task = asyncio.create_task(read())
            await asyncio.sleep(0.3)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    with hostile(answer) as server:
        asyncio.run(run(server.base_url))
        for _ in range(100):
            if gone:
                break
            time.sleep(0.02)
    assert gone == [True]


@pytest.mark.skipif(not hasattr(os, 'fork'), reason='needs fork')
@pytest.mark.filterwarnings('ignore:This process:DeprecationWarning')
def test_a_forked_process_has_connections_of_its_own() -> None:
    with (
        hostile(lambda connection, *_: send_json(connection, {**AGENT, 'name': str(id(connection))})) as server,
        Tallystick(base_url=server.base_url, api_key=API_KEY) as client,
    ):
        first = client.agents.get('agt_1').name
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(write, client.agents.get('agt_1').name.encode())
            os._exit(0)
        os.waitpid(child, 0)
        assert os.read(read, 100).decode() != first
        assert client.agents.get('agt_1').name == first
        os.close(read)
        os.close(write)


class Signer:
    """A signer that first reads the ledger from the server."""

    def __init__(self) -> None:
        self.signed = 0
        self.forgot = 0

    def sign(self, client: object, operation: Any, call: Call) -> Any:
        if operation is not POST_AGENTS:
            return None
        ledger = yield GET_LEDGER, Call()
        self.signed += 1
        return {**(call.body or {}), 'envelope': f'{ledger["id"]} {self.signed}'}

    def forget(self, client: object) -> None:
        self.forgot += 1


@both
def test_a_request_is_signed_anew_under_the_same_key_when_it_came_too_late(flavour: str) -> None:
    def answer(connection: Any, _number: int, request: Any) -> None:
        if request.target == '/v1/ledger':
            send_json(connection, {'id': 'led_1'})
        elif request.json['envelope'].endswith('1'):
            send_problem(connection, 422, 'signed_time_refused')
        else:
            send_json(connection, AGENT)

    signer = Signer()
    with hostile(answer) as server:
        ask(flavour, server.base_url, lambda client: client.agents.register(name='a'), signer=signer)
    sent = [request for request in server.requests if request.method == 'POST']
    assert [request.json['envelope'] for request in sent] == ['led_1 1', 'led_1 2']
    assert sent[0].headers['idempotency-key'] == sent[1].headers['idempotency-key']


@both
def test_a_signer_that_is_somebody_else_by_now_is_told(flavour: str) -> None:
    def answer(connection: Any, _number: int, request: Any) -> None:
        if request.target == '/v1/ledger':
            send_json(connection, {'id': 'led_1'})
        else:
            send_problem(connection, 422, 'statement_mismatch')

    signer = Signer()
    from tallystick import InvalidRequestError

    with hostile(answer) as server, pytest.raises(InvalidRequestError):
        ask(flavour, server.base_url, lambda client: client.agents.register(name='a'), signer=signer)
    assert (signer.signed, signer.forgot) == (1, 1)


def test_events_are_parsed_in_pieces_of_any_size() -> None:
    text = '\ufeff: c\r\nevent: a\rdata: 1\ndata:2\nid: x\n\ndata\n\nid: y\n\nretry: 12\nretry: no\ndata: ü\n\ndata: cut'.encode()
    for size in (1, 2, 3, 7, 1000):
        parser = SseParser(1000)
        found = [one for at in range(0, len(text), size) for one in parser.push(text[at : at + size])]
        assert [(one.type, one.data, one.last_event_id) for one in found] == [
            ('a', '1\n2', 'x'),
            ('message', '', 'x'),
            ('message', 'ü', 'y'),
        ]
        assert parser.retry_ms == 12 and parser.last_event_id == 'y'
    for endless in (b'x' * 1001, b'data: 12345678\n' * 120):
        with pytest.raises(SseTooLongError):
            SseParser(1000).push(endless)


def test_lines_without_an_end_are_refused() -> None:
    asked = Asked('GET /', None, True)
    lines = Lines(asked, 10)
    assert lines.push(b'a\nb') == [b'a'] and lines.push(b'c\n\nd') == [b'bc', b'']
    with pytest.raises(UnexpectedAnswerError, match='in the middle of a line'):
        lines.end()
    with pytest.raises(UnexpectedAnswerError, match='more than 10 bytes'):
        lines.push(b'x' * 10)
    whole = WholeExport(asked)
    whole.push(b'{"checkpoint":{}}\n{"other":')
    with pytest.raises(UnexpectedAnswerError):
        whole.end()
