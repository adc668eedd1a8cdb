"""Parses statements, by kind (docs/formats/statements.md)."""

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

from . import formats as f
from .envelope import Envelope
from .errors import Refused
from .keys import parse_key
from .limits import (
    BATCH_ITEMS_MAX,
    CONTENT_TYPES_MAX,
    HOLD_RECORDS_MAX,
    INTEGER_MAX,
    ISSUER_KEYS_MAX,
    ISSUERS_MAX,
    JSON_DEPTH_MAX,
    RETENTION_DAYS_MAX,
    REVISIONS_MAX,
    RULES_MAX,
    SCOPES_MAX,
    SHARES_MAX,
    SUBJECT_ERASED_MAX,
)
from .strict_json import parse

TYPE = 'https://in-toto.io/Statement/v1'
_PREDICATE_TYPE = re.compile(r'https://tallystick\.dev/predicates/([a-z-]+)/v1\Z')
_REMOTE_AGENT = re.compile(r'(led_[0-9a-z]{26})/(agt_[0-9a-z]{26})\Z')
_KID = re.compile(r'(?:[0-9a-f]{2}){1,64}\Z')
STATES = frozenset(('CREATED', 'ACTIVE', 'SUBMITTED', 'VERIFIED', 'DISCREPANT', 'ACCEPTED', 'REJECTED', 'CANCELLED', 'EXPIRED'))
SHARED_EVENTS = frozenset(
    (
        'record-created',
        'record-activated',
        'completion-submitted',
        'completion-verified',
        'verdict-rendered',
        'verdict-overturned',
        'revision-requested',
        'record-cancelled',
        'record-expired',
    )
)
SHARED_OTHERS = frozenset(('record-shared', 'payload-erased', 'step-offered', 'offer-refused', 'entry-received', 'peer-added'))
OFFERED_STEPS = frozenset(('record-activated', 'completion-submitted'))

Check = Callable[[Any], bool]


class Subject(NamedTuple):
    name: str
    digest: str


class Statement(NamedTuple):
    kind: str
    subjects: tuple[Subject, ...]
    predicate: dict[str, Any]

    @property
    def ledger(self) -> str:
        return str(self.predicate['ledger'])

    @property
    def digest(self) -> str:
        return self.subjects[0].digest

    @property
    def party(self) -> str:
        return str(self.predicate.get('onBehalfOf') or self.predicate['actor'])

    @property
    def ms(self) -> int:
        return f.time_of(self.predicate['recordedAt'])


class Kind(NamedTuple):
    required: dict[str, Check]
    optional: dict[str, Check]
    subjects: str
    """Expected subjects, separated by spaces. Each is the prefix of an id, or the kind of a name. `?` marks an optional subject."""
    event: bool = False
    first: bool = False


def _id(prefix: str) -> Check:
    return lambda value: f.is_id_of(value, prefix)


def _one_of(*values: str) -> Check:
    return lambda value: isinstance(value, str) and value in values


def _bounded(least: int, most: int) -> Check:
    return lambda value: f.is_integer(value, least, most)


def _list(check: Check, most: int) -> Check:
    return lambda value: isinstance(value, list) and len(value) <= most and all(map(check, value))


def _exactly(members: dict[str, Check], optional: dict[str, Check] | None = None) -> Check:
    others = optional or {}

    def check(value: Any) -> bool:
        if not isinstance(value, dict) or not members.keys() <= value.keys():
            return False
        return all((members.get(name) or others.get(name) or _never)(member) for name, member in value.items())

    return check


def _never(_value: Any) -> bool:
    return False


def _or_null(check: Check) -> Check:
    return lambda value: value is None or check(value)


def is_remote_agent(value: Any) -> bool:
    match = _REMOTE_AGENT.match(value) if isinstance(value, str) else None
    return match is not None and f.is_id(match[1], 'led') and f.is_id(match[2], 'agt')


