"""Checkpoints: signed notes of the ledger's size and tree."""

from __future__ import annotations

from typing import Final, Unpack

from ..._core import operations as ops
from ..._core.options import Call, CallOptions, members
from ..._core.receipts import COSE
from ...errors import ConflictError
from ...types import CheckpointPlace, ConsistencyProof
from ..listing import AsyncListing, listing
from ..transport import AsyncTransport

NOTE: Final = 'text/plain'
PENDING: Final = 'checkpoint_pending'


class AsyncCheckpoints:
    """Checkpoints: signed notes of the ledger's size and tree.

    A checkpoint that you store elsewhere reveals every later change of the entries before it.
    """

    def __init__(self, http: AsyncTransport) -> None:
        self._http = http

    async def latest(self, *, cosignatures: int | None = None, **options: Unpack[CallOptions]) -> str | None:
        """`GET /v1/checkpoints/latest`: returns the newest checkpoint. Returns None if the ledger has
        no checkpoint yet, because it was created only seconds ago.

        `cosignatures`: returns the newest checkpoint with at least this many cosignatures of
        witnesses, or None if there is no such checkpoint.
        """
        call = Call(query={'cosignatures': cosignatures}, options=options, unretried=(PENDING,))
        try:
            return (await self._http.bytes(ops.GET_CHECKPOINTS_LATEST, NOTE, call)).decode()
        except ConflictError as error:
            if error.code == PENDING:
                return None
            raise

    async def get(self, size: int, **options: Unpack[CallOptions]) -> str:
        """`GET /v1/checkpoints/{size}`: returns the checkpoint of this size. Raises NotFoundError if
        there is no such checkpoint.
        """
        call = Call(params={'size': size}, options=options)
        return (await self._http.bytes(ops.GET_CHECKPOINTS_BY_SIZE, NOTE, call)).decode()

    def list(self, *, limit: int | None = None, **options: Unpack[CallOptions]) -> AsyncListing[CheckpointPlace]:
        """`GET /v1/checkpoints`: lists the sizes of the checkpoints, newest first."""
        return listing(self._http, CheckpointPlace, ops.GET_CHECKPOINTS, members(limit=limit), options)

    async def consistency(self, from_size: int, to_size: int, **options: Unpack[CallOptions]) -> ConsistencyProof:
        """`GET /v1/checkpoints/consistency`: returns a proof that the tree of `to_size` begins with the tree of `from_size`.

        The server waits some seconds for a checkpoint of `to_size`.
        """
        call = Call(query={'from': from_size, 'to': to_size}, options=options)
        return await self._http.json(ConsistencyProof, ops.GET_CHECKPOINTS_CONSISTENCY, call)

    async def consistency_receipt(self, from_size: int, to_size: int | None = None, **options: Unpack[CallOptions]) -> bytes:
        """`GET /v1/checkpoints/consistency/receipt`: returns the proof of `consistency` as a COSE
        receipt.

        `to_size`: size of a published checkpoint; by default the newest.
        """
        call = Call(query={'from': from_size, 'to': to_size}, options=options)
        return await self._http.bytes(ops.GET_CHECKPOINTS_CONSISTENCY_RECEIPT, COSE, call)
