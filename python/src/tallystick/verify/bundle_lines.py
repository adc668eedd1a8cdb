"""The lines of a bundle (docs/formats/bundles.md, "The file"). Each line has all of its members and no others."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from . import formats as f
from . import hints
from .errors import Refused
from .keys import EDDSA, ES256
from .limits import (
    BATCH_ITEMS_MAX,
    BUNDLE_FIRST_LINE_DEPTH_MAX,
    BUNDLE_KEYS_MAX,
    END_LINE_BYTES_MAX,
    INCLUSION_PATH_MAX,
)
from .line import MEMBERS, NULLABLE, check_head
from .proof import is_item_proof, is_path
from .strict_json import parse

_FIRST = frozenset(('bundle', 'ledger', 'of', 'completeness', 'documents', 'keys', 'checkpoint'))
_FIRST_NULLABLE = frozenset(('tool',))
_SELECTION = frozenset(('from', 'to'))
_FILTER = frozenset(('type', 'agent', 'trace'))
_RANGE = frozenset(('from', 'to', 'left', 'right'))
_NONE: frozenset[str] = frozenset()
_TRACE = re.compile(r'[0-9a-f]{32}\Z')


def _syntax(what: str) -> Refused:
    return Refused('bundle_syntax', what)


def parse_first(data: bytes) -> dict[str, Any]:
    """Returns the first line. Members of `of` that are null are removed. Raises Refused."""
    if len(data) > END_LINE_BYTES_MAX:
        raise _syntax(f'the first line has more than {END_LINE_BYTES_MAX} bytes')
    value = f.filled(parse(data, BUNDLE_FIRST_LINE_DEPTH_MAX).value, _FIRST, _FIRST_NULLABLE)
    if value is None or not f.is_integer(value['bundle'], 1, 1) or not f.is_id_of(value['ledger'], 'led'):
        raise _syntax('the first line is not {"bundle":1,…} with the id of a ledger and the required members')
    if value['documents'] not in ('all', 'withheld') or not isinstance(value['checkpoint'], str):
        raise _syntax('documents or checkpoint does not have the required form')
    if value['tool'] is not None and not f.is_text(value['tool']):
        raise _syntax('tool does not have the required form')
    value['of'] = _read_of(value['of'])
    if value['of'] is None:
        raise _syntax('of does not have the required form')
    keys = value['keys']
    if not isinstance(keys, list) or len(keys) > BUNDLE_KEYS_MAX or not all(map(_is_key, keys)):
        raise _syntax(f'keys do not have the required form, or are more than {BUNDLE_KEYS_MAX}')
    completeness = 'complete' if 'range' in value['of'] else 'selection'
    if value['completeness'] != completeness:
        raise _syntax(f'the bundle claims to be {str(value["completeness"])[:32]!r}, but is {completeness!r}')
    return value


def _read_of(of: Any) -> dict[str, Any] | None:
    if not isinstance(of, dict) or len(of) != 1:
        return None
    [(name, value)] = of.items()
    if name == 'selection':
        said = f.filled(value, _SELECTION, _FILTER)
        found = {} if said is None else {each: member for each, member in said.items() if member is not None}
        return {'selection': found} if _is_selection(found) else None
    fits = f.is_id_of(value, 'rec') if name in ('record', 'run') else name == 'range' and _is_range(value)
    return of if fits else None


def _is_range(value: Any) -> bool:
    if f.filled(value, _RANGE, _NONE) is None or not _are_ends(value):
        return False
    return is_path(value['left'], INCLUSION_PATH_MAX) and is_path(value['right'], INCLUSION_PATH_MAX)


def _are_ends(value: dict[str, Any]) -> bool:
    return f.is_integer(value['from'], 0) and f.is_integer(value['to'], int(value['from']))


def _is_selection(value: dict[str, Any]) -> bool:
    if len(value) < 3 or not _are_ends(value):
        return False
    trace = value.get('trace', '0' * 32)
    if not isinstance(trace, str) or _TRACE.match(trace) is None:
        return False
    return ('type' not in value or f.is_type(value['type'])) and ('agent' not in value or f.is_id_of(value['agent'], 'agt'))


def _is_key(value: Any) -> bool:
    key = f.filled(value, hints.MEMBERS, frozenset(('compromisedAt',)))
    return key is not None and hints.is_hint(key) and key['alg'] in (EDDSA, ES256)


def parse_entry(value: Any, span: tuple[int, int] | None) -> dict[str, Any]:
    """Returns the members of an entry. Raises Refused.

    `span`: the range of the bundle, or None for a selection. An entry outside of the range must
    have a path, and each of its items must have a path too.
    """
    seq = value.get('seq') if isinstance(value, dict) else None
    inside = span is not None and isinstance(seq, (int, float)) and not isinstance(seq, bool) and span[0] <= seq <= span[1]
    line = f.filled(value, MEMBERS if inside else MEMBERS | {'path'}, NULLABLE)
    if line is None:
        raise _syntax('an entry has missing or unknown members')
    try:
        check_head(line)
    except Refused as refused:
        raise _syntax(refused.reason) from None
    if inside:
        return line
    if not is_path(line['path'], INCLUSION_PATH_MAX):
        raise _syntax('the path of an entry does not have the required form')
    proofs = line['items'] or []
    if len(proofs) > BATCH_ITEMS_MAX or not all(map(is_item_proof, proofs)):
        raise _syntax(f'items do not have the required form, or are more than {BATCH_ITEMS_MAX}')
    if any(a['index'] >= b['index'] for a, b in pairwise(proofs)):
        raise _syntax('the items of a batch are not in order')
    return line


def parse_last(data: bytes) -> int:
    """Returns the number of entries in the last line. Any damage gives the same code, because a
    truncated file may end in the middle of a character.
    """
    try:
        value = parse(data, 1).value
    except Refused:
        value = None
    if f.filled(value, frozenset(('entries',)), _NONE) is None or not f.is_integer(value['entries'], 0):
        raise Refused('bundle_incomplete', 'the bundle was cut off, because its last line is not {"entries":…}: make the bundle again')
    return int(value['entries'])
