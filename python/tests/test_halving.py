"""An intermediary refuses a request because of its contents or its size. One record is set aside, and
the others are recorded.
"""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
from ledger import QUICK, URL, Ledger, ledger, needs_server

from tallystick.errors import ApiError, TallystickError, UnexpectedAnswerError
from tallystick.notarizer import open_spool
from tallystick.notarizer.delivery import Delivery
from tallystick.notarizer.effects import Ask, OnDisk
from tallystick.notarizer.handles import MemoryHandles
from tallystick.notarizer.items import make_item
from tallystick.notarizer.options import parse_limits
from tallystick.notarizer.reports import Reports
from tallystick.notarizer.segments import Refused, Segment

__all__ = ['ledger']
STATUSES = [400, 403, 404, 405, 406, 409, 410, 413, 415, 418, 422, 431, 451, 494, 501]


class Crash(BaseException):
    """Simulates the end of the process."""


class World(NamedTuple):
    """A ledger, an intermediary that refuses, and a disk. The process may end at any step; another process then continues."""

    records: int = 5
    poisoned: Sequence[int] = ()
    status: int = 403
    mended_at: int = 1_000_000
    """Number of the request from which on the firewall refuses nothing."""
    is_late: bool = False
    """True: the firewall judges answers, so the server has already written the records that the firewall refuses."""
    bytes_max: int = 1_000_000
    size_status: int = 413
    invalid: Sequence[int] = ()
    outage: tuple[int, int] = (0, 0)
    crashes: Sequence[int] = ()


class Model:
    is_durable = True
    has_room = True
    used_bytes = 0
    bytes_max = 1

    def __init__(self, world: World) -> None:
        self.world = world
        self.handles = MemoryHandles()
        self.segments: Sequence[Segment] = [Segment('a' * 32, [make_item({'i': i}, now=0).item for i in range(world.records)])]
        self.records = world.records
        self.written: list[int] = []
        self.refused: list[Refused] = []
        self.is_removed = False
        self.sent = 0
        self._steps = 0
        self._requests: dict[str, tuple[bytes, dict[str, Any]]] = {}

    def run(self) -> set[int]:
        """Runs deliveries until the batch is removed. Returns the numbers of the records that were set
        aside.
        """
        while not self.is_removed:
            delivery = Delivery(self, parse_limits(QUICK), Reports({'on_error': lambda _: None, 'on_refused': lambda *_: None}))  # type: ignore[arg-type]
            effects = delivery.deliver(self, ())  # type: ignore[arg-type]
            try:
                effect = next(effects)
                while True:
                    try:
                        result = self._do(effect)
                    except Exception as error:
                        effect = effects.throw(error)
                    else:
                        effect = effects.send(result)
            except (StopIteration, Crash):
                pass
        return {json.loads(one.item.text)['payload']['i'] for one in self.refused}

    def _do(self, effect: Any) -> Any:
        if isinstance(effect, OnDisk):
            return effect.work()
        if not isinstance(effect, Ask):
            return None
        if effect.content is None:
            return {'id': 'led_1', 'key': {'agent': 'agt_1'}}
        return self._answer(effect.content, effect.idempotency_key or '')

    def _answer(self, body: bytes, key: str) -> Any:
        world = self.world
        self._step()
        numbers = [record['payload']['i'] for record in json.loads(body)['records']]
        at, self.sent = self.sent, self.sent + 1
        if world.outage[0] <= at < sum(world.outage):
            raise _page(world.status)
        if len(body) > world.bytes_max:
            raise _page(world.size_status)
        is_poisoned = at < world.mended_at and any(i in world.poisoned for i in numbers)
        if is_poisoned and not world.is_late:
            raise _page(world.status)
        if not numbers:
            raise _problem('invalid_request', path='/records')
        for index, i in enumerate(numbers):
            if i in world.invalid:
                raise _problem('payload_invalid', index=index)
        if key not in self._requests:
            self.written += numbers
            records = [{'id': f'rec_{i:026d}'} for i in numbers]
            self._requests[key] = (body, {'batch': 'bat_1', 'entry': {'seq': 1}, 'records': records})
        before, answer = self._requests[key]
        self._step()
        if is_poisoned:
            raise _page(world.status)
        if before != body:
            raise _problem('idempotency_key_reused')
        return answer

    def _step(self) -> None:
        self._steps += 1
        if self._steps in self.world.crashes:
            raise Crash

    def claim(self, owner: object) -> None:
        pass

    def read(self) -> Sequence[Segment]:
        return self.segments

    def replace(self, segments: Sequence[Segment]) -> None:
        self._step()
        self.segments = segments
        self._step()

    def refuse(self, refused: Sequence[Refused]) -> None:
        self._step()
        self.refused += refused

    def remove(self) -> None:
        self._step()
        self.is_removed = True


def _page(status: int) -> TallystickError:
    return UnexpectedAnswerError('a page', retryable=False, idempotency_key=None, status=status)


def _problem(code: str, **members: Any) -> ApiError:
    problem: Mapping[str, Any] = {'title': '', 'detail': 'no', 'requestId': 'req_0', 'retryable': False, 'status': 422, 'code': code}
    return ApiError({**problem, **members})


