"""Verifies one entry by its receipt (docs/formats/receipts.md), and Transparent Statements of other issuers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from . import formats as f
from .cbor import decode, signature_structure
from .envelope import attached_parts, check_signature, parse_envelope, parts_of
from .errors import Refused
from .keys import Key, is_signed
from .limits import (
    CONSISTENCY_PATH_MAX,
    ENVELOPE_BYTES_MAX,
    INCLUSION_PATH_MAX,
    INTEGER_MAX,
    JSON_DEPTH_MAX,
    RECEIPT_BYTES_MAX,
    RECEIPT_FILE_BYTES_MAX,
)
from .line import ITEM_MASK, check_count, check_definition, check_item
from .merkle import check_inclusion, leaf_hash, root_by_consistency, root_by_path
from .note import NoteKey
from .registered import Foreign, canonical_bytes, check_issuer_signature, parse_registered
from .shown import ShownEntry, check_record
from .statement import Statement, check_claims, parse_statement
from .strict_json import canonical, parse

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
    unprotected: dict[Any, Any]


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
    inclusion = _parse_inclusion(_proof_of(head, -1, {VDP, ITEM}))
    item = _parse_item(head.unprotected[ITEM]) if ITEM in head.unprotected else None
    return Receipt(head.protected, head.signature, head.kid, head.issuer, head.origin, head.size, inclusion, item)


def verify_consistency(data: bytes, key: NoteKey, size: int, root: bytes) -> tuple[int, bytes]:
    """Verifies a consistency receipt that starts at a stored checkpoint with `size` and `root`.
    Returns the size and root at which it ends. Raises Refused.
    """
    head = _parse_head(data)
    value = _parse_proof(_proof_of(head, -2, {VDP}), CONSISTENCY_PATH_MAX)
    _check_key(head.origin, head.kid, key)
    if value[0] != size:
        raise Refused(
            'consistency_missing', f'the receipt shows the growth from {value[0]} entries, but the stored checkpoint covers {size}'
        )
    if value[1] != head.size:
        raise Refused('proof_contradicts_entry', f'the proof is for a tree of {value[1]} leaves, but the receipt is signed for {head.size}')
    found = root_by_consistency(size, head.size, value[2], root)
    if not is_signed(key.key, head.signature, signature_structure(head.protected, found)):
        raise Refused('signature_invalid', 'the note key did not sign the root that the proof leads to')
    return head.size, found


def _parse_head(data: bytes) -> _Head:
    if len(data) > RECEIPT_BYTES_MAX:
        raise _syntax(f'the receipt has more than {RECEIPT_BYTES_MAX} bytes')
    protected, unprotected, payload, signature = parts_of(data, deterministic=True)
    if payload is not None:
        raise Refused('cose_structure', 'the payload must be detached')
    header = decode(protected, deterministic=True)
    if isinstance(header, dict) and 2 in header:
        raise Refused('cose_crit', 'no header may be critical, but label 2 (crit) is present')
    if not isinstance(header, dict) or header.keys() != {1, 4, 15, VDS, SIZE}:
        raise _syntax('the protected header must have exactly alg, kid, claims, vds and size')
    if header[1] != -8 or type(header[1]) is not int:
        raise Refused('cose_algorithm', f'the algorithm {str(header[1])[:32]} is not EdDSA (-8)')
    kid, claims, size = header[4], header[15], header[SIZE]
    if not isinstance(kid, bytes) or len(kid) != 32 or not isinstance(claims, dict) or claims.keys() != {1, 2}:
        raise _syntax('kid or claims do not have the required form')
    if not isinstance(claims[1], str) or not isinstance(claims[2], str) or not _is_count(header[VDS]) or not _is_count(size):
        raise _syntax('claims, vds or size do not have the required form')
    if header[VDS] != RFC9162:
        raise _syntax(f'vds is {header[VDS]}, not {RFC9162} (RFC 9162)')
    return _Head(protected, signature, kid, claims[1], claims[2], size, unprotected)


def _proof_of(head: _Head, kind: int, labels: set[int]) -> bytes:
    """Returns the only proof of this kind. Raises Refused if there is not exactly one. `labels`:
    labels that the unprotected header may have.
    """
    proofs = head.unprotected.get(VDP)
    if not head.unprotected.keys() <= labels or not isinstance(proofs, dict) or proofs.keys() != {kind}:
        raise _syntax('the unprotected header must have exactly one proof (vdp), and no unknown label')
    return _only_bytes(proofs[kind])


def _only_bytes(value: Any) -> bytes:
    if not isinstance(value, list) or len(value) != 1 or not isinstance(value[0], bytes):
        raise _syntax('proofs or receipts must be a list of one byte string')
    found: bytes = value[0]
    return found


def _is_path(value: Any, most: int) -> bool:
    return isinstance(value, list) and len(value) <= most and all(isinstance(one, bytes) and len(one) == 32 for one in value)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= INTEGER_MAX


def _parse_proof(data: bytes, path_max: int) -> list[Any]:
    """Parses a proof: two numbers and a list of hashes. Raises Refused."""
    value = decode(data, deterministic=True)
    if not isinstance(value, list) or len(value) != 3 or not _is_count(value[0]) or not _is_count(value[1]):
        raise _syntax('a proof must be two numbers and hashes')
    if not _is_path(value[2], path_max):
        raise _syntax(f'a path must be at most {path_max} hashes of 32 bytes')
    return value


def _parse_inclusion(data: bytes) -> Inclusion:
    return Inclusion(*_parse_proof(data, INCLUSION_PATH_MAX))


def _parse_item(value: Any) -> tuple[bytes, Inclusion]:
    if not isinstance(value, list) or len(value) != 2 or not all(isinstance(one, bytes) for one in value):
        raise _syntax('the item must be its bytes and its path')
    return value[0], _parse_inclusion(value[1])


def split_attached(data: bytes) -> tuple[bytes, bytes]:
    """Splits an envelope with a receipt in its unprotected header. Returns the envelope with an empty
    unprotected header, and the receipt.
    """
    if len(data) > RECEIPT_FILE_BYTES_MAX:
        raise _syntax(f'the file has more than {RECEIPT_FILE_BYTES_MAX} bytes')
    protected, unprotected, payload, signature = attached_parts(data, deterministic=True)
    receipt = _only_receipt(unprotected)
    envelope = canonical_bytes(protected, payload, signature)
    if len(envelope) > ENVELOPE_BYTES_MAX:
        raise Refused('envelope_too_large', f'the envelope has {len(envelope)} bytes, more than {ENVELOPE_BYTES_MAX}')
    return envelope, receipt


def _only_receipt(unprotected: dict[Any, Any]) -> bytes:
    if unprotected.keys() != {RECEIPTS}:
        raise _syntax(f'the unprotected header must have only receipts (label {RECEIPTS})')
    return _only_bytes(unprotected[RECEIPTS])


def _check_key(origin: str, kid: bytes, key: NoteKey) -> None:
    if origin != key.name:
        raise Refused('checkpoint_foreign', f'the receipt belongs to {origin[:128]!r}, not to {key.name!r}')
    if kid != key.key.kid:
        raise Refused('kid_mismatch', f'the receipt is signed by {kid.hex()}, which is not the note key')


def verify_place(receipt: Receipt, leaf: bytes, key: NoteKey) -> bytes:
    """Returns the root that the note key signed, after verifying the leaf's position in its tree."""
    _check_key(receipt.origin, receipt.kid, key)
    if receipt.inclusion.size != receipt.size:
        raise Refused(
            'proof_contradicts_entry',
            f'the proof is for a tree of {receipt.inclusion.size} leaves, but the receipt is signed for {receipt.size}',
        )
    root = root_by_path(leaf, receipt.inclusion.place, receipt.size, receipt.inclusion.path)
    if not is_signed(key.key, receipt.signature, signature_structure(receipt.protected, root)):
        raise Refused('signature_invalid', 'the note key did not sign the root that the proof leads to')
    return root


