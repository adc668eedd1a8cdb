"""Requests that the server will never take, and what is left of them."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from .._core.requests import make_idempotency_key
from ..errors import ApiError
from .items import Item
from .segments import Segment

_OF_THE_BODY = (400, 413, 422)
"""Statuses of what is wrong with a body: it would be refused as often as it is sent."""
_OF_THE_SIGNER = frozenset({'envelope_refused', 'signing_key_refused', 'signed_time_refused', 'statement_mismatch'})
"""Codes of what is wrong with the signer, its key or its clock: no record's fault."""
_PATH = re.compile(r'/records/(\d{1,4})(?:/|\Z)')


def is_refusal(error: ApiError) -> bool:
    """Whether the server will never take this request. It may take any other, when people have mended something."""
    return error.status in _OF_THE_BODY and error.code not in _OF_THE_SIGNER


class Split(NamedTuple):
    refused: Sequence[Item]
    left: Sequence[Segment]
    """Segments that are still to be sent."""


def split_refused(segment: Segment, others: Sequence[Segment], error: ApiError, *, again: bool) -> Split:
    """Splits the first of a batch's segments, which was refused. Every part holds fewer items than the segment, so that it ends.

    Where the server names an item, that one is refused, and the rest is sent again; where that is refused as well (`again`), in two halves:
    of 1000 records that are all bad, one request each would otherwise send half a million. A type that the ledger does not have is the
    commonest of them, and concerns all of the batch's records of that type. Where no item is named, halves find it.
    """
    key, items = segment
    # A key of 128 random bits was used before: the spool was changed, or copied and used twice; or a larger request was written, and
    # something replaced its answer (foreign_refusals.py). Nobody knows which of these records are in the ledger, and with another key they
    # might be there twice.
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
    """A fault that no schema of the batch knows is located by `path` alone: `/records/7/occurredAt`."""
    index = error.problem.get('index')
    if isinstance(index, int):
        return index
    path = error.problem.get('path')
    found = _PATH.match(path) if isinstance(path, str) else None
    return int(found[1]) if found else None


def _type_of(item: Item) -> bytes:
    """As its text begins (items.py)."""
    return item.text.partition(b',"payload":')[0]


def _halves(items: Sequence[Item]) -> list[Segment]:
    middle = (len(items) + 1) // 2
    return [*_segments(items[:middle]), *_segments(items[middle:])]


def _segments(items: Sequence[Item]) -> list[Segment]:
    """A segment of these items: none of no items."""
    return [Segment(make_idempotency_key(), items)] if items else []
