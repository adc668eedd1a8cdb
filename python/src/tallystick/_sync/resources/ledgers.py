# Made by `npm run python -- generate`; not to be edited.
"""Ledgers: that of the API key, and, for an operator, all of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Unpack

from ..._core import operations as ops
from ..._core.options import Call, CallOptions, members
from ...types import LedgerRestore, LedgerSummary, LedgerTiles, NewKey, NewLedger, OwnLedger, RateLimitAnswer
from ..listing import Listing, listing
from ..transport import Transport

if TYPE_CHECKING:
    from ...types import KnownCheckpointParam, RateLimitParam


class Ledger:
    """The ledger of the API key."""

    def __init__(self, http: Transport) -> None:
        self._http = http

    def get(self, **options: Unpack[CallOptions]) -> OwnLedger:
        """`GET /v1/ledger`: the ledger, and the key that asks."""
        return self._http.json(OwnLedger, ops.GET_LEDGER, Call(options=options))


class Ledgers:
    """The server's ledgers, for its operator, who can read none of them."""

    def __init__(self, http: Transport) -> None:
        self._http = http

    def create(self, *, name: str, agent: str | None = None, **options: Unpack[CallOptions]) -> NewLedger:
        """`POST /v1/ledgers`: with its first agent and a key that may do everything, whose secret is answered once. Not repeated where
        the answer is lost, because each time makes a ledger: look into the list.
        """
        return self._http.json(NewLedger, ops.POST_LEDGERS, Call(body=members(name=name, agent=agent), options=options))

    def list(self, *, limit: int | None = None, **options: Unpack[CallOptions]) -> Listing[LedgerSummary]:
        """`GET /v1/ledgers`: in the order in which they were made."""
        return listing(self._http, LedgerSummary, ops.GET_LEDGERS, members(limit=limit), options)

    def get(self, id: str, **options: Unpack[CallOptions]) -> LedgerSummary:
        """`GET /v1/ledgers/{id}`."""
        return self._http.json(LedgerSummary, ops.GET_LEDGERS_BY_ID, Call(params={'id': id}, options=options))

    def freeze(self, id: str, **options: Unpack[CallOptions]) -> LedgerSummary:
        """`POST /v1/ledgers/{id}/freeze`: it is read as before, and takes no entries."""
        call = Call(params={'id': id}, body={}, options=options)
        return self._http.json(LedgerSummary, ops.POST_LEDGERS_BY_ID_FREEZE, call)

    def unfreeze(self, id: str, **options: Unpack[CallOptions]) -> LedgerSummary:
        """`POST /v1/ledgers/{id}/unfreeze`."""
        call = Call(params={'id': id}, body={}, options=options)
        return self._http.json(LedgerSummary, ops.POST_LEDGERS_BY_ID_UNFREEZE, call)

    def issue_key(self, id: str, *, name: str | None = None, agent: str | None = None, **options: Unpack[CallOptions]) -> NewKey:
        """`POST /v1/ledgers/{id}/keys`: a key that may do everything, for a ledger whose own keys are lost. Not repeated either."""
        call = Call(params={'id': id}, body=members(name=name, agent=agent), options=options)
        return self._http.json(NewKey, ops.POST_LEDGERS_BY_ID_KEYS, call)

    def set_rate_limit(self, id: str, rate_limit: RateLimitParam | None, **options: Unpack[CallOptions]) -> RateLimitAnswer:
        """`PUT /v1/ledgers/{id}/rate-limit`: sets the limit of all of its keys together; None takes it away."""
        call = Call(params={'id': id}, body={'rateLimit': rate_limit}, options=options)
        return self._http.json(RateLimitAnswer, ops.PUT_LEDGERS_BY_ID_RATE_LIMIT, call)

    def set_tiles(self, id: str, tiles: Literal['key', 'public'], **options: Unpack[CallOptions]) -> LedgerTiles:
        """`PUT /v1/ledgers/{id}/tiles`: lets anybody read its tiles, with all entries (`public`), or only its keys (`key`)."""
        call = Call(params={'id': id}, body={'tiles': tiles}, options=options)
        return self._http.json(LedgerTiles, ops.PUT_LEDGERS_BY_ID_TILES, call)

    def get_restore(self, id: str, **options: Unpack[CallOptions]) -> LedgerRestore:
        """`GET /v1/ledgers/{id}/restore`: the losses of a ledger that was found to be an older backup of itself."""
        call = Call(params={'id': id}, options=options)
        return self._http.json(LedgerRestore, ops.GET_LEDGERS_BY_ID_RESTORE, call)

    def acknowledge_restore(self, id: str, *, known: KnownCheckpointParam, **options: Unpack[CallOptions]) -> LedgerRestore:
        """`POST /v1/ledgers/{id}/restore`: acknowledges what is lost of `known`, as `get_restore` answers it; the ledger then takes
        entries again.
        """
        call = Call(params={'id': id}, body={'known': known}, options=options)
        return self._http.json(LedgerRestore, ops.POST_LEDGERS_BY_ID_RESTORE, call)
