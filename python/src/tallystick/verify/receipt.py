"""Verifies one entry by its receipt (docs/formats/receipts.md), and Transparent Statements of others."""

from __future__ import annotations

from typing import Any, NamedTuple

from . import formats as f
from .cbor import Rules, Tag18, decode, signature_structure
from .envelope import check_signature, parse_envelope, parts_of
from .errors import Refused
from .export import ReceiptHead
from .keys import Key, is_signed
from .limits import (
    CBOR_DEPTH_MAX,
    CONSISTENCY_PATH_MAX,
    INCLUSION_PATH_MAX,
    INTEGER_MAX,
    LINE_DEPTH_MAX,
    RECEIPT_BYTES_MAX,
    RECEIPT_FILE_BYTES_MAX,
)
from .line import ITEM_MASK, check_item
from .merkle import check_inclusion, leaf_hash, root_by_consistency, root_by_path
from .note import NoteKey
from .registered import RULES as FOREIGN_RULES
from .registered import Foreign, canonical_bytes, check_issuer_signature, read_foreign
from .shown import ShownEntry, check_record
from .statement import check_claims, parse_statement
from .strict_json import canonical, parse

_RULES = Rules(CBOR_DEPTH_MAX, RECEIPT_FILE_BYTES_MAX, deterministic=True)
RECEIPTS, VDS, VDP, SIZE, ITEM = 394, 395, 396, -65537, -65538
RFC9162 = 1


class Inclusion(NamedTuple):
    size: int
    place: int
    path: list[bytes]


class _Head(NamedTuple):
    protected: bytes
    signature: bytes
    kid: bytes
    issuer: str
    origin: str
    size: int
    proofs: dict[Any, Any]
    item: Any


class Receipt(NamedTuple):
    protected: bytes
    signature: bytes
    kid: bytes
    issuer: str
    origin: str
    size: int
    inclusion: Inclusion
    item: tuple[bytes, Inclusion] | None


def _syntax(what: str) -> Refused:
    return Refused('receipt_syntax', what)


def parse_receipt(data: bytes) -> Receipt:
    head = _parse_head(data)
    proof = head.proofs.get(-1)
    if len(head.proofs) != 1 or not isinstance(proof, list) or len(proof) != 1:
        raise _syntax('not one inclusion proof')
    item = None if head.item is None else _parse_item(head.item)
    return Receipt(head.protected, head.signature, head.kid, head.issuer, head.origin, head.size, _parse_inclusion(proof[0]), item)


def verify_consistency(data: bytes, key: NoteKey, size: int, root: bytes) -> tuple[int, bytes]:
    """The size and root that a consistency receipt leads to, from a checkpoint that was kept."""
    head = _parse_head(data)
    proof = head.proofs.get(-2)
    if len(head.proofs) != 1 or head.item is not None or not isinstance(proof, list) or len(proof) != 1:
        raise _syntax('not one consistency proof')
    value = decode(proof[0], _RULES) if isinstance(proof[0], bytes) else None
    if not isinstance(value, list) or len(value) != 3 or not _is_count(value[0]) or not _is_count(value[1]):
        raise _syntax('a consistency proof of another form')
    if not _is_path(value[2], CONSISTENCY_PATH_MAX):
        raise _syntax('a path of another form')
    _check_key(head.origin, head.kid, key)
    if value[1] != head.size:
        raise Refused('proof_contradicts_entry', 'the size of the proof is not the signed one')
    if value[0] != size:
        raise Refused('consistency_missing', f'it begins at {value[0]}, and the kept checkpoint is of {size}')
    found = root_by_consistency(size, head.size, value[2], root)
    if not is_signed(key.key, head.signature, signature_structure(head.protected, found)):
        raise Refused('signature_invalid', 'the note key did not sign the root that the proof leads to')
    return head.size, found


