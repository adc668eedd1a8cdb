"""The client against a server with a worker, which `npm run python` starts."""

from __future__ import annotations

import asyncio
import json
import os
import random
import threading
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tallystick import (
    AsyncTallystick,
    AuthenticationError,
    ConflictError,
    InvalidRequestError,
    NotFoundError,
    Tallystick,
    TallystickError,
    TallystickOperator,
    UsageError,
)
from tallystick.types import BatchItemParam, RecordEvent, SignalEvent
from tallystick.verify import Trust, open_lines, verify_export
from tallystick.verify.proof import OfflineTrust, verify_proof
from tallystick.webhooks import SignalError, SignalExpiredError, verify_signal

pytestmark = pytest.mark.skipif('TALLYSTICK_URL' not in os.environ, reason='`npm run python` starts a server')


@pytest.fixture
def client() -> Iterator[Tallystick]:
    """A client of a new ledger."""
    with TallystickOperator(operator_key=os.environ['TALLYSTICK_OPERATOR_KEY']) as operator:
        made = operator.ledgers.create(name='asked from Python')
    with Tallystick(api_key=made.key.key) as client:
        yield client


def test_a_record_is_notarized_read_back_and_verified(client: Tallystick, tmp_path: Path) -> None:
    record = client.records.notarize(payload={'tool': 'search', 'n': [1, 2.5, None, 'ü']}, references=['erp:order/1'])
    assert (record.state, record.version, record.type) == ('RECORDED', 1, 'generic/1')
    found = client.records.get(record.id)
    assert found.payload == {'tool': 'search', 'n': [1, 2.5, None, 'ü']} and found.references == ['erp:order/1']
    assert json.loads(found.to_json()) == found.to_dict()
    proof = client.records.proof(record.id)
    assert verify_proof(proof.to_json().encode(), OfflineTrust(), found.to_json().encode()).record_same
    with client.exports.stream() as export, (tmp_path / 'ledger.ndjson').open('wb') as file:
        for piece in export:
            file.write(piece)
    kid = bytes.fromhex(client.key_document().keys[0].kid)
    with open_lines(str(tmp_path / 'ledger.ndjson')) as lines:
        report = verify_export(lines, Trust(kids=[kid]))
    assert report.records == 1


def test_a_batch_is_one_entry_and_an_item_may_have_another_one_as_its_parent(client: Tallystick) -> None:
    items: list[BatchItemParam] = [{'type': 'generic/1', 'payload': {'n': n}} for n in range(3)]
    batch = client.batches.notarize([*items, {'type': 'generic/1', 'payload': {'n': 3}, 'parent': 0}])
    assert len(batch.records) == 4
    assert client.records.get(batch.records[3].id).parent == batch.records[0].id
    assert [record.id for record in client.records.list(order='asc', limit=2)] == [made.id for made in batch.records]
    with pytest.raises(InvalidRequestError):
        client.batches.notarize([])


def test_work_is_agreed_delivered_judged_and_settled_once(client: Tallystick) -> None:
    key = client.keys.create(name='worker', scopes=['records:write', 'records:read'])
    assert key.key not in repr(key)
    with Tallystick(api_key=key.key) as worker:
        order = client.records.create(payload={'write': 'a report'}, performer=key.agent)
        worker.records.activate(order.id)
        worker.records.complete(order.id, evidence={'pages': 3})
        verified = client.records.until(order.id, ['VERIFIED', 'DISCREPANT'])
        with pytest.raises(ConflictError) as caught:
            client.records.verdict(order.id, 'accept', if_version=1)
        assert caught.value.version == verified.version and caught.value.state == 'VERIFIED'
        judged = client.records.verdict(order.id, 'accept', if_version=verified.version)
        assert judged.gated is not None and judged.gated.verdict is not None and judged.state == 'ACCEPTED'
        with pytest.raises(TallystickError, match='can never become CANCELLED'):
            client.records.until(order.id, ['CANCELLED'])
    assert [entry.kind for entry in client.records.entries(order.id)][-1] == 'verdict-rendered'
    assert client.records.tree(order.id).record.id == order.id
    for tailed in client.events.tail(from_='beginning', events=['signal.emitted']):
        assert isinstance(tailed.event, SignalEvent)
        break
    ledger, keys = client.ledger.get().id, client.key_document()
    signal = verify_signal(tailed.event, keys=keys, ledger=ledger)
    assert (signal.decision, signal.once) == ('SETTLE', f'{order.id}/{judged.version}')
    told = tailed.event.to_dict()
    told['data']['record']['version'] = 9
    forged: list[tuple[str, Any, dict[str, Any]]] = [
        ('event_contradicts_envelope', told, {}),
        ('ledger_foreign', tailed.event, {'ledger': 'led_other'}),
        ('key_unknown', tailed.event, {'keys': []}),
        ('key_compromised', tailed.event, {'keys': [{**keys.keys[0].to_dict(), 'compromisedAt': 't'}]}),
        ('event_syntax', {}, {}),
    ]
    for code, event, more in forged:
        with pytest.raises(SignalError) as refused:
            verify_signal(event, **{'keys': keys, 'ledger': ledger, **more})
        assert refused.value.code == code


