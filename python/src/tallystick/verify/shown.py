"""Compares a record, as a server returned it, with a proved entry. Needs neither ledger nor server.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import formats as f
from .errors import Refused
from .limits import JSON_DEPTH_MAX, RECORD_BYTES_MAX, SALT_BYTES
from .line import check_digest
from .record import TRANSITIONS
from .statement import KINDS, Statement
from .strict_json import canonical, parse

_MOVING = frozenset(state for state, _, _ in TRANSITIONS)
_STEP_MEMBERS = {
    'completion-submitted': 'completion',
    'completion-verified': 'verification',
    'verdict-rendered': 'verdict',
    'verdict-overturned': 'overturn',
    'revision-requested': 'revision',
    'record-cancelled': 'cancellation',
}
_STEP_DOCUMENTS = {'completion-submitted': 'evidence', 'completion-verified': 'values'}


@dataclass
class ShownEntry:
    """A proved entry. If the proof is about an item of a batch, also that item."""

    seq: int
    statement: Statement
    item: dict[str, Any] | None

    @property
    def subject(self) -> str:
        return str(self.item['record']) if self.item is not None else self.statement.subjects[0].name

    @property
    def version(self) -> int | None:
        """Version of a gated record after the step, or None if the entry is no step of a gated record.
        """
        is_gated = KINDS[self.statement.kind].event and self.statement.kind != 'record-notarized'
        return int(self.statement.predicate['version']) if is_gated else None

    @property
    def signal(self) -> dict[str, Any] | None:
        """Settlement signal of the entry, or None if the entry has no signal."""
        found: dict[str, Any] | None = self.statement.predicate.get('signal')
        return found


def _contradicts(what: str) -> Refused:
    return Refused('record_contradicts_proof', f'{what} of the record is not what was signed')


def _check_member(shown: dict[str, Any], name: str, signed: Any) -> None:
    """Compares values as JSON does: `true` is not 1. An absent member equals null."""
    if canonical(shown.get(name)) != canonical(signed):
        raise _contradicts(name)


def check_record(shown: ShownEntry, data: bytes) -> None:
    """Checks a record against the entry (docs/formats/proofs.md, "Checking one by hand", steps 10 and 11). Raises Refused."""
    record = _parse(data)
    statement, item = shown.statement, shown.item
    kind = KINDS[statement.kind]
    if item is None and not kind.event:
        raise Refused('record_contradicts_proof', f'{statement.kind} makes and moves no record')
    for name, signed in _signed(statement, item).items():
        _check_member(record, name, signed)
    _check_gated(statement, item, record, shown.seq)
    salt = _salt(record, 'payload')
    check_digest(record['payload'], salt, statement.digest if item is None else item['digest'], False, 'the payload')
    if item is None and not kind.first:
        return
    signed = (statement.predicate if item is None else item).get('references')
    if (record.get('references') is None) != (signed is None):
        raise _contradicts('references')
    if signed is not None:
        check_digest(record['references'], salt, signed, False, 'references')


def _parse(data: bytes) -> dict[str, Any]:
    if len(data) > RECORD_BYTES_MAX:
        raise Refused('record_contradicts_proof', f'{len(data)} bytes are no record’s')
    value = parse(data, JSON_DEPTH_MAX).value
    if not isinstance(value, dict):
        raise Refused('record_contradicts_proof', 'the record is no object')
    return value


def _signed(statement: Statement, item: dict[str, Any] | None) -> dict[str, Any]:
    """Returns the members of the record that the entry signs, with their signed values."""
    predicate = statement.predicate
    if item is None and not KINDS[statement.kind].first:
        # A later entry does not contain the record's actor. Its own `actor` is the agent that took
        # the step.
        return {'id': predicate['record'], 'digest': statement.digest, 'ledger': predicate['ledger']}
    of = predicate if item is None else item
    return {
        'id': of['record'],
        'digest': statement.digest if item is None else item['digest'],
        'ledger': predicate['ledger'],
        'type': of['type'],
        'actor': predicate['actor'],
        'key': predicate.get('key'),
        'onBehalfOf': of.get('onBehalfOf'),
        'parent': of.get('parent'),
        'occurredAt': of.get('occurredAt'),
        'recordedAt': predicate['recordedAt'],
        'batch': None if item is None else statement.subjects[0].name,
    }


def _salt(shown: dict[str, Any], name: str) -> bytes:
    document, salt = shown.get(name), shown.get('salt')
    if document is None and salt is None:
        raise Refused('document_presence', f'{name} is erased: only its digest is left')
    if document is None or not isinstance(salt, str):
        raise Refused('record_contradicts_proof', f'it has no {name} and salt')
    found = f.from_base64url(salt)
    if found is None:
        raise Refused('bad_base64url', 'a salt is not canonical base64url')
    if len(found) != SALT_BYTES:
        raise Refused('record_contradicts_proof', f'a salt of {len(found)} bytes')
    return found


def _check_gated(statement: Statement, item: dict[str, Any] | None, record: dict[str, Any], seq: int) -> None:
    predicate, gated, version = statement.predicate, record.get('gated'), record.get('version')
    if item is not None or statement.kind == 'record-notarized':
        if gated is not None:
            raise _contradicts('gated')
        return
    if not isinstance(gated, dict):
        raise _contradicts('gated')
    if not f.is_integer(version, int(predicate['version'])):
        raise _contradicts('version')
    if version == predicate['version'] or predicate['to'] not in _MOVING:
        _check_member(record, 'state', predicate['to'])
    if statement.kind == 'record-created':
        _check_terms(statement, gated, is_new=version == 1)
    elif statement.kind == 'record-activated':
        _check_member(gated, 'performer', statement.party)
    elif statement.kind in _STEP_MEMBERS:
        _check_step(statement, gated.get(_STEP_MEMBERS[statement.kind]), seq)


def _check_terms(statement: Statement, gated: dict[str, Any], is_new: bool) -> None:
    predicate = statement.predicate
    _check_member(gated, 'principal', statement.party)
    for name in ('gate', 'deadline', 'maxRevisions', 'tolerances'):
        _check_member(gated, name, predicate.get(name))
    shown = gated.get('share')
    texts = {canonical(one) for one in shown} if isinstance(shown, list) else set()
    if any(canonical(one) not in texts for one in predicate.get('share', [])):
        raise _contradicts('share')
    if 'performer' in predicate or is_new:
        _check_member(gated, 'performer', predicate.get('performer'))


def _check_step(statement: Statement, step: Any, seq: int) -> None:
    predicate = statement.predicate
    if not isinstance(step, dict) or not f.is_integer(step.get('seq'), seq, seq):
        raise _contradicts(_STEP_MEMBERS[statement.kind])
    if statement.kind == 'completion-submitted':
        _check_member(step, 'id', predicate['completion'])
    for name in ('outcome', 'rules', 'verdict', 'signal'):
        if name in predicate:
            _check_member(step, name, predicate[name])
    _check_member(step, 'by', statement.party)
    _check_member(step, 'recordedAt', predicate['recordedAt'])
    _check_step_document(statement, step)


def _check_step_document(statement: Statement, step: dict[str, Any]) -> None:
    name, last = _STEP_DOCUMENTS.get(statement.kind, 'reason'), statement.subjects[-1]
    is_signed = name != 'reason' or last.name.endswith('/reason')
    _check_member(step, 'digest', last.digest if is_signed else None)
    if is_signed:
        check_digest(step.get(name), _salt(step, name), last.digest, False, name)
    else:
        _check_member(step, name, None)