def _parse_head(data: bytes) -> _Head:
    if len(data) > RECEIPT_BYTES_MAX:
        raise _syntax(f'more than {RECEIPT_BYTES_MAX} bytes')
    protected, unprotected, payload, signature = parts_of(decode(data, _RULES))
    if payload is not None:
        raise Refused('cose_structure', 'the payload is not detached')
    header = decode(protected, _RULES)
    if isinstance(header, dict) and 2 in header:
        raise Refused('cose_crit', 'label 2 (crit) is there')
    if not isinstance(header, dict) or header.keys() != {1, 4, 15, VDS, SIZE}:
        raise _syntax('the protected header has other labels')
    if header[1] != -8 or type(header[1]) is not int:
        raise Refused('cose_algorithm', 'the algorithm is not EdDSA')
    kid, claims, size = header[4], header[15], header[SIZE]
    if not isinstance(kid, bytes) or len(kid) != 32 or not isinstance(claims, dict) or claims.keys() != {1, 2}:
        raise _syntax('kid or claims are of another form')
    if not isinstance(claims[1], str) or not isinstance(claims[2], str) or header[VDS] != RFC9162 or not _is_count(size):
        raise _syntax('claims, vds or size are of another form')
    if not {VDP} <= unprotected.keys() <= {VDP, ITEM}:
        raise _syntax('the unprotected header has other labels')
    proofs = unprotected[VDP]
    if not isinstance(proofs, dict):
        raise _syntax('the proofs are no map')
    return _Head(protected, signature, kid, claims[1], claims[2], size, proofs, unprotected.get(ITEM))


def _is_path(value: Any, most: int) -> bool:
    return isinstance(value, list) and len(value) <= most and all(isinstance(one, bytes) and len(one) == 32 for one in value)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= INTEGER_MAX


def _parse_inclusion(data: Any) -> Inclusion:
    value = decode(data, _RULES) if isinstance(data, bytes) else None
    if not isinstance(value, list) or len(value) != 3 or not _is_count(value[0]) or not _is_count(value[1]):
        raise _syntax('an inclusion proof of another form')
    path = value[2]
    if not _is_path(path, INCLUSION_PATH_MAX):
        raise _syntax('a path of another form')
    return Inclusion(value[0], value[1], path)


def _parse_item(value: Any) -> tuple[bytes, Inclusion]:
    if not isinstance(value, list) or len(value) != 2 or not isinstance(value[0], bytes):
        raise _syntax('an item of another form')
    return value[0], _parse_inclusion(value[1])


def split_attached(data: bytes) -> tuple[bytes, bytes]:
    """The envelope with its empty unprotected header again, and the receipt that was in it."""
    if len(data) > RECEIPT_FILE_BYTES_MAX:
        raise _syntax(f'more than {RECEIPT_FILE_BYTES_MAX} bytes')
    protected, unprotected, payload, signature = parts_of(decode(data, _RULES))
    if payload is None:
        raise Refused('cose_structure', 'the payload is not attached')
    return canonical_bytes(protected, payload, signature), _only_receipt(unprotected)


def _only_receipt(unprotected: dict[Any, Any]) -> bytes:
    receipts = unprotected.get(RECEIPTS)
    if unprotected.keys() != {RECEIPTS} or not isinstance(receipts, list) or len(receipts) != 1 or not isinstance(receipts[0], bytes):
        raise _syntax('not one receipt is attached')
    found: bytes = receipts[0]
    return found


def _check_key(origin: str, kid: bytes, key: NoteKey) -> None:
    if origin != key.name:
        raise Refused('checkpoint_foreign', f'the receipt is of {origin[:128]!r}')
    if kid != key.key.kid:
        raise Refused('kid_mismatch', 'the kid is not the thumbprint of the note key')


def verify_place(receipt: Receipt, leaf: bytes, key: NoteKey) -> bytes:
    """The root that the note key signed, with the leaf in its place."""
    _check_key(receipt.origin, receipt.kid, key)
    if receipt.inclusion.size != receipt.size:
        raise Refused('proof_contradicts_entry', 'the size of the proof is not the signed one')
    root = root_by_path(leaf, receipt.inclusion.place, receipt.size, receipt.inclusion.path)
    if not is_signed(key.key, receipt.signature, signature_structure(receipt.protected, root)):
        raise Refused('signature_invalid', 'the note key did not sign the root that the proof leads to')
    return root