def _is_actor(value: Any) -> bool:
    return value == 'system' or f.is_id_of(value, 'agt') or is_remote_agent(value)


def _is_performer(value: Any) -> bool:
    return f.is_id_of(value, 'agt') or is_remote_agent(value)


def _is_scopes(value: Any) -> bool:
    # Scopes are ASCII. So the order by code points, which Python uses, is also the order by UTF-16
    # code units.
    return _list(f.is_scope, SCOPES_MAX)(value) and all(a < b for a, b in pairwise(value))


def _is_share(value: Any) -> bool:
    one = _exactly({'peer': _id('peer'), 'documents': _one_of('whole', 'digests')})
    if not isinstance(value, list) or not 1 <= len(value) <= SHARES_MAX or not all(map(one, value)):
        return False
    peers = [share['peer'] for share in value]
    return all(a < b for a, b in pairwise(peers))


def is_envelope_key(value: Any) -> bool:
    """Checks the format only. Whether the kid is the thumbprint is checked later (`kid_mismatch`)."""
    if not _exactly({'kid': f.is_hex64, 'alg': _one_of('EdDSA', 'ES256'), 'spki': _is_base64})(value):
        return False
    return _is_key(value['alg'], value['spki'])


def _is_key(alg: Any, spki: Any) -> bool:
    try:
        parse_key(alg, f.from_base64(spki, 'a key'))
    except Refused:
        return False
    return True


def _is_base64(value: Any) -> bool:
    try:
        f.from_base64(value, '')
    except Refused:
        return False
    return True


def _is_signature(value: Any) -> bool:
    return _is_base64(value) and len(f.from_base64(value, '')) == 64


def _is_definition(value: Any) -> bool:
    members: dict[str, Check] = {
        'name': f.is_text,
        'issuer': f.is_text,
        'origin': f.is_text,
        'envelopeKey': is_envelope_key,
        'noteKey': lambda key: isinstance(key, str) and _is_key('EdDSA', key),
        'types': lambda types: isinstance(types, dict) and all(f.is_type(name) and f.is_hex64(digest) for name, digest in types.items()),
    }
    return _exactly(members)(value)


def _is_identity(value: Any) -> bool:
    members: dict[str, Check] = {
        'ledger': _id('led'),
        'url': f.is_url,
        'origin': f.is_text,
        'genesis': f.is_hex64,
        'envelopeKey': is_envelope_key,
    }
    return _exactly(members)(value) and f.is_origin(value['origin'], value['ledger'])


def _is_issuers(value: Any) -> bool:
    key = _exactly(
        {
            'kid': lambda kid: isinstance(kid, str) and _KID.match(kid) is not None,
            'alg': _one_of('EdDSA', 'ES256'),
            'spki': _is_base64,
        }
    )
    issuer = _exactly({'issuer': f.is_text, 'keys': _list(lambda one: key(one) and _is_key(one['alg'], one['spki']), ISSUER_KEYS_MAX)})
    return _list(issuer, ISSUERS_MAX)(value)


_PLACE = {'ledger': _id('led'), 'seq': _bounded(0, INTEGER_MAX), 'leaf': f.is_hex64}
_RECEIVED = _exactly(
    {
        **_PLACE,
        'kind': lambda kind: isinstance(kind, str) and kind in KINDS,
        'record': _or_null(_id('rec')),
        'version': _or_null(_bounded(1, INTEGER_MAX)),
    }
)
_OFFER = _exactly({'peer': _id('peer'), **_PLACE})
_SIGNAL = _exactly(
    {
        'decision': _one_of('SETTLE', 'HOLD', 'RELEASE'),
        'code': f.is_code,
        'failingRules': _list(f.is_rule_id, RULES_MAX),
        'validUntil': _or_null(f.is_time),
    }
)
_RULES = _list(_exactly({'id': f.is_rule_id, 'outcome': _one_of('pass', 'fail')}, {'code': f.is_code}), RULES_MAX)
_HEAD = _exactly({'size': _bounded(1, INTEGER_MAX), 'chain': f.is_hex64})
_ENDORSEMENT = _exactly({'kid': f.is_hex64, 'signature': _is_signature})

