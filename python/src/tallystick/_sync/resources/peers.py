# Made by `npm run python -- generate`; not to be edited.
"""Ledgers of other servers that the ledger shares records with."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

from ..._core import operations as ops
from ..._core.answers import wrong_server
from ..._core.limits import POLL_GROWTH, POLL_SECONDS_MAX, POLL_SECONDS_MIN, UNTIL_SECONDS
from ..._core.operations import Operation
from ..._core.options import Call, CallOptions, WriteOptions, members
from ...errors import TallystickError
from ...types import (
    NewPeer,
    Peer,
    PeerDeadLetter,
    PeerFork,
    PeerReconciliation,
    PeerReplay,
    SharedRecord,
    SharedRecordWithType,
)
from ..io import sleep
from ..listing import Listing, listing
from ..transport import Transport

if TYPE_CHECKING:
    from ...types import BudgetParam


class Peers:
    """Ledgers of other servers that the ledger shares records with. To share one: `share` of `records.create`, or `records.share`.

    `invite` and `accept` take no idempotency key, and are not repeated: where an answer is lost, look at `list`.
    """

    def __init__(self, http: Transport) -> None:
        self._http = http

    def invite(self, *, name: str, **options: Unpack[CallOptions]) -> NewPeer:
        """`POST /v1/peers`: an `invitation` for the other side's administrator, by a way that both trust: its holder can become the
        peer. `name`: theirs, as it is called here.
        """
        made = self._http.json(NewPeer, ops.POST_PEERS, Call(body={'name': name}, options=options))
        if not isinstance(made.invitation, str):
            raise wrong_server('the server answered without an invitation')
        return made

    def accept(self, *, name: str, invitation: str, **options: Unpack[CallOptions]) -> NewPeer:
        """`POST /v1/peers` with their invitation: the worker carries it out, and `state` says when it has."""
        call = Call(body={'name': name, 'invitation': invitation}, options=options)
        return self._http.json(NewPeer, ops.POST_PEERS, call)

    def list(self, *, limit: int | None = None, **options: Unpack[CallOptions]) -> Listing[Peer]:
        """`GET /v1/peers`: in the order in which they were invited."""
        return listing(self._http, Peer, ops.GET_PEERS, members(limit=limit), options)

    def get(self, id: str, **options: Unpack[CallOptions]) -> Peer:
        """`GET /v1/peers/{id}`: `drain` says how far it has heard, and how it answers."""
        return self._http.json(Peer, ops.GET_PEERS_BY_ID, Call(params={'id': id}, options=options))

    def suspend(self, id: str, *, code: str | None = None, **options: Unpack[WriteOptions]) -> Peer:
        """`POST /v1/peers/{id}/suspend`: nothing is sent, and nothing taken, until it is resumed."""
        return self._change(ops.POST_PEERS_BY_ID_SUSPEND, id, members(code=code), options)

    def resume(self, id: str, *, code: str | None = None, **options: Unpack[WriteOptions]) -> Peer:
        """`POST /v1/peers/{id}/resume`."""
        return self._change(ops.POST_PEERS_BY_ID_RESUME, id, members(code=code), options)

    def revoke(self, id: str, *, code: str | None = None, **options: Unpack[WriteOptions]) -> Peer:
        """`POST /v1/peers/{id}/revoke`: for good; the other side is told."""
        return self._change(ops.POST_PEERS_BY_ID_REVOKE, id, members(code=code), options)

    def set_budget(self, id: str, budget: BudgetParam | None, **options: Unpack[CallOptions]) -> Peer:
        """`PUT /v1/peers/{id}/budget`: the bytes that this side stores for it in 24 hours; None: the default of every peer."""
        return self._change(ops.PUT_PEERS_BY_ID_BUDGET, id, {'budget': budget}, options)

    def _change(self, operation: Operation, id: str, body: dict[str, Any], options: CallOptions) -> Peer:
        return self._http.json(Peer, operation, Call(params={'id': id}, body=body, options=options))

    def records(self, id: str, *, limit: int | None = None, **options: Unpack[CallOptions]) -> Listing[SharedRecord]:
        """`GET /v1/peers/{id}/records`: records shared with it, both ways."""
        return listing(self._http, SharedRecord, ops.GET_PEERS_BY_ID_RECORDS, members(limit=limit), options, {'id': id})

    def record(self, id: str, record: str, **options: Unpack[CallOptions]) -> SharedRecordWithType:
        """`GET /v1/peers/{id}/records/{record}`: with the definition of its type, where that came along."""
        call = Call(params={'id': id, 'record': record}, options=options)
        return self._http.json(SharedRecordWithType, ops.GET_PEERS_BY_ID_RECORDS_BY_RECORD, call)

    def dead_letters(self, id: str, *, limit: int | None = None, **options: Unpack[CallOptions]) -> Listing[PeerDeadLetter]:
        """`GET /v1/peers/{id}/dead-letters`: entries that the other side refused for good. Later entries of those records wait."""
        operation = ops.GET_PEERS_BY_ID_DEAD_LETTERS
        return listing(self._http, PeerDeadLetter, operation, members(limit=limit), options, {'id': id})

    def replay(self, id: str, *, seqs: Sequence[int] | None = None, **options: Unpack[CallOptions]) -> int:
        """`POST /v1/peers/{id}/replay`: sends dead letters again, all or those of `seqs`, and those that wait behind them; how many."""
        call = Call(params={'id': id}, body=members(seqs=seqs), options=options)
        return (self._http.json(PeerReplay, ops.POST_PEERS_BY_ID_REPLAY, call)).replayed

    def forks(self, id: str, *, limit: int | None = None, **options: Unpack[CallOptions]) -> Listing[PeerFork]:
        """`GET /v1/peers/{id}/forks`: entries, signed by the other side, that contradict what it sent before."""
        return listing(self._http, PeerFork, ops.GET_PEERS_BY_ID_FORKS, members(limit=limit), options, {'id': id})

    def reconciliation(self, id: str, **options: Unpack[CallOptions]) -> PeerReconciliation:
        """`GET /v1/peers/{id}/reconciliation`: compares the exchanged entries with those that the other side last said it holds."""
        call = Call(params={'id': id}, options=options)
        return self._http.json(PeerReconciliation, ops.GET_PEERS_BY_ID_RECONCILIATION, call)

    def reconcile(self, id: str, *, within: float = UNTIL_SECONDS, **options: Unpack[CallOptions]) -> PeerReconciliation:
        """`POST /v1/peers/{id}/reconciliation`: the same, after the other side was asked anew; its answer is waited for, `within` so many
        seconds. Raises TallystickError when that time is up.
        """
        end = time.monotonic() + within
        call = Call(params={'id': id}, body={}, options=options)
        found = self._http.json(PeerReconciliation, ops.POST_PEERS_BY_ID_RECONCILIATION, call)
        poll = POLL_SECONDS_MIN
        while found.asking:
            if time.monotonic() + poll > end:
                raise TallystickError(f'the peer {id} has not answered within {within:g} s', retryable=True)
            sleep(poll)
            poll = min(POLL_SECONDS_MAX, poll * POLL_GROWTH)
            found = self.reconciliation(id, **options)
        return found
