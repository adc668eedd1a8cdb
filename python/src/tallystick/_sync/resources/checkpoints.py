# Made by `npm run python -- generate`; not to be edited.
"""Signed notes of how many entries the ledger has, and of their tree."""

from __future__ import annotations

from typing import Final, Unpack

from ..._core import operations as ops
from ..._core.options import Call, CallOptions, members
from ..._core.receipts import COSE
from ...errors import ConflictError
from ...types import CheckpointPlace, ConsistencyProof
from ..listing import Listing, listing
from ..transport import Transport

NOTE: Final = 'text/plain'
PENDING: Final = 'checkpoint_pending'


class Checkpoints:
    """Signed notes of how many entries the ledger has, and of their tree: keep one elsewhere, and nothing before it can be changed."""

    def __init__(self, http: Transport) -> None:
        self._http = http

    def latest(self, *, cosignatures: int | None = None, **options: Unpack[CallOptions]) -> str | None:
        """`GET /v1/checkpoints/latest`: the newest note; None in the first seconds of a ledger, which has none yet. `cosignatures`: the
        newest one that so many witnesses have cosigned; None where there is none.
        """
        call = Call(query={'cosignatures': cosignatures}, options=options, unretried=(PENDING,))
        try:
            return (self._http.bytes(ops.GET_CHECKPOINTS_LATEST, NOTE, call)).decode()
        except ConflictError as error:
            if error.code == PENDING:
                return None
            raise

    def get(self, size: int, **options: Unpack[CallOptions]) -> str:
        """`GET /v1/checkpoints/{size}`: the note of just that many entries; NotFoundError where none was published."""
        call = Call(params={'size': size}, options=options)
        return (self._http.bytes(ops.GET_CHECKPOINTS_BY_SIZE, NOTE, call)).decode()

    def list(self, *, limit: int | None = None, **options: Unpack[CallOptions]) -> Listing[CheckpointPlace]:
        """`GET /v1/checkpoints`: their sizes, newest first."""
        return listing(self._http, CheckpointPlace, ops.GET_CHECKPOINTS, members(limit=limit), options)

    def consistency(self, from_size: int, to_size: int, **options: Unpack[CallOptions]) -> ConsistencyProof:
        """`GET /v1/checkpoints/consistency`: proves that the ledger of `to_size` entries begins with that of `from_size`. Waits some
        seconds for a checkpoint that covers it.
        """
        call = Call(query={'from': from_size, 'to': to_size}, options=options)
        return self._http.json(ConsistencyProof, ops.GET_CHECKPOINTS_CONSISTENCY, call)

    def consistency_receipt(self, from_size: int, to_size: int | None = None, **options: Unpack[CallOptions]) -> bytes:
        """`GET /v1/checkpoints/consistency/receipt`: the same as a COSE receipt. `to_size`: the size of a published checkpoint; absent:
        the newest one.
        """
        call = Call(query={'from': from_size, 'to': to_size}, options=options)
        return self._http.bytes(ops.GET_CHECKPOINTS_CONSISTENCY_RECEIPT, COSE, call)
