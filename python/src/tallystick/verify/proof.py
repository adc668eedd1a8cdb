"""Verifies one entry, or one record of a batch, by its proof (docs/formats/proofs.md)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from . import formats as f
from . import hints
from .actors import SIGNED_BY_AGENTS, possession_text
from .envelope import Envelope, check_signature, parse_envelope
from .errors import Refused
from .keys import EDDSA, ES256, Key, is_signed, parse_key
from .limits import CONSISTENCY_PATH_MAX, INCLUSION_PATH_MAX, PROOF_BYTES_MAX, PROOF_DEPTH_MAX, PROOF_KEYS_MAX
from .line import ITEM_MASK, STATEMENT, check_agrees, check_count, check_definition, check_item
from .merkle import check_consistency, check_inclusion, leaf_hash
from .note import Checkpoint, Cosignatures, NoteKey, check_note, count_cosignatures, parse_checkpoint, parse_verifier_key
from .shown import ShownEntry, check_record
from .statement import Statement, check_claims, parse_statement
from .strict_json import canonical, parse

_MEMBERS = frozenset(('ledger', 'keys', 'entry', 'index', 'treeSize', 'path', 'checkpoint'))
_NULLABLE = frozenset(('item', 'registration'))
_LEDGER = frozenset(('id', 'name', 'issuer', 'origin', 'noteVerifierKey'))
_KEY = hints.MEMBERS | {'use', 'activatedAt'}
_KEY_NULLABLE = frozenset(('retiredAt', 'compromisedAt'))
_NONE: frozenset[str] = frozenset()
_ENTRY = frozenset(('seq', 'kind', 'recordedAt', 'leaf', 'chain', 'envelope'))
_ITEM = frozenset(('item', 'index', 'count', 'path'))


@dataclass
class OfflineTrust:
    """Facts that the reader of a proof or a bundle knows from outside the file."""

    kids: list[bytes] = field(default_factory=list)
    note_key: NoteKey | None = None
    checkpoints: list[str] = field(default_factory=list)
    consistency: list[bytes] = field(default_factory=list)
    """Consistency proofs that link checkpoints."""
    compromised: dict[bytes, int | None] = field(default_factory=dict)
    agent_keys: dict[str, frozenset[bytes]] = field(default_factory=dict)
    witnesses: list[NoteKey] = field(default_factory=list)
    witnesses_min: int = 0
    strict: bool = False


@dataclass
class Coverage:
    given: bool
    covered: int
    size: int
    cosignatures: Cosignatures | None

    def parts(self) -> list[str]:
        """Returns parts of the result line: the number of witnesses that cosigned, if witnesses were
        given, and the number of lines by unknown keys, if there are any.
        """
        if self.cosignatures is None:
            return []
        cosigned, unknown = self.cosignatures
        return [f'cosigned={cosigned}', *([f'unknown-cosignatures={unknown}'] if unknown else [])]

    def members(self) -> dict[str, int | None]:
        cosigned, unknown = self.cosignatures or (None, None)
        return {'cosigned': cosigned, 'unknownCosignatures': unknown}


@dataclass
class ProofReport:
    shown: ShownEntry
    kid: bytes
    signed_by_agent: bool
    coverage: Coverage
    keys_given: bool
    note_key_given: bool
    record_same: bool


def verify_proof(data: bytes, trust: OfflineTrust, record: bytes | None = None) -> ProofReport:
    proof = _parse(data)
    joins = [parse_consistency(one) for one in trust.consistency]
    if proof['entry']['kind'] == STATEMENT:
        raise _syntax('a registered statement has a receipt, not a proof')
    keys, compromised = hints.named_keys(proof['keys'])
    found = _verify_entry(proof, keys, trust)
    envelope, statement = found.envelope, found.statement
    checkpoint, key = _verify_note(proof, trust)
    seq = int(proof['entry']['seq'])
    _check_place(proof, checkpoint, seq)
    item = None if proof['item'] is None else verify_item(proof['item'], statement)
    joined = join(checkpoint, key, trust, joins)
    for one in found.signed:
        check_compromised(compromised, one.kid, statement if one is envelope else found.registered, joined, trust, seq)
    coverage = cover(checkpoint, joined, count_given(checkpoint, trust), seq)
    shown = ShownEntry(seq, statement, item)
    if record is not None:
        check_record(shown, record)
    if trust.strict:
        check_strict(bool(trust.kids), coverage, trust)
    return ProofReport(
        shown, envelope.kid, len(found.signed) > 1, coverage, bool(trust.kids), trust.note_key is not None, record is not None
    )


def _syntax(what: str) -> Refused:
    return Refused('proof_syntax', what)


def _read(data: bytes) -> Any:
    if len(data) > PROOF_BYTES_MAX:
        raise _syntax(f'the file has more than {PROOF_BYTES_MAX} bytes')
    return parse(data, PROOF_DEPTH_MAX).value


def _parse(data: bytes) -> dict[str, Any]:
    value = f.filled(_read(data), _MEMBERS, _NULLABLE)
    if value is None:
        raise _syntax('the proof has missing or unknown members')
    ledger, entry, keys = value['ledger'], value['entry'], value['keys']
    if f.filled(ledger, _LEDGER, _NONE) is None or not all(isinstance(member, str) for member in ledger.values()):
        raise _syntax('ledger does not have the required form')
    if not f.is_id(ledger['id'], 'led'):
        raise _syntax('ledger does not have the required form')
    if f.filled(entry, _ENTRY, _NONE) is None or not f.is_integer(entry['seq'], 0) or not f.is_time(entry['recordedAt']):
        raise _syntax('entry does not have the required form')
    if (
        not isinstance(entry['kind'], str)
        or not isinstance(entry['envelope'], str)
        or not f.is_hex64(entry['leaf'])
        or not f.is_hex64(entry['chain'])
    ):
        raise _syntax('entry does not have the required form')
    if not isinstance(keys, list) or len(keys) > PROOF_KEYS_MAX or not all(map(_is_key, keys)):
        raise _syntax(f'keys do not have the required form, or are more than {PROOF_KEYS_MAX}')
    if not f.is_integer(value['index'], 0) or not f.is_integer(value['treeSize'], 1) or not isinstance(value['checkpoint'], str):
        raise _syntax('index, treeSize or checkpoint does not have the required form')
    if not is_path(value['path'], INCLUSION_PATH_MAX):
        raise _syntax('path does not have the required form')
    if not (value['registration'] is None or isinstance(value['registration'], str)):
        raise _syntax('registration does not have the required form')
    if not (value['item'] is None or is_item_proof(value['item'])):
        raise _syntax('item does not have the required form')
    entry['envelope'] = f.from_base64(entry['envelope'], 'the envelope')
    if value['registration'] is not None:
        value['registration'] = f.from_base64(value['registration'], 'the registration')
    return value


def _is_key(value: Any) -> bool:
    key = f.filled(value, _KEY, _KEY_NULLABLE)
    if key is None or not hints.is_hint(key) or key['use'] != 'envelope' or key['alg'] not in (EDDSA, ES256):
        return False
    return f.is_time(key['activatedAt']) and (key['retiredAt'] is None or f.is_time(key['retiredAt']))


def is_path(value: Any, most: int) -> bool:
    return isinstance(value, list) and len(value) <= most and all(map(f.is_hex64, value))


def is_item_proof(value: Any) -> bool:
    if f.filled(value, _ITEM, _NONE) is None or not isinstance(value['item'], dict):
        return False
    return f.is_integer(value['index'], 0) and f.is_integer(value['count'], 1) and is_path(value['path'], INCLUSION_PATH_MAX)


def hashes(path: list[str]) -> list[bytes]:
    return [bytes.fromhex(node) for node in path]


@dataclass
class _Signed:
    """The entry and, if its agent signed it, the envelope that registers the agent's key."""

    envelope: Envelope
    statement: Statement
    signed: list[Envelope]
    registered: Statement


