"""Builds the statements that an agent signs, from the requests (docs/formats/statements.md).

The server builds the same statement from the same request, and accepts no other statement.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from .._canonical import canonical, stringify
from .._core.members import SIGNED_MEMBERS
from .._core.request_limits import GATED_REVISIONS_DEFAULT
from ..errors import UsageError
from ..verify.merkle import leaf_hash, root_of
from .parts import Random, batch_ids, completion_id, digest_with, own_record_id, salt_document, time_of, uuid7

Json = Mapping[str, Any]


class Subject(NamedTuple):
    name: str
    sha256: str
    """Lower-case hex."""


class Unsigned(NamedTuple):
    """A statement without signer and time, and the request body without the envelope."""

    kind: str
    subjects: list[Subject]
    predicate: dict[str, Any]
    """Members that are None are omitted."""
    body: dict[str, Any]


class TypeFacts(NamedTuple):
    """Facts about a record's type that the record's statements contain."""

    gated: bool
    digest: str


def statement_text(unsigned: Unsigned, *, ledger: str, agent: str, key: str, recorded_at: str) -> bytes:
    """Returns the in-toto v1 statement, as it is signed."""
    subjects = ','.join(f'{{"name":{stringify(name)},"digest":{{"sha256":"{digest}"}}}}' for name, digest in unsigned.subjects)
    predicate = {'ledger': ledger, 'actor': agent, 'key': key, 'recordedAt': recorded_at} | unsigned.predicate
    shown = stringify({name: value for name, value in predicate.items() if value is not None})
    return (
        f'{{"_type":"https://in-toto.io/Statement/v1","subject":[{subjects}],'
        f'"predicateType":"https://tallystick.dev/predicates/{unsigned.kind}/v1","predicate":{shown}}}'
    ).encode()


def of_record(body: Json, facts: TypeFacts, *, now_ms: int, traceparent: str | None, random: Random = os.urandom) -> Unsigned:
    """Returns the statement of a record: notarized, or created if its type is gated."""
    record = own_record_id(uuid7(now_ms, random))
    salt, salt_text, digest = salt_document(body['payload'], body.get('salt'), random)
    predicate = {
        'record': record,
        'version': 1,
        'type': body['type'],
        **_signed_members({**body, 'traceparent': traceparent}, salt),
    }
    if facts.gated:
        predicate |= {
            'to': 'CREATED',
            'typeDigest': facts.digest,
            'performer': body.get('performer'),
            'gate': body.get('gate', 'principal'),
            'deadline': _time(body.get('deadline')),
            'maxRevisions': body.get('maxRevisions', GATED_REVISIONS_DEFAULT),
            'tolerances': body.get('tolerances'),
        }
    kind = 'record-created' if facts.gated else 'record-notarized'
    return Unsigned(kind, [Subject(record, digest)], predicate, {**body, 'salt': salt_text})


def of_batch(body: Json, *, now_ms: int, random: Random = os.urandom) -> Unsigned:
    """Returns the statement of a batch, which has the id of its first record."""
    records = body['records']
    batch, ids = batch_ids(uuid7(now_ms, random), len(records))
    leaves, salted = [], []
    for record, item in zip(ids, records, strict=True):
        salt, salt_text, digest = salt_document(item['payload'], item.get('salt'), random)
        signed = {'record': record, 'type': item['type'], 'digest': digest, **_signed_members(item, salt, ids)}
        leaves.append(leaf_hash(canonical(signed)))
        salted.append({**item, 'salt': salt_text})
    predicate = {'batch': batch, 'count': len(records), 'tree': 'RFC9162_SHA256'}
    return Unsigned('batch-notarized', [Subject(batch, root_of(leaves).hex())], predicate, {**body, 'records': salted})


def _signed_members(body: Json, salt: bytes, ids: Sequence[str] = ()) -> dict[str, str]:
    """Returns the optional members as they are signed: times in UTC with milliseconds, references as a
    digest, and the parent's id.
    """
    as_signed: dict[str, Callable[[Any], str]] = {
        'occurredAt': time_of,
        'references': lambda references: digest_with(salt, references),
        'parent': lambda parent: _parent_at(ids, parent) if isinstance(parent, int) else parent,
    }
    given = {name: body[name] for name in SIGNED_MEMBERS if body.get(name) not in (None, [])}
    return {name: as_signed[name](value) if name in as_signed else value for name, value in given.items()}


def _parent_at(ids: Sequence[str], index: int) -> str:
    if not 0 <= index < len(ids):
        raise UsageError(f'the batch has no record {index}')
    return ids[index]


def of_step(step: str, record: Json, body: Json, *, traceparent: str | None, random: Random = os.urandom) -> Unsigned:
    """Returns the statement of a step, bound to the present version of the record.

    Raises UsageError if the step needs a verified completion or a verdict that the record does not have.
    """
    version = record['version'] + 1
    parts = _STEPS[step](record, body, version)
    event = {
        'record': record['id'],
        'version': version,
        'previous': record['entry']['leaf'],
        'from': record['state'],
        'onBehalfOf': body.get('onBehalfOf'),
        'occurredAt': _time(body.get('occurredAt')),
        'traceparent': traceparent,
    }
    subjects = [Subject(record['id'], record['digest']), *parts.subjects]
    signed = dict(body)
    if parts.document is not None:
        name, content = parts.document
        _, signed['salt'], digest = salt_document(content, body.get('salt'), random)
        subjects.append(Subject(name, digest))
    return Unsigned(parts.kind, subjects, event | parts.predicate, signed)


class _Parts(NamedTuple):
    kind: str
    subjects: list[Subject]
    predicate: dict[str, Any]
    document: tuple[str, Any] | None
    """Name and content."""


def _activate(_record: Json, _body: Json, _version: int) -> _Parts:
    return _Parts('record-activated', [], {'to': 'ACTIVE'}, None)


def _complete(record: Json, body: Json, version: int) -> _Parts:
    completion = completion_id(record['id'], version)
    return _Parts('completion-submitted', [], {'to': 'SUBMITTED', 'completion': completion}, (completion, body['evidence']))


def _verdict(record: Json, body: Json, _version: int) -> _Parts:
    completion, verification, _ = _judged(record)
    is_accepted = body['verdict'] == 'accept'
    accepted = 'accepted' if verification['outcome'] == 'pass' else 'accepted_anyway'
    signal = {
        'decision': 'SETTLE' if is_accepted else 'HOLD',
        'code': accepted if is_accepted else 'rejected',
        'failingRules': [rule['id'] for rule in verification['rules'] if rule['outcome'] == 'fail'],
        'validUntil': _time(body.get('validUntil')),
    }
    predicate = {
        'to': 'ACCEPTED' if is_accepted else 'REJECTED',
        'completion': completion.name,
        'verdict': body['verdict'],
        'by': 'principal',
        'signal': signal,
    }
    return _Parts('verdict-rendered', [completion], predicate, _reason(record, body))


def _revision(record: Json, body: Json, _version: int) -> _Parts:
    completion = _judged(record)[0]
    return _Parts('revision-requested', [], {'to': 'ACTIVE', 'completion': completion.name}, _reason(record, body))


def _cancel(record: Json, body: Json, _version: int) -> _Parts:
    return _Parts('record-cancelled', [], {'to': 'CANCELLED'}, _reason(record, body))


def _overturn(record: Json, body: Json, _version: int) -> _Parts:
    completion, _, verdict = _judged(record)
    if verdict is None:
        raise UsageError(f'{record["id"]} has no verdict to overturn')
    signal = {
        'decision': 'RELEASE',
        'code': 'overturned',
        'failingRules': verdict['signal']['failingRules'],
        'validUntil': _time(body.get('validUntil')),
    }
    predicate = {'to': 'ACCEPTED', 'completion': completion.name, 'signal': signal, 'supersedes': record['entry']['leaf']}
    return _Parts('verdict-overturned', [completion], predicate, _reason(record, body))


_STEPS: Mapping[str, Callable[[Json, Json, int], _Parts]] = {
    'activate': _activate,
    'completions': _complete,
    'verdict': _verdict,
    'revision': _revision,
    'cancel': _cancel,
    'overturn': _overturn,
}


def _judged(record: Json) -> tuple[Subject, Json, Json | None]:
    gated = record.get('gated') or {}
    completion, verification = gated.get('completion') or {}, gated.get('verification')
    if not completion.get('digest') or not verification:
        raise UsageError(f'{record["id"]} has no verified completion, so there is nothing to judge yet')
    return Subject(completion['id'], completion['digest']), verification, gated.get('verdict')


def _reason(record: Json, body: Json) -> tuple[str, Any] | None:
    return None if body.get('reason') is None else (f'{record["id"]}/reason', body['reason'])


def _time(text: str | None) -> str | None:
    return None if text is None else time_of(text)
