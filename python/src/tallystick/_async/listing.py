"""Lists that load each page when iteration reaches it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from .._core.answers import wrong_server
from .._core.operations import Operation
from .._core.options import Call, CallOptions
from .._core.pages import Page, page_of
from .transport import AsyncTransport

T = TypeVar('T')
M = TypeVar('M', bound=BaseModel)


class AsyncListing(Generic[T]):
    """A list that loads each page when iteration reaches it:

    async for record in tallystick.records.list(type='order/1'): …
    newest = await tallystick.records.list(limit=10).page()
    """

    def __init__(self, fetch: Callable[[str | None], Coroutine[Any, Any, Page[T]]]) -> None:
        self._fetch = fetch

    async def page(self, cursor: str | None = None) -> Page[T]:
        """Returns the first page, or the page at `cursor`, the `next_cursor` of an earlier page."""
        return await self._fetch(cursor)

    async def pages(self) -> AsyncIterator[Page[T]]:
        """Yields all pages, one request for each."""
        cursor: str | None = None
        while True:
            page = await self.page(cursor)
            yield page
            if page.next_cursor is None:
                return
            # Without this check, a server that always names the same page as the next page would be
            # read for ever.
            if page.next_cursor == cursor:
                raise wrong_server('the server answered with the same `nextCursor` again, so the list would never end')
            cursor = page.next_cursor

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page in self.pages():
            for item in page.data:
                yield item

    async def to_list(self, max: int) -> list[T]:
        """Returns the first `max` items."""
        items: list[T] = []
        if max <= 0:
            return items
        async for item in self:
            items.append(item)
            if len(items) >= max:
                break
        return items


def listing(
    http: AsyncTransport,
    model: type[M],
    operation: Operation,
    query: Mapping[str, Any],
    options: CallOptions,
    params: Mapping[str, str | int] | None = None,
) -> AsyncListing[M]:
    """Returns the list of an operation whose answers are pages with `data` and `nextCursor`."""

    async def fetch(cursor: str | None) -> Page[M]:
        given = {**query, 'cursor': cursor}
        call = Call(params=params or {}, query=given, options=options)
        return page_of(model, await http.plain(operation, call), operation)

    return AsyncListing(fetch)
