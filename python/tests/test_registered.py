"""CBOR and registered statements. The TypeScript verifier and the server's admission are tested with
the same vectors.
"""

from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from test_vectors import read

from tallystick.verify import Refused
from tallystick.verify.cbor import Tag18, Undefined, bytes_head, decode, signature_structure
from tallystick.verify.limits import ENVELOPE_BYTES_MAX
from tallystick.verify.receipt import split_attached
from tallystick.verify.registered import judge, parse_foreign, parse_registered

CBOR = read('cbor.json')
CODES = {
    'taken': (None, None),
    'malformed': ('cbor_malformed', 'cbor_malformed'),
    'departures': ('cbor_not_deterministic', 'cbor_malformed'),
    'looseOnly': ('cbor_not_deterministic', None),
}
VECTORS = read('registered-statements.json')
ALL = [*VECTORS['statements'], *VECTORS['changed']]


def code_of(work: Callable[[], Any]) -> str | None:
    try:
        work()
    except Refused as refused:
        return refused.code
    return None


@pytest.mark.parametrize('kind', CODES)
def test_cbor(kind: str) -> None:
    for text in CBOR[kind]:
        data = bytes.fromhex(text)
        for deterministic, code in zip((True, False), CODES[kind], strict=True):
            assert code_of(lambda data=data, d=deterministic: decode(data, deterministic=d, tag18=True)) == code, text[:80]


def test_tag_18_only_where_it_is_allowed() -> None:
    assert decode(b'\xd2\x81\x01', deterministic=True, tag18=True) == Tag18([1])
    assert code_of(lambda: decode(b'\xd2\x81\x01', deterministic=True)) == 'cbor_malformed'
    assert decode(b'\xf7', deterministic=False) is Undefined


def test_what_a_server_registers_and_what_it_refuses() -> None:
    for vector in ALL:
        sent, about = bytes.fromhex(vector['sent']), vector.get('about', vector['sent'])
        assert code_of(lambda sent=sent: judge(parse_foreign(sent), VECTORS['policy'])) == vector['code'], about
        if vector['code'] is None:
            statement = parse_foreign(sent)
            assert statement.leaf.hex() == vector.get('leaf', statement.leaf.hex()), about
            assert statement.subject == vector.get('subject', statement.subject), about


def test_the_same_bytes_in_a_ledger() -> None:
    for vector in ALL:
        data, about = bytes.fromhex(vector['sent']), vector.get('about', vector['sent'])
        code = vector.get('inLedger', vector['code'])
        assert code_of(lambda data=data: judge(parse_registered(data), VECTORS['policy'])) == code, about


def test_a_statement_of_the_greatest_length() -> None:
    key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(VECTORS['seed']))
    vector = next(one for one in VECTORS['statements'] if one['about'] == 'a statement')
    protected = parse_foreign(bytes.fromhex(vector['sent'])).protected

    def of(length: int) -> bytes:
        room = length - (2 + len(bytes_head(len(protected))) + len(protected) + 1 + 3 + 2 + 64)
        payload = bytes(room)
        signature = key.sign(signature_structure(protected, payload))
        parts = (protected, payload, signature)
        strings = [bytes_head(len(part)) + part for part in parts]
        return b'\xd2\x84' + strings[0] + b'\xa0' + strings[1] + strings[2]

    def attached(length: int) -> bytes:
        """Returns a statement of `length` bytes, with a receipt added to it. The result may exceed the
        maximum size of a statement, because the receipt does not count.
        """
        return of(length).replace(protected + b'\xa0', protected + b'\xa1\x19\x01\x8a\x81\x41r')

    assert len(of(ENVELOPE_BYTES_MAX)) == ENVELOPE_BYTES_MAX
    for parse in (parse_foreign, parse_registered):
        judge(parse(of(ENVELOPE_BYTES_MAX)), VECTORS['policy'])
        assert code_of(lambda parse=parse: parse(of(ENVELOPE_BYTES_MAX + 1))) == 'envelope_too_large'
    assert split_attached(attached(ENVELOPE_BYTES_MAX)) == (of(ENVELOPE_BYTES_MAX), b'r')
    assert code_of(lambda: split_attached(attached(ENVELOPE_BYTES_MAX + 1))) == 'envelope_too_large'
