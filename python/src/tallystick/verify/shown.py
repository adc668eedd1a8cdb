"""Reads an entry for somebody who has neither ledger nor server, and compares a record, as a server shows it, with what was signed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .errors import Refused
from .line import check_digest, check_references, parse_salt
from .statement import KINDS, Statement

TERMINAL = frozenset(('ACCEPTED', 'CANCELLED', 'EXPIRED'))
_MEMBERS = ('id', 'ledger', 'type', 'actor', 'key', 'onBehalfOf', 'parent', 'occurredAt', 'recordedAt', 'batch')
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
    """An entry that was proved, and the item of a batch that the proof is about."""

    seq: int
    statement: Statement
    item: dict[str, Any] | None

    @property
    def subject(self) -> str:
        return str(self.item['record']) if self.item is not None else self.statement.subjects[0].name

    def line(self) -> str:
        statement = self.statement
        return (
            f'ledger={statement.ledger} entry={self.seq} kind={statement.kind} subject={self.subject} '
            f'recorded={statement.predicate["recordedAt"]}'
        )

    def signal(self) -> list[str]:
        """The version of a step of a gated record, and what a payer acts upon."""
        predicate = self.statement.predicate
        gated = KINDS[self.statement.kind].event and self.statement.kind != 'record-notarized'
        parts = [f'signal={predicate["signal"]["decision"]}'] if 'signal' in predicate else []
        return [*parts, f'version={predicate["version"]}'] if gated else parts


def _contradicts(what: str) -> Refused:
    return Refused('record_contradicts_proof', f'{what} of the record is not what was signed')


def check_record(shown: ShownEntry, value: Any) -> None:
    """docs/formats/proofs.md, "Checking one by hand", 10 and 11."""
    if not isinstance(value, dict) or not isinstance(value.get('id'), str):
        raise Refused('record_syntax', 'no record as a server answers it')
    statement = shown.statement
    predicate = statement.predicate
    if shown.item is None and 'record' not in predicate:
        raise _contradicts('the entry')
    signed = _signed(shown)
    first = predicate.get('version', 1) == 1
    for name in _MEMBERS:
        if name in signed and value.get(name) != signed[name]:
            raise _contradicts(name)
    _check_payload(value, signed['references'] if first else None, statement.digest if shown.item is None else shown.item['digest'], first)
    if statement.kind in ('record-notarized', 'batch-notarized'):
        if value.get('gated') is not None:
            raise _contradicts('gated')
        return
    _check_gated(statement, value, shown.seq)


def _signed(shown: ShownEntry) -> dict[str, Any]:
    predicate, item = shown.statement.predicate, shown.item
    if KINDS[shown.statement.kind].event and not KINDS[shown.statement.kind].first:
        return {'id': predicate['record'], 'ledger': predicate['ledger'], 'references': None}
    of = item if item is not None else predicate
    return {
        'id': of['record'],
        'ledger': predicate['ledger'],
        'type': of['type'],
        'actor': predicate['actor'],
        'key': predicate.get('key'),
        'onBehalfOf': of.get('onBehalfOf', predicate.get('onBehalfOf')),
        'parent': of.get('parent'),
        'occurredAt': of.get('occurredAt'),
        'recordedAt': predicate['recordedAt'],
        'batch': predicate.get('batch'),
        'references': of.get('references'),
    }


def _check_payload(value: dict[str, Any], references: str | None, digest: str, first: bool) -> None:
    if value.get('payload') is None or value.get('salt') is None:
        raise Refused('document_presence', 'the payload is not there')
    salt = parse_salt(value['salt'])
    check_digest(value['payload'], salt, digest, False, 'the payload')
    if first:
        check_references(value.get('references'), salt, references, False, 'the record')


def _check_gated(statement: Statement, value: dict[str, Any], seq: int) -> None:
    predicate = statement.predicate
    gated, version = value.get('gated'), value.get('version')
    if not isinstance(gated, dict) or not isinstance(version, int) or version < predicate['version']:
        raise _contradicts('version')
    if (version == predicate['version'] or predicate['to'] in TERMINAL) and value.get('state') != predicate['to']:
        raise _contradicts('state')
    if statement.kind == 'record-created':
        _check_terms(statement, gated)
    elif statement.kind == 'record-activated':
        if gated.get('performer') != statement.party:
            raise _contradicts('performer')
    elif statement.kind in _STEP_MEMBERS:
        _check_step(statement, gated.get(_STEP_MEMBERS[statement.kind]), seq)


def _check_terms(statement: Statement, gated: dict[str, Any]) -> None:
    predicate = statement.predicate
    wanted = {name: predicate.get(name) for name in ('gate', 'deadline', 'maxRevisions', 'tolerances')}
    wanted['principal'] = statement.party
    if 'performer' in predicate:
        wanted['performer'] = predicate['performer']
    for name, signed in wanted.items():
        if gated.get(name) != signed:
            raise _contradicts(name)


def _check_step(statement: Statement, step: Any, seq: int) -> None:
    predicate = statement.predicate
    if not isinstance(step, dict):
        raise _contradicts(_STEP_MEMBERS[statement.kind])
    wanted: dict[str, Any] = {'seq': seq, 'by': statement.party, 'recordedAt': predicate['recordedAt']}
    if statement.kind == 'completion-submitted':
        wanted['id'] = predicate['completion']
    for name in ('outcome', 'verdict', 'signal'):
        if name in predicate:
            wanted[name] = predicate[name]
    for name, signed in wanted.items():
        if step.get(name) != signed:
            raise _contradicts(name)
    if 'rules' in predicate and not _same_rules(predicate['rules'], step.get('rules')):
        raise _contradicts('rules')
    _check_step_document(statement, step)


def _same_rules(signed: list[dict[str, Any]], shown: Any) -> bool:
    if not isinstance(shown, list) or len(shown) != len(signed):
        return False
    members = ('id', 'outcome', 'code')
    return all(isinstance(b, dict) and all(a.get(name) == b.get(name) for name in members) for a, b in zip(signed, shown, strict=True))


def _check_step_document(statement: Statement, step: dict[str, Any]) -> None:
    name = _STEP_DOCUMENTS.get(statement.kind, 'reason')
    subject = statement.subjects[1 if name == 'evidence' else -1]
    if name == 'reason' and not subject.name.endswith('/reason'):
        if step.get('reason') is not None:
            raise Refused('document_presence', 'a reason that was not signed')
        return
    if step.get(name) is None or step.get('salt') is None:
        raise Refused('document_presence', f'{name} is not there')
    check_digest(step[name], parse_salt(step['salt']), subject.digest, False, name)
