"""A record as it waits: the text that is sent, made when it was taken."""

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
    """Members of a record besides its payload."""

    type: str
    """Absent: `generic/1`, which takes any object."""
    occurred_at: datetime | str | None
    """Absent: now. The ledger has its own time of a record, which is later by as long as the record waited here."""
    on_behalf_of: str | None
    metadata: Mapping[str, Any] | None
    """Free, at most 4 KiB, not signed."""
    parent: str | None
    """Id of a record of the ledger. Its own records are known by their ids from `on_recorded` on: `parent_handle` names one before."""
    handle: str | None
    """Name of the record for those that follow from it; no two have the same. 1 to 255 visible ASCII characters, no `"` or `\\`."""
    parent_handle: str | None
    """`handle` of an earlier record of this notarizer, or of an earlier process on its spool, which becomes the parent. Without a parent if
    that record was refused, or is not among the newest 10 000 with a handle."""
    references: Sequence[str] | None
    """URIs, or `system:id`: at most 16, of 256 characters each."""
    subject: str | None
    """The person that it is about, whose documents can be found and erased; kept as a keyed hash."""
    traceparent: str | None
    """W3C Trace Context: signed with the record, which is found by its trace id."""
    tag: str | None
    """One's own name for the record: comes back with its id, and is sent nowhere."""


class Item(NamedTuple):
    text: bytes
    """JSON in UTF-8."""
    tag: str | None = None
    handle: str | None = None
    parent_handle: str | None = None
    """None once the text names the parent, or it is known that there is none."""


class MeasuredItem(NamedTuple):
    item: Item
    type: str
    parent: str | None
    """Its id or its handle."""


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
    """Raises UsageError for what would not be recorded as it was given. `now`: seconds since 1970."""
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
    """The text of a record with a parent: an id, or the place of an earlier record of its batch."""
    return text[:-1] + b',"parent":' + to_json(parent) + b'}'


def _document(document: Mapping[str, Any], at: str, bytes_max: int) -> bytes:
    text = to_json(document if isinstance(document, dict) else _as_dict(document, at), at, DOCUMENT_DEPTH_MAX)
    # The server counts the canonical form, which is as long: members in another order.
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
    """As JSON; made once in a millisecond, because a hot loop records dozens in each."""
    global _instant
    ms = int((time.time() if now is None else now) * 1000)
    if _instant[0] != ms:
        made = datetime.fromtimestamp(ms // 1000, UTC).strftime('%Y-%m-%dT%H:%M:%S')
        _instant = (ms, f'"{made}.{ms % 1000:03d}Z"'.encode())
    return _instant[1]