def verify_receipt(data: bytes, key: NoteKey, keys: Mapping[bytes, Key | None] | None, record: bytes | None = None) -> ReceiptReport:
    """Verifies an entry by its receipt. Raises Refused.

    `keys`: maps the kid of an envelope key to the key, or to None if the key is compromised.
    Without `keys` the entry's own signature is not verified.
    """
    whole, attached = split_attached(data)
    receipt = parse_receipt(attached)
    root = verify_place(receipt, leaf_hash(whole), key)
    envelope = parse_envelope(whole)
    if keys is not None:
        known = keys.get(envelope.kid)
        if known is None:
            code, what = ('key_compromised', 'compromised') if envelope.kid in keys else ('key_unknown', 'unknown')
            raise Refused(code, f'the key {envelope.kid.hex()} is {what}')
        check_signature(envelope, known)
    statement = parse_statement(envelope.payload)
    check_claims(envelope, statement)
    check_definition(statement)
    if not receipt.origin.endswith('/' + statement.ledger):
        raise Refused('ledger_foreign', f'the entry belongs to {statement.ledger}, the receipt to {receipt.origin[:128]!r}')
    if receipt.issuer != envelope.issuer:
        raise Refused('ledger_foreign', f'the entry was issued by {envelope.issuer[:64]!r}, the receipt by {receipt.issuer[:64]!r}')
    item = None if receipt.item is None else _verify_item(receipt.item, statement)
    shown = ShownEntry(receipt.inclusion.place, statement, item)
    if record is not None:
        check_record(shown, record)
    return ReceiptReport(shown, receipt.size, root, keys is not None, record is not None)


