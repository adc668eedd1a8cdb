"""Independent libraries read the same envelopes: pycose and cwt. cbor2 checks the deterministic
encoding.
"""

import random
from typing import Any

import cbor2
import forge
import pytest
from cwt import COSE, COSEKey
from pycose.headers import Algorithm
from pycose.keys import OKPKey
from pycose.messages import Sign1Message

from tallystick.verify import Refused
from tallystick.verify.cbor import Tag18, decode
from tallystick.verify.envelope import check_signature, parse_envelope
from tallystick.verify.strict_json import canonical, number_text, parse_text

CHAIN = forge.a_little_of_everything()
OURS = [line for line in CHAIN.lines if line.statement is not None]


def test_pycose_and_cwt_verify_our_envelopes() -> None:
    for line in OURS:
        data = line.envelope()
        message = Sign1Message.decode(data)
        message.key = OKPKey(crv='ED25519', x=line.signer.raw)
        assert message.phdr[Algorithm].fullname == 'EDDSA'
        assert message.verify_signature()
        key = COSEKey.new({1: 1, -1: 6, -2: line.signer.raw, 3: -8, 2: line.signer.kid})
        assert COSE.new(verify_kid=True).decode(data, key) == parse_envelope(data).payload


def test_all_refuse_another_signature() -> None:
    line = OURS[0]
    data = bytearray(line.envelope())
    data[-1] ^= 1
    message = Sign1Message.decode(bytes(data))
    message.key = OKPKey(crv='ED25519', x=line.signer.raw)
    assert not message.verify_signature()
    with pytest.raises(Refused, match='signature_invalid'):
        check_signature(parse_envelope(bytes(data)), line.signer.key)


def test_what_is_deterministic_is_what_cbor2_writes() -> None:
    chance = random.Random(1)
    for _ in range(3_000):
        value = _value(chance, 0)
        data = cbor2.dumps(value, canonical=True)
        assert decode(data, deterministic=True, tag18=True) == value
        at = chance.randrange(len(data))
        changed = data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]
        try:
            again = decode(changed, deterministic=True, tag18=True)
            encoded = cbor2.dumps(again if not isinstance(again, Tag18) else cbor2.CBORTag(18, again.value), canonical=True)
        except (Refused, cbor2.CBOREncodeError):
            continue
        assert encoded == changed


def _value(chance: random.Random, depth: int) -> Any:
    kind = chance.randrange(4 if depth > 3 else 6)
    if kind == 0:
        return chance.choice([0, 1, 23, 24, 255, 256, 65_535, 65_536, 2**32, 2**64 - 1, -1, -24, -25, -(2**32)])
    if kind == 1:
        return chance.randbytes(chance.choice([0, 1, 23, 24, 300]))
    if kind == 2:
        return 'ä' * chance.choice([0, 1, 12, 200])
    if kind == 3:
        return chance.choice([True, False, None])
    if kind == 4:
        return [_value(chance, depth + 1) for _ in range(chance.randrange(5))]
    # cbor2 sorts keys by length first (RFC 7049). For keys of one byte, this equals the order by
    # bytes.
    return {chance.randrange(24): _value(chance, depth + 1) for _ in range(chance.randrange(6))}


@pytest.mark.parametrize(
    ('literal', 'text'),
    [
        ('1e21', '1e+21'),
        ('100000000000000000000', '100000000000000000000'),
        ('1152921504606847000', '1152921504606847000'),
        ('-0', '0'),
        ('-0.0', '0'),
        ('5e-324', '5e-324'),
        ('0.000001', '0.000001'),
        ('0.0000001', '1e-7'),
        ('123456789012345.67', '123456789012345.67'),
        ('1E2', '100'),
        ('1.5e300', '1.5e+300'),
        ('333333333.33333329', '333333333.3333333'),
    ],
)
def test_numbers_as_ecmascript_writes_them(literal: str, text: str) -> None:
    value = parse_text(literal, 1).value
    assert number_text(value) == text
    assert canonical(value) == text.encode()


def test_members_are_sorted_by_utf_16() -> None:
    """Compares with the example of RFC 8785 §3.2.3."""
    text = '{"\\u20ac":1,"\\r":2,"\\ufb33":3,"1":4,"\\ud83d\\ude00":5,"\\u0080":6,"\\u00f6":7}'
    assert list(parse_text(canonical(parse_text(text, 2).value).decode(), 2).value.values()) == [2, 4, 6, 7, 1, 5, 3]
