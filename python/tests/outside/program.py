"""A program of a user. It is run and type-checked against the installed package."""

from __future__ import annotations

import asyncio
import os

import tallystick
from tallystick import AsyncTallystick, ConflictError, Tallystick, TallystickError
from tallystick.types import BatchItemParam, LedgerRecord, RecordEvent


def use() -> str:
    with Tallystick(timeout=20, max_retries=2) as client:
        record: LedgerRecord = client.records.notarize(payload={'n': 1}, references=['erp:order/1'], idempotency_key=f'mine-{os.getpid()}')
        items: list[BatchItemParam] = [{'type': 'generic/1', 'payload': {'n': 2}, 'occurredAt': '2026-11-20T12:00:00.000Z'}]
        ids: list[str] = [made.id for made in client.batches.notarize(items).records]
        found: LedgerRecord = client.records.get(record.id)
        listed: list[LedgerRecord] = client.records.list(state='RECORDED', limit=5).to_list(50)
        assert found.id == record.id and len(listed) >= 2 and ids[0] != record.id
        for tailed in client.events.tail(from_='beginning', events=['record.recorded']):
            if isinstance(tailed.event, RecordEvent):
                version: int = tailed.event.data.record.version
                assert version == 1
            break
        try:
            client.records.cancel(record.id, reason='x', if_version=1)
        except ConflictError as error:
            state: str | None = error.state
            print(state)
        except TallystickError as error:
            retryable: bool = error.retryable
            assert not retryable
        return record.id


async def use_async() -> str:
    async with AsyncTallystick() as client:
        task = asyncio.create_task(client.records.notarize(payload={'n': 3}))
        record = await task
        found: list[str] = [each.id async for each in client.records.list()]
        assert record.id in found
        return (await client.records.get(record.id)).id


if __name__ == '__main__':
    assert tallystick.__version__
    print(use(), asyncio.run(use_async()))