_COMMON: dict[str, Check] = {'ledger': _id('led'), 'actor': _is_actor, 'recordedAt': f.is_time}
_COMMON_OPTIONAL: dict[str, Check] = {'key': _id('key'), 'onBehalfOf': _id('agt'), 'traceparent': f.is_traceparent}
_EVENT: dict[str, Check] = {'record': _id('rec'), 'version': _bounded(1, INTEGER_MAX)}
_STEP: dict[str, Check] = {
    'previous': f.is_hex64,
    'from': _one_of(*STATES),
    'to': _one_of(*STATES),
}
_RECORD: dict[str, Check] = {'parent': _id('rec'), 'references': f.is_hex64}
_COMPLETION = {'completion': _id('cmp')}
_VERDICT = {'signal': _SIGNAL}


def _kind(
    subjects: str,
    required: dict[str, Check] | None = None,
    optional: dict[str, Check] | None = None,
    event: bool = False,
    first: bool = False,
) -> Kind:
    needs = {**_COMMON, **(required or {})}
    may = {**_COMMON_OPTIONAL, **(optional or {})}
    if event:
        needs |= _EVENT if first else _EVENT | {name: check for name, check in _STEP.items() if name not in needs}
        may['occurredAt'] = f.is_time
    return Kind(needs, may, subjects, event, first)


_CASE = re.compile(r'[A-Za-z0-9][A-Za-z0-9._/-]{0,62}\Z')
_TRACE = re.compile(r'[0-9a-f]{32}\Z')
_HELD_RECORDS = _list(_id('rec'), HOLD_RECORDS_MAX)


def _is_case(value: Any) -> bool:
    return isinstance(value, str) and _CASE.match(value) is not None


_EXPORTED = _exactly(
    {},
    {
        'record': _id('rec'),
        'run': _id('rec'),
        'agent': _id('agt'),
        'type': f.is_type,
        'trace': lambda value: isinstance(value, str) and _TRACE.match(value) is not None,
    },
)


