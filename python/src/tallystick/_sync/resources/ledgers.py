# Made by `npm run python -- generate`; not to be edited.
"""The ledger of the API key and, for an operator, all ledgers of a server."""

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
        """`GET /v1/ledger`: returns the ledger, and the API key that was used."""
        return self._http.json(OwnLedger, ops.GET_LEDGER, Call(options=options))


class Ledgers:
    """Ledgers of the server, for its operator. The operator cannot read their entries."""

    def __init__(self, http: Transport) -> None:
        self._http = http

    def create(self, *, name: str, agent: str | None = None, **options: Unpack[CallOptions]) -> NewLedger:
        """`POST /v1/ledgers`: creates a ledger with a first agent and an API key with all scopes. The
        key's secret is shown only once.

        Not retried after a lost answer, because each call makes a ledger. Call `list` to see
        whether the ledger was created.
        """
        return self._http.json(NewLedger, ops.POST_LEDGERS, Call(body=members(name=name, agent=agent), options=options))

    def list(self, *, limit: int | None = None, **options: Unpack[CallOptions]) -> Listing[LedgerSummary]:
        """`GET /v1/ledgers`: lists the ledgers in order of creation."""
        return listing(self._http, LedgerSummary, ops.GET_LEDGERS, members(limit=limit), options)

    def get(self, id: str, **options: Unpack[CallOptions]) -> LedgerSummary:
        """`GET /v1/ledgers/{id}`: returns a ledger."""
        return self._http.json(LedgerSummary, ops.GET_LEDGERS_BY_ID, Call(params={'id': id}, options=options))

    def freeze(self, id: str, **options: Unpack[CallOptions]) -> LedgerSummary:
        """`POST /v1/ledgers/{id}/freeze`: freezes a ledger. A frozen ledger accepts no entries and can
        still be read.
        """
        call = Call(params={'id': id}, body={}, options=options)
        return self._http.json(LedgerSummary, ops.POST_LEDGERS_BY_ID_FREEZE, call)

    def unfreeze(self, id: str, **options: Unpack[CallOptions]) -> LedgerSummary:
        """`POST /v1/ledgers/{id}/unfreeze`: lets a frozen ledger accept entries again."""
        call = Call(params={'id': id}, body={}, options=options)
        return self._http.json(LedgerSummary, ops.POST_LEDGERS_BY_ID_UNFREEZE, call)

    def issue_key(self, id: str, *, name: str | None = None, agent: str | None = None, **options: Unpack[CallOptions]) -> NewKey:
        """`POST /v1/ledgers/{id}/keys`: issues an API key with all scopes, for a ledger that lost its keys. Not retried."""
        call = Call(params={'id': id}, body=members(name=name, agent=agent), options=options)
        return self._http.json(NewKey, ops.POST_LEDGERS_BY_ID_KEYS, call)

    def set_rate_limit(self, id: str, rate_limit: RateLimitParam | None, **options: Unpack[CallOptions]) -> RateLimitAnswer:
        """`PUT /v1/ledgers/{id}/rate-limit`: sets a rate limit for all API keys of the ledger together. None removes the limit."""
        call = Call(params={'id': id}, body={'rateLimit': rate_limit}, options=options)
        return self._http.json(RateLimitAnswer, ops.PUT_LEDGERS_BY_ID_RATE_LIMIT, call)

    def set_tiles(self, id: str, tiles: Literal['key', 'public'], **options: Unpack[CallOptions]) -> LedgerTiles:
        """`PUT /v1/ledgers/{id}/tiles`: sets who may read the ledger's tiles, which contain all
        entries: anybody (`public`), or only callers with an API key of the ledger (`key`).
        """
        call = Call(params={'id': id}, body={'tiles': tiles}, options=options)
        return self._http.json(LedgerTiles, ops.PUT_LEDGERS_BY_ID_TILES, call)

    def get_restore(self, id: str, **options: Unpack[CallOptions]) -> LedgerRestore:
        """`GET /v1/ledgers/{id}/restore`: returns which entries a ledger has lost because its database
        was restored from an older backup.
        """
        call = Call(params={'id': id}, options=options)
        return self._http.json(LedgerRestore, ops.GET_LEDGERS_BY_ID_RESTORE, call)

    def acknowledge_restore(self, id: str, *, known: KnownCheckpointParam, **options: Unpack[CallOptions]) -> LedgerRestore:
        """`POST /v1/ledgers/{id}/restore`: acknowledges the lost entries. The ledger then accepts
        entries again.

        `known`: the checkpoint that `get_restore` returned.
        """
        call = Call(params={'id': id}, body={'known': known}, options=options)
        return self._http.json(LedgerRestore, ops.POST_LEDGERS_BY_ID_RESTORE, call)