def _verify_item(found: tuple[bytes, Inclusion], statement: Statement) -> dict[str, Any]:
    data, inclusion = found
    check_count(statement, inclusion.size)
    item = parse(data, JSON_DEPTH_MAX).value
    check_item(item)
    leaf = leaf_hash(canonical(item))
    check_inclusion(leaf, inclusion.place, inclusion.size, inclusion.path, bytes.fromhex(statement.digest))
    if f.id_number(item['record']) & ITEM_MASK != inclusion.place:
        raise Refused('batch_item', f'the last 12 bits of {item["record"]} are not the index of the item, {inclusion.place}')
    if canonical(item) != data:
        raise Refused('batch_item', 'the item is not in its canonical form')
    found_item: dict[str, Any] = item
    return found_item


@dataclass
class ReceiptHead:
    """Facts about a ledger from a receipt that the user stored."""

    size: int
    root: bytes
    seq: int
    leaf: bytes
    check: Callable[[NoteKey], None]
    """Verifies the receipt with the note key, which the ledger's first entry names."""


def kept_receipt(data: bytes) -> ReceiptHead:
    """Reads a stored receipt. Never raises. `check` refuses an invalid receipt later, when the first
    entry has named the note key.
    """
    try:
        return _read_kept(data)
    except Refused as refused:
        return _refused_head(refused)


def _refused_head(refused: Refused) -> ReceiptHead:
    def check(_key: NoteKey) -> None:
        raise refused

    return ReceiptHead(0, b'', -1, b'', check)


def _read_kept(data: bytes) -> ReceiptHead:
    whole, attached = split_attached(data)
    receipt = parse_receipt(attached)
    leaf = leaf_hash(whole)
    root = b''
    with suppress(Refused):
        root = root_by_path(leaf, receipt.inclusion.place, receipt.inclusion.size, receipt.inclusion.path)

    def check(key: NoteKey) -> None:
        verify_place(receipt, leaf, key)
        if receipt.item is not None:
            _verify_item(receipt.item, parse_statement(parse_envelope(whole).payload))

    return ReceiptHead(receipt.size, root, receipt.inclusion.place, leaf, check)


@dataclass
class ReceiptReport:
    shown: ShownEntry
    size: int
    root: bytes
    keys_given: bool
    record_same: bool


@dataclass
class TransparentReport:
    receipt: Receipt
    statement: Foreign
    root: bytes
    key_given: bool


def verify_transparent(data: bytes, key: NoteKey, issuer_key: Key | None) -> TransparentReport:
    """Verifies a Signed Statement of another issuer by its receipt. Raises Refused."""
    whole, attached = split_attached(data)
    receipt = parse_receipt(attached)
    root = verify_place(receipt, leaf_hash(whole), key)
    if receipt.item is not None:
        raise _syntax('the receipt is for a record of a batch, not for a registered statement')
    statement = parse_registered(whole)
    if issuer_key is not None:
        check_issuer_signature(statement, issuer_key)
    return TransparentReport(receipt, statement, root, issuer_key is not None)