KINDS: dict[str, Kind] = {
    'ledger-created': _kind('led', {'definition': _is_definition}),
    'server-key-rotated': _kind('led', {'newKey': is_envelope_key}),
    'agent-registered': _kind('agt', {'agent': _id('agt'), 'name': f.is_text}),
    'agent-disabled': _kind('agt', {'agent': _id('agt'), 'name': f.is_text}),
    'agent-key-registered': _kind(
        'agt',
        {
            'agent': _id('agt'),
            'newKey': is_envelope_key,
            'required': lambda value: isinstance(value, bool),
            'proof': _is_signature,
        },
        {'endorsement': _ENDORSEMENT},
    ),
    'agent-key-revoked': _kind('agt', {'agent': _id('agt'), 'kid': f.is_hex64}),
    'key-created': _kind('key', {'agent': _id('agt'), 'scopes': _is_scopes, 'expiresAt': _or_null(f.is_time)}),
    'key-revoked': _kind('key', {'agent': _id('agt'), 'scopes': _is_scopes, 'expiresAt': _or_null(f.is_time)}),
    'type-registered': _kind('type', {}, {'agentSigned': lambda value: value is True}),
    'record-notarized': _kind('rec', {'type': f.is_type}, _RECORD, event=True, first=True),
    'batch-notarized': _kind(
        'bat',
        {'batch': _id('bat'), 'count': _bounded(1, BATCH_ITEMS_MAX), 'tree': _one_of('RFC9162_SHA256')},
    ),
    'record-created': _kind(
        'rec',
        {
            'to': _one_of('CREATED'),
            'type': f.is_type,
            'typeDigest': f.is_hex64,
            'gate': _one_of('principal', 'auto'),
            'maxRevisions': _bounded(0, REVISIONS_MAX),
        },
        {
            'performer': _is_performer,
            'share': _is_share,
            'deadline': f.is_time,
            'tolerances': lambda value: isinstance(value, dict),
            **_RECORD,
        },
        event=True,
        first=True,
    ),
    'record-activated': _kind('rec', {}, {'offer': _OFFER}, event=True),
    'completion-submitted': _kind('rec cmp', _COMPLETION, {'offer': _OFFER}, event=True),
    'completion-verified': _kind('rec cmp values', {**_COMPLETION, 'outcome': _one_of('pass', 'fail'), 'rules': _RULES}, event=True),
    'verdict-rendered': _kind(
        'rec cmp reason?',
        {**_COMPLETION, 'verdict': _one_of('accept', 'reject'), 'by': _one_of('principal', 'auto'), **_VERDICT},
        event=True,
    ),
    'verdict-overturned': _kind('rec cmp reason?', {'supersedes': f.is_hex64, **_VERDICT}, _COMPLETION, event=True),
    'revision-requested': _kind('rec reason?', _COMPLETION, event=True),
    'record-cancelled': _kind('rec reason?', {}, _COMPLETION, event=True),
    'record-expired': _kind('rec', event=True),
    'payload-erased': _kind('erased', {'seq': _bounded(0, INTEGER_MAX), 'code': f.is_code}, {'rule': _bounded(0, INTEGER_MAX)}),
    'ledger-restored': _kind('led', {'known': _HEAD, 'found': _HEAD}),
    'peer-added': _kind(
        'peer',
        {'tokenHash': f.is_hex64, 'inviter': _is_identity, 'invited': _is_identity},
        {'counterpart': f.is_hex64},
    ),
    'peer-suspended': _kind('peer', {'code': f.is_code}),
    'peer-resumed': _kind('peer', {'code': f.is_code}),
    'peer-revoked': _kind('peer', {'code': f.is_code}),
    'peer-key-rotated': _kind('peer', {'newKey': is_envelope_key, 'received': lambda value: _RECEIVED(value)}),
    'record-shared': _kind('rec', {'record': _id('rec'), 'share': _is_share}),
    'entry-received': _kind('received', {'peer': _id('peer'), 'received': lambda value: _RECEIVED(value)}),
    'step-offered': _kind(
        'rec cmp?',
        {
            'peer': _id('peer'),
            'record': _id('rec'),
            'step': _one_of(*OFFERED_STEPS),
            'version': _bounded(2, INTEGER_MAX),
            'previous': f.is_hex64,
        },
        _COMPLETION,
    ),
    'offer-refused': _kind(
        'received',
        {'peer': _id('peer'), 'record': _id('rec'), 'code': f.is_code, 'received': lambda value: _RECEIVED(value)},
    ),
    'registration-policy-set': _kind('led', {'issuers': _is_issuers}, {'contentTypes': _list(f.is_text, CONTENT_TYPES_MAX)}),
    'statement-registered': _kind(
        'stm',
        {
            'policy': f.is_hex64,
            'issuer': f.is_text,
            'subject': f.is_text,
            'contentType': f.is_text,
            'kid': lambda kid: isinstance(kid, str) and _KID.match(kid) is not None,
            'payload': f.is_hex64,
        },
    ),
    'retention-set': _kind(
        'led', {'days': _or_null(_bounded(1, RETENTION_DAYS_MAX)), 'basis': f.is_code}, {'type': f.is_type, 'agent': _id('agt')}
    ),
    'hold-set': _kind(
        'led',
        {'case': _is_case},
        {'type': f.is_type, 'agent': _id('agt'), 'records': lambda value: _HELD_RECORDS(value) and len(value) == len(set(value)) > 0},
    ),
    'hold-lifted': _kind('led', {'case': _is_case, 'seq': _bounded(0, INTEGER_MAX)}),
    'subject-erased': _kind(
        'led',
        {'code': f.is_code, 'erased': _list(_bounded(0, INTEGER_MAX), SUBJECT_ERASED_MAX), 'held': _bounded(0, INTEGER_MAX)},
    ),
    'export-made': _kind(
        'led',
        {
            'of': _EXPORTED,
            'from': _bounded(0, INTEGER_MAX),
            'to': _bounded(0, INTEGER_MAX),
            'documents': _one_of('all', 'withheld'),
        },
    ),
}

