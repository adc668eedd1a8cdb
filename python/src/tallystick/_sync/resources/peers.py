# Made by `npm run python -- generate`; not to be edited.
"""Peerings with ledgers of other servers."""

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
    """Peerings with ledgers of other servers. To share a record, use `share` of `records.create`, or
    `records.share`.

    `invite` and `accept` take no idempotency key and are not retried. After a lost answer, call
    `list` to see whether the peering exists.
    """

    def __init__(self, http: Transport) -> None:
        self._http = http

    def invite(self, *, name: str, **options: Unpack[CallOptions]) -> NewPeer:
        """`POST /v1/peers`: invites another ledger as a peer. The answer has an `invitation` for its administrator.

        Send the invitation over a channel that both sides trust: whoever has it can become the peer. `name`: your name for the
        other ledger.
        """
        made = self._http.json(NewPeer, ops.POST_PEERS, Call(body={'name': name}, options=options))
        if not isinstance(made.invitation, str):
            raise wrong_server('the server answered without an invitation')
        return made

    def accept(self, *, name: str, invitation: str, **options: Unpack[CallOptions]) -> NewPeer:
        """`POST /v1/peers`: accepts another ledger's invitation. The worker then contacts the other
        server; `state` shows when this is done.
        """
        call = Call(body={'name': name, 'invitation': invitation}, options=options)
        return self._http.json(NewPeer, ops.POST_PEERS, call)

    def list(self, *, limit: int | None = None, **options: Unpack[CallOptions]) -> Listing[Peer]:
        """`GET /v1/peers`: lists the peerings in order of invitation."""
        return listing(self._http, Peer, ops.GET_PEERS, members(limit=limit), options)

    def get(self, id: str, **options: Unpack[CallOptions]) -> Peer:
        """`GET /v1/peers/{id}`: returns a peering. `drain` shows how far deliveries have come, and how the other side answers."""
        return self._http.json(Peer, ops.GET_PEERS_BY_ID, Call(params={'id': id}, options=options))

    def suspend(self, id: str, *, code: str | None = None, **options: Unpack[WriteOptions]) -> Peer:
        """`POST /v1/peers/{id}/suspend`: suspends the peering. Until it is resumed, nothing is sent or accepted."""
        return self._change(ops.POST_PEERS_BY_ID_SUSPEND, id, members(code=code), options)

    def resume(self, id: str, *, code: str | None = None, **options: Unpack[WriteOptions]) -> Peer:
        """`POST /v1/peers/{id}/resume`: resumes a suspended peering."""
        return self._change(ops.POST_PEERS_BY_ID_RESUME, id, members(code=code), options)

    def revoke(self, id: str, *, code: str | None = None, **options: Unpack[WriteOptions]) -> Peer:
        """`POST /v1/peers/{id}/revoke`: revokes the peering for good. The other side is notified."""
        return self._change(ops.POST_PEERS_BY_ID_REVOKE, id, members(code=code), options)

    def set_budget(self, id: str, budget: BudgetParam | None, **options: Unpack[CallOptions]) -> Peer:
        """`PUT /v1/peers/{id}/budget`: sets how many entries and bytes this side stores for the peer
        in 24 hours. None restores the default.
        """
        return self._change(ops.PUT_PEERS_BY_ID_BUDGET, id, {'budget': budget}, options)

    def _change(self, operation: Operation, id: str, body: dict[str, Any], options: CallOptions) -> Peer:
        return self._http.json(Peer, operation, Call(params={'id': id}, body=body, options=options))

    def records(self, id: str, *, limit: int | None = None, **options: Unpack[CallOptions]) -> Listing[SharedRecord]:
        """`GET /v1/peers/{id}/records`: lists the records shared with the peer, in both directions."""
        return listing(self._http, SharedRecord, ops.GET_PEERS_BY_ID_RECORDS, members(limit=limit), options, {'id': id})

    def record(self, id: str, record: str, **options: Unpack[CallOptions]) -> SharedRecordWithType:
        """`GET /v1/peers/{id}/records/{record}`: returns a shared record, with the definition of its type if the peer sent it."""
        call = Call(params={'id': id, 'record': record}, options=options)
        return self._http.json(SharedRecordWithType, ops.GET_PEERS_BY_ID_RECORDS_BY_RECORD, call)

    def dead_letters(self, id: str, *, limit: int | None = None, **options: Unpack[CallOptions]) -> Listing[PeerDeadLetter]:
        """`GET /v1/peers/{id}/dead-letters`: lists the entries that the other side refused for good.

        Later entries of the same records wait behind them.
        """
        operation = ops.GET_PEERS_BY_ID_DEAD_LETTERS
        return listing(self._http, PeerDeadLetter, operation, members(limit=limit), options, {'id': id})

    def replay(self, id: str, *, seqs: Sequence[int] | None = None, **options: Unpack[CallOptions]) -> int:
        """`POST /v1/peers/{id}/replay`: sends dead letters again, all or those of `seqs`, and the entries that wait behind them.

        Returns the number of dead letters.
        """
        call = Call(params={'id': id}, body=members(seqs=seqs), options=options)
        return (self._http.json(PeerReplay, ops.POST_PEERS_BY_ID_REPLAY, call)).replayed

    def forks(self, id: str, *, limit: int | None = None, **options: Unpack[CallOptions]) -> Listing[PeerFork]:
        """`GET /v1/peers/{id}/forks`: lists entries of the other side that contradict its earlier
        entries. The other side has signed both.
        """
        return listing(self._http, PeerFork, ops.GET_PEERS_BY_ID_FORKS, members(limit=limit), options, {'id': id})

    def reconciliation(self, id: str, **options: Unpack[CallOptions]) -> PeerReconciliation:
        """`GET /v1/peers/{id}/reconciliation`: compares the exchanged entries with the other side's last report of what it stores."""
        call = Call(params={'id': id}, options=options)
        return self._http.json(PeerReconciliation, ops.GET_PEERS_BY_ID_RECONCILIATION, call)

    def reconcile(self, id: str, *, within: float = UNTIL_SECONDS, **options: Unpack[CallOptions]) -> PeerReconciliation:
        """`POST /v1/peers/{id}/reconciliation`: asks the other side for a new report, waits for it, and returns the comparison.

        Raises TallystickError if the other side does not answer within `within` seconds.
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
