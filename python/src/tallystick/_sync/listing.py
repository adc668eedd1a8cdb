# Made by `npm run python -- generate`; not to be edited.
"""Lists that load each page when iteration reaches it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from .._core.answers import wrong_server
from .._core.operations import Operation
from .._core.options import Call, CallOptions
from .._core.pages import Page, page_of
from .transport import Transport

T = TypeVar('T')
M = TypeVar('M', bound=BaseModel)


class Listing(Generic[T]):
    """A list that loads each page when iteration reaches it:

    for record in tallystick.records.list(type='order/1'): …
    newest = tallystick.records.list(limit=10).page()
    """

    def __init__(self, fetch: Callable[[str | None], Page[T]]) -> None:
        self._fetch = fetch

    def page(self, cursor: str | None = None) -> Page[T]:
        """Returns the first page, or the page at `cursor`, the `next_cursor` of an earlier page."""
        return self._fetch(cursor)

    def pages(self) -> Iterator[Page[T]]:
        """Yields all pages, one request for each."""
        cursor: str | None = None
        while True:
            page = self.page(cursor)
            yield page
            if page.next_cursor is None:
                return
            # Without this check, a server that always names the same page as the next page would be
            # read for ever.
            if page.next_cursor == cursor:
                raise wrong_server('the server answered with the same `nextCursor` again, so the list would never end')
            cursor = page.next_cursor

    def __iter__(self) -> Iterator[T]:
        for page in self.pages():
            for item in page.data:
                yield item

    def to_list(self, max: int) -> list[T]:
        """Returns the first `max` items."""
        items: list[T] = []
        if max <= 0:
            return items
        for item in self:
            items.append(item)
            if len(items) >= max:
                break
        return items


def listing(
    http: Transport,
    model: type[M],
    operation: Operation,
    query: Mapping[str, Any],
    options: CallOptions,
    params: Mapping[str, str | int] | None = None,
) -> Listing[M]:
    """Returns the list of an operation whose answers are pages with `data` and `nextCursor`."""

    def fetch(cursor: str | None) -> Page[M]:
        given = {**query, 'cursor': cursor}
        call = Call(params=params or {}, query=given, options=options)
        return page_of(model, http.plain(operation, call), operation)

    return Listing(fetch)
