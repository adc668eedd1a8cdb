"""A waiting record: the text that will be sent, made when the record was accepted."""

import re
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, Unpack

from .._core.members import OTHER_MEMBERS, OtherMembers
from .._core.options import other_members
from .._core.request_limits import DOCUMENT_BYTES_MAX, METADATA_BYTES_MAX, REFERENCES_BYTES_MAX
from ..errors import UsageError
from .json_text import to_json
from .limits import DOCUMENT_DEPTH_MAX, ITEM_BYTES_MAX, TAG_CHARS_MAX

_HANDLE = re.compile(r'[!#-\[\]-~]{1,255}\Z')
TRACEPARENT = re.compile(r'00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}\Z')


class RecordOptions(OtherMembers, total=False):
    """Members of a record other than its payload."""

    type: str
    """By default `generic/1`, which accepts any object."""
    occurred_at: datetime | str | None
    """By default now. The ledger adds a time of its own, which is later by the time that the record waited here."""
    on_behalf_of: str | None
    metadata: Mapping[str, Any] | None
    """Any object of at most 4 KiB. Not signed."""
    parent: str | None
    """Id of a record of the ledger. If the id is not known yet, use `parent_handle`."""
    handle: str | None
    """Unique name of the record, by which later records name it as their parent. 1 to 255 visible ASCII characters without `"` and `\\`.
    """
    parent_handle: str | None
    """`handle` of an earlier record of this notarizer, or of an earlier process on its spool, which becomes the parent.

    The record gets no parent if that record was refused, or is not among the newest 10 000 with a handle.
    """
    references: Sequence[str] | None
    """URIs, or `system:id`: at most 16, of 256 characters each."""
    subject: str | None
    """Label of the person that the record is about, to find and erase that person's documents. Stored as a keyed hash."""
    traceparent: str | None
    """W3C Trace Context, signed with the record. Searches find the record by its trace id."""
    tag: str | None
    """The caller's name for the record, returned with its id and never sent."""


class Item(NamedTuple):
    text: bytes
    """JSON in UTF-8."""
    tag: str | None = None
    handle: str | None = None
    parent_handle: str | None = None
    """None: the record has no parent, or the text already contains its parent."""


class MeasuredItem(NamedTuple):
    item: Item
    type: str
    parent: str | None
    """Id or handle of the parent."""


def make_item(
    payload: Mapping[str, Any],
    *,
    type: str = 'generic/1',
    occurred_at: datetime | str | None = None,
    on_behalf_of: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    parent: str | None = None,
    handle: str | None = None,
    parent_handle: str | None = None,
    references: Sequence[str] | None = None,
    subject: str | None = None,
    traceparent: str | None = None,
    tag: str | None = None,
    now: float | None = None,
    **others: Unpack[OtherMembers],
) -> MeasuredItem:
    """Returns a record as it will be sent. Raises UsageError for values that would not be recorded unchanged.

    `now`: seconds since 1970.
    """
    if tag is not None and len(tag) > TAG_CHARS_MAX:
        raise UsageError(f'a tag must have at most {TAG_CHARS_MAX} characters')
    for name in (handle, parent_handle):
        if name is not None and _HANDLE.match(name) is None:
            raise UsageError('a handle must have 1 to 255 visible ASCII characters, without " and \\')
    if parent is not None and parent_handle is not None:
        raise UsageError('a record has one parent: give its id or its handle, not both')
    if traceparent is not None and TRACEPARENT.match(traceparent) is None:
        raise UsageError('a traceparent must be 00-<32 hex digits>-<16 hex digits>-<2 hex digits>')
    parts = [b'{"type":', to_json(type, '/type'), b',"payload":', _document(payload, '/payload', DOCUMENT_BYTES_MAX)]
    if metadata is not None:
        parts += b',"metadata":', _document(metadata, '/metadata', METADATA_BYTES_MAX)
    parts += b',"occurredAt":', _now(now) if occurred_at is None else to_json(occurred_at, '/occurredAt')
    if on_behalf_of is not None:
        parts += b',"onBehalfOf":', to_json(on_behalf_of, '/onBehalfOf')
    if parent is not None:
        parts += b',"parent":', to_json(parent, '/parent')
    if references is not None:
        parts += b',"references":', _references(references)
    if subject is not None:
        parts += b',"subject":', to_json(subject, '/subject')
    if traceparent is not None:
        parts += b',"traceparent":"', traceparent.encode(), b'"'
    if others:
        parts += _others(others)
    text = b''.join((*parts, b'}'))
    if len(text) > ITEM_BYTES_MAX:
        raise UsageError('the type, agent, parent or time is too long')
    if tag is not None:
        to_json(tag, 'the tag')
    return MeasuredItem(Item(text, tag, handle, parent_handle), type, parent if parent is not None else parent_handle)


def _others(given: OtherMembers) -> list[bytes]:
    if not given.keys() <= OTHER_MEMBERS.keys():
        raise TypeError(f'a record has no {", ".join(given.keys() - OTHER_MEMBERS.keys())}')
    return [b',"%b":%b' % (name.encode(), to_json(value, f'/{name}')) for name, value in other_members(given).items()]


def with_parent(text: bytes, parent: str | int) -> bytes:
    """Returns the text of a record with a parent: an id, or the index of an earlier record of its batch."""
    return text[:-1] + b',"parent":' + to_json(parent) + b'}'


def _document(document: Mapping[str, Any], at: str, bytes_max: int) -> bytes:
    text = to_json(document if isinstance(document, dict) else _as_dict(document, at), at, DOCUMENT_DEPTH_MAX)
    # The server measures the canonical form. It has the same length, because only the order of
    # members differs.
    if len(text) > bytes_max:
        raise UsageError(f'{at} has more than {bytes_max} bytes, the maximum: store the large part elsewhere, and its digest here')
    return text


def _as_dict(document: object, at: str) -> dict[str, Any]:
    if not isinstance(document, Mapping):
        raise UsageError(f'{at} is not a JSON object')
    return dict(document)


def _references(references: Sequence[str]) -> bytes:
    text = to_json(list(references), '/references')
    if len(text) > REFERENCES_BYTES_MAX:
        raise UsageError(f'/references has more than {REFERENCES_BYTES_MAX} bytes, the maximum')
    return text


_instant: tuple[int, bytes] = (-1, b'')


def _now(now: float | None) -> bytes:
    """Returns the time as JSON. The text is made once per millisecond, because a hot loop records
    dozens of records in a millisecond.
    """
    global _instant
    ms = int((time.time() if now is None else now) * 1000)
    if _instant[0] != ms:
        made = datetime.fromtimestamp(ms // 1000, UTC).strftime('%Y-%m-%dT%H:%M:%S')
        _instant = (ms, f'"{made}.{ms % 1000:03d}Z"'.encode())
    return _instant[1]
