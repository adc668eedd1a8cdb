"""Signed Statements of other issuers (RFC 9943) that the ledger registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from ..._core import operations as ops
from ..._core.options import Call, CallOptions, members
from ..._core.receipts import COSE, receipt_query
from ...errors import UsageError
from ...types import RegistrationPolicy, Statement
from ..listing import AsyncListing, listing
from ..transport import AsyncTransport

if TYPE_CHECKING:
    from ...types import IssuerParam


class AsyncStatements:
    """Signed Statements of other issuers (RFC 9943) that the ledger registers."""

    def __init__(self, http: AsyncTransport) -> None:
        self._http = http

    async def register(self, statement: bytes, **options: Unpack[CallOptions]) -> Statement:
        """`POST /entries`: registers a Signed Statement: tagged COSE_Sign1, as its issuer signed it.

        Repeating the call returns the first registration. Raises UsageError if `statement` is not bytes.
        """
        if not isinstance(statement, bytes):
            raise UsageError('a Signed Statement must be bytes')
        call = Call(content=statement, media_type=COSE, options=options)
        return await self._http.json(Statement, ops.POST_ENTRIES, call)

    def list(
        self,
        *,
        issuer: str | None = None,
        subject: str | None = None,
        limit: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncListing[Statement]:
        """`GET /v1/statements`: lists the statements, newest first."""
        query = members(issuer=issuer, subject=subject, limit=limit)
        return listing(self._http, Statement, ops.GET_STATEMENTS, query, options)

    async def get(self, id: str, **options: Unpack[CallOptions]) -> Statement:
        """`GET /v1/statements/{id}`: returns a statement."""
        return await self._http.json(Statement, ops.GET_STATEMENTS_BY_ID, Call(params={'id': id}, options=options))

    async def receipt(self, statement: Statement, **options: Unpack[CallOptions]) -> bytes:
        """`GET /v1/entries/{seq}/receipt`: returns the Transparent Statement, which verifies with the ledger's note key alone.

        The server waits some seconds for a checkpoint that covers the statement. If none is published in this time, raises
        ConflictError `checkpoint_pending`.
        """
        query = receipt_query(None, None, None, True)
        call = Call(params={'seq': statement.seq}, query=query, options=options)
        return await self._http.bytes(ops.GET_ENTRIES_BY_SEQ_RECEIPT, COSE, call)

    async def set_policy(
        self,
        *,
        issuers: Sequence[IssuerParam],
        content_types: Sequence[str] | None = None,
        **options: Unpack[CallOptions],
    ) -> RegistrationPolicy:
        """`PUT /v1/registration-policy`: replaces the policy. The ledger records it as an entry."""
        call = Call(body=members(issuers=issuers, content_types=content_types), options=options)
        return await self._http.json(RegistrationPolicy, ops.PUT_REGISTRATION_POLICY, call)

    async def policy(self, **options: Unpack[CallOptions]) -> RegistrationPolicy:
        """`GET /v1/registration-policy`: returns the policy. Raises NotFoundError if the ledger has no
        policy.
        """
        return await self._http.json(RegistrationPolicy, ops.GET_REGISTRATION_POLICY, Call(options=options))
