"""Points of small order are refused as keys and as R, because anybody can make signatures under such a
key.
"""

from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tallystick.verify import Refused, line
from tallystick.verify import formats as f
from tallystick.verify import statement as statements
from tallystick.verify.envelope import Envelope
from tallystick.verify.keys import EDDSA, Key, ed25519_spki, is_signed, parse_key, thumbprint_ed25519
from tallystick.verify.note import LOG, WITNESS, key_id, note_key, parse_verifier_key

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
Point = tuple[int, int]


def add(a: Point, b: Point) -> Point:
    k = D * a[0] * b[0] * a[1] * b[1]
    return (a[0] * b[1] + b[0] * a[1]) * pow(1 + k, -1, P) % P, (a[1] * b[1] + a[0] * b[0]) * pow(1 - k, -1, P) % P


def times(scalar: int, point: Point) -> Point:
    found = (0, 1)
    for bit in bin(scalar)[2:]:
        found = add(found, found)
        if bit == '1':
            found = add(found, point)
    return found


def point_at(y: int) -> Point | None:
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    root = pow(square, (P + 3) // 8, P)
    if (root * root - square) % P:
        root = root * pow(2, (P - 1) // 4, P) % P
    return (root, y) if (root * root - square) % P == 0 else None


def encodings() -> list[bytes]:
    """Returns all encodings of points of small order, including encodings with y ≥ p and encodings of
    -0.
    """
    points = (point_at(y) for y in range(2, 100))
    torsion = [times(L, point) for point in points if point is not None]
    found = next(point for point in torsion if times(4, point) != (0, 1))
    ys = {times(i, found)[1] for i in range(8)}
    assert len(ys) == 5
    shown = [y + more for y in sorted(ys) for more in (0, P) if y + more < 2**255]
    return [(y | sign << 255).to_bytes(32, 'little') for y in shown for sign in (0, 1)]


ENCODINGS = encodings()
MESSAGES = [f'message {i}'.encode() for i in range(64)]


def refusal(work: Any) -> str:
    with pytest.raises(Refused) as refused:
        work()
    return refused.value.code


def ids(raw: bytes) -> str:
    return raw.hex()[:8] + raw.hex()[-2:]


@pytest.mark.parametrize('raw', ENCODINGS, ids=ids)
def test_no_key_is_of_small_order(raw: bytes) -> None:
    spki = ed25519_spki(raw)
    shown = f.to_base64(spki)
    assert refusal(lambda: parse_key(EDDSA, spki)) == 'bad_key'
    assert refusal(lambda: note_key('ledger.example', spki)) == 'bad_key'
    for kind in (LOG, WITNESS):
        name = 'ledger.example/led_1'
        text = f'{name}+{key_id(name, kind, raw).hex()}+{f.to_base64(bytes([kind]) + raw)}'
        assert refusal(lambda text=text, kind=kind: parse_verifier_key(text, kind)) == 'verifier_key'
    # The next checks are for keys in statements: envelope keys of ledgers, agents and peers, and
    # keys of issuers.
    kid = thumbprint_ed25519(raw).hex()
    assert not statements.is_envelope_key({'kid': kid, 'alg': EDDSA, 'spki': shown})
    assert not statements._is_issuers([{'issuer': 'i', 'keys': [{'kid': '6b31', 'alg': EDDSA, 'spki': shown}]}])
    # The next check is for the key in a line of an export. Its kid is correct.
    envelope = Envelope(b'', b'', b'', EDDSA, thumbprint_ed25519(raw), '', '', 0)
    assert refusal(lambda: line._signer({'alg': EDDSA, 'spki': shown}, envelope)) == 'bad_key'
    good = Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key().public_bytes_raw()
    good_key = {'alg': EDDSA, 'spki': f.to_base64(ed25519_spki(good))}
    assert statements.is_envelope_key({'kid': kid, **good_key})
    assert statements._is_issuers([{'issuer': 'i', 'keys': [{'kid': '6b31', **good_key}]}])


@pytest.mark.parametrize('raw', ENCODINGS, ids=ids)
def test_no_signature_is_by_a_key_or_an_r_of_small_order(raw: bytes) -> None:
    """A key of small order makes a signature with S = 0 valid for a large share of all messages.
    OpenSSL accepts such signatures.
    """
    signatures = [other + bytes(32) for other in ENCODINGS]
    key = Key(EDDSA, bytes(32), ed25519_spki(raw))
    assert not any(is_signed(key, signature, message) for signature in signatures for message in MESSAGES)


def test_the_signatures_are_those_that_a_library_takes() -> None:
    """Proves that the test above is effective: OpenSSL accepts some of its signatures."""
    taken = 0
    for raw in ENCODINGS:
        for message in MESSAGES[:8]:
            for r in ENCODINGS:
                try:
                    Ed25519PublicKey.from_public_bytes(raw).verify(r + bytes(32), message)
                    taken += 1
                except Exception:
                    pass
    assert taken > 8