_NAMED_BY = {'led': 'ledger', 'agt': 'agent', 'bat': 'batch', 'cmp': 'completion', 'rec': 'record'}
_RECEIVED_NAME = re.compile(r'led_[0-7][0-9a-hjkmnp-tv-z]{25}/(?:0|[1-9][0-9]{0,15})\Z')


def parse_statement(data: bytes) -> Statement:
    text = parse(data, JSON_DEPTH_MAX)
    value = text.value
    if not isinstance(value, dict) or value.keys() != {'_type', 'subject', 'predicateType', 'predicate'}:
        raise Refused('statement_structure', 'a statement must have exactly _type, subject, predicateType and predicate')
    if value['_type'] != TYPE or not isinstance(value['predicateType'], str):
        raise Refused('statement_structure', f'_type is not {TYPE!r}, or predicateType is not a text')
    subjects, predicate = value['subject'], value['predicate']
    if not isinstance(subjects, list) or not isinstance(predicate, dict):
        raise Refused('statement_structure', 'subject is not a list, or predicate is not an object')
    match = _PREDICATE_TYPE.match(value['predicateType'])
    kind = KINDS.get(match[1]) if match else None
    if match is None or kind is None:
        raise Refused('statement_predicate_type', f'unknown predicate type: {value["predicateType"][:128]!r}')
    name = match[1]
    statement = Statement(name, _subjects(subjects, kind), predicate)
    _check_predicate(statement, kind)
    _check_named(statement, kind)
    _check_version(statement, kind)
    special = _SPECIAL.get(statement.kind)
    if special is not None:
        special(statement)
    return statement


def _subjects(values: list[Any], kind: Kind) -> tuple[Subject, ...]:
    found: list[Subject] = []
    for value in values:
        if not isinstance(value, dict) or value.keys() != {'name', 'digest'} or not isinstance(value['name'], str):
            raise Refused('statement_subject', 'a subject must have a name and a digest')
        digest = value['digest']
        if not isinstance(digest, dict) or digest.keys() != {'sha256'} or not f.is_hex64(digest['sha256']):
            raise Refused('statement_subject', 'a digest must be one sha256 of 64 hex digits')
        found.append(Subject(value['name'], digest['sha256']))
    wanted = kind.subjects.split(' ')
    least = sum(not one.endswith('?') for one in wanted)
    if not least <= len(found) <= len(wanted):
        raise Refused('statement_subject', f'the subjects must be {", ".join(wanted)}, not {len(found)} subjects')
    for subject, want in zip(found, wanted, strict=False):
        _check_subject(subject.name, want.rstrip('?'), found[0].name)
    return tuple(found)


def _check_subject(name: str, want: str, first: str) -> None:
    if want == 'type':
        fits = f.is_type(name)
    elif want == 'values':
        of, _, part = name.partition('/')
        fits = f.is_id(of, 'cmp') and part == 'values'
    elif want == 'reason':
        fits = name == f'{first}/reason'
    elif want == 'erased':
        fits = _is_erasable(name)
    elif want == 'received':
        fits = _RECEIVED_NAME.match(name) is not None
    else:
        fits = f.is_id(name, want)
    if not fits:
        raise Refused('statement_subject', f'the subject {name[:96]!r} does not have the form of {want}')


def _check_named(statement: Statement, kind: Kind) -> None:
    """Checks that a subject is the same as the member of the predicate that names it."""
    predicate = statement.predicate
    for subject, want in zip(statement.subjects, kind.subjects.split(' '), strict=False):
        name = want.rstrip('?')
        said: Any = subject.name
        if name in _NAMED_BY:
            said = predicate.get(_NAMED_BY[name], subject.name)
        elif name == 'values':
            said = f'{predicate["completion"]}/values'
        if said != subject.name:
            raise _misnamed(subject)


