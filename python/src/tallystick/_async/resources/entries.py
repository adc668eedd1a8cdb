"""Entries of the ledger's chain, and exports of the whole ledger."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from datetime import datetime
from typing import Final, Literal, Unpack

from ..._core import operations as ops
from ..._core.answers import Asked
from ..._core.limits import ENTRIES_POLL_SECONDS_MAX, ENTRIES_POLL_SECONDS_MIN, POLL_GROWTH
from ..._core.lines import Lines, SentEntry, WholeExport, parse_entry
from ..._core.options import Call, CallOptions, members
from ..._core.receipts import COSE, receipt_query
from ...errors import TallystickError, UsageError
from ...types import EntryLine, EntryProof, ExportMade
from ..io import sleep
from ..transport import AsyncByteStream, AsyncTransport

NDJSON: Final = 'application/x-ndjson'
ENTRIES_ASKED: Final = Asked('GET /v1/entries', None, True)
EXPORT_ASKED: Final = Asked('GET /v1/export', None, True)


class AsyncEntries:
    """Entries of the ledger's chain."""

    def __init__(self, http: AsyncTransport) -> None:
        self._http = http

    async def stream(
        self,
        *,
        after: int = -1,
        limit: int | None = None,
        follow: bool = False,
        **options: Unpack[CallOptions],
    ) -> AsyncIterator[EntryLine]:
        """`GET /v1/entries`: yields the entries in order, each once, while the answer arrives.

        A broken connection is resumed after the last entry. `max_retries` limits the failures in a
        row. Nothing is verified here: `tallystick.verify` verifies entries.

        `after`: yields only entries after this seq; by default all entries. `limit`: yields at most
        this many entries. `follow`: at the head, waits for further entries instead of ending.
        """
        async with aclosing(sent_entries(self._http, after, limit, follow, options)) as entries:
            async for entry in entries:
                yield entry.line

    def tail(self, *, after: int = -1, **options: Unpack[CallOptions]) -> AsyncIterator[EntryLine]:
        """`GET /v1/entries`: yields entries without end, and waits at the head for further ones."""
        return self.stream(after=after, follow=True, **options)

    async def first_since(self, time: datetime, size: int, **options: Unpack[CallOptions]) -> int:
        """Returns the seq of the first entry that was recorded at `time` or later. Returns `size` if
        all of the first `size` entries are older.

        Reads about log2(size) entries. Clocks of servers may differ by a minute. Entries recorded
        within a minute of `time` may therefore be on either side of the result. Raises UsageError
        if `time` has no time zone.
        """
        if time.tzinfo is None:
            raise UsageError('time needs a time zone, such as timezone.utc')
        low, high = 0, size
        while low < high:
            middle = (low + high) // 2
            async with aclosing(sent_entries(self._http, middle - 1, 1, False, options)) as entries:
                recorded_at = [entry.line.recorded_at async for entry in entries]
            if datetime.fromisoformat(recorded_at[0]) < time:
                low = middle + 1
            else:
                high = middle
        return low

    async def proof(
        self, seq: int, *, size: int | None = None, cosignatures: int | None = None, **options: Unpack[CallOptions]
    ) -> EntryProof:
        """`GET /v1/entries/{seq}/proof`: returns a proof of the entry. The server waits some seconds for a checkpoint that covers it."""
        query = members(size=size, cosignatures=cosignatures)
        call = Call(params={'seq': seq}, query=query, options=options)
        return await self._http.json(EntryProof, ops.GET_ENTRIES_BY_SEQ_PROOF, call)

    async def receipt(
        self,
        seq: int,
        *,
        size: int | None = None,
        cosignatures: int | None = None,
        wait: float | None = None,
        statement: bool = True,
        **options: Unpack[CallOptions],
    ) -> bytes:
        """`GET /v1/entries/{seq}/receipt`: returns the receipt of the entry. The arguments are those of `records.receipt`."""
        query = receipt_query(size, cosignatures, wait, statement)
        call = Call(params={'seq': seq}, query=query, options=options)
        return await self._http.bytes(ops.GET_ENTRIES_BY_SEQ_RECEIPT, COSE, call)


class AsyncExports:
    """Exports of the whole ledger, for `tallystick-verify` and for archives."""

    def __init__(self, http: AsyncTransport) -> None:
        self._http = http

    async def announce(
        self,
        *,
        documents: Literal['all', 'withheld'],
        first: int = 0,
        to: int | None = None,
        of: Mapping[str, str] | None = None,
        **options: Unpack[CallOptions],
    ) -> ExportMade:
        """`POST /v1/exports`: records that the caller is going to export the entries `first` to `to`.
        This appends an entry.

        The command line calls it before each export. An export that is not announced leaves no
        entry. A ledger that accepts no entries refuses the announcement at once, but can still be
        exported.
        """
        body = {**members(documents=documents, to=to), 'of': dict(of or {}), 'from': first}
        return await self._http.json(ExportMade, ops.POST_EXPORTS, Call(body=body, options=options, unretried=('ledger_moving',)))

    async def stream(self, **options: Unpack[CallOptions]) -> AsyncExport:
        """`GET /v1/export`: returns the export as a stream of NDJSON (docs/formats/export.md).

        Reading raises an error if the export breaks off. The export must then be started again from the beginning.
        """
        return AsyncExport(await self._http.stream(ops.GET_EXPORT, NDJSON, Call(options=options)))


class AsyncExport:
    """An export in chunks of bytes, as it arrives: `async with`, then `async for`."""

    def __init__(self, stream: AsyncByteStream) -> None:
        self._stream = stream

    async def __aenter__(self) -> AsyncExport:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connection without reading the rest."""
        await self._stream.aclose()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        whole = WholeExport(EXPORT_ASKED)
        async for piece in self._stream:
            whole.push(piece)
            yield piece
        whole.end()


async def sent_entries(
    http: AsyncTransport, after: int, limit: int | None, follow: bool, options: CallOptions
) -> AsyncGenerator[SentEntry]:
    """Yields the same entries as `entries.stream`, each with the JSON object that the server sent.
    """
    if after < -1 or (limit is not None and limit < 0):
        raise UsageError('after must be a seq, and limit a number of entries')
    retries = http.retries_of(options)
    seq = after + 1
    end = None if limit is None else seq + limit
    poll = ENTRIES_POLL_SECONDS_MIN
    while end is None or seq < end:
        begun_at = seq
        try:
            async with aclosing(_read(http, seq, end, options)) as entries:
                async for entry in entries:
                    seq += 1
                    retries.reset()
                    yield entry
            retries.reset()
        except TallystickError as error:
            await sleep(retries.delay_before(error))
            continue
        if not follow:
            return
        poll = ENTRIES_POLL_SECONDS_MIN if seq > begun_at else min(ENTRIES_POLL_SECONDS_MAX, poll * POLL_GROWTH)
        await sleep(poll)


async def _read(http: AsyncTransport, start: int, end: int | None, options: CallOptions) -> AsyncGenerator[SentEntry]:
    """Yields the entries of one answer."""
    query = members(after=None if start == 0 else start - 1, limit=None if end is None else end - start)
    # This request is not retried, because the caller resumes the stream and counts the failures.
    once: CallOptions = {**options, 'max_retries': 0}
    lines, seq = Lines(ENTRIES_ASKED), start
    async with await http.stream(ops.GET_ENTRIES, NDJSON, Call(query=query, options=once)) as pieces:
        async for piece in pieces:
            for line in lines.push(piece):
                yield parse_entry(line, seq, ENTRIES_ASKED)
                seq += 1
                if seq == end:
                    return
        lines.end()