def _verify_entry(proof: dict[str, Any], keys: dict[bytes, Key], trust: OfflineTrust) -> _Signed:
    entry, registration = proof['entry'], proof['registration']
    registrations = [] if registration is None else [_verify_registration(proof, registration, keys)]
    envelope = parse_envelope(entry['envelope'])
    if registrations:
        new = registrations[0][1].predicate['newKey']
        keys = {bytes.fromhex(new['kid']): parse_key(new['alg'], f.from_base64(new['spki'], 'a key'))}
    statement = _check_signed(envelope, keys)
    if registrations:
        registered = registrations[0][1]
        if statement.ledger != registered.ledger or statement.predicate['actor'] != registered.predicate['agent']:
            found = (
                f'the entry is signed by {registered.predicate["agent"]} of {registered.ledger}, '
                f'but its actor is {statement.predicate["actor"]} of {statement.ledger}'
            )
            raise Refused('key_of_another_agent', found)
        if statement.kind not in SIGNED_BY_AGENTS:
            raise Refused('actor_not_entitled', f'the entry is signed by an agent, but {statement.kind} must be signed by the server')
    check_agrees(entry, statement, leaf_hash(entry['envelope']))
    signed = [envelope, *(one for one, _ in registrations)]
    if trust.kids and not any(one.kid in trust.kids for one in signed):
        signers = ', registered by '.join(one.kid.hex() for one in signed)
        raise Refused('trusted_key_absent', f'the entry is signed by {signers}, which is not a given key')
    _check_ledger(proof, envelope, statement)
    return _Signed(envelope, statement, signed, registrations[0][1] if registrations else statement)