def test_a_signal_that_is_too_old_is_not_acted_upon(client: Tallystick) -> None:
    from datetime import UTC, datetime, timedelta

    key = client.keys.create(name='worker', scopes=['records:write', 'records:read'])
    with Tallystick(api_key=key.key) as worker:
        order = client.records.create(payload={}, performer=key.agent)
        worker.records.activate(order.id)
        worker.records.complete(order.id, evidence={})
    client.records.until(order.id, ['VERIFIED'])
    soon = datetime.now(UTC) + timedelta(hours=1)
    client.records.verdict(order.id, 'accept', valid_until=soon)
    event = next(client.events.tail(from_='beginning', events=['signal.emitted'])).event
    given: dict[str, Any] = {'keys': client.key_document(), 'ledger': client.ledger.get().id}
    assert verify_signal(event, **given)  # type: ignore[arg-type]
    with pytest.raises(SignalExpiredError) as caught:
        verify_signal(event, **given, now=soon + timedelta(seconds=1))  # type: ignore[arg-type]
    assert caught.value.signal.decision == 'SETTLE'


class Lossy(httpx2.HTTPTransport):
    """Drops half of the answers of a real server."""

    def __init__(self) -> None:
        super().__init__()
        self.lost = 0

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        response = super().handle_request(request)
        if random.random() < 0.5:
            response.close()
            self.lost += 1
            raise httpx2.ReadError('the answer was lost', request=request)
        return response


def test_lost_answers_double_nothing(client: Tallystick) -> None:
    transport = Lossy()
    key = client.keys.create(name='lossy', scopes=['records:write'])
    with (
        httpx2.Client(transport=transport) as http,
        Tallystick(api_key=key.key, http_client=http, max_retries=60, retry_delays=(0.0, 0.01)) as lossy,
    ):
        made = {lossy.records.notarize(payload={'n': n}).id for n in range(25)}
        batch = lossy.batches.notarize([{'type': 'generic/1', 'payload': {'n': n}} for n in range(25, 30)])
    assert transport.lost > 3
    found = list(client.records.list(limit=7))
    assert {record.id for record in found} == made | {record.id for record in batch.records}
    assert sorted((record.payload or {})['n'] for record in found) == list(range(30))


def test_threads_share_a_client(client: Tallystick) -> None:
    ids: list[str] = []
    threads = [threading.Thread(target=lambda: ids.append(client.records.notarize(payload={}).id)) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(ids)) == 16 and client.ledger.get().size >= 16


