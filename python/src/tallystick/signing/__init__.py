"""Signs an agent's calls with the agent's own key: `agent_signer`. Needs `tallystick[sign]`."""

import json
import time
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from .._canonical import canonical
from .._core import operations
from .._core.json import to_plain
from .._core.operations import Operation
from .._core.options import Asking, Call
from ..errors import UnexpectedAnswerError, UsageError
from ..verify.formats import to_base64
from ..verify.keys import parse_key
from .cose import encode_protected, seal
from .parts import time_at
from .private_key import Algorithm, PrivateKey, make_private_key, read_private_key
from .statements import TypeFacts, of_batch, of_record, of_step, statement_text

__all__ = ['AgentSigner', 'Algorithm', 'agent_signer', 'make_private_key']

_STEPS: Mapping[Operation, str] = {
    operations.POST_RECORDS_BY_ID_ACTIVATE: 'activate',
    operations.POST_RECORDS_BY_ID_COMPLETIONS: 'completions',
    operations.POST_RECORDS_BY_ID_VERDICT: 'verdict',
    operations.POST_RECORDS_BY_ID_REVISION: 'revision',
    operations.POST_RECORDS_BY_ID_CANCEL: 'cancel',
    operations.POST_RECORDS_BY_ID_OVERTURN: 'overturn',
}


def agent_signer(pkcs8: bytes | str | None = None, *, seed: bytes | None = None) -> 'AgentSigner':
    """Returns a signer that signs an agent's calls with the agent's own key. Then not even the
    server's operator can forge them.

        signer = agent_signer(Path('agent.pem').read_text())
        tallystick = Tallystick(signer=signer)

    `pkcs8`: private key in PKCS #8, as PEM or DER: Ed25519, or P-256. `seed`: the 32 bytes of an
    Ed25519 private key (RFC 8032).

    Records, batches and steps of gated records are signed, by the client and by its notarizer.
    Before a step is signed, the record is read. For this the API key also needs `records:read` or
    `records:read:own`. Raises UsageError for an invalid key.
    """
    return AgentSigner(read_private_key(pkcs8, seed))


class _Identity(NamedTuple):
    """Ledger and agent of an API key, as the server names them."""

    ledger: str
    issuer: str
    agent: str
    key: str


