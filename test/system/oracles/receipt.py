"""Verifies a statement with its receipt (RFC 9942), using third-party CBOR, COSE and Ed25519. Usage: receipt.py FILE VKEY"""

import base64
import hashlib
import sys

import cbor2
from pycose.keys import OKPKey
from pycose.keys.curves import Ed25519
from pycose.messages import Sign1Message

# The first line has labels of RFC 9942: receipts, vds, vdp, inclusion proof. The second line has
# labels of docs/formats/receipts.md: size, item.
RECEIPTS, VDS, VDP, INCLUSION = 394, 395, 396, -1
SIZE, ITEM = -65537, -65538


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def root_of(leaf: bytes, index: int, size: int, path: list[bytes]) -> bytes:
    """This is RFC 9162, section 2.1.3.1, in reverse: the last hash of the path belongs to the highest split."""
    if size == 1:
        assert index == 0 and not path
        return leaf
    split = 1 << ((size - 1).bit_length() - 1)
    *below, sibling = path
    if index < split:
        return sha256(b"\x01" + root_of(leaf, index, split, below) + sibling)
    return sha256(b"\x01" + sibling + root_of(leaf, index - split, size - split, below))


def main(file: str, vkey: str) -> None:
    origin, _, encoded = vkey.split("+", 2)
    public_key = base64.b64decode(encoded)[1:]
    with open(file, "rb") as opened:
        statement = cbor2.loads(opened.read())
    protected, unprotected, payload, signature = statement.value
    (receipt,) = unprotected[RECEIPTS]
    envelope = cbor2.dumps(cbor2.CBORTag(18, [protected, {}, payload, signature]), canonical=True)

    message = Sign1Message.decode(receipt)
    header = cbor2.loads(cbor2.loads(receipt).value[0])
    more = cbor2.loads(receipt).value[1]
    assert header[VDS] == 1 and header[15][2] == origin and message.payload is None
    (proof,) = more[VDP][INCLUSION]
    size, index, path = cbor2.loads(proof)
    assert size == header[SIZE]
    message.payload = root_of(sha256(b"\x00" + envelope), index, size, path)
    message.key = OKPKey(crv=Ed25519, x=public_key)
    assert message.verify_signature(), "the signature does not verify"
    if ITEM in more:
        item, at = more[ITEM]
        count, place, item_path = cbor2.loads(at)
        root = root_of(sha256(b"\x00" + item), place, count, item_path)
        assert root.hex().encode() in payload, "the statement has another root of its batch"
    print(f"pycose: entry {index} of {size}{', with its item' if ITEM in more else ''}")


if __name__ == "__main__":
    main(*sys.argv[1:])
