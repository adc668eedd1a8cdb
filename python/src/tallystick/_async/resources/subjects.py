"""Documents about a person."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Unpack

from ..._core import operations as ops
from ..._core.options import Call, CallOptions, members
from ..._core.pages import Page, page_of
from ...types import SubjectReceipt, SubjectRecord
from ..listing import AsyncListing
from ..transport import AsyncTransport


class AsyncSubjects:
    """Documents about a person, by the `subject` label with which they were recorded."""

    def __init__(self, http: AsyncTransport) -> None:
        self._http = http

    def find(self, subject: str, **options: Unpack[CallOptions]) -> AsyncListing[SubjectRecord]:
        """`POST /v1/subjects/find`: lists the records with documents about the subject, oldest first."""

        async def fetch(cursor: str | None) -> Page[SubjectRecord]:
            call = Call(body=members(subject=subject, cursor=cursor), options=options)
            return page_of(SubjectRecord, await self._http.plain(ops.POST_SUBJECTS_FIND, call), ops.POST_SUBJECTS_FIND)

        return AsyncListing(fetch)

    async def erase(
        self, subject: str, *, code: str, reason: str | None = None, **options: Unpack[CallOptions]
    ) -> AsyncGenerator[SubjectReceipt]:
        """`POST /v1/subjects/erase`: erases all documents about the subject for good. Yields a receipt for each thousand documents.

        The next thousand documents are erased only when the next receipt is read. If a request fails, earlier erasures stay.
        """
        cursor: str | None = None
        while True:
            call = Call(body=members(subject=subject, code=code, reason=reason, cursor=cursor), options=options)
            receipt = await self._http.json(SubjectReceipt, ops.POST_SUBJECTS_ERASE, call)
            yield receipt
            cursor = receipt.next_cursor
            if cursor is None:
                return