class AgentSigner:
    """Signs an agent's calls. Made by `agent_signer`. One signer may serve several clients."""

    alg: Algorithm
    kid: str
    """RFC 9679 thumbprint, lower-case hex."""
    spki: str
    """DER SubjectPublicKeyInfo, base64."""

    def __init__(self, key: PrivateKey) -> None:
        self._key = key
        self._identities: WeakKeyDictionary[object, _Identity] = WeakKeyDictionary()
        self._types: WeakKeyDictionary[object, dict[str, TypeFacts]] = WeakKeyDictionary()
        public = parse_key(key.alg, key.spki)
        self._thumbprint = public.kid
        self.alg = key.alg
        self.kid = public.kid.hex()
        self.spki = to_base64(public.spki)

    def registration(self, *, ledger: str, agent: str, required: bool = False, endorsed_by: 'AgentSigner | None' = None) -> dict[str, Any]:
        """Returns the arguments of `agents.register_signing_key`, with proof of possession.

        `endorsed_by`: a signer with a current key of the agent, or None if the agent has no key
        yet. `required`: if True, the server from then on accepts an entry in the agent's name only
        with the agent's signature. This cannot be undone.
        """
        lines = ('tallystick-agent-key-v1', ledger, agent, self.kid, 'required' if required else 'optional')
        text = ''.join(f'{line}\n' for line in lines).encode()
        request: dict[str, Any] = {
            'alg': self.alg,
            'spki': self.spki,
            'proof': to_base64(self._key.sign(text)),
            'required': required,
        }
        if endorsed_by is not None:
            request['endorsement'] = {'kid': endorsed_by.kid, 'signature': to_base64(endorsed_by._key.sign(text))}
        return request

    def sign(self, client: object, operation: Operation, call: Call) -> Asking:
        """Returns the call's body with its envelope, or None if such calls are not signed. Yields
        calls whose answers it needs.
        """
        unsigned = yield from self._unsigned(client, operation, call)
        if unsigned is None:
            return None
        identity = yield from self._identify(client)
        now_ms = time.time_ns() // 1_000_000
        payload = statement_text(unsigned, ledger=identity.ledger, agent=identity.agent, key=identity.key, recorded_at=time_at(now_ms))
        protected = encode_protected(self.alg, self._thumbprint, identity.issuer, unsigned.subjects[0].name, now_ms // 1000)
        return {**unsigned.body, 'envelope': to_base64(seal(self._key, protected, payload))}

    def forget(self, client: object) -> None:
        """Forgets the stored ledger and agent of a client. Called when the server no longer uses them.
        """
        self._identities.pop(client, None)

    def _unsigned(self, client: object, operation: Operation, call: Call) -> Any:
        step = _STEPS.get(operation)
        if step is None and operation not in (operations.POST_RECORDS, operations.POST_RECORDS_BATCH):
            return None
        body = json.loads(call.content) if call.body is None and call.content is not None else to_plain(call.body or {})
        now_ms = time.time_ns() // 1_000_000
        traceparent = call.said.get('traceparent')
        if step is not None:
            record = yield from self._read_record(call)
            return of_step(step, record, body, traceparent=traceparent)
        if operation == operations.POST_RECORDS_BATCH:
            return of_batch(body, now_ms=now_ms)
        facts = yield from self._type_of(client, body['type'])
        # The caller chose `create` or `notarize`. A hostile server could answer with the other
        # kind, so that the agent signs it.
        if call.gated is not None and call.gated != facts.gated:
            which = ('', 'create') if facts.gated else ('not ', 'notarize')
            raise UsageError(f'{body["type"]} is {which[0]}gated on this server: use records.{which[1]}')
        return of_record(body, facts, now_ms=now_ms, traceparent=traceparent)

    def _read_record(self, call: Call) -> Any:
        record = yield operations.GET_RECORDS_BY_ID, Call(params=call.params)
        # A hostile server could return another record, or a later version, so that the agent signs
        # a step of that record.
        if record.get('id') != call.params['id']:
            raise _wrong_server(f'the server answered with another record than {call.params["id"]}')
        return {**record, 'version': call.said.get('if_version', record['version'])}

    def _identify(self, client: object) -> Any:
        known = self._identities.get(client)
        if known is None:
            ledger = yield operations.GET_LEDGER, Call()
            try:
                known = _Identity(ledger['id'], ledger['issuer'], ledger['key']['agent'], ledger['key']['id'])
            except (KeyError, TypeError):
                raise _wrong_server('the server names no ledger and agent') from None
            self._identities[client] = known
        return known

    def _type_of(self, client: object, kind: str) -> Any:
        types = self._types.setdefault(client, {})
        if kind not in types:
            name, slash, version = kind.partition('/')
            if not slash:
                raise UsageError(f'a type must be name/version, not {kind}')
            found = yield operations.GET_TYPES_BY_NAME_BY_VERSION, Call(params={'name': name, 'version': version})
            types[kind] = _facts_of(kind, found)
        return types[kind]


def _facts_of(kind: str, found: Mapping[str, Any]) -> TypeFacts:
    """Returns the facts of a type.

    Raises UnexpectedAnswerError unless the digest, which is signed, is the digest of the definition that the server shows.
    """
    definition, digest = found.get('definition'), found.get('digest')
    if isinstance(definition, dict) and f'{definition.get("name")}/{definition.get("version")}' == kind:
        own = sha256(canonical(definition)).hexdigest()
        if own == digest:
            return TypeFacts('evidenceSchema' in definition, own)
    raise _wrong_server(f'the server answered with a definition that is not that of {kind}')


def _wrong_server(message: str) -> UnexpectedAnswerError:
    return UnexpectedAnswerError(f'{message}: check that the address is that of a Tallystick server', retryable=False, idempotency_key=None)
