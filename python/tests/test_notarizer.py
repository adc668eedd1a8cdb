"""The notarizer of threads on a real server: records arrive in order and exactly once, and memory
stays bounded, despite all faults.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from ledger import QUICK, URL, Ledger, Proxy, ledger, needs_server, proxy, until
from oracle import ROOT
from pydantic import BaseModel

from tallystick.errors import AuthenticationError, TallystickError, UsageError
from tallystick.notarizer import BufferFullError, NotRecordedError, RecordedBatch, SpoolError, SpoolInUseError, open_spool

__all__ = ['ledger', 'proxy']
pytestmark = needs_server
KILLS = 20
TYPESCRIPT = ['node', 'tools/run.mjs', 'test/system/python/spool.ts']


class Price(BaseModel):
    cents: int


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith('tallystick')]


def test_records_in_order_with_ids_for_tags_and_leaves_no_thread(ledger: Ledger) -> None:
    batches: list[RecordedBatch] = []
    with ledger.client.notarizer(on_recorded=batches.append, records_per_batch_max=100, linger_s=5) as notarizer:
        for i in range(450):
            notarizer.record({'i': i}, tag=f'tag {i}', metadata={'run': 1})
        assert threads() == ['tallystick-notarizer']
        notarizer.flush()
        assert notarizer.stats == (0, 0, 0, 450, 0, 0, None)
    assert threads() == []
    records = ledger.records()
    assert [record['payload']['i'] for record in records] == list(range(450))
    told = [(record['tag'], record['id']) for batch in batches for record in batch.records]
    assert told == [(f'tag {i}', record['id']) for i, record in enumerate(records)]
    assert [len(batch.records) for batch in batches] == [100, 100, 100, 100, 50]
    with pytest.raises(UsageError):
        notarizer.record({'i': 451})


def test_parents_are_named_by_handles_within_a_batch_and_beyond(ledger: Ledger, tmp_path: Path) -> None:
    for spool in (None, tmp_path / 'a'):
        before = len(ledger.records())
        with ledger.client.notarizer(spool=spool and open_spool(spool), records_per_batch_max=3, in_flight_max=3) as notarizer:
            notarizer.record({'i': 0}, handle='first')
            for i in range(1, 10):
                notarizer.record({'i': i}, parent_handle='first' if i < 9 else 'never-seen')
        first, *others, last = sorted(ledger.records()[before:], key=lambda record: record['payload']['i'])
        assert {record['parent'] for record in others} == {first['id']}
        assert last['parent'] is None
    with ledger.client.notarizer(spool=open_spool(tmp_path / 'a')) as notarizer:
        notarizer.record({'i': 10}, parent_handle='first')
    assert ledger.records()[-1]['parent'] == first['id']


def test_a_full_queue_refuses_and_ready_waits_for_room(ledger: Ledger, proxy: Proxy) -> None:
    proxy.refuse()
    notarizer = ledger.connect(proxy.url).notarizer(buffered_records_max=50, records_per_batch_max=10, on_error=lambda _: None, **QUICK)
    for i in range(50):
        notarizer.record({'i': i})
    with pytest.raises(BufferFullError, match='50 records'):
        notarizer.record({'i': 50})
    with pytest.raises(NotRecordedError):
        notarizer.ready(0.05)
    threading.Timer(0.1, proxy.accept).start()
    for i in range(50, 120):
        notarizer.ready()
        notarizer.record({'i': i})
    notarizer.close()
    assert ledger.numbers() == list(range(120))


def test_a_server_that_is_away_at_the_start_and_comes_back_gets_everything_once(ledger: Ledger) -> None:
    proxy = Proxy(is_up=False)
    errors: list[TallystickError] = []
    notarizer = ledger.connect(proxy.url).notarizer(on_error=errors.append, **QUICK)
    notarizer.record({'i': 0})
    until(lambda: len(errors) > 2)
    with pytest.raises(NotRecordedError, match=r'1 records are not recorded yet, because: .*no connection'):
        notarizer.flush(0.05)
    proxy.accept()
    notarizer.flush()
    proxy.lose_answers(2)
    for i in range(1, 30):
        notarizer.record({'i': i})
        time.sleep(0.001)
    notarizer.close()
    assert ledger.numbers() == list(range(30))
    assert notarizer.stats.failures == len(errors) > 3
    assert all(error.retryable for error in errors) and notarizer.stats.last_error is None
    proxy.close()


def test_a_slow_server_delays_neither_record_nor_close_beyond_its_time(ledger: Ledger, proxy: Proxy, tmp_path: Path) -> None:
    proxy.hold()
    notarizer = ledger.connect(proxy.url, timeout=1.0).notarizer(spool=open_spool(tmp_path), on_error=lambda _: None, **QUICK)
    began = time.monotonic()
    for i in range(200):
        notarizer.record({'i': i})
    assert time.monotonic() - began < 0.5
    with pytest.raises(NotRecordedError, match='200 records'):
        notarizer.close(0.2)
    assert time.monotonic() - began < 0.9
    with pytest.raises(SpoolInUseError):
        open_spool(tmp_path)
    until(lambda: threads() == [])  # the attempt in flight ends by its own timeout
    proxy.resume()
    with ledger.client.notarizer(spool=open_spool(tmp_path)):
        pass
    assert ledger.numbers() == list(range(200))


def test_what_only_people_can_mend_is_told_at_once_and_kept(ledger: Ledger) -> None:
    key = ledger.post('/v1/keys', {'name': 'late', 'scopes': ['records:write']})
    given = 'tly_' + '0' * 60
    notarizer = ledger.connect(URL, api_key=lambda: given).notarizer(on_error=lambda _: None, **(QUICK | {'blocked_delay_s': 60}))
    notarizer.record({'i': 0})
    with pytest.raises(AuthenticationError):
        notarizer.flush(5)
    given = key['key']
    notarizer.close(5)  # `close` tries the record again at once
    assert ledger.numbers() == [0]


def test_a_refused_record_is_taken_out_of_its_batch_and_the_rest_is_recorded(ledger: Ledger, tmp_path: Path) -> None:
    refused: list[tuple[dict[str, Any], str]] = []
    notarizer = ledger.client.notarizer(
        spool=open_spool(tmp_path), on_refused=lambda record, error: refused.append((record, getattr(error, 'code', ''))), **QUICK
    )
    notarizer.record({'i': 0})
    notarizer.record({'i': 1}, type='unheard/1', tag='of')
    notarizer.record({'i': 2}, occurred_at='yesterday')
    notarizer.record({'i': 3}, type='unheard/1')
    notarizer.record({'i': 4})
    notarizer.close()
    assert ledger.numbers() == [0, 4]
    assert sorted((record['payload']['i'], record.get('tag'), code) for record, code in refused) == [
        (1, 'of', 'unknown_type'),
        (2, None, 'invalid_request'),
        (3, None, 'unknown_type'),
    ]
    kept = [json.loads(line) for line in (tmp_path / 'refused.ndjson').read_text().splitlines()]
    assert sorted(each['record']['payload']['i'] for each in kept) == [1, 2, 3]
    assert notarizer.stats.refused == 3


def test_refuses_what_json_would_change(ledger: Ledger) -> None:
    with ledger.client.notarizer() as notarizer:
        deep: list[Any] = []
        for _ in range(40):
            deep = [deep]
        for wrong in (float('nan'), {1: 'a'}, 2**53 + 1, '\ud800', 'a\0', {'a'}, deep, 'x' * 70_000, notarizer):
            with pytest.raises(UsageError, match='/payload'):
                notarizer.record({'member': wrong})
        for options in ({'handle': 'a b'}, {'parent': 'rec_x', 'parent_handle': 'h'}, {'traceparent': '00-0'}, {'tag': 'x' * 256}):
            with pytest.raises(UsageError):
                notarizer.record({}, **options)  # type: ignore[arg-type]
        at = datetime(2026, 11, 28, 10, tzinfo=timezone(timedelta(hours=1)))
        notarizer.record({'i': 1, 'at': at, 'model': Price(cents=3)}, occurred_at=at)
        notarizer.record({'i': 0, 'large': 10**20, 'escaped': '\\u0000', 'pair': '😀', 'tuple': (1, None)})
    first, second = ledger.records()
    assert first['payload'] == {'i': 1, 'at': '2026-11-28T09:00:00.000Z', 'model': {'cents': 3}}
    assert first['occurredAt'] == '2026-11-28T09:00:00.000Z'
    assert second['payload'] == {'i': 0, 'large': 1e20, 'escaped': '\\u0000', 'pair': '😀', 'tuple': [1, None]}


def test_a_process_that_ends_waits_for_what_is_not_sent(ledger: Ledger) -> None:
    program = "from tallystick import Tallystick\nTallystick().notarizer(linger_s=60).record({'i': 7})"
    subprocess.run([sys.executable, '-c', program], env=environment(ledger), check=True, timeout=60)
    assert ledger.numbers() == [7]


def test_forks_under_load_lose_and_double_nothing(ledger: Ledger) -> None:
    program = Path(__file__).with_name('forking_agent.py')
    subprocess.run([sys.executable, program], env=environment(ledger), check=True, timeout=120)
    found = [(record['payload']['who'], record['payload']['i']) for record in ledger.records()]
    assert sorted(found) == sorted([('parent', i) for i in range(400)] + [(f'child {n}', i) for n in range(8) for i in range(50)])


def test_an_agent_that_is_killed_again_and_again_loses_and_doubles_nothing(ledger: Ledger, tmp_path: Path) -> None:
    taken, unsure = 0, set()
    for kill in range(KILLS):
        agent = subprocess.Popen(
            [sys.executable, Path(__file__).with_name('spool_agent.py'), tmp_path, str(taken)],
            env=environment(ledger),
            stdout=subprocess.PIPE,
            text=True,
        )
        assert agent.stdout is not None and agent.stdout.readline() == 'began\n'
        time.sleep(0.02 + 0.01 * (kill % 7))
        agent.kill()
        said = agent.stdout.read().splitlines()
        agent.wait()
        # `record` has returned for all numbers below the last printed number. The last number may
        # have been accepted too.
        unsure.add(taken := max([taken, *map(int, said)]))
        taken += 1
    with ledger.client.notarizer(spool=open_spool(tmp_path)) as notarizer:
        notarizer.flush()
    numbers = ledger.numbers()
    assert taken > KILLS * 2
    assert numbers == sorted(set(numbers))
    assert set(range(taken)) - set(numbers) <= unsure


def test_what_typescript_wrote_is_sent_by_python_and_the_other_way_round(ledger: Ledger, tmp_path: Path) -> None:
    run(ledger, 'write', tmp_path / 'theirs', '25')
    tags: list[str | None] = []
    with ledger.client.notarizer(
        spool=open_spool(tmp_path / 'theirs'), on_recorded=lambda batch: tags.extend(record.get('tag') for record in batch.records)
    ):
        pass
    records = ledger.records()
    assert tags == [*(f'tag "{i}"' for i in range(25)), None]
    assert [record['payload']['i'] for record in records] == list(range(26))
    assert records[0]['payload']['text'] == 'Käse "\\ 😀' and records[-1]['parent'] == records[0]['id']

    away = Proxy(is_up=False)
    notarizer = ledger.connect(away.url).notarizer(spool=open_spool(tmp_path / 'ours'), on_error=lambda _: None, **QUICK)
    for i in range(26, 50):
        notarizer.record({'i': i, 'text': 'Käse "\\ 😀'}, tag=f'tag "{i}"', handle=f'h{i}', parent_handle='h26' if i == 40 else None)
    with pytest.raises(NotRecordedError):
        notarizer.close(0.05)
    until(lambda: threads() == [])
    said = json.loads(run(ledger, 'send', tmp_path / 'ours'))
    assert said['tags'] == [f'tag "{i}"' for i in range(26, 50)]
    records = ledger.records()
    assert [record['payload']['i'] for record in records] == list(range(50))
    assert records[40]['parent'] == records[26]['id']


def test_a_lock_is_the_same_in_both_languages(ledger: Ledger, tmp_path: Path) -> None:
    spool = open_spool(tmp_path)
    with pytest.raises(subprocess.CalledProcessError) as failed:
        run(ledger, 'send', tmp_path)
    assert 'is in use by process' in failed.value.stderr
    spool.close()
    run(ledger, 'send', tmp_path)


def test_a_spool_is_of_one_agent(ledger: Ledger, tmp_path: Path) -> None:
    with ledger.client.notarizer(spool=open_spool(tmp_path)) as notarizer:
        notarizer.record({'i': 0})
    other = ledger.post('/v1/keys', {'name': 'other', 'scopes': ['records:write']})
    stranger = ledger.connect(URL, api_key=other['key']).notarizer(spool=open_spool(tmp_path), on_error=lambda _: None)
    stranger.record({'i': 1})
    with pytest.raises(SpoolError, match=f'has records of the agent {ledger.agent}'):
        stranger.close(5)
    with ledger.client.notarizer(spool=open_spool(tmp_path)):
        pass
    assert ledger.numbers() == [0, 1]


def environment(ledger: Ledger) -> dict[str, str]:
    return {**os.environ, 'TALLYSTICK_API_KEY': ledger.key, 'PYTHONPATH': str(ROOT / 'python' / 'src')}


def run(ledger: Ledger, *arguments: str | Path) -> str:
    command = [*TYPESCRIPT, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, env=environment(ledger), capture_output=True, text=True, check=True, timeout=60).stdout


def test_a_record_of_a_finalizer_in_the_middle_of_another_one_is_sent_after_it(ledger: Ledger) -> None:
    notarizer = ledger.client.notarizer(**QUICK)
    take = notarizer._core.take

    def interrupted(measured: Any) -> None:
        # Calls `record` while `take` runs, as a finalizer could during garbage collection.
        if notarizer._late or notarizer.stats.buffered == 0:
            notarizer.record({'i': 1})
        take(measured)

    notarizer._core.take = interrupted  # type: ignore[method-assign]
    notarizer.record({'i': 0})
    notarizer._core.take = take  # type: ignore[method-assign]
    notarizer.close()
    assert ledger.numbers() == [0, 1]