def test_none_is_lost_and_none_doubled_whatever_is_refused_and_wherever_the_process_ends() -> None:
    draw = random.Random(36)
    for _ in range(400):
        records = draw.randint(1, 24)
        some = lambda most, records=records: draw.sample(range(records), min(records, draw.randint(0, most)))  # noqa: E731
        world = World(
            records=records,
            poisoned=some(4),
            status=draw.choice(STATUSES),
            is_late=draw.random() < 0.5,
            bytes_max=draw.choice([300, 700, 1_000_000]),
            size_status=draw.choice([403, 413, 414, 431]),
            invalid=some(2),
            outage=(draw.randint(0, 10), draw.randint(0, 5)),
            crashes=draw.sample(range(60), draw.randint(0, 5)),
        )
        model = Model(world)
        aside = model.run()
        assert len(set(model.written)) == len(model.written), world
        assert set(model.written) | aside == set(range(records)), world
        if not world.is_late:
            bad = {*world.poisoned, *world.invalid}
            assert (aside, set(model.written)) == (bad, set(range(records)) - bad), world


def test_one_of_1000_is_found_by_few_requests() -> None:
    model = Model(World(records=1_000, poisoned=[617]))
    assert model.run() == {617}
    assert len(model.written) == 999
    assert model.sent < 50


def test_after_100_records_in_a_row_that_were_set_aside_the_next_ones_wait() -> None:
    model = Model(World(records=120, poisoned=range(120), mended_at=1_500))
    assert len(model.run()) == 100
    assert model.written == list(range(100, 120))


def test_nothing_is_set_aside_while_everything_is_refused() -> None:
    for status in (400, 403, 404, 413):
        model = Model(World(status=status, outage=(0, 30)))
        assert model.run() == set()
        assert model.written == [0, 1, 2, 3, 4]


Refuse = Callable[[bytes], int | None]


@pytest.fixture
def picky() -> Iterator[Callable[[Refuse], str]]:
    """Returns a function that starts a proxy. If `refuse` returns a status for a request's body, the
    proxy itself answers with this status and an HTML page.
    """
    servers: list[ThreadingHTTPServer] = []

    def start(refuse: Refuse) -> str:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get('content-length', 0)))
                status = refuse(body)
                if status is not None:
                    self._send(status, 'text/html', b'<html>refused</html>')
                    return
                headers = {
                    name: self.headers[name] for name in ('authorization', 'content-type', 'idempotency-key') if name in self.headers
                }
                answer = httpx2.request(self.command, URL.rstrip('/') + self.path, content=body, headers=headers, timeout=60)
                self._send(answer.status_code, answer.headers['content-type'], answer.content)

            do_GET = do_POST

            def _send(self, status: int, kind: str, content: bytes) -> None:
                self.send_response(status)
                self.send_header('content-type', kind)
                self.send_header('content-length', str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        server.daemon_threads = True
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f'http://127.0.0.1:{server.server_address[1]}'

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@needs_server
@pytest.mark.parametrize('kind', ['contents', 'size'])
def test_a_proxy_refuses_one_of_3000_records_and_the_others_are_recorded(
    ledger: Ledger, picky: Callable[[Refuse], str], tmp_path: Path, kind: str
) -> None:
    is_size = kind == 'size'
    status = 413 if is_size else 403
    url = picky(lambda body: status if (len(body) > 20_000 if is_size else b'<script>' in body) else None)
    refused: list[tuple[dict[str, Any], TallystickError]] = []
    errors: list[TallystickError] = []
    with ledger.connect(url).notarizer(
        spool=open_spool(tmp_path / 'spool'),
        on_refused=lambda record, error: refused.append((record, error)),
        on_error=errors.append,
        **QUICK,
    ) as notarizer:
        for i in range(3_000):
            notarizer.ready()
            bad = {'text': 'x' * 30_000} if is_size else {'page': '<script>'}
            notarizer.record({'i': i, **(bad if i == 1_234 else {})}, handle=f'h{i}', parent_handle='h1234' if i == 1_235 else None)
    assert ledger.numbers() == [i for i in range(3_000) if i != 1_234]
    assert notarizer.stats.recorded == 2_999
    assert notarizer.stats.refused == 1
    [(record, error)] = refused
    assert record['payload']['i'] == 1_234
    assert isinstance(error, UnexpectedAnswerError)
    advice = 'let the proxy accept bodies of 1.1 MB' if is_size else 'let the firewall pass bodies'
    assert f'answers {status} to this record' in str(error)
    assert advice in str(error)
    assert len([error for error in errors if 'sent in halves' in str(error)]) == int(is_size)
    line = json.loads((tmp_path / 'spool' / 'refused.ndjson').read_text())
    assert (line['problem']['status'], line['record']['payload']['i']) == (status, 1_234)


@needs_server
def test_a_firewall_that_blocks_all_lets_nothing_be_set_aside(ledger: Ledger, picky: Callable[[Refuse], str]) -> None:
    mended = threading.Event()
    url = picky(lambda _: None if mended.is_set() else 403)
    notarizer = ledger.connect(url).notarizer(on_error=lambda _: None, **QUICK)
    for i in range(50):
        notarizer.record({'i': i})
    with pytest.raises(UnexpectedAnswerError, match=r'requests without records are refused too, so all records wait: .* 403 '):
        notarizer.flush()
    assert notarizer.stats.refused == 0
    mended.set()
    notarizer.close()
    assert ledger.numbers() == list(range(50))