def _check_signed(envelope: Envelope, keys: dict[bytes, Key]) -> Statement:
    key = keys.get(envelope.kid)
    if key is None:
        raise Refused('key_unknown', f'the key {envelope.kid.hex()} is unknown')
    check_signature(envelope, key)
    statement = parse_statement(envelope.payload)
    check_claims(envelope, statement)
    check_definition(statement)
    return statement


def _check_ledger(proof: dict[str, Any], envelope: Envelope, statement: Statement) -> None:
    ledger = proof['ledger']
    if ledger['id'] != statement.ledger or not ledger['origin'].endswith('/' + ledger['id']):
        shown = f'{ledger["id"]} with the origin {ledger["origin"][:96]!r}'
        raise Refused('ledger_foreign', f'the entry belongs to {statement.ledger}, but the proof names the ledger {shown}')
    if ledger['issuer'] != envelope.issuer:
        shown = f'{ledger["issuer"][:64]!r}'
        raise Refused('ledger_foreign', f'the entry was issued by {envelope.issuer[:64]!r}, but the proof names the issuer {shown}')


def _verify_registration(proof: dict[str, Any], data: bytes, keys: dict[bytes, Key]) -> tuple[Envelope, Statement]:
    envelope = parse_envelope(data)
    statement = _check_signed(envelope, keys)
    _check_ledger(proof, envelope, statement)
    if statement.kind != 'agent-key-registered':
        raise Refused('proof_contradicts_entry', f'the registration is {statement.kind}, not agent-key-registered')
    new = statement.predicate['newKey']
    key = parse_key(new['alg'], f.from_base64(new['spki'], 'a key'))
    if not is_signed(key, f.from_base64(statement.predicate['proof'], 'a proof'), possession_text(statement)):
        raise Refused('agent_key_refused', f'the proof of possession of the key {key.kid.hex()} does not verify')
    return envelope, statement


def _check_place(proof: dict[str, Any], checkpoint: Checkpoint, seq: int) -> None:
    if proof['index'] != seq or proof['treeSize'] != checkpoint.size:
        place, size = int(proof['index']), int(proof['treeSize'])
        found = f'the path is for leaf {place} of {size}, but the proof is of entry {seq} under a checkpoint of {checkpoint.size} entries'
        raise Refused('proof_contradicts_entry', found)
    check_inclusion(bytes.fromhex(proof['entry']['leaf']), seq, checkpoint.size, hashes(proof['path']), checkpoint.root)
    if seq == checkpoint.size - 1 and proof['entry']['chain'] != checkpoint.chain.hex():
        raise Refused(
            'chain_broken', f'the checkpoint has the chain hash {checkpoint.chain.hex()}, but its last entry has {proof["entry"]["chain"]}'
        )


def _verify_note(proof: dict[str, Any], trust: OfflineTrust) -> tuple[Checkpoint, NoteKey]:
    if trust.note_key is not None and trust.note_key.text != proof['ledger']['noteVerifierKey']:
        named = proof['ledger']['noteVerifierKey'][:256]
        raise Refused('trusted_key_absent', f'the proof names the note key {named!r}, which is not the given note key')
    key = parse_verifier_key(proof['ledger']['noteVerifierKey'])
    if key.name != proof['ledger']['origin']:
        raise Refused('checkpoint_foreign', f'the note key belongs to {key.name!r}, not to {proof["ledger"]["origin"][:96]!r}')
    checkpoint = parse_checkpoint(proof['checkpoint'])
    check_note(checkpoint, key)
    return checkpoint, key


def verify_item(value: dict[str, Any], statement: Statement) -> dict[str, Any]:
    """Verifies an item of a batch by its path, and returns it. Raises Refused."""
    item: dict[str, Any] = value['item']
    check_count(statement, int(value['count']))
    check_item(item)
    leaf = leaf_hash(canonical(item))
    check_inclusion(leaf, int(value['index']), int(value['count']), hashes(value['path']), bytes.fromhex(statement.digest))
    if f.id_number(item['record']) & ITEM_MASK != value['index']:
        raise Refused('batch_item', f'the last 12 bits of {item["record"]} are not the index of the item, {int(value["index"])}')
    return item