def verify_receipt(data: bytes, key: NoteKey, keys: dict[bytes, Key] | None, record: Any = None) -> str:
    whole, attached = split_attached(data)
    receipt = parse_receipt(attached)
    root = verify_place(receipt, leaf_hash(whole), key)
    envelope = parse_envelope(whole)
    if keys is not None:
        known = keys.get(envelope.kid)
        if known is None:
            raise Refused('key_unknown', f'the key {envelope.kid.hex()} is unknown')
        check_signature(envelope, known)
    statement = parse_statement(envelope.payload)
    check_claims(envelope, statement)
    if not receipt.origin.endswith('/' + statement.ledger) or receipt.issuer != envelope.issuer:
        raise Refused('ledger_foreign', 'the receipt is of another ledger or issuer')
    item = None
    if receipt.item is not None:
        item = _verify_item(receipt.item, statement.kind, statement.predicate, statement.digest)
    shown = ShownEntry(receipt.inclusion.place, statement, item)
    if record is not None:
        check_record(shown, record)
    parts = [
        shown.line(),
        f'size={receipt.size} root={root.hex()} keys={"given" if keys is not None else "not-given"}',
        *(['record=same'] if record is not None else []),
        *shown.signal(),
    ]
    return ' '.join(parts)


def _verify_item(found: tuple[bytes, Inclusion], kind: str, predicate: dict[str, Any], digest: str) -> dict[str, Any]:
    data, inclusion = found
    item = parse(data, LINE_DEPTH_MAX).value
    if not isinstance(item, dict) or canonical(item) != data:
        raise Refused('batch_item', 'the item is not its canonical form')
    if kind != 'batch-notarized' or inclusion.size != predicate['count']:
        raise Refused('batch_contradicts_statement', 'no batch, or of another count')
    check_item(item)
    check_inclusion(leaf_hash(data), inclusion.place, inclusion.size, inclusion.path, bytes.fromhex(digest))
    if f.id_number(item['record']) & ITEM_MASK != inclusion.place:
        raise Refused('batch_item', 'the low 12 bits of the id are not the index')
    return item


def kept_receipt(data: bytes) -> ReceiptHead:
    """Compares a kept receipt with a ledger, whose note key its first entry names."""
    whole, attached = split_attached(data)
    receipt = parse_receipt(attached)
    leaf = leaf_hash(whole)
    root = root_by_path(leaf, receipt.inclusion.place, receipt.inclusion.size, receipt.inclusion.path)

    def check_key(key: NoteKey) -> None:
        verify_place(receipt, leaf, key)

    return ReceiptHead(receipt.size, root, receipt.inclusion.place, leaf, check_key)


def verify_transparent(data: bytes, key: NoteKey, issuer_key: Key | None) -> str:
    """A Signed Statement of somebody else, with its receipt."""
    if len(data) > RECEIPT_FILE_BYTES_MAX:
        raise _syntax(f'more than {RECEIPT_FILE_BYTES_MAX} bytes')
    value = decode(data, FOREIGN_RULES)
    _, unprotected, _, _ = parts_of(value)
    receipt = parse_receipt(_only_receipt(unprotected))
    statement: Foreign = read_foreign(Tag18([value.value[0], {}, *value.value[2:]]), None)
    root = verify_place(receipt, statement.leaf, key)
    if issuer_key is not None:
        check_issuer_signature(statement, issuer_key)
    return (
        f'ledger={receipt.origin.rpartition("/")[2]} entry={receipt.inclusion.place} issuer={statement.issuer} '
        f'subject={statement.subject} size={receipt.size} root={root.hex()} key={"given" if issuer_key is not None else "not-given"}'
    )