def _check_version(statement: Statement, kind: Kind) -> None:
    version = statement.predicate.get('version')
    if kind.event and (version == 1) != kind.first:
        must = 'must' if kind.first else 'cannot'
        raise Refused('statement_predicate', f'{statement.kind} has the version {version}, but {must} have version 1')


def _misnamed(subject: Subject) -> Refused:
    return Refused('statement_subject', f'the subject {subject.name[:96]!r} is not the one that the predicate names')


def _is_erasable(name: str) -> bool:
    of, _, part = name.partition('/')
    if not part:
        return '/' not in name and (f.is_id(of, 'rec') or f.is_id(of, 'cmp'))
    return (part == 'values' and f.is_id(of, 'cmp')) or (part == 'reason' and f.is_id(of, 'rec'))


def _check_predicate(statement: Statement, kind: Kind) -> None:
    predicate = statement.predicate
    for name in kind.required:
        if name not in predicate:
            raise Refused('statement_predicate', f'{statement.kind} has no member {name}')
    for name, member in predicate.items():
        check = kind.required.get(name) or kind.optional.get(name)
        if check is None:
            raise Refused('statement_predicate', f'{statement.kind} has the unknown member {name[:64]!r}')
        if not check(member):
            raise Refused('statement_predicate', f'{name} of {statement.kind} does not have the required form')
    if statement.kind in _OF_SYSTEM and predicate['actor'] != 'system':
        raise Refused('statement_predicate', f'only system can make {statement.kind}')
    if statement.kind in _OF_AGENTS and not f.is_id_of(predicate['actor'], 'agt'):
        raise Refused('statement_predicate', f'only an agent can make {statement.kind}')
    _check_key(statement)


_OF_SYSTEM = frozenset(('ledger-created', 'peer-added', 'peer-key-rotated', 'entry-received', 'offer-refused'))
_OF_AGENTS = frozenset(
    (
        'agent-key-registered',
        'agent-key-revoked',
        'peer-suspended',
        'peer-resumed',
        'peer-revoked',
        'record-shared',
        'step-offered',
        'registration-policy-set',
        'statement-registered',
        'retention-set',
        'hold-set',
        'hold-lifted',
        'subject-erased',
        'export-made',
    )
)


def _check_key(statement: Statement) -> None:
    predicate = statement.predicate
    actor = predicate['actor']
    if f.is_id_of(actor, 'agt') != ('key' in predicate):
        raise Refused(
            'statement_predicate',
            f'{actor} cannot have a key' if 'key' in predicate else f'key is missing, although the agent {actor} acts',
        )
    if 'onBehalfOf' in predicate and 'key' not in predicate:
        raise Refused('statement_predicate', f'{actor} cannot act on behalf of an agent')
    if is_remote_agent(actor) and _SPECIAL.get(statement.kind) is not _taken:
        raise Refused('statement_predicate', f'the remote agent {actor} cannot make {statement.kind}')


def _taken(statement: Statement) -> None:
    actor, offer = statement.predicate['actor'], statement.predicate.get('offer')
    if is_remote_agent(actor):
        if offer is None or offer['ledger'] != actor.partition('/')[0] or offer['ledger'] == statement.ledger:
            raise Refused('statement_predicate', f'the remote agent {actor} needs an offer of its own ledger')
    elif offer is not None:
        raise Refused('statement_predicate', f'only a remote agent can have an offer, not {actor}')


def _need(holds: bool, reason: str) -> None:
    if not holds:
        raise Refused('statement_predicate', reason)


def _ledger_created(statement: Statement) -> None:
    name = statement.subjects[0].name
    _need(f.is_origin(statement.predicate['definition']['origin'], name), f'the origin must be <host>/{name}')


