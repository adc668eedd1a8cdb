"""Splits requests that the server will never accept."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from .._core.requests import make_idempotency_key
from ..errors import ApiError
from .items import Item
from .segments import Segment

_OF_THE_BODY = (400, 413, 422)
"""Statuses for an invalid body, which would be refused each time."""
_OF_THE_SIGNER = frozenset({'envelope_refused', 'signing_key_refused', 'signed_time_refused', 'statement_mismatch'})
"""Codes for a fault of the signer, its key or its clock, not of a record."""
_PATH = re.compile(r'/records/(\d{1,4})(?:/|\Z)')


def is_refusal(error: ApiError) -> bool:
    """Whether the server will never accept this request. Any other error ends after a person has
    corrected its cause.
    """
    return error.status in _OF_THE_BODY and error.code not in _OF_THE_SIGNER


class Split(NamedTuple):
    refused: Sequence[Item]
    left: Sequence[Segment]
    """Segments that are still to be sent."""


def split_refused(segment: Segment, others: Sequence[Segment], error: ApiError, *, again: bool) -> Split:
    """Splits the refused first segment of a batch. Each result has fewer items, so that repeated
    splitting ends.

    - If the server names an item, that item is refused and the rest is sent again.
    - If the rest is refused too (`again`), the rest is sent in halves. With 1000 invalid records,
      removing one record for each request would send half a million records.
    - If the server names no item, the segment is sent in halves until the item is found.
    - An unknown type is the most common reason. All records of that type in the batch are then
      refused together.
    """
    key, items = segment
    # The server knows this key of 128 random bits from another request. Either the spool was
    # changed or copied, or a larger request was written and its answer was replaced
    # (foreign_refusals.py). It is unknown which of these records are in the ledger. With another
    # key they might be recorded twice.
    if error.code == 'idempotency_key_reused':
        same = [item for other in others if other.idempotency_key == key for item in other.items]
        return Split([*items, *same], [other for other in others if other.idempotency_key != key])
    index = _index_of(error)
    if index is None or index >= len(items):
        return Split(items, others) if len(items) == 1 else Split([], [*_halves(items), *others])
    named = items[index]
    if error.code in ('unknown_type', 'not_notarizable'):
        kind = _type_of(named)
        refused = [item for item in items if _type_of(item) == kind]
        kept = [item for item in items if _type_of(item) != kind]
    else:
        refused, kept = [named], [*items[:index], *items[index + 1 :]]
    return Split(refused, [*(_halves(kept) if again else _segments(kept)), *others])


def _index_of(error: ApiError) -> int | None:
    """Returns the index of the refused item. Some errors name it only in `path`: `/records/7/occurredAt`."""
    index = error.problem.get('index')
    if isinstance(index, int):
        return index
    path = error.problem.get('path')
    found = _PATH.match(path) if isinstance(path, str) else None
    return int(found[1]) if found else None


def _type_of(item: Item) -> bytes:
    """Returns the beginning of the text, which contains the type (items.py)."""
    return item.text.partition(b',"payload":')[0]


def _halves(items: Sequence[Item]) -> list[Segment]:
    middle = (len(items) + 1) // 2
    return [*_segments(items[:middle]), *_segments(items[middle:])]


def _segments(items: Sequence[Item]) -> list[Segment]:
    """Returns a list with one segment of these items. The list is empty if there are no items."""
    return [Segment(make_idempotency_key(), items)] if items else []
