# Made by `npm run python:generate`; not to be edited.
"""The methods of the client, answering a RawResponse."""

from __future__ import annotations

from .client import AsyncTallystick
from .raw_call import raw
from .resources.batches import AsyncBatches
from .resources.records import AsyncRecords


class AsyncBatchesWithRawResponse:
    def __init__(self, wrapped: AsyncBatches) -> None:
        self.notarize = raw(wrapped.notarize)


class AsyncRecordsWithRawResponse:
    def __init__(self, wrapped: AsyncRecords) -> None:
        self.notarize = raw(wrapped.notarize)
        self.create = raw(wrapped.create)
        self.activate = raw(wrapped.activate)
        self.complete = raw(wrapped.complete)
        self.verdict = raw(wrapped.verdict)
        self.request_revision = raw(wrapped.request_revision)
        self.cancel = raw(wrapped.cancel)
        self.overturn = raw(wrapped.overturn)
        self.share = raw(wrapped.share)
        self.get = raw(wrapped.get)
        self.until = raw(wrapped.until)
        self.tree = raw(wrapped.tree)
        self.proof = raw(wrapped.proof)
        self.receipt = raw(wrapped.receipt)
        self.erase_payload = raw(wrapped.erase_payload)
        self.erase_evidence = raw(wrapped.erase_evidence)
        self.erase_values = raw(wrapped.erase_values)
        self.erase_reason = raw(wrapped.erase_reason)


class AsyncTallystickWithRawResponse:
    def __init__(self, wrapped: AsyncTallystick) -> None:
        self.records = AsyncRecordsWithRawResponse(wrapped.records)
        self.batches = AsyncBatchesWithRawResponse(wrapped.batches)
