"""Receipts and Transparent Statements of a ledger with keys of our own, and an encoder for arbitrary CBOR."""

from __future__ import annotations

from typing import Any

from forge import ISSUER, Chain, leaf_of, path_of

from tallystick.verify import merkle
from tallystick.verify.cbor import _head, signature_structure

Parts = dict[str, Any]


class Raw(bytes):
    """CBOR that is inserted unchanged."""


class Tag18(list[Any]):
    """An array under tag 18."""


def encode(value: Any) -> bytes:
    """Encodes by RFC 8949 §4.2.1."""
    if isinstance(value, Raw):
        return bytes(value)
    if value is None or isinstance(value, bool):
        return {None: b'\xf6', True: b'\xf5', False: b'\xf4'}[value]
    if isinstance(value, int):
        return _head(0, value) if value >= 0 else _head(1, -1 - value)
    if isinstance(value, bytes):
        return _head(2, len(value)) + value
    if isinstance(value, str):
        return _head(3, len(value.encode())) + value.encode()
    if isinstance(value, Tag18):
        return b'\xd2' + encode(list(value))
    if isinstance(value, list):
        return _head(4, len(value)) + b''.join(map(encode, value))
    members = sorted((encode(key), encode(member)) for key, member in value.items())
    return _head(5, len(members)) + b''.join(key + member for key, member in members)


def receipt_parts(chain: Chain, seq: int, item: Any = None) -> Parts:
    """Returns the parts of an entry's receipt. Tests change the parts and sign them again."""
    leaves = [leaf_of(line) for line in chain.lines]
    unprotected: dict[int, Any] = {396: {-1: [encode([len(leaves), seq, [node for node, _ in path_of(leaves, seq)]])]}}
    if item is not None:
        unprotected[-65538] = item
    header = {1: -8, 4: chain.note.kid, 15: {1: ISSUER, 2: chain.origin}, 395: 1, -65537: len(leaves)}
    return {'header': header, 'unprotected': unprotected, 'root': merkle.root_of(leaves), 'payload': None}


def item_of(items: list[dict[str, Any]], index: int) -> list[Any]:
    from tallystick.verify.strict_json import canonical

    leaves = [merkle.leaf_hash(canonical(item)) for item in items]
    return [canonical(items[index]), encode([len(items), index, [node for node, _ in path_of(leaves, index)]])]


def attached(chain: Chain, envelope: bytes, parts: Parts) -> bytes:
    """Returns the envelope with the receipt in its unprotected header. The signed parts of the
    envelope are unchanged.
    """
    protected = encode(parts['header'])
    signature = chain.note.sign(signature_structure(protected, parts['root']))
    receipt = encode(Tag18([protected, parts['unprotected'], parts['payload'], signature]))
    assert envelope.startswith(b'\xd2\x84')
    at = envelope.index(b'\xa0', 2 + head_length(envelope[2]) + length_of(envelope[2:]))
    return envelope[:at] + encode({394: [receipt]}) + envelope[at + 1 :]


def head_length(first: int) -> int:
    return 1 + {24: 1, 25: 2}.get(first & 31, 0)


def length_of(data: bytes) -> int:
    info = data[0] & 31
    return info if info < 24 else int.from_bytes(data[1 : head_length(data[0])], 'big')
