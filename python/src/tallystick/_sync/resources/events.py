# Made by `npm run python -- generate`; not to be edited.
"""Events of the ledger (docs/reference/events.md)."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal, Unpack

from ..._core import operations as ops
from ..._core.limits import EVENT_CHARS_MAX, SILENCE_SECONDS_MAX, SSE_RETRY_SECONDS, SSE_RETRY_SECONDS_MAX
from ..._core.options import Call, CallOptions, members
from ..._core.pages import Page
from ..._core.sse import SseParser
from ..._core.tailed import TailedEvent, parse_events
from ...errors import TallystickError, UsageError
from ...types import EventPage, LedgerEvent
from ..io import sleep
from ..listing import Listing
from ..transport import ByteStream, Transport

EVENT_STREAM: Final = 'text/event-stream'


class Events:
    """Events of the ledger.

    Two filters select events: `events` by the name of the event, `types` by the type of the record.
    A type is `name/version`, or a name for all its versions. Without a filter, all events are
    returned.
    """

    def __init__(self, http: Transport) -> None:
        self._http = http

    def page(
        self,
        *,
        cursor: str | None = None,
        from_: Literal['beginning', 'end'] | None = None,
        events: Sequence[str] | None = None,
        types: Sequence[str] | None = None,
        limit: int | None = None,
        **options: Unpack[CallOptions],
    ) -> EventPage:
        """`GET /v1/events`: returns one page. To get the next page, pass its `next_cursor` as
        `cursor`: at once if `more` is true, otherwise later.

        - `cursor`: the cursor of an earlier page or of a tailed event.
        - `from_`: where to start if there is no cursor; by default at the oldest event.
        """
        query = {**filter_of(events, types), **members(cursor=cursor, from_=from_, limit=limit)}
        return self._http.json(EventPage, ops.GET_EVENTS, Call(query=query, options=options))

    def list(
        self,
        *,
        events: Sequence[str] | None = None,
        types: Sequence[str] | None = None,
        limit: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Listing[LedgerEvent]:
        """`GET /v1/events`: lists all present events from the beginning, page by page."""

        def fetch(cursor: str | None) -> Page[LedgerEvent]:
            page = self.page(cursor=cursor, events=events, types=types, limit=limit, **options)
            return Page(list_of(page), page.next_cursor if page.more else None)

        return Listing(fetch)

    def tail(
        self,
        *,
        after: str | None = None,
        from_: Literal['beginning', 'end'] | None = None,
        events: Sequence[str] | None = None,
        types: Sequence[str] | None = None,
        **options: Unpack[CallOptions],
    ) -> Iterator[TailedEvent]:
        """`GET /v1/events` as a stream: yields each event once, in order, without end.

        A broken connection, or one that a restarting server closed, is resumed after the last
        event. Once the stream was open, retries are unlimited, unless `max_retries` limits the
        failures in a row. Raises TallystickError if the first connection fails, or if the stream
        cannot be resumed, for example because the key was revoked.

        `after`: a cursor; the stream starts after it. `from_`: where to start if there is no
        cursor; by default at the next new event. Raises UsageError if both are given.
        """
        if after is not None and from_ is not None:
            raise UsageError('tail takes after or from_, not both')
        retries = self._http.retries_of(options)
        cursor = after
        retry = SSE_RETRY_SECONDS
        has_begun = False
        while True:
            place = members(from_=from_) if cursor is None else {'cursor': cursor}
            try:
                with self._open({**filter_of(events, types), **place}, options) as stream:
                    if not has_begun:
                        retries = self._http.retries_of({'max_retries': math.inf, **options})
                    has_begun = True
                    parser = SseParser(EVENT_CHARS_MAX)
                    pieces = 0
                    for piece in stream:
                        for event in parse_events(parser, piece):
                            yield event
                        # The first chunk contains only the starting cursor. It does not count as
                        # progress, because it arrives even if every connection breaks after it.
                        pieces += 1
                        if pieces > 1:
                            retries.reset()
                        cursor = parser.last_event_id or cursor
                        if parser.retry_ms is not None:
                            retry = min(parser.retry_ms / 1000, SSE_RETRY_SECONDS_MAX)
            except TallystickError as error:
                sleep(retries.delay_before(error))
                continue
            # The server closed the stream on purpose: it shuts down, or it spreads its clients over
            # several servers.
            sleep(retry * (0.5 + random.random() / 2))

    def _open(self, query: dict[str, Any], options: CallOptions) -> ByteStream:
        # This request is not retried, because `tail` resumes the stream and counts the failures.
        once: CallOptions = {'timeout': SILENCE_SECONDS_MAX, **options, 'max_retries': 0}
        return self._http.stream(ops.GET_EVENTS, EVENT_STREAM, Call(query=query, options=once))


def filter_of(events: Sequence[str] | None, types: Sequence[str] | None) -> dict[str, str]:
    return members(events=events and ','.join(events), types=types and ','.join(types))


def list_of(page: EventPage) -> list[LedgerEvent]:
    return [*page.data]