def test_the_asynchronous_client_does_the_same(client: Tallystick) -> None:
    key = client.keys.create(name='async', scopes=['records:write', 'records:read', 'audit:read'])

    async def run() -> None:
        async with AsyncTallystick(api_key=key.key) as tallystick:
            made = await asyncio.gather(*(tallystick.records.notarize(payload={'n': n}) for n in range(20)))
            listed = [record async for record in tallystick.records.list(limit=7)]
            assert {record.id for record in listed} == {record.id for record in made}
            entries = [entry.seq async for entry in tallystick.entries.stream(after=0, limit=5)]
            assert entries == [1, 2, 3, 4, 5]
            lines = [entry async for entry in tallystick.entries.stream()]
            times = [datetime.fromisoformat(entry.recorded_at) for entry in lines]
            for time in (times[0], times[-1], times[len(times) // 2], times[-1] + timedelta(seconds=1)):
                first = next((i for i, at in enumerate(times) if at >= time), len(times))
                assert await tallystick.entries.first_since(time, len(lines)) == first
            with pytest.raises(UsageError):
                await tallystick.entries.first_since(datetime(2026, 1, 1), len(lines))
            assert (await tallystick.records.get(made[0].id)).id == made[0].id
            async for tailed in tallystick.events.tail(from_='beginning', events=['record.recorded']):
                assert isinstance(tailed.event, RecordEvent)
                break
            async with await tallystick.exports.stream() as export:
                assert sum([len(piece) async for piece in export]) > 1000
            with pytest.raises(NotFoundError):
                await tallystick.records.get(made[0].id[:-1] + ('0' if made[0].id[-1] != '0' else '1'))

    asyncio.run(run())


def test_types_agents_keys_and_webhooks_are_managed(client: Tallystick) -> None:
    made = client.types.register(
        name='order', version=1, payload_schema={'type': 'object', 'required': ['sku']}, evidence_schema={'type': 'object'}
    )
    assert made.gated and client.types.get('order/1').digest == made.digest
    assert not client.types.preview('order/1', payload={}).valid
    assert 'order/1' in [each.type for each in client.types.list()]
    agent = client.agents.register(name='reader')
    key = client.keys.create(name='reading', scopes=['records:read'], agent=agent.id)
    assert client.keys.set_rate_limit(key.id, {'requestsPerSecond': 5, 'burst': 9}).rate_limit is not None
    assert client.keys.set_rate_limit(key.id, None).rate_limit is None
    rotated = client.keys.rotate(key.id, overlap_seconds=0)
    assert rotated.key != key.key and client.keys.get(key.id).agent == agent.id
    client.keys.revoke(key.id)
    with Tallystick(api_key=rotated.key) as revoked, pytest.raises(AuthenticationError):
        for _ in range(100):
            revoked.records.list().page()
            threading.Event().wait(0.1)
    assert client.agents.disable(agent.id).disabled_at is not None
    hook = client.webhooks.create(url='https://example.com/hook', events=['record.recorded'])
    assert client.webhooks.update(hook.id, description='mine').description == 'mine'
    assert client.webhooks.update(hook.id, events=['*']).description == 'mine'
    assert client.webhooks.update(hook.id, description=None).description is None
    assert client.webhooks.pause(hook.id).state == 'paused' and client.webhooks.resume(hook.id).state == 'active'
    assert client.webhooks.deliveries(hook.id).to_list(5) == []
    client.webhooks.delete(hook.id)
    assert list(client.webhooks.list()) == []


def test_payloads_are_erased_and_the_ledger_still_verifies(client: Tallystick) -> None:
    record = client.records.notarize(payload={'name': 'somebody'})
    erased = client.records.erase_payload(record.id, code='retention', reason='its time is over')
    assert erased.erasure.code == 'retention' and client.records.get(record.id).payload is None
    audit = client.audits.run()
    assert audit.ok is True and client.audits.get(audit.id).state == audit.state


def test_checkpoints_peers_statements_and_ledgers_are_read(client: Tallystick) -> None:
    client.records.notarize(payload={})
    assert client.entries.proof(1).entry.seq == 1
    note = client.checkpoints.latest()
    assert note is not None and len(client.entries.receipt(1)) > 100
    size = int(note.split('\n')[1])
    assert client.checkpoints.get(size) == note and size in [each.size for each in client.checkpoints.list()]
    assert len(client.checkpoints.consistency(1, size).to_json()) > 100
    assert len(client.checkpoints.consistency_receipt(1)) > 50
    peer = client.peers.invite(name='them')
    assert peer.invitation is not None and client.peers.revoke(peer.id).state == 'revoked'
    assert client.statements.list().to_list(1) == []
    with pytest.raises(NotFoundError):
        client.statements.policy()
    with TallystickOperator(operator_key=os.environ['TALLYSTICK_OPERATOR_KEY']) as operator:
        ledger = client.ledger.get().id
        assert operator.ledgers.freeze(ledger).closed is not None
        assert operator.ledgers.unfreeze(ledger).closed is None
        assert operator.ledgers.set_tiles(ledger, 'public').tiles == 'public'
        assert operator.health.ready().status == 'ready'
