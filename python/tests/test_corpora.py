"""Test vectors of other projects (test/vectors/corpora/README.md). test/proof/corpora.test.ts tests
the same vectors.
"""

import json
from itertools import chain
from typing import Any

import pytest
from oracle import ROOT

from tallystick.verify import merkle
from tallystick.verify.cbor import decode
from tallystick.verify.errors import Refused
from tallystick.verify.keys import is_signed, is_signed_by_issuer, parse_key
from tallystick.verify.limits import JSON_DEPTH_MAX
from tallystick.verify.note import parse_verifier_key
from tallystick.verify.strict_json import canonical, parse

ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


def read(name: str) -> Any:
    return json.loads((ROOT / 'test' / 'vectors' / 'corpora' / f'{name}.json').read_text(encoding='utf-8'))


@pytest.mark.parametrize(('name', 'alg'), [('wycheproof-ed25519', 'EdDSA'), ('wycheproof-p256', 'ES256')])
def test_wycheproof(name: str, alg: str) -> None:
    for group in read(name)['groups']:
        key = parse_key(alg, bytes.fromhex(group['key']))
        for number, message, signed, result in group['tests']:
            data, signature = bytes.fromhex(message), bytes.fromhex(signed)
            is_low = alg == 'EdDSA' or int.from_bytes(signature[32:], 'big') <= ORDER // 2
            assert is_signed(key, signature, data) is (result == 'valid' and is_low), number
            if len(signature) == 64:
                assert is_signed_by_issuer(key, signature, data) is (result == 'valid'), number


def cbor_code(data: str) -> str | None:
    try:
        decode(bytes.fromhex(data), deterministic=True)
    except Refused as refused:
        return refused.code
    return None


def test_rfc_8949() -> None:
    vectors = read('rfc8949')
    examples = vectors['examples']
    for data in examples.pop('taken'):
        assert cbor_code(data) is None, data
    for data in examples.pop('indefinite'):
        assert cbor_code(data) == 'cbor_not_deterministic', data
    for data in chain(*examples.values(), vectors['malformed']):
        assert cbor_code(data) == 'cbor_malformed', data


def json_code(text: str) -> str | None:
    try:
        parse(text.encode(), JSON_DEPTH_MAX)
    except Refused as refused:
        return refused.code
    return None


def test_json_test_suite() -> None:
    suite = read('json-test-suite')
    for name, text in suite['cases']:
        lossy = 'json_number_lossy' if name.startswith('i_number') else 'json_surrogate'
        usual = {'y': None, 'n': 'json_syntax', 'i': lossy}[name[0]]
        expected = suite['either'][name] if name in suite['either'] else suite['exceptions'].get(name, usual)
        assert json_code(text) == expected, name
    for opening in ('[', '[{"":'):
        assert json_code(opening * 100_000) in ('json_depth', 'json_syntax')


def test_canonical_json() -> None:
    for name, source, output in read('jcs')['cases']:
        assert canonical(parse(source.encode(), JSON_DEPTH_MAX).value).decode() == output, name


def test_verifier_keys() -> None:
    vectors = read('signed-notes')
    for key in vectors['keys']:
        assert parse_verifier_key(key).text == key
    for key in vectors['badKeys']:
        with pytest.raises(Refused, match='verifier_key'):
            parse_verifier_key(key)


def test_trees() -> None:
    vectors = read('merkle')
    leaves = [merkle.leaf_hash(bytes.fromhex(leaf)) for leaf in vectors['leaves']]
    for size in range(1, len(leaves) + 1):
        assert merkle.root_of(leaves[:size]).hex() == vectors['roots'][size]
