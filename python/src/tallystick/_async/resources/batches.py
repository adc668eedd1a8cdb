"""Batches: many records in one entry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

from ..._core import operations as ops
from ..._core.options import Call, WriteOptions
from ...types import Batch
from ..transport import AsyncTransport

if TYPE_CHECKING:
    from ...types import BatchItemParam


class AsyncBatches:
    """Batches: many records in one entry, under one signature."""

    def __init__(self, http: AsyncTransport) -> None:
        self._http = http

    async def notarize(self, records: Sequence[BatchItemParam], **options: Unpack[WriteOptions]) -> Batch:
        """`POST /v1/records/batch`: notarizes all records or none. The answer lists the records in the
        order of `records`.

        The members of an item have the server's names: `{'type': 'order/1', 'payload': {…},
        'occurredAt': …}`. `type` is required. `parent` is a record's id, or the index (from 0) of
        an earlier item in this list.
        """
        body: dict[str, Any] = {'records': list(records)}
        return await self._http.json(Batch, ops.POST_RECORDS_BATCH, Call(body=body, options=options))
