"""Verifies one entry, or one record of a batch, by its proof (docs/formats/proofs.md)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from . import formats as f
from .actors import possession_text
from .envelope import Envelope, check_signature, parse_envelope
from .errors import Refused
from .export import hinted_key
from .keys import Key, is_signed, parse_key
from .limits import CONSISTENCY_PATH_MAX, INCLUSION_PATH_MAX, LINE_DEPTH_MAX, PROOF_CHARS_MAX, PROOF_DEPTH_MAX
from .line import ITEM_MASK, check_item
from .merkle import check_consistency, check_inclusion, leaf_hash
from .note import Checkpoint, NoteKey, check_note, count_cosignatures, parse_checkpoint, parse_verifier_key
from .shown import ShownEntry, check_record
from .statement import Statement, check_claims, parse_statement
from .strict_json import canonical, parse_text

_MEMBERS = frozenset(('ledger', 'keys', 'entry', 'index', 'treeSize', 'path', 'checkpoint'))
_LEDGER = frozenset(('id', 'name', 'issuer', 'origin', 'noteVerifierKey'))
_KEY = frozenset(('kid', 'use', 'alg', 'spki', 'activatedAt', 'retiredAt', 'compromisedAt'))
_ENTRY = frozenset(('seq', 'kind', 'recordedAt', 'leaf', 'chain', 'envelope'))
_ITEM = frozenset(('item', 'index', 'count', 'path'))


@dataclass
class OfflineTrust:
    """Knowledge that the reader of a proof or a bundle has from elsewhere."""

    kids: list[bytes] = field(default_factory=list)
    note_key: NoteKey | None = None
    checkpoints: list[str] = field(default_factory=list)
    consistency: list[dict[str, Any]] = field(default_factory=list)
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
    cosigned: int | None


def verify_proof(data: bytes, trust: OfflineTrust, record: Any = None) -> str:
    """The line that says what was proved."""
    proof = _parse(data)
    envelope, statement, signed_by_agent = _verify_entry(proof, trust)
    ledger, entry = proof['ledger'], proof['entry']
    if ledger['id'] != statement.ledger or not ledger['origin'].endswith('/' + ledger['id']) or ledger['issuer'] != envelope.issuer:
        raise Refused('ledger_foreign', 'the entry is of another ledger or issuer')
    checkpoint, key = _verify_note(proof, trust)
    if proof['index'] != entry['seq'] or proof['treeSize'] != checkpoint.size:
        raise Refused('proof_contradicts_entry', 'index or treeSize is not that of entry or checkpoint')
    leaf = bytes.fromhex(entry['leaf'])
    check_inclusion(leaf, int(proof['index']), checkpoint.size, hashes(proof['path']), checkpoint.root)
    if entry['seq'] == checkpoint.size - 1 and entry['chain'] != checkpoint.chain.hex():
        raise Refused('chain_broken', 'the last entry has another chain hash than the checkpoint')
    item = _verify_item(proof, statement)
    coverage = cover(checkpoint, key, trust, int(entry['seq']))
    for kid in {envelope.kid, bytes.fromhex(_first_kid(proof))} if signed_by_agent else {envelope.kid}:
        check_compromised(proof['keys'], kid, statement, coverage, trust, int(entry['seq']))
    shown = ShownEntry(int(entry['seq']), statement, item)
    if record is not None:
        check_record(shown, record)
    keys_given = bool(trust.kids)
    if trust.strict:
        check_strict(keys_given, coverage, trust)
    parts = [
        shown.line(),
        f'keys={"given" if keys_given else "self-asserted"}',
        f'note-key={"given" if trust.note_key is not None else "self-asserted"}',
        f'checkpoint={"given" if coverage.given else "own"}',
        f'covered={coverage.covered} of {coverage.size}',
        *([f'cosigned={coverage.cosigned}'] if coverage.cosigned is not None else []),
        *(['signed-by=agent'] if signed_by_agent else []),
        *(['record=same'] if record is not None else []),
        *shown.signal(),
    ]
    return ' '.join(parts)


def _syntax(what: str) -> Refused:
    return Refused('proof_syntax', what)


def _parse(data: bytes) -> dict[str, Any]:
    text = data.decode('utf-8', 'replace')
    if len(text) > PROOF_CHARS_MAX:
        raise _syntax(f'more than {PROOF_CHARS_MAX} characters')
    value = parse_text(text, PROOF_DEPTH_MAX).value
    if not isinstance(value, dict) or not value.keys() >= _MEMBERS or not value.keys() - _MEMBERS <= {'item', 'registration'}:
        raise _syntax('not the members of a proof')
    ledger, entry, keys = value['ledger'], value['entry'], value['keys']
    if not _has(ledger, _LEDGER) or not all(isinstance(member, str) for member in ledger.values()) or not f.is_id(ledger['id'], 'led'):
        raise _syntax('ledger is of another form')
    if not _has(entry, _ENTRY) or not f.is_integer(entry['seq'], 0) or not f.is_time(entry['recordedAt']):
        raise _syntax('entry is of another form')
    if (
        not isinstance(entry['kind'], str)
        or not isinstance(entry['envelope'], str)
        or not f.is_hex64(entry['leaf'])
        or not f.is_hex64(entry['chain'])
    ):
        raise _syntax('entry is of another form')
    if not isinstance(keys, list) or not all(map(_is_key, keys)):
        raise _syntax('keys are of another form')
    if not f.is_integer(value['index'], 0) or not f.is_integer(value['treeSize'], 1) or not isinstance(value['checkpoint'], str):
        raise _syntax('index, treeSize or checkpoint is of another form')
    if not is_path(value['path'], INCLUSION_PATH_MAX):
        raise _syntax('path is of another form')
    if not isinstance(value.get('registration', ''), str):
        raise _syntax('registration is of another form')
    item = value.get('item')
    if 'item' in value and not is_item_proof(item):
        raise _syntax('item is of another form')
    return value


def _has(value: Any, members: frozenset[str]) -> bool:
    return isinstance(value, dict) and value.keys() == members


def _is_key(value: Any) -> bool:
    if not _has(value, _KEY) or value['use'] != 'envelope' or not f.is_hex64(value['kid']):
        return False
    if value['alg'] not in ('EdDSA', 'ES256') or not isinstance(value['spki'], str):
        return False
    times = (value['retiredAt'], value['compromisedAt'])
    return f.is_time(value['activatedAt']) and all(time is None or f.is_time(time) for time in times)


def is_path(value: Any, most: int) -> bool:
    return isinstance(value, list) and len(value) <= most and all(map(f.is_hex64, value))


def is_item_proof(value: Any) -> bool:
    if not _has(value, _ITEM) or not isinstance(value['item'], dict):
        return False
    return f.is_integer(value['index'], 0) and f.is_integer(value['count'], 1) and is_path(value['path'], INCLUSION_PATH_MAX)


def hashes(path: list[str]) -> list[bytes]:
    return [bytes.fromhex(node) for node in path]


def _verify_entry(proof: dict[str, Any], trust: OfflineTrust) -> tuple[Envelope, Statement, bool]:
    entry = proof['entry']
    data = f.from_base64(entry['envelope'], 'the envelope')
    envelope = parse_envelope(data)
    registration = _verify_registration(proof, trust) if 'registration' in proof else None
    if registration is None:
        key = _key_of(proof['keys'], envelope.kid)
        check_trusted(trust.kids, [key.kid])
    else:
        new = registration.predicate['newKey']
        key = parse_key(new['alg'], f.from_base64(new['spki'], 'a key'))
        if envelope.kid != key.kid:
            raise Refused('key_unknown', 'the entry is not signed by the key that is registered')
    check_signature(envelope, key)
    statement = parse_statement(envelope.payload)
    check_claims(envelope, statement)
    said = (entry['kind'], entry['recordedAt'], entry['leaf'])
    if said != (statement.kind, statement.predicate['recordedAt'], leaf_hash(data).hex()):
        raise Refused('line_contradicts_envelope', 'kind, recordedAt or leaf is not that of the envelope')
    if registration is not None:
        if statement.predicate['actor'] != registration.predicate['agent']:
            raise Refused('key_of_another_agent', 'the entry is not of the agent whose key made its signature')
        if statement.ledger != registration.ledger:
            raise Refused('proof_contradicts_entry', 'the key is registered in another ledger')
        check_trusted(trust.kids, [key.kid, bytes.fromhex(_first_kid(proof))])
    return envelope, statement, registration is not None


def _first_kid(proof: dict[str, Any]) -> str:
    return parse_envelope(f.from_base64(proof['registration'], 'the registration')).kid.hex()


def check_trusted(kids: list[bytes], signed: list[bytes]) -> None:
    if kids and not any(kid in kids for kid in signed):
        raise Refused('trusted_key_absent', 'another key than those that were given')


def _key_of(keys: list[dict[str, Any]], kid: bytes) -> Key:
    found = next((key for key in keys if key['kid'] == kid.hex()), None)
    if found is None:
        raise Refused('key_unknown', f'the key {kid.hex()} is unknown')
    return parse_key(found['alg'], f.from_base64(found['spki'], 'a key'))


def _verify_registration(proof: dict[str, Any], trust: OfflineTrust) -> Statement:
    envelope = parse_envelope(f.from_base64(proof['registration'], 'the registration'))
    check_signature(envelope, _key_of(proof['keys'], envelope.kid))
    statement = parse_statement(envelope.payload)
    check_claims(envelope, statement)
    if (
        statement.kind != 'agent-key-registered'
        or statement.ledger != proof['ledger']['id']
        or envelope.issuer != proof['ledger']['issuer']
    ):
        raise Refused('proof_contradicts_entry', 'the registration is none of this ledger')
    new = statement.predicate['newKey']
    key = parse_key(new['alg'], f.from_base64(new['spki'], 'a key'))
    if key.kid.hex() != new['kid']:
        raise Refused('kid_mismatch', 'the kid is not the thumbprint of the key')
    if not is_signed(key, f.from_base64(statement.predicate['proof'], 'a proof'), possession_text(statement)):
        raise Refused('agent_key_refused', 'the proof of possession does not verify')
    return statement


def _verify_note(proof: dict[str, Any], trust: OfflineTrust) -> tuple[Checkpoint, NoteKey]:
    key = parse_verifier_key(proof['ledger']['noteVerifierKey'])
    if trust.note_key is not None and trust.note_key.text != key.text:
        raise Refused('trusted_key_absent', 'another note key than the one that was given')
    if key.name != proof['ledger']['origin']:
        raise Refused('checkpoint_foreign', 'the note key has another name than the ledger’s origin')
    checkpoint = parse_checkpoint(proof['checkpoint'])
    check_note(checkpoint, key)
    return checkpoint, key


def _verify_item(proof: dict[str, Any], statement: Statement) -> dict[str, Any] | None:
    return verify_item(proof['item'], statement) if 'item' in proof else None


def verify_item(value: dict[str, Any], statement: Statement) -> dict[str, Any]:
    """An item of a batch by its path."""
    item: dict[str, Any] = value['item']
    if statement.kind != 'batch-notarized' or value['count'] != statement.predicate['count']:
        raise Refused('batch_contradicts_statement', 'no batch, or of another count')
    check_item(item)
    leaf = leaf_hash(canonical(item))
    check_inclusion(leaf, int(value['index']), int(value['count']), hashes(value['path']), bytes.fromhex(statement.digest))
    if f.id_number(item['record']) & ITEM_MASK != value['index']:
        raise Refused('batch_item', 'the low 12 bits of the id are not the index')
    return item


def cover(checkpoint: Checkpoint, key: NoteKey, trust: OfflineTrust, seq: int) -> Coverage:
    """How far checkpoints that were kept vouch for the tree that the proof is in."""
    notes = [parse_checkpoint(note) for note in trust.checkpoints]
    for kept in notes:
        check_note(kept, key)
    joined = [kept.size for kept in notes if _is_joined(kept, checkpoint, trust)]
    if notes and not joined:
        newest = max(kept.size for kept in notes)
        raise Refused('consistency_missing', f'nothing joins the sizes {min(newest, checkpoint.size)} and {max(newest, checkpoint.size)}')
    covered = min(max(joined, default=0), checkpoint.size)
    given = covered > seq
    cosigned = None
    if trust.witnesses:
        cosigned = count_cosignatures(checkpoint, trust.witnesses)
        if cosigned < trust.witnesses_min and trust.strict:
            raise Refused('witnesses_too_few', f'{cosigned} witnesses cosigned')
    return Coverage(given, covered if given else checkpoint.size, checkpoint.size, cosigned)


def _is_joined(kept: Checkpoint, own: Checkpoint, trust: OfflineTrust) -> bool:
    """Whether the two are known to be of one ledger: one of another size says nothing until a consistency proof joins them."""
    if kept.size == own.size:
        if kept.root != own.root or kept.chain != own.chain:
            raise Refused('checkpoint_mismatch', f'the checkpoint of size {kept.size} is another one')
        return True
    smaller, larger = (kept, own) if kept.size < own.size else (own, kept)
    for proof in trust.consistency:
        if (proof['from'], proof['to']) == (smaller.size, larger.size):
            check_consistency(smaller.size, larger.size, hashes(proof['path']), smaller.root, larger.root)
            return True
    return False


def parse_consistency(data: bytes) -> dict[str, Any]:
    value = parse_text(data.decode('utf-8', 'replace'), LINE_DEPTH_MAX).value
    if not _has(value, frozenset(('from', 'to', 'path'))) or not is_path(value['path'], CONSISTENCY_PATH_MAX):
        raise _syntax('no consistency proof')
    if not f.is_integer(value['from'], 0) or not f.is_integer(value['to'], 0):
        raise _syntax('no consistency proof')
    found: dict[str, Any] = value
    return found


def check_compromised(
    keys: list[dict[str, Any]], kid: bytes, statement: Statement, coverage: Coverage, trust: OfflineTrust, seq: int
) -> None:
    said = any(key.get('compromisedAt') is not None and _kid_of(key) == kid for key in keys)
    if not said and kid not in trust.compromised:
        return
    since = trust.compromised.get(kid)
    if (since is not None and statement.ms >= since) or not coverage.given:
        raise Refused('key_compromised', f'the key {kid.hex()} is in wrong hands, and nothing kept covers entry {seq}')


def _kid_of(value: dict[str, Any]) -> bytes | None:
    key = hinted_key(value)
    return key.kid if key is not None else None


def check_strict(keys_given: bool, coverage: Coverage, trust: OfflineTrust) -> None:
    if not keys_given:
        raise Refused('keys_not_given', 'whose keys these are is the proof’s own word')
    if not trust.witnesses and not coverage.given:
        raise Refused('checkpoint_not_given', 'no checkpoint that was kept covers the entry')
