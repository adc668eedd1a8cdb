"""Makes test/vectors/agent-statements.json: statements that an agent signs. The SDK for TypeScript
makes the same bytes.

`PYTHONPATH=src python tests/agent_statements.py` writes the file again.
"""

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from tallystick.signing import agent_signer
from tallystick.signing.cose import encode_protected, seal
from tallystick.signing.parts import time_at
from tallystick.signing.private_key import read_private_key
from tallystick.signing.statements import TypeFacts, Unsigned, of_batch, of_record, of_step, statement_text

FILE = Path(__file__).resolve().parents[2] / 'test' / 'vectors' / 'agent-statements.json'
SEED = bytes(range(32))
NOW_MS = 1_795_953_600_123
TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
IDENTITY = {
    'ledger': 'led_01jegv5gyme008000000000051',
    'agent': 'agt_01jegv5gyme008000000000052',
    'key': 'key_01jegv5gyme008000000000053',
}
ISSUER = 'https://ledger.example'
DIGEST = sha256(b'definition').hexdigest()
COMPLETION = {'id': 'cmp_01jegv5gyme008000000000254', 'digest': sha256(b'evidence').hexdigest()}
FAILED = {'outcome': 'fail', 'rules': [{'id': 'price', 'outcome': 'fail'}, {'id': 'place', 'outcome': 'pass'}]}
PASSED = {'outcome': 'pass', 'rules': [{'id': 'price', 'outcome': 'pass'}]}
RECORD = {
    'id': 'rec_01jegv5gyme008000000000254',
    'version': 3,
    'state': 'VERIFIED',
    'digest': sha256(b'payload').hexdigest(),
    'entry': {'leaf': sha256(b'leaf').hexdigest()},
    'gated': {'completion': COMPLETION, 'verification': FAILED, 'verdict': {'signal': {'failingRules': ['price']}}},
}
PLAIN = {'payload': {'of': 'Käse', '€': 1.5, 'big': 1e21, 'small': 1e-7, 'n': [1, None, True], 'emoji': '😀'}, 'type': 'generic/1'}
CASES: list[dict[str, Any]] = [
    {'about': 'a record', 'body': PLAIN, 'gated': False},
    {
        'about': 'a record with all that it may have',
        'body': {
            **PLAIN,
            'salt': 'AAECAwQFBgcICQoLDA0ODw',
            'onBehalfOf': 'agt_01jegv5gyme008000000000059',
            'occurredAt': '2026-11-28T10:00:00.5+01:00',
            'parent': RECORD['id'],
            'references': ['urn:a', 'erp:"Käse"'],
        },
        'gated': False,
        'traceparent': TRACE,
    },
    {'about': 'a gated record', 'body': {'payload': {'do': 'it'}, 'type': 'task/1'}, 'gated': True},
    {
        'about': 'a gated record with terms',
        'body': {
            'payload': {'do': 'it'},
            'type': 'order/1',
            'performer': 'agt_01jegv5gyme008000000000059',
            'gate': 'auto',
            'deadline': '2026-12-01T00:00:00Z',
            'maxRevisions': 0,
            'tolerances': {'price': {'percent': 2.5}, 'amount': {'absolute': 1}},
        },
        'gated': True,
    },
    {
        'about': 'a batch',
        'body': {
            'records': [
                {'type': 'generic/1', 'payload': {'i': 0}, 'occurredAt': '2026-11-28T10:00:00.123Z'},
                {'type': 'generic/1', 'payload': {'i': 1}, 'parent': 0, 'references': ['urn:a'], 'traceparent': TRACE},
                {'type': 'deed/1', 'payload': {'i': 2}, 'parent': RECORD['id'], 'onBehalfOf': 'agt_01jegv5gyme008000000000059'},
            ]
        },
    },
    {'about': 'an activation', 'step': 'activate', 'body': {}, 'record': {**RECORD, 'state': 'CREATED', 'version': 1}},
    {'about': 'a completion', 'step': 'completions', 'body': {'evidence': {'pages': 3}}, 'record': {**RECORD, 'state': 'ACTIVE'}},
    {
        'about': 'a rejection',
        'step': 'verdict',
        'body': {'verdict': 'reject', 'reason': 'too late'},
        'record': RECORD,
        'traceparent': TRACE,
    },
    {
        'about': 'an acceptance',
        'step': 'verdict',
        'body': {'verdict': 'accept', 'validUntil': '2027-01-01T00:00:00Z', 'occurredAt': '2026-11-28T10:00:00Z'},
        'record': {**RECORD, 'gated': {**RECORD['gated'], 'verification': PASSED}},
    },
    {'about': 'an acceptance in spite of rules', 'step': 'verdict', 'body': {'verdict': 'accept'}, 'record': RECORD},
    {'about': 'a request for a revision', 'step': 'revision', 'body': {'reason': 'more'}, 'record': RECORD},
    {'about': 'a cancellation', 'step': 'cancel', 'body': {}, 'record': {**RECORD, 'state': 'CREATED', 'version': 1}},
    {'about': 'an overturned verdict', 'step': 'overturn', 'body': {'reason': 'in time'}, 'record': {**RECORD, 'state': 'REJECTED'}},
]


def random_bytes() -> Callable[[int], bytes]:
    """Returns a deterministic generator of bytes: the first bytes of the SHA-256 of 0, 1, 2 and so on.
    """
    count = -1

    def draw(length: int) -> bytes:
        nonlocal count
        count += 1
        return sha256(str(count).encode()).digest()[:length]

    return draw


def unsigned_of(case: dict[str, Any]) -> Unsigned:
    body, traceparent, random = case['body'], case.get('traceparent'), random_bytes()
    if 'step' in case:
        return of_step(case['step'], case['record'], body, traceparent=traceparent, random=random)
    if 'records' in body:
        return of_batch(body, now_ms=NOW_MS, random=random)
    return of_record(body, TypeFacts(case['gated'], DIGEST), now_ms=NOW_MS, traceparent=traceparent, random=random)


def vectors() -> dict[str, Any]:
    signer, key = agent_signer(seed=SEED), read_private_key(None, SEED)
    cases = []
    for case in CASES:
        unsigned = unsigned_of(case)
        statement = statement_text(unsigned, recorded_at=time_at(NOW_MS), **IDENTITY)
        protected = encode_protected('EdDSA', bytes.fromhex(signer.kid), ISSUER, unsigned.subjects[0].name, NOW_MS // 1000)
        envelope = seal(key, protected, statement).hex()
        cases.append({**case, 'sent': unsigned.body, 'statement': statement.decode(), 'envelope': envelope})
    return {'seed': SEED.hex(), 'nowMs': NOW_MS, 'issuer': ISSUER, 'typeDigest': DIGEST, **IDENTITY, 'cases': cases}


if __name__ == '__main__':
    FILE.write_text(json.dumps(vectors(), indent=2, ensure_ascii=False) + '\n')
