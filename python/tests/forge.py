"""Writes ledgers with keys of the tests: one ledger with a little of everything, and validly signed
ledgers that no server would write.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tallystick.verify import formats as f
from tallystick.verify import merkle
from tallystick.verify.cbor import bytes_head, signature_structure
from tallystick.verify.keys import ed25519_spki, parse_key
from tallystick.verify.note import key_id
from tallystick.verify.strict_json import canonical

ISSUER = 'https://ledger.example'
T0 = 1_795_000_000_000


def seconds_text(ms: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(ms / 1000, UTC).strftime('%Y-%m-%dT%H:%M:%S.') + f'{ms % 1000:03d}Z'


class Signer:
    def __init__(self, name: str) -> None:
        self.private = Ed25519PrivateKey.from_private_bytes(sha256(name.encode()).digest())
        self.raw = self.private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        self.spki = ed25519_spki(self.raw)
        self.key = parse_key('EdDSA', self.spki)
        self.kid = self.key.kid

    def public(self) -> dict[str, str]:
        return {'kid': self.kid.hex(), 'alg': 'EdDSA', 'spki': f.to_base64(self.spki)}

    def sign(self, message: bytes) -> bytes:
        return self.private.sign(message)


def text_head(text: str) -> bytes:
    data = text.encode()
    head = bytearray(bytes_head(len(data)))
    head[0] |= 0x20
    return bytes(head) + data


def uint(value: int) -> bytes:
    head = bytearray(bytes_head(value))
    head[0] &= 0x1F
    return bytes(head)


def envelope(statement: dict[str, Any] | bytes, signer: Signer, issuer: str = ISSUER) -> bytes:
    payload = statement if isinstance(statement, bytes) else json.dumps(statement, ensure_ascii=False, separators=(',', ':')).encode()
    said = json.loads(payload)
    try:
        seconds = (f.milliseconds(said['predicate']['recordedAt']) or 0) // 1000
        subject = str(said['subject'][0]['name'])
    except (KeyError, IndexError, TypeError):
        seconds, subject = 0, ''
    claims = b'\xa3\x01' + text_head(issuer) + b'\x02' + text_head(subject) + b'\x06' + uint(max(seconds, 0))
    protected = b'\xa4\x01\x27\x03' + text_head('application/vnd.in-toto+json') + b'\x04\x58\x20' + signer.kid + b'\x0f' + claims
    signature = signer.sign(signature_structure(protected, payload))
    return b'\xd2\x84' + bytes_head(len(protected)) + protected + b'\xa0' + bytes_head(len(payload)) + payload + b'\x58\x40' + signature


def digest_of(value: Any) -> str:
    return sha256(canonical(value)).hexdigest()


def document_digest(document: Any, salt: bytes) -> str:
    return sha256(b'\x03' + salt + canonical(document)).hexdigest()


@dataclass
class Line:
    """An entry before it is signed, so that it can be changed and signed again."""

    statement: dict[str, Any] | None
    signer: Signer
    documents: list[dict[str, Any]] = field(default_factory=list)
    items: list[dict[str, Any]] | None = None
    received: bytes | None = None
    foreign: bytes | None = None
    recorded_at: str = ''
    by_agent: bool = False
    issuer: str = ISSUER

    def envelope(self) -> bytes:
        return (
            self.foreign
            if self.statement is None and self.foreign is not None
            else envelope(self.statement or {}, self.signer, self.issuer)
        )

    def leaf(self) -> bytes:
        return merkle.leaf_hash(self.envelope())


class Chain:
    """A ledger that is being written."""

    def __init__(self, name: str, start: int = T0) -> None:
        self.name = name
        self.count = 0
        self.ms = start
        self.led = self.id('led')
        self.origin = f'ledger.example/{self.led}'
        self.server = Signer(name + ' envelopes')
        self.note = Signer(name + ' notes')
        self.lines: list[Line] = []
        self.signers = {self.server.kid: self.server}
        self.heads: dict[str, tuple[str, int, str]] = {}
        self.notarized: list[str] = []
        self.payloads: dict[str, str] = {}
        self.completions: dict[str, tuple[str, str]] = {}
        self.definitions: dict[int, str] = {}
        """Texts of the registered types, by seq. An archive contains them."""
        self.known: tuple[str, str] = ('', '')
        """An agent that signs for itself, and the kid of its first key."""
        self.types = {
            'generic/1': digest_of({'name': 'generic', 'version': 1, 'payloadSchema': {'type': 'object'}}),
            'task/1': digest_of(
                {'name': 'task', 'version': 1, 'payloadSchema': {'type': 'object'}, 'evidenceSchema': {'type': 'object'}, 'rules': []}
            ),
        }
        self.definition = {
            'name': name,
            'issuer': ISSUER,
            'origin': self.origin,
            'envelopeKey': self.server.public(),
            'noteKey': f.to_base64(self.note.spki),
            'types': dict(self.types),
        }
        self.add('ledger-created', [(self.led, digest_of(self.definition))], {'definition': self.definition})
        self.genesis = self.lines[0].leaf().hex()

    def id(self, prefix: str, low: int | None = None) -> str:
        self.count += 1
        middle = sha256(f'{self.name}{self.count}'.encode()).digest()[:8]
        tail = (0x800 | self.count % 0x800) if low is None else low
        data = (T0 + self.count).to_bytes(6, 'big') + b'\x70\x00' + bytes([0x80 | middle[0] & 63]) + middle[1:6] + tail.to_bytes(2, 'big')
        return f.id_of(prefix, data)

    def salt(self) -> bytes:
        self.count += 1
        return sha256(f'salt {self.name} {self.count}'.encode()).digest()[:16]

    def add(
        self,
        kind: str,
        subjects: list[tuple[str, str]],
        predicate: dict[str, Any],
        actor: tuple[str, str] | None = None,
        signer: Signer | None = None,
        documents: list[dict[str, Any]] | None = None,
        items: list[dict[str, Any]] | None = None,
        received: bytes | None = None,
        after: int = 1_000,
    ) -> int:
        self.ms += after
        by = {'actor': 'system'} if actor is None else {'actor': actor[0], 'key': actor[1]}
        statement = {
            '_type': 'https://in-toto.io/Statement/v1',
            'subject': [{'name': name, 'digest': {'sha256': digest}} for name, digest in subjects],
            'predicateType': f'https://tallystick.dev/predicates/{kind}/v1',
            'predicate': {'ledger': self.led, **by, 'recordedAt': seconds_text(self.ms), **predicate},
        }
        line = Line(statement, signer or self.server, documents or [], items, received, recorded_at=seconds_text(self.ms))
        line.by_agent = signer is not None
        self.lines.append(line)
        return len(self.lines) - 1

    def document(self, subject: str, document: Any, references: list[str] | None = None) -> tuple[str, dict[str, Any]]:
        salt = self.salt()
        digest = document_digest(document, salt)
        shown = {'subject': subject, 'digest': digest, 'salt': f.to_base64url(salt), 'document': document, 'erasedBy': None}
        if references is not None:
            shown['references'] = references
        return digest, shown

    # The next methods add agents and their keys.

    def agent(self, name: str, by: tuple[str, str] | None = None) -> str:
        agent = self.id('agt')
        self.add('agent-registered', [(agent, digest_of({'agent': agent, 'name': name}))], {'agent': agent, 'name': name}, by)
        return agent

    def api_key(self, agent: str, scopes: list[str], by: tuple[str, str] | None = None, expires: str | None = None) -> tuple[str, str]:
        key = self.id('key')
        said = {'agent': agent, 'scopes': sorted(scopes), 'expiresAt': expires}
        self.add('key-created', [(key, digest_of({'key': key, **said}))], said, by)
        return agent, key

    def agent_key(self, agent: str, name: str, signer: Signer, by: tuple[str, str], required: bool, endorsed: Signer | None = None) -> None:
        text = f'tallystick-agent-key-v1\n{self.led}\n{agent}\n{signer.kid.hex()}\n{"required" if required else "optional"}\n'.encode()
        said: dict[str, Any] = {
            'agent': agent,
            'newKey': signer.public(),
            'required': required,
            'proof': f.to_base64(signer.sign(text)),
        }
        if endorsed is not None:
            said['endorsement'] = {'kid': endorsed.kid.hex(), 'signature': f.to_base64(endorsed.sign(text))}
        self.signers[signer.kid] = signer
        self.add('agent-key-registered', [(agent, digest_of({'agent': agent, 'name': name}))], said, by)

    def rotate(self, name: str) -> None:
        new = Signer(name)
        self.add('server-key-rotated', [(self.led, digest_of(self.definition))], {'newKey': new.public()})
        self.server = new
        self.signers[new.kid] = new

    def type(self, name: str, by: tuple[str, str], agent_signed: bool = False) -> None:
        definition = {'name': name.split('/')[0], 'version': 1, **({'agentSigned': True} if agent_signed else {})}
        self.types[name] = digest_of(definition)
        self.definitions[len(self.lines)] = canonical(definition).decode()
        self.add('type-registered', [(name, self.types[name])], {'agentSigned': True} if agent_signed else {}, by)

    # The next methods add records and their steps.

    def notarize(self, by: tuple[str, str], payload: Any, signer: Signer | None = None, **more: Any) -> str:
        record = self.id('rec')
        references = more.pop('references', None)
        digest, document = self.document(record, payload, references)
        if references is not None:
            more['references'] = document_digest(references, f.from_base64url(document['salt']) or b'')
        said = {'record': record, 'version': 1, 'type': 'generic/1', **more}
        self.add('record-notarized', [(record, digest)], said, by, signer, [document])
        self.notarized.append(record)
        return record

    def batch(self, by: tuple[str, str], payloads: list[Any], signer: Signer | None = None, **more: Any) -> list[str]:
        batch = self.id('bat')
        first = f.id_number(self.id('rec', 0))
        items, documents = [], []
        for index, payload in enumerate(payloads):
            record = f.id_of('rec', (first + index).to_bytes(16, 'big'))
            digest, document = self.document(record, payload)
            items.append({'record': record, 'type': 'generic/1', 'digest': digest, **more})
            documents.append(document)
        root = merkle.root_of([merkle.leaf_hash(canonical(item)) for item in items]).hex()
        said = {'batch': batch, 'count': len(items), 'tree': 'RFC9162_SHA256'}
        self.add('batch-notarized', [(batch, root)], said, by, signer, documents, items)
        return [item['record'] for item in items]

    def create(self, by: tuple[str, str], payload: Any, signer: Signer | None = None, **more: Any) -> str:
        record = self.id('rec')
        digest, document = self.document(record, payload)
        said = {
            'record': record,
            'version': 1,
            'to': 'CREATED',
            'type': 'task/1',
            'typeDigest': self.types[more.get('type', 'task/1')],
            'gate': 'principal',
            'maxRevisions': 3,
            **more,
        }
        self.add('record-created', [(record, digest)], said, by, signer, [document])
        self.payloads[record] = digest
        self.heads[record] = (self.lines[-1].leaf().hex(), 1, 'CREATED')
        return record

    def step(
        self,
        kind: str,
        record: str,
        to: str,
        caller: tuple[str, str] | None,
        signer: Signer | None = None,
        evidence: Any = None,
        values: Any = None,
        reason: str | None = None,
        completion: str | None = None,
        received: bytes | None = None,
        **more: Any,
    ) -> None:
        previous, version, state = self.heads[record]
        subjects = [(record, self.payloads[record])]
        documents = []
        if kind == 'completion-submitted':
            completion = completion or self.id('cmp')
            digest, document = self.document(completion, evidence)
            documents.append(document)
            self.completions[record] = (completion, digest)
        if kind in ('completion-submitted', 'completion-verified', 'verdict-rendered', 'verdict-overturned'):
            subjects.append(self.completions[record])
        if kind not in ('record-activated', 'record-expired') and record in self.completions:
            more['completion'] = self.completions[record][0]
        if values is not None:
            digest, document = self.document(f'{self.completions[record][0]}/values', values)
            subjects.append((document['subject'], digest))
            documents.append(document)
        if reason is not None:
            digest, document = self.document(f'{record}/reason', reason)
            subjects.append((document['subject'], digest))
            documents.append(document)
        said = {'record': record, 'version': version + 1, 'previous': previous, 'from': state, 'to': to, **more}
        self.add(kind, subjects, said, caller, signer, documents, None, received)
        self.heads[record] = (self.lines[-1].leaf().hex(), version + 1, to)

    def erase(self, by: tuple[str, str] | None, seq: int, index: int = 0, **more: Any) -> None:
        document = self.lines[seq].documents[index]
        said = {'seq': seq, 'code': 'retention', **more}
        at = self.add('payload-erased', [(document['subject'], document['digest'])], said, by)
        document.update({'salt': None, 'document': None, 'erasedBy': at})
        document.pop('references', None)

    # The next methods return files.

    def export(self, checkpoint: bool = True) -> bytes:
        return export_of(self, self.lines, checkpoint)

    def hash(self) -> bytes:
        at = merkle.genesis(f.id_bytes(self.led))
        for line in self.lines:
            at = merkle.link(at, leaf_of(line))
        return at

    def checkpoint(self, size: int, root: bytes, chain: bytes) -> str:
        text = f'{self.origin}\n{size}\n{f.to_base64(root)}\nchain {f.to_base64(chain)}\n'
        signature = key_id(self.origin, 1, self.note.raw) + self.note.sign(text.encode())
        return f'{text}\n\u2014 {self.origin} {f.to_base64(signature)}\n'


def compact(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(',', ':')).encode()


def leaf_of(line: Line) -> bytes:
    if line.statement is not None:
        return line.leaf()
    from tallystick.verify.registered import parse_foreign

    return parse_foreign(line.envelope()).leaf


def render_line(line: Line, seq: int, chain: bytes) -> tuple[dict[str, Any], bytes, bytes]:
    data = line.envelope()
    if line.statement is None:
        from tallystick.verify.registered import parse_foreign

        leaf, kind, recorded_at = parse_foreign(data).leaf, 'statement', line.recorded_at
    else:
        leaf = merkle.leaf_hash(data)
        predicate_type = line.statement.get('predicateType')
        kind = (
            predicate_type.removeprefix('https://tallystick.dev/predicates/').removesuffix('/v1') if isinstance(predicate_type, str) else ''
        )
        predicate = line.statement.get('predicate')
        recorded_at = predicate.get('recordedAt', line.recorded_at) if isinstance(predicate, dict) else line.recorded_at
    chain = merkle.link(chain, leaf)
    shown: dict[str, Any] = {
        'seq': seq,
        'kind': kind,
        'recordedAt': recorded_at,
        'leaf': leaf.hex(),
        'chain': chain.hex(),
        'envelope': f.to_base64(data),
        'documents': line.documents,
        'items': line.items,
    }
    if line.received is not None:
        shown['received'] = f.to_base64(line.received)
    if line.by_agent:
        shown['signer'] = {'alg': 'EdDSA', 'spki': f.to_base64(line.signer.spki)}
    return shown, leaf, chain


def export_of(chain: Chain, lines: list[Line], checkpoint: bool = True) -> bytes:
    """Returns the export of a ledger with any lines, valid or not. The lines are chained, and a
    checkpoint is added.
    """
    at = merkle.genesis(f.id_bytes(chain.led))
    tree = merkle.Tree()
    out = []
    for seq, line in enumerate(lines):
        shown, leaf, at = render_line(line, seq, at)
        tree.add(leaf)
        out.append(compact(shown))
    keys = [
        {**signer.public(), 'use': 'envelope', 'activatedAt': seconds_text(T0), 'retiredAt': None, 'compromisedAt': None}
        for signer in chain.signers.values()
        if not any(line.by_agent and line.signer is signer for line in lines)
    ]
    vkey = f'{chain.origin}+{key_id(chain.origin, 1, chain.note.raw).hex()}+{f.to_base64(bytes([1]) + chain.note.raw)}'
    ledger = {'id': chain.led, 'name': chain.name, 'issuer': ISSUER, 'origin': chain.origin, 'noteVerifierKey': vkey}
    first = compact({'export': 1, 'ledger': ledger, 'keys': keys})
    last = compact({'checkpoint': chain.checkpoint(tree.size, tree.root(), at) if checkpoint else None})
    return b'\n'.join([first, *out, last]) + b'\n'


def range_of(chain: Chain, lines: list[Line], start: int, end: int, beside: set[int] | None = None) -> bytes:
    """Returns a bundle with the entries `start` to `end` of `lines`. `beside`: the only entries
    outside the range that are included; None includes all that the format allows.
    """
    at = merkle.genesis(f.id_bytes(chain.led))
    shown, leaves = [], []
    for seq, line in enumerate(lines):
        value, leaf, at = render_line(line, seq, at)
        del value['chain']
        shown.append(value)
        leaves.append(leaf)
    inside = shown[start : end + 1]
    erasing = {document['erasedBy'] for value in inside for document in value['documents']}
    named = {_said(line).get('policy') for line in lines[start : end + 1]}
    out = []
    for seq, value in enumerate(shown):
        wanted = value['kind'] in ABOUT_KEYS or seq in erasing or value['leaf'] in named
        if start <= seq <= end:
            out.append(value)
        elif wanted if beside is None else seq in beside:
            out.append({**value, 'path': [node.hex() for node, _ in path_of(leaves, seq)]})
    tree = merkle.Tree()
    for leaf in leaves[:start]:
        tree.add(leaf)
    span = {
        'from': start,
        'to': end,
        'left': [peak.hex() for peak in tree.peaks],
        'right': [node.hex() for node, is_left in path_of(leaves, end) if not is_left],
    }
    agents = {line.signer.kid for line in lines if line.by_agent}
    first = {
        'bundle': 1,
        'ledger': chain.led,
        'of': {'range': span},
        'completeness': 'complete',
        'documents': 'all',
        'keys': [{**one.public(), 'compromisedAt': None} for one in chain.signers.values() if one.kid not in agents],
        'checkpoint': chain.checkpoint(len(leaves), merkle.root_of(leaves), at),
    }
    return b'\n'.join(map(compact, (first, *out, {'entries': len(out)}))) + b'\n'


ABOUT_KEYS = ('ledger-created', 'server-key-rotated', 'agent-key-registered', 'agent-key-revoked')


def _said(line: Line) -> dict[str, Any]:
    predicate = line.statement.get('predicate') if line.statement is not None else None
    return predicate if isinstance(predicate, dict) and isinstance(predicate.get('policy', ''), str) else {}


def path_of(leaves: list[bytes], index: int) -> list[tuple[bytes, bool]]:
    """Returns the Merkle path of a leaf, from the leaf to the root. Each item is a hash, and True if
    the hash is on the left.
    """
    if len(leaves) == 1:
        return []
    half = 1 << (len(leaves) - 1).bit_length() - 1
    if index < half:
        return [*path_of(leaves[:half], index), (merkle.root_of(leaves[half:]), False)]
    return [*path_of(leaves[half:], index - half), (merkle.root_of(leaves[:half]), True)]


def keep(chain: Chain, admin: tuple[str, str], by_rule: int, by_person: int) -> None:
    """Adds retention rules and holds. `by_rule` is the seq of an entry whose document a rule erases.
    `by_person` is the seq of an entry whose document a person erases.
    """

    def say(kind: str, **said: Any) -> int:
        return chain.add(kind, [(chain.led, digest_of(chain.definition))], said, admin)

    held = chain.lines[by_person].documents[0]['subject']
    say('retention-set', days=None, basis='contract', type='generic/1')
    rule = say('retention-set', days=183, basis='ai_act_19')
    say('hold-set', case='2027/4711', type='generic/1', agent=admin[0])
    hold = say('hold-set', case='2027/4712', records=[held])
    chain.erase(None, by_rule, rule=rule)
    say('hold-lifted', case='2027/4712', seq=hold)
    chain.erase(admin, by_person)
    say('subject-erased', code='data_subject_request', erased=[len(chain.lines) - 1], held=0)
    say('export-made', of={'type': 'generic/1'}, **{'from': 0, 'to': len(chain.lines) - 1}, documents='all')


SCOPES = [
    'agents:act',
    'agents:manage',
    'audit:read',
    'keys:manage',
    'payloads:erase',
    'peers:manage',
    'policies:write',
    'records:write',
    'retention:manage',
    'statements:write',
    'types:write',
    'verdicts:overturn',
]


def foreign_statement(issuer: str, subject: str, signer: Signer, payload: bytes, kid: bytes = b'k1') -> bytes:
    claims = b'\xa2\x01' + text_head(issuer) + b'\x02' + text_head(subject)
    protected = b'\xa4\x01\x27\x03' + text_head('application/json') + b'\x04' + bytes_head(len(kid)) + kid + b'\x0f' + claims
    signature = signer.sign(signature_structure(protected, payload))
    return b'\xd2\x84' + bytes_head(len(protected)) + protected + b'\xa0' + bytes_head(len(payload)) + payload + b'\x58\x40' + signature


def deeds(chain: Chain, by: tuple[str, str], signer: Signer, admin: tuple[str, str]) -> None:
    """Adds an agent whose signature is optional, with records of a type that requires the signature.
    """
    chain.agent_key(by[0], 'free', signer, admin, required=False)
    chain.notarize(by, {'deed': 1}, signer, type='deed/1')
    chain.batch(by, [{'deed': 2}, {'deed': 3}], signer, type='deed/1')
    deed = chain.create(by, {'deed': 4}, signer, type='deed/1')
    chain.step('record-cancelled', deed, 'CANCELLED', by, signer)
    late = chain.create(by, {'deed': 5}, signer, type='deed/1', deadline=seconds_text(chain.ms + 2_000))
    chain.step('record-expired', late, 'EXPIRED', None)


def a_little_of_everything(name: str = 'everything', restored: bool = True) -> Chain:
    chain = Chain(name)
    admin = chain.api_key(chain.agent('admin'), SCOPES)
    worker = chain.api_key(chain.agent('worker', admin), ['records:write'], admin)
    signing = chain.api_key(chain.agent('signing', admin), ['records:write'], admin)
    judge = chain.api_key(chain.agent('judge', admin), ['records:write', 'verdicts:overturn'], admin)
    chain.type('order/1', admin)
    chain.type('deed/1', admin, agent_signed=True)
    chain.notarize(worker, {'tool': 'search', 'query': 'copper'})
    chain.notarize(worker, {'a': [1, 2.5, 'ä', None]}, references=['erp:order/1', 'x'])
    parent = chain.notarize(admin, {'for': 'another'}, onBehalfOf=worker[0], occurredAt='2020-02-29T00:00:00.000Z')
    records = chain.batch(worker, [{'i': i} for i in range(5)], parent=parent)
    chain.notarize(worker, {'child': True}, parent=records[3])
    record = chain.create(
        admin, {'write': 'a report'}, performer=worker[0], deadline='2099-01-01T00:00:00.000Z', tolerances={'x': {'percent': '1'}}
    )
    chain.step('record-activated', record, 'ACTIVE', worker)
    chain.step('completion-submitted', record, 'SUBMITTED', worker, evidence={'pages': 3})
    chain.step('completion-verified', record, 'VERIFIED', None, values=[], outcome='pass', rules=[])
    chain.step('revision-requested', record, 'ACTIVE', admin, reason='more')
    chain.step('completion-submitted', record, 'SUBMITTED', worker, evidence={'pages': 4})
    chain.step(
        'completion-verified',
        record,
        'DISCREPANT',
        None,
        values=[{'id': 'r'}],
        outcome='fail',
        rules=[{'id': 'r', 'outcome': 'fail', 'code': 'x'}],
    )
    hold = {'decision': 'HOLD', 'code': 'rejected', 'failingRules': ['r'], 'validUntil': None}
    chain.step('verdict-rendered', record, 'REJECTED', admin, reason='no', verdict='reject', by='principal', signal=hold)
    verdict = chain.heads[record][0]
    release = {'decision': 'RELEASE', 'code': 'overturned', 'failingRules': [], 'validUntil': '2099-01-01T00:00:00.000Z'}
    chain.step('verdict-overturned', record, 'ACCEPTED', judge, reason='yes', supersedes=verdict, signal=release)
    auto = chain.create(admin, {'auto': 1}, gate='auto')
    chain.step('record-activated', auto, 'ACTIVE', worker)
    chain.step('completion-submitted', auto, 'SUBMITTED', worker, evidence={})
    chain.step('completion-verified', auto, 'VERIFIED', None, values=[], outcome='pass', rules=[])
    settle = {'decision': 'SETTLE', 'code': 'rules_passed', 'failingRules': [], 'validUntil': None}
    chain.step('verdict-rendered', auto, 'ACCEPTED', None, verdict='accept', by='auto', signal=settle)
    cancelled = chain.create(admin, {'call': 'off'})
    chain.step('record-cancelled', cancelled, 'CANCELLED', admin, reason='done')
    late = chain.create(admin, {'late': 1}, deadline=seconds_text(chain.ms + 2_000))
    chain.step('record-expired', late, 'EXPIRED', None)
    one, two = Signer(name + ' agent 1'), Signer(name + ' agent 2')
    chain.agent_key(signing[0], 'signing', one, admin, required=False)
    chain.known = signing[0], one.kid.hex()
    chain.notarize(signing, {'own': 1}, one)
    chain.agent_key(signing[0], 'signing', two, signing, required=True, endorsed=one)
    own = chain.create(signing, {'own': 2}, two, performer=worker[0])
    chain.step('record-cancelled', own, 'CANCELLED', signing, two)
    deeds(chain, chain.api_key(chain.agent('free', admin), ['records:write'], admin), Signer(name + ' agent 3'), admin)
    digest = digest_of({'agent': signing[0], 'name': 'signing'})
    chain.add('agent-key-revoked', [(signing[0], digest)], {'agent': signing[0], 'kid': one.kid.hex()}, admin)
    issuer = Signer(name + ' issuer')
    key = {'kid': b'k1'.hex(), 'alg': 'EdDSA', 'spki': f.to_base64(issuer.spki)}
    policy = {'issuers': [{'issuer': 'https://build.example', 'keys': [key]}], 'contentTypes': ['application/json']}
    chain.add('registration-policy-set', [(chain.led, digest_of(chain.definition))], policy, admin)
    policy_leaf = chain.lines[-1].leaf().hex()
    foreign = foreign_statement('https://build.example', 'artifact', issuer, b'{"x":1}')
    chain.ms += 1000
    chain.lines.append(Line(None, chain.server, foreign=foreign, recorded_at=seconds_text(chain.ms)))
    from tallystick.verify.registered import parse_foreign

    said = {
        'policy': policy_leaf,
        'issuer': 'https://build.example',
        'subject': 'artifact',
        'contentType': 'application/json',
        'kid': b'k1'.hex(),
        'payload': sha256(b'{"x":1}').hexdigest(),
    }
    chain.add('statement-registered', [(chain.id('stm'), parse_foreign(foreign).leaf.hex())], said, admin, after=0)
    chain.rotate(name + ' envelopes 2')
    notarized = [seq for seq, line in enumerate(chain.lines) if line.statement and line.statement['subject'][0]['name'] in chain.notarized]
    chain.erase(admin, notarized[0])
    chain.erase(admin, notarized[1])
    batch = next(seq for seq, line in enumerate(chain.lines) if line.items)
    chain.erase(admin, batch, 2)
    chain.erase(
        admin, next(seq for seq, line in enumerate(chain.lines) if line.documents and line.documents[0]['subject'].endswith('/values'))
    )
    keep(chain, admin, notarized[2], notarized[3])
    gone = chain.agent('gone', admin)
    chain.api_key(gone, ['records:write'], admin, expires='2099-01-01T00:00:00.000Z')
    said = {'agent': worker[0], 'scopes': ['records:write'], 'expiresAt': None}
    chain.add('key-revoked', [(worker[1], digest_of({'key': worker[1], **said}))], said, admin)
    chain.add('agent-disabled', [(gone, digest_of({'agent': gone, 'name': 'gone'}))], {'agent': gone, 'name': 'gone'}, admin)
    if not restored:
        return chain
    found = {'size': len(chain.lines), 'chain': chain.hash().hex()}
    known = {'size': len(chain.lines) + 3, 'chain': 'a' * 64}
    chain.add('ledger-restored', [(chain.led, digest_of(chain.definition))], {'known': known, 'found': found})
    return chain