def _verdict(statement: Statement) -> None:
    verdict = statement.predicate['verdict']
    wanted = 'SETTLE' if verdict == 'accept' else 'HOLD'
    _need(statement.predicate['signal']['decision'] == wanted, f'the decision after {verdict} must be {wanted}')


def _overturned(statement: Statement) -> None:
    _need(statement.predicate['signal']['decision'] == 'RELEASE', 'the decision after an overturned verdict must be RELEASE')


def _created(statement: Statement) -> None:
    performer = statement.predicate.get('performer')
    if performer is not None and is_remote_agent(performer):
        _need(performer.partition('/')[0] != statement.ledger, f'the remote performer {performer} is an agent of this ledger')
        _need('share' in statement.predicate, f'the record is not shared with its performer {performer}')


def _peer_added(statement: Statement) -> None:
    predicate = statement.predicate
    sides = [predicate[side]['ledger'] for side in ('inviter', 'invited')]
    _need(sides[0] != sides[1] and statement.ledger in sides, f'the peering must be between {statement.ledger} and another ledger')
    _need(
        (statement.ledger == sides[1]) == ('counterpart' in predicate), 'the invited ledger must name its counterpart, the inviter must not'
    )


def _received(statement: Statement) -> None:
    received = statement.predicate['received']
    kind = received['kind']
    if statement.kind == 'peer-key-rotated':
        shared = kind == 'server-key-rotated'
    elif statement.kind == 'offer-refused':
        shared = kind == 'step-offered' and received['record'] == statement.predicate['record']
    else:
        shared = kind in SHARED_EVENTS or kind in RECEIVED_OTHERS
    _need(shared, f'{statement.kind} cannot receive {kind} of {received["record"]}')
    _need(received['ledger'] != statement.ledger, 'a ledger cannot receive its own entry')
    has_record = kind in SHARED_EVENTS or kind in ('record-shared', 'step-offered', 'offer-refused')
    _need((received['record'] is not None) == has_record, f'a received {kind} {"must" if has_record else "cannot"} have a record')
    has_version = kind in SHARED_EVENTS
    _need((received['version'] is not None) == has_version, f'a received {kind} {"must" if has_version else "cannot"} have a version')
    subject = statement.subjects[0]
    if statement.kind != 'peer-key-rotated' and (subject.name, subject.digest) != (
        f'{received["ledger"]}/{int(received["seq"])}',
        received['leaf'],
    ):
        raise _misnamed(subject)


RECEIVED_OTHERS = frozenset(('record-shared', 'payload-erased', 'offer-refused', 'peer-added', 'peer-revoked'))


def _offered(statement: Statement) -> None:
    step = statement.predicate['step']
    delivers = step == 'completion-submitted'
    if delivers != (len(statement.subjects) == 2):
        raise Refused('statement_subject', f'an offered {step} cannot have {len(statement.subjects)} subjects')
    _need(delivers == ('completion' in statement.predicate), f'an offered {step} {"must" if delivers else "cannot"} have a completion')


_SPECIAL: dict[str, Callable[[Statement], None]] = {
    'ledger-created': _ledger_created,
    'record-activated': _taken,
    'completion-submitted': _taken,
    'verdict-rendered': _verdict,
    'verdict-overturned': _overturned,
    'record-created': _created,
    'peer-added': _peer_added,
    'peer-key-rotated': _received,
    'entry-received': _received,
    'step-offered': _offered,
    'offer-refused': _received,
}


def check_claims(envelope: Envelope, statement: Statement) -> None:
    name, seconds = statement.subjects[0].name, statement.ms // 1000
    if envelope.subject != name:
        raise Refused(
            'claims_contradict_statement', f'the subject is {envelope.subject[:96]!r} in the envelope’s claims, but {name} in the statement'
        )
    if envelope.seconds != seconds:
        raise Refused(
            'claims_contradict_statement',
            f'the envelope was issued at second {envelope.seconds}, but the statement was recorded at second {seconds}',
        )
