"""Records, notarized or gated, and the steps of gated records."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Unpack

from ..._core import operations as ops
from ..._core.limits import PAUSE_SECONDS, UNTIL_SECONDS, WAIT_SECONDS_MAX
from ..._core.operations import Operation
from ..._core.options import Call, CallOptions, RecordOptions, SearchOptions, StepOptions, WriteOptions, members, other_members
from ..._core.receipts import COSE, receipt_query
from ...errors import TallystickError
from ...types import EntryProof, ErasureAnswer, LedgerRecord, RecordHistoryEntry, RecordTree
from ..io import sleep
from ..listing import AsyncListing, listing
from ..transport import AsyncTransport

if TYPE_CHECKING:
    from ...types import RecordState, SharedWithParam

Moment = str | datetime
"""A time: RFC 3339, or a datetime with a time zone."""


class AsyncRecords:
    """Records, notarized or gated, and the steps of gated records."""

    def __init__(self, http: AsyncTransport) -> None:
        self._http = http

    async def notarize(
        self,
        *,
        payload: Mapping[str, Any],
        type: str = 'generic/1',
        metadata: Mapping[str, Any] | None = None,
        occurred_at: Moment | None = None,
        on_behalf_of: str | None = None,
        parent: str | None = None,
        references: Sequence[str] | None = None,
        subject: str | None = None,
        salt: str | None = None,
        **options: Unpack[RecordOptions],
    ) -> LedgerRecord:
        """`POST /v1/records`: notarizes a record, which is final at once. `generic/1` takes any object as `payload`.

        - `occurred_at`: RFC 3339, or a datetime with a time zone.
        - `references`: names of things elsewhere, such as `erp:order/7`.
        - `subject`: label of the person that the record is about, to find and erase that person's documents. Stored as a keyed hash.
        - `salt`: 16 bytes in base64url without padding; by default the server makes it.
        """
        body = members(
            type=type,
            payload=payload,
            metadata=metadata,
            occurred_at=occurred_at,
            on_behalf_of=on_behalf_of,
            parent=parent,
            references=references,
            subject=subject,
            salt=salt,
        )
        call = Call(body=body | other_members(options), gated=False, options=options)
        return await self._http.json(LedgerRecord, ops.POST_RECORDS, call)

    async def create(
        self,
        *,
        payload: Mapping[str, Any],
        type: str = 'task/1',
        performer: str | None = None,
        gate: Literal['principal', 'auto'] | None = None,
        deadline: Moment | None = None,
        max_revisions: int | None = None,
        tolerances: Mapping[str, Any] | None = None,
        share: Sequence[SharedWithParam] | None = None,
        metadata: Mapping[str, Any] | None = None,
        occurred_at: Moment | None = None,
        on_behalf_of: str | None = None,
        parent: str | None = None,
        references: Sequence[str] | None = None,
        subject: str | None = None,
        salt: str | None = None,
        **options: Unpack[RecordOptions],
    ) -> LedgerRecord:
        """`POST /v1/records`: creates a gated record, which commissions work. `task/1` takes any object as `payload`.

        The type decides: with a type that is not gated, such as `generic/1`, the record is notarized, as
        `notarize` does. With terms such as `performer` it is refused (`not_gated`).
        """
        body = members(
            type=type,
            payload=payload,
            performer=performer,
            gate=gate,
            deadline=deadline,
            max_revisions=max_revisions,
            tolerances=tolerances,
            share=share,
            metadata=metadata,
            occurred_at=occurred_at,
            on_behalf_of=on_behalf_of,
            parent=parent,
            references=references,
            subject=subject,
            salt=salt,
        )
        call = Call(body=body | other_members(options), gated=True, options=options)
        return await self._http.json(LedgerRecord, ops.POST_RECORDS, call)

    async def activate(
        self,
        id: str,
        *,
        peer: str | None = None,
        on_behalf_of: str | None = None,
        occurred_at: Moment | None = None,
        **options: Unpack[StepOptions],
    ) -> LedgerRecord:
        """`POST /v1/records/{id}/activate`: accepts the work, as its performer."""
        body = members(peer=peer, on_behalf_of=on_behalf_of, occurred_at=occurred_at)
        return await self._step(ops.POST_RECORDS_BY_ID_ACTIVATE, id, body, options)

    async def complete(
        self,
        id: str,
        *,
        evidence: Mapping[str, Any],
        peer: str | None = None,
        on_behalf_of: str | None = None,
        occurred_at: Moment | None = None,
        salt: str | None = None,
        **options: Unpack[StepOptions],
    ) -> LedgerRecord:
        """`POST /v1/records/{id}/completions`: delivers the work with its evidence."""
        body = members(evidence=evidence, peer=peer, on_behalf_of=on_behalf_of, occurred_at=occurred_at, salt=salt)
        return await self._step(ops.POST_RECORDS_BY_ID_COMPLETIONS, id, body, options)

    async def verdict(
        self,
        id: str,
        verdict: Literal['accept', 'reject'],
        *,
        reason: str | None = None,
        valid_until: Moment | None = None,
        on_behalf_of: str | None = None,
        occurred_at: Moment | None = None,
        salt: str | None = None,
        **options: Unpack[StepOptions],
    ) -> LedgerRecord:
        """`POST /v1/records/{id}/verdict`: accepts or rejects the delivery. `valid_until`: end of the settlement signal."""
        body = members(
            verdict=verdict,
            reason=reason,
            valid_until=valid_until,
            on_behalf_of=on_behalf_of,
            occurred_at=occurred_at,
            salt=salt,
        )
        return await self._step(ops.POST_RECORDS_BY_ID_VERDICT, id, body, options)

    async def request_revision(
        self,
        id: str,
        *,
        reason: str,
        on_behalf_of: str | None = None,
        occurred_at: Moment | None = None,
        salt: str | None = None,
        **options: Unpack[StepOptions],
    ) -> LedgerRecord:
        """`POST /v1/records/{id}/revision`: asks the performer to deliver again."""
        body = members(reason=reason, on_behalf_of=on_behalf_of, occurred_at=occurred_at, salt=salt)
        return await self._step(ops.POST_RECORDS_BY_ID_REVISION, id, body, options)

    async def cancel(
        self,
        id: str,
        *,
        reason: str,
        on_behalf_of: str | None = None,
        occurred_at: Moment | None = None,
        salt: str | None = None,
        **options: Unpack[StepOptions],
    ) -> LedgerRecord:
        """`POST /v1/records/{id}/cancel`: cancels work that was not delivered."""
        body = members(reason=reason, on_behalf_of=on_behalf_of, occurred_at=occurred_at, salt=salt)
        return await self._step(ops.POST_RECORDS_BY_ID_CANCEL, id, body, options)

    async def overturn(
        self,
        id: str,
        *,
        reason: str,
        valid_until: Moment | None = None,
        on_behalf_of: str | None = None,
        occurred_at: Moment | None = None,
        salt: str | None = None,
        **options: Unpack[StepOptions],
    ) -> LedgerRecord:
        """`POST /v1/records/{id}/overturn`: turns a rejection into an acceptance."""
        body = members(reason=reason, valid_until=valid_until, on_behalf_of=on_behalf_of, occurred_at=occurred_at, salt=salt)
        return await self._step(ops.POST_RECORDS_BY_ID_OVERTURN, id, body, options)

    async def share(
        self,
        id: str,
        share: Sequence[SharedWithParam],
        *,
        on_behalf_of: str | None = None,
        **options: Unpack[WriteOptions],
    ) -> LedgerRecord:
        """`POST /v1/records/{id}/share`: shares a gated record with peers, for good."""
        body = members(share=share, on_behalf_of=on_behalf_of)
        return await self._step(ops.POST_RECORDS_BY_ID_SHARE, id, body, options)

    async def _step(self, operation: Operation, id: str, body: dict[str, Any], options: CallOptions) -> LedgerRecord:
        return await self._http.json(LedgerRecord, operation, Call(params={'id': id}, body=body, options=options))

    async def get(self, id: str, *, peer: str | None = None, wait: float | None = None, **options: Unpack[CallOptions]) -> LedgerRecord:
        """`GET /v1/records/{id}`: returns a record.

        `wait`: seconds, at most 20. While only the worker can take the record's next step, the
        server delays its answer, but not longer than this.

        `peer`: returns the record that this peer sent. By default the ledger's own record of this
        id is returned. If the ledger has no such record, the record of the peer that sent this id
        first is returned.
        """
        call = Call(
            params={'id': id},
            query={'peer': peer, 'wait': wait},
            options=options,
            held_seconds=wait or 0.0,
        )
        return await self._http.json(LedgerRecord, ops.GET_RECORDS_BY_ID, call)

    async def until(
        self,
        id: str,
        states: Collection[RecordState],
        *,
        within: float = UNTIL_SECONDS,
        peer: str | None = None,
        **options: Unpack[CallOptions],
    ) -> LedgerRecord:
        """Waits until the record is in one of `states`, and returns the record. The server answers as
        soon as the record changes.

        Use it, for example, when a principal waits for the worker's verification. `within`: maximum
        wait in seconds. Raises TallystickError when this time is over, or when the record has ended
        in another state.
        """
        wanted = ' or '.join(states)
        end = time.monotonic() + within
        record = await self.get(id, peer=peer, **options)
        while record.state not in states:
            if not record.next_events:
                raise TallystickError(f'{id} has ended as {record.state}, and can never become {wanted}')
            left = end - time.monotonic()
            if left <= 0:
                next_events = ', '.join(record.next_events)
                raise TallystickError(
                    f'{id} is still {record.state} after {within:g} s, not {wanted}; possible next events: {next_events}',
                    retryable=True,
                )
            # The server accepts a `wait` with one decimal place.
            held = min(WAIT_SECONDS_MAX, max(0.1, round(left, 1)))
            call = Call(
                params={'id': id},
                query={'peer': peer, 'wait': held},
                options=options,
                known_version=record.version,
                held_seconds=held,
            )
            moved = await self._http.json_if_moved(LedgerRecord, ops.GET_RECORDS_BY_ID, call)
            if moved is None:
                await sleep(PAUSE_SECONDS)
            record = moved or record
        return record

    def list(
        self,
        *,
        type: str | None = None,
        state: RecordState | None = None,
        actor: str | None = None,
        on_behalf_of: str | None = None,
        performer: str | None = None,
        principal: str | None = None,
        parent: str | None = None,
        reference: str | None = None,
        trace_id: str | None = None,
        occurred_after: Moment | None = None,
        occurred_before: Moment | None = None,
        recorded_after: Moment | None = None,
        recorded_before: Moment | None = None,
        order: Literal['asc', 'desc'] | None = None,
        limit: int | None = None,
        **options: Unpack[SearchOptions],
    ) -> AsyncListing[LedgerRecord]:
        """`GET /v1/records`: lists records, newest first unless `order` is 'asc'. `limit`: maximum
        number of records per page.
        """
        query = members(
            type=type,
            state=state,
            actor=actor,
            on_behalf_of=on_behalf_of,
            performer=performer,
            principal=principal,
            parent=parent,
            reference=reference,
            trace_id=trace_id,
            occurred_after=occurred_after,
            occurred_before=occurred_before,
            recorded_after=recorded_after,
            recorded_before=recorded_before,
            order=order,
            limit=limit,
        )
        return listing(self._http, LedgerRecord, ops.GET_RECORDS, query | other_members(options), options)

    def entries(
        self, id: str, *, peer: str | None = None, limit: int | None = None, **options: Unpack[CallOptions]
    ) -> AsyncListing[RecordHistoryEntry]:
        """`GET /v1/records/{id}/entries`: lists the record's own entries, oldest first, with the documents of its steps."""
        query = members(peer=peer, limit=limit)
        return listing(self._http, RecordHistoryEntry, ops.GET_RECORDS_BY_ID_ENTRIES, query, options, {'id': id})

    async def tree(self, id: str, *, limit: int | None = None, cursor: str | None = None, **options: Unpack[CallOptions]) -> RecordTree:
        """`GET /v1/records/{id}/tree`: returns the record, its ancestors, and one page of its children."""
        call = Call(params={'id': id}, query=members(limit=limit, cursor=cursor), options=options)
        return await self._http.json(RecordTree, ops.GET_RECORDS_BY_ID_TREE, call)

    async def proof(
        self,
        id: str,
        *,
        seq: int | None = None,
        size: int | None = None,
        cosignatures: int | None = None,
        **options: Unpack[CallOptions],
    ) -> EntryProof:
        """`GET /v1/records/{id}/proof`: returns a proof of the record's first entry, or of its entry
        `seq`.

        No other file is needed to verify the proof. The server waits some seconds for a checkpoint
        that covers the entry.
        """
        query = members(seq=seq, size=size, cosignatures=cosignatures)
        call = Call(params={'id': id}, query=query, options=options)
        return await self._http.json(EntryProof, ops.GET_RECORDS_BY_ID_PROOF, call)

    async def receipt(
        self,
        id: str,
        *,
        seq: int | None = None,
        size: int | None = None,
        cosignatures: int | None = None,
        wait: float | None = None,
        statement: bool = True,
        **options: Unpack[CallOptions],
    ) -> bytes:
        """`GET /v1/records/{id}/receipt`: returns the entry with its COSE receipt, a file that
        verifies with the ledger's note key alone.

        With `statement=False`, returns the receipt without the entry. The server waits some seconds
        for a checkpoint that covers the entry.
        """
        query = members(seq=seq, **receipt_query(size, cosignatures, wait, statement))
        call = Call(params={'id': id}, query=query, options=options)
        return await self._http.bytes(ops.GET_RECORDS_BY_ID_RECEIPT, COSE, call)

    async def erase_payload(self, id: str, *, code: str, reason: str | None = None, **options: Unpack[WriteOptions]) -> ErasureAnswer:
        """`DELETE /v1/records/{id}/payload`: erases the payload for good. `remaining` of the answer names further erasable documents."""
        return await self._erase(ops.DELETE_RECORDS_BY_ID_PAYLOAD, {'id': id}, code, reason, options)

    async def erase_evidence(
        self, id: str, completion: str, *, code: str, reason: str | None = None, **options: Unpack[WriteOptions]
    ) -> ErasureAnswer:
        """`DELETE /v1/records/{id}/completions/{completion}/evidence`: erases the evidence for good."""
        params = {'id': id, 'completion': completion}
        operation = ops.DELETE_RECORDS_BY_ID_COMPLETIONS_BY_COMPLETION_EVIDENCE
        return await self._erase(operation, params, code, reason, options)

    async def erase_values(
        self, id: str, completion: str, *, code: str, reason: str | None = None, **options: Unpack[WriteOptions]
    ) -> ErasureAnswer:
        """`DELETE /v1/records/{id}/completions/{completion}/values`: erases the compared values for good."""
        params = {'id': id, 'completion': completion}
        operation = ops.DELETE_RECORDS_BY_ID_COMPLETIONS_BY_COMPLETION_VALUES
        return await self._erase(operation, params, code, reason, options)

    async def erase_reason(
        self, id: str, seq: int, *, code: str, reason: str | None = None, **options: Unpack[WriteOptions]
    ) -> ErasureAnswer:
        """`DELETE /v1/records/{id}/entries/{seq}/reason`: erases the reason for good."""
        params: dict[str, str | int] = {'id': id, 'seq': seq}
        return await self._erase(ops.DELETE_RECORDS_BY_ID_ENTRIES_BY_SEQ_REASON, params, code, reason, options)

    async def _erase(
        self,
        operation: Operation,
        params: Mapping[str, str | int],
        code: str,
        reason: str | None,
        options: CallOptions,
    ) -> ErasureAnswer:
        call = Call(params=params, body=members(code=code, reason=reason), options=options)
        return await self._http.json(ErasureAnswer, operation, call)
