"""Lines of a spool's files (docs/formats/spool.md). The text of a record is copied. It is never parsed
and written again.

    {"idempotencyKey":"0123456789abcdef0123456789abcdef"}
    {"record":{"type":"generic/1","payload":{…},"occurredAt":"…"}}
    {"tag":"order 7","handle":"call-1","record":{…}}
    {"parentHandle":"call-1","record":{…}}
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path

from .errors import SpoolError
from .items import Item
from .json_text import to_json
from .segments import Refused, Segment

_KEY_LINE = re.compile(rb'\{"idempotencyKey":"([0-9a-f]{32})"\}\Z')
_NAMED = re.compile(
    rb'\{(?:"tag":("(?:[^"\\]|\\.)*"),)?(?:"handle":"([!#-\[\]-~]{1,255})",)?(?:"parentHandle":"([!#-\[\]-~]{1,255})",)?"record":'
)
_RECORD = b'{"record":'


def format_key(idempotency_key: str) -> bytes:
    return f'{{"idempotencyKey":"{idempotency_key}"}}\n'.encode()


def format_item(item: Item) -> bytes:
    named = '' if item.tag is None else f'"tag":{json.dumps(item.tag, ensure_ascii=False)},'
    own = '' if item.handle is None else f'"handle":"{item.handle}",'
    parent = '' if item.parent_handle is None else f'"parentHandle":"{item.parent_handle}",'
    return b'{' + (named + own + parent).encode() + b'"record":' + item.text + b'}\n'


def format_segments(segments: Iterable[Segment]) -> bytes:
    return b''.join(format_key(key) + b''.join(map(format_item, items)) for key, items in segments)


def format_refused(refused: Refused, refused_at: str) -> bytes:
    item, problem, key = refused
    why = {'refusedAt': refused_at, 'idempotencyKey': key, 'problem': dict(problem)}
    if item.tag is not None:
        why['tag'] = item.tag
    return to_json(why)[:-1] + b',"record":' + item.text + b'}\n'


def parse_segments(path: Path, data: bytes, *, every_line: bool) -> list[Segment]:
    """Returns the segments of a file. Drops an incomplete last line, because its record was never
    accepted.

    `every_line`: checks that each line is JSON. Raises SpoolError for lines that no spool writes.
    """
    segments: list[tuple[str, list[Item]]] = []
    for number, line in enumerate(data.split(b'\n')[:-1], 1):
        key = _KEY_LINE.match(line)
        if key is not None:
            segments.append((key[1].decode(), []))
            continue
        item = _parse_item(line)
        if item is None or not segments or (every_line and not _is_record(line)):
            raise SpoolError(f'{path}: line {number} was not written by a spool')
        segments[-1][1].append(item)
    return [Segment(key, items) for key, items in segments if items]


def _parse_item(line: bytes) -> Item | None:
    if not line.endswith(b'}}'):
        return None
    if line.startswith(_RECORD):
        return Item(line[len(_RECORD) : -1])
    found = _NAMED.match(line)
    if found is None:
        return None
    tag, handle, parent = found.groups()
    try:
        return Item(
            line[found.end() : -1],
            None if tag is None else json.loads(tag),
            None if handle is None else handle.decode(),
            None if parent is None else parent.decode(),
        )
    except ValueError:
        return None


def _is_record(line: bytes) -> bool:
    try:
        record = json.loads(line)['record']
        return isinstance(record['type'], str) and isinstance(record['payload'], (dict, list))
    except (ValueError, KeyError, TypeError, RecursionError):
        return False
