"""Signatures of agents equal the signatures in the test vectors. The SDK for TypeScript makes the same
signatures.
"""

import asyncio
import json

import pytest
from agent_statements import FILE, vectors
from cryptography.hazmat.primitives.asymmetric.ec import SECP384R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from ledger import Ledger, ledger, needs_server
from oracle import ROOT

from tallystick import AsyncTallystick, Tallystick
from tallystick.errors import UsageError
from tallystick.signing import agent_signer, make_private_key
from tallystick.signing.cose import encode_protected, seal
from tallystick.signing.parts import completion_id
from tallystick.signing.private_key import read_private_key
from tallystick.verify.envelope import check_signature, parse_envelope
from tallystick.verify.formats import from_base64
from tallystick.verify.keys import is_signed, parse_key

__all__ = ['ledger']
KEYS = json.loads((ROOT / 'test/vectors/agent-keys.json').read_text())


def test_statements_and_envelopes_are_those_of_the_vectors() -> None:
    assert vectors() == json.loads(FILE.read_text())


def test_an_ed25519_key_signs_the_bytes_of_the_vectors() -> None:
    signer = agent_signer(seed=bytes.fromhex(KEYS['seed']))
    known = KEYS['keys'][0]
    registration = signer.registration(ledger=KEYS['ledger'], agent=KEYS['agent'], required=True)
    assert registration == {'alg': 'EdDSA', 'spki': known['spki'], 'proof': known['proof'], 'required': True}
    envelope = parse_envelope(from_base64(known['envelope'], ''))
    protected = encode_protected('EdDSA', bytes.fromhex(signer.kid), KEYS['issuer'], envelope.subject, envelope.seconds)
    made = seal(read_private_key(None, bytes.fromhex(KEYS['seed'])), protected, KEYS['statement'].encode())
    assert made == from_base64(known['envelope'], '')
    completion = KEYS['completion']
    assert completion_id(completion['record'], completion['version']) == completion['id']


@pytest.mark.parametrize('alg', ['EdDSA', 'ES256'])
def test_a_fresh_key_signs_what_verifies_and_endorses_another(alg: str) -> None:
    pem = make_private_key('EdDSA' if alg == 'EdDSA' else 'ES256')
    signer, other = agent_signer(pem), agent_signer(make_private_key())
    key = parse_key(alg, from_base64(signer.spki, ''))
    for _ in range(16):  # 16 tries, because the s of about half of all ES256 signatures must be lowered
        made = seal(read_private_key(pem, None), encode_protected(alg, key.kid, 'i', 's', 1), b'{}')
        check_signature(parse_envelope(made), key)
    request = other.registration(ledger='led_x', agent='agt_x', endorsed_by=signer)
    text = f'tallystick-agent-key-v1\nled_x\nagt_x\n{other.kid}\noptional\n'.encode()
    assert request['endorsement']['kid'] == signer.kid
    assert is_signed(key, from_base64(request['endorsement']['signature'], ''), text)


def test_refuses_what_is_no_such_key() -> None:
    p384 = generate_private_key(SECP384R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    for given in (None, 'no key', b'\x30\x00', p384):
        with pytest.raises(UsageError):
            agent_signer(given)
    with pytest.raises(UsageError):
        agent_signer(seed=b'short')


def test_refuses_an_envelope_that_every_verifier_would_refuse() -> None:
    key = read_private_key(make_private_key(), None)
    with pytest.raises(UsageError, match='32768'):
        seal(key, b'', bytes(32_768))


@needs_server
def test_a_server_takes_what_agents_sign_and_nothing_else_in_their_names(ledger: Ledger) -> None:
    """Signs records, batches of a notarizer and all steps of a gated record.

    With `required`, an entry that the server signed is refused.
    """
    manager = ledger.client
    principal, _ = join(manager, 'EdDSA', ['records:write', 'records:read', 'verdicts:overturn'])
    performer, agent = join(manager, 'ES256', ['records:write', 'records:read:own'])
    alone = principal.records.notarize(payload={'of': 'Käse', 'price': 1.50}, references=['erp:order/1'])
    with principal.notarizer() as notarizer:
        notarizer.record({'i': 0, 'price': 1.0, 'big': 1e21}, handle='a', references=['urn:a'])
        notarizer.record({'i': 1}, parent_handle='a')
        notarizer.record({'i': 2}, parent=alone.id)
    order = principal.records.create(
        payload={'do': 'it'}, performer=agent, deadline='2036-01-01T00:00:00Z', max_revisions=1, parent=alone.id
    )
    assert performer.records.activate(order.id).entry.signed_by == 'agent'
    performer.records.complete(order.id, evidence={'done': 1})
    principal.records.until(order.id, ['VERIFIED'])
    principal.records.request_revision(order.id, reason='once more')
    performer.records.complete(order.id, evidence={'done': 2})
    principal.records.until(order.id, ['VERIFIED'])
    assert principal.records.verdict(order.id, 'reject', reason='no').state == 'REJECTED'
    assert principal.records.overturn(order.id, reason='well').state == 'ACCEPTED'
    undone = principal.records.create(payload={'call': 'off'})
    assert principal.records.cancel(undone.id, reason='not needed').state == 'CANCELLED'
    assert {record['entry']['signedBy'] for record in ledger.records()} == {'agent'}
    with pytest.raises(UsageError, match='is gated on this server'):
        principal.records.notarize(type='task/1', payload={})

    async def twin() -> None:
        signed = AsyncTallystick(
            base_url=principal._http.settings.base_url, api_key=principal._http._api_key, signer=principal._http._signer
        )
        async with signed as client, client.notarizer() as made:
            made.record({'i': 3})
            assert (await client.records.notarize(payload={})).entry.signed_by == 'agent'

    asyncio.run(twin())


def join(manager: Tallystick, alg: str, scopes: list[str]) -> tuple[Tallystick, str]:
    key = manager.keys.create(name=alg, scopes=scopes)
    first, signer = agent_signer(make_private_key()), agent_signer(make_private_key('EdDSA' if alg == 'EdDSA' else 'ES256'))
    ledger = manager.ledger.get().id
    for one, endorsed_by in ((first, None), (signer, first)):
        request = one.registration(ledger=ledger, agent=key.agent, required=True, endorsed_by=endorsed_by)
        manager.agents.register_signing_key(key.agent, **request)
    return Tallystick(base_url=manager._http.settings.base_url, api_key=key.key, signer=signer), key.agent