def join(checkpoint: Checkpoint, key: NoteKey, trust: OfflineTrust, joins: list[dict[str, Any]]) -> int | None:
    """Returns the number of entries that the user's checkpoints cover. Returns None if the user gave
    no checkpoint.

    Raises Refused if a checkpoint of the user contradicts `checkpoint`, or if no consistency proof
    links them.
    """
    notes: list[Checkpoint] = []
    for note in trust.checkpoints:
        notes.append(parse_checkpoint(note))
        check_note(notes[-1], key)
    same = [kept for kept in notes if kept.size == checkpoint.size]
    for kept in same:
        if kept.root != checkpoint.root or kept.chain != checkpoint.chain:
            raise Refused(
                'checkpoint_mismatch',
                f'the stored checkpoint of {kept.size} entries has another root or chain hash than the checkpoint of this file',
            )
    if same or not notes:
        return checkpoint.size if same else None
    joined = [kept.size for kept in notes if _is_joined(kept, checkpoint, joins)]
    if not joined:
        newest = max(kept.size for kept in notes)
        found = f'the stored checkpoint covers {newest} entries, but the checkpoint of this file covers {checkpoint.size}'
        query = f'from={min(newest, checkpoint.size)}&to={max(newest, checkpoint.size)}'
        raise Refused('consistency_missing', f'{found}: give an answer of /v1/checkpoints/consistency?{query} as --consistency')
    return min(max(joined), checkpoint.size)


def count_given(checkpoint: Checkpoint, trust: OfflineTrust) -> Cosignatures | None:
    """Counts the cosignatures of the checkpoint. Returns None if no witness was given."""
    return count_cosignatures(checkpoint, trust.witnesses) if trust.witnesses else None


def cover(checkpoint: Checkpoint, joined: int | None, cosignatures: Cosignatures | None, seq: int) -> Coverage:
    """Returns the coverage of a report whose last entry is `seq`."""
    if joined is not None and joined > seq:
        return Coverage(True, joined, checkpoint.size, cosignatures)
    return Coverage(False, checkpoint.size, checkpoint.size, cosignatures)


def _is_joined(kept: Checkpoint, own: Checkpoint, joins: list[dict[str, Any]]) -> bool:
    """Whether a consistency proof shows that both checkpoints, of different sizes, belong to one ledger."""
    smaller, larger = (kept, own) if kept.size < own.size else (own, kept)
    for proof in joins:
        if (proof['from'], proof['to']) == (smaller.size, larger.size):
            check_consistency(smaller.size, larger.size, hashes(proof['path']), smaller.root, larger.root)
            return True
    return False


def parse_consistency(data: bytes) -> dict[str, Any]:
    value = f.filled(_read(data), frozenset(('from', 'to', 'path')), _NONE)
    if value is None or not is_path(value['path'], CONSISTENCY_PATH_MAX):
        raise _syntax('a consistency proof must be {"from":…,"to":…,"path":[…]}')
    if not f.is_integer(value['from'], 0) or not f.is_integer(value['to'], 0):
        raise _syntax('a consistency proof must be {"from":…,"to":…,"path":[…]}')
    return value


def check_compromised(said: set[bytes], kid: bytes, statement: Statement, joined: int | None, trust: OfflineTrust, seq: int) -> None:
    """Raises Refused if a compromised key signed the entry. Accepts the entry only under two
    conditions: a given checkpoint covers it, and it is older than the compromise.

    `said`: keys that the file itself marks as compromised. `joined`: number of entries that a given
    checkpoint covers.
    """
    if kid not in said and kid not in trust.compromised:
        return
    since = trust.compromised.get(kid)
    if (since is not None and statement.ms >= since) or joined is None or joined <= seq:
        found = f'the key {kid.hex()} was compromised when it signed entry {seq}, or no stored checkpoint covers the entry'
        raise Refused('key_compromised', found)


def check_strict(keys_given: bool, coverage: Coverage, trust: OfflineTrust) -> None:
    if not keys_given:
        raise Refused('keys_not_given', 'the keys are self-asserted: name the trusted key with --key')
    cosignatures = coverage.cosignatures
    if cosignatures is not None and cosignatures.cosigned < trust.witnesses_min:
        found = f'{cosignatures.cosigned} of the {len(trust.witnesses)} witnesses cosigned the checkpoint'
        raise Refused('witnesses_too_few', f'{found}, but {trust.witnesses_min} are needed: get the file with cosignatures')
    if cosignatures is None and not coverage.given:
        raise Refused('checkpoint_not_given', 'no checkpoint that covers the entry was given: store one, and name it with --checkpoint')
