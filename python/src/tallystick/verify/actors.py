"""Agents that may make entries: their API keys with scopes, and their signing keys."""

from collections.abc import Container, Mapping
from types import MappingProxyType
from typing import Any

from . import formats as f
from .errors import Refused
from .keys import Key, is_signed, parse_key
from .limits import AGENT_KEYS_MAX, KEY_LINGER_MS_MAX
from .line import Entry
from .statement import Statement, is_remote_agent

SYSTEM = 'system'
WRITE = 'records:write'
SCOPES: dict[str, str] = {
    'agent-registered': 'agents:manage',
    'agent-disabled': 'agents:manage',
    'agent-key-registered': 'agents:manage',
    'agent-key-revoked': 'agents:manage',
    'key-created': 'keys:manage',
    'key-revoked': 'keys:manage',
    'type-registered': 'types:write',
    'record-notarized': WRITE,
    'batch-notarized': WRITE,
    'record-created': WRITE,
    'record-activated': WRITE,
    'completion-submitted': WRITE,
    'revision-requested': WRITE,
    'record-cancelled': WRITE,
    'record-shared': WRITE,
    'step-offered': WRITE,
    'verdict-rendered': WRITE,
    'verdict-overturned': 'verdicts:overturn',
    'payload-erased': 'payloads:erase',
    'peer-suspended': 'peers:manage',
    'peer-resumed': 'peers:manage',
    'peer-revoked': 'peers:manage',
    'registration-policy-set': 'policies:write',
    'statement-registered': 'statements:write',
    'retention-set': 'retention:manage',
    'hold-set': 'retention:manage',
    'hold-lifted': 'retention:manage',
    'subject-erased': 'payloads:erase',
    'export-made': 'audit:read',
}
ALSO_SYSTEM = frozenset(('agent-registered', 'key-created', 'verdict-rendered', 'payload-erased'))
SIGNED_BY_AGENTS = frozenset(
    (
        'record-notarized',
        'batch-notarized',
        'record-created',
        'record-activated',
        'completion-submitted',
        'verdict-rendered',
        'verdict-overturned',
        'revision-requested',
        'record-cancelled',
    )
)
ABOUT_AGENT_KEYS = frozenset(('agent-key-registered', 'agent-key-revoked'))


Pinned = Mapping[str, frozenset[bytes]]
"""Trusted kids, by agent. They are known from outside the ledger."""


class Agent:
    __slots__ = ('current_keys', 'digest', 'disabled_ms', 'keys', 'required')

    def __init__(self, digest: str) -> None:
        self.digest = digest
        self.disabled_ms: int | None = None
        self.keys = 0
        """Number of signing keys that were registered for the agent."""
        self.current_keys = 0
        """Number of the agent's signing keys that are not revoked."""
        self.required = False


class SigningKey:
    __slots__ = ('agent', 'key', 'revoked')

    def __init__(self, agent: str, key: Key) -> None:
        self.agent = agent
        self.key = key
        self.revoked = False


class ApiKey:
    __slots__ = ('agent', 'digest', 'expires_ms', 'revoked_ms', 'scopes')

    def __init__(self, statement: Statement) -> None:
        predicate = statement.predicate
        self.digest = statement.digest
        self.agent: str = predicate['agent']
        self.scopes = frozenset(predicate['scopes'])
        self.expires_ms = None if predicate['expiresAt'] is None else f.time_of(predicate['expiresAt'])
        self.revoked_ms: int | None = None


class Actors:
    def __init__(self, pinned: Pinned = MappingProxyType({})) -> None:
        self.pinned = pinned
        self.trusted: set[bytes] = set()
        """Keys of pinned agents that were pinned, or endorsed by a trusted key."""
        self.agents: dict[str, Agent] = {}
        self.api_keys: dict[str, ApiKey] = {}
        self.signing: dict[bytes, SigningKey] = {}

    def check_signer(self, entry: Entry, statement: Statement) -> None:
        """Checks an entry that is signed with a registered key of an agent."""
        key = self.signing[entry.kid]
        if statement.predicate['actor'] != key.agent:
            raise Refused(
                'key_of_another_agent',
                f'the key {entry.kid.hex()} belongs to {key.agent}, but signed an entry of {statement.predicate["actor"]}',
            )
        if key.revoked:
            raise Refused('key_not_valid', f'the key {entry.kid.hex()} was revoked before this entry')
        if entry.kind not in SIGNED_BY_AGENTS:
            raise Refused('actor_not_entitled', f'the entry is signed by an agent, but {entry.kind} must be signed by the server')

    def check_signed_by(self, entry: Entry, current_kid: bytes, statement: Statement) -> bool:
        """Returns whether an agent signed the entry, and not the server. Raises Refused if the line's
        `signer` contradicts this.
        """
        by_agent = entry.kid in self.signing
        if by_agent:
            self.check_signer(entry, statement)
        self._check_required(entry, statement)
        if not by_agent and entry.kid != current_kid:
            raise Refused(
                'key_not_current', f'the entry is signed by {entry.kid.hex()}, but the current key of the ledger is {current_kid.hex()}'
            )
        if by_agent != (entry.signer is not None):
            found = 'an agent signed, but the line has no signer' if by_agent else 'the line has a signer, but the server signed'
            raise Refused('line_contradicts_envelope', found)
        return by_agent

    def check_actor(self, entry: Entry, statement: Statement) -> None:
        predicate, actor = statement.predicate, statement.predicate['actor']
        if is_remote_agent(actor):
            return
        scope = SCOPES.get(entry.kind)
        if actor == SYSTEM:
            if scope is not None and entry.kind not in ALSO_SYSTEM:
                raise Refused('actor_not_entitled', f'the actor of {entry.kind} must be an agent, not system')
            return
        if scope is None:
            raise Refused('actor_not_entitled', f'the actor of {entry.kind} must be system, not an agent')
        acts_for = {predicate['onBehalfOf']} if 'onBehalfOf' in predicate else set()
        if entry.batch is not None:
            acts_for |= entry.batch.agents
        for agent in (actor, *sorted(acts_for)):
            self.check_agent(agent, entry.ms)
        if not self.api_keys:
            return
        key = self._api_key(predicate['key'], actor, entry.ms)
        self._check_scope(statement, key, scope)
        if acts_for and 'agents:act' not in key.scopes:
            raise Refused('actor_not_entitled', f'the API key {predicate["key"]} lacks the scope agents:act, which onBehalfOf needs')

    def check_agent(self, name: str, ms: int) -> None:
        """Checks that an agent is registered and not disabled. Checks nothing in a chain without
        agents, because it has no API keys either.
        """
        if not self.agents:
            return
        agent = self.agents.get(name)
        if agent is None:
            raise Refused('agent_not_registered', f'no earlier entry registers {name}')
        if agent.disabled_ms is not None and ms > agent.disabled_ms + KEY_LINGER_MS_MAX:
            raise Refused('agent_disabled', f'{name} was disabled before this entry')

    def _api_key(self, name: str, actor: str, ms: int) -> ApiKey:
        key = self.api_keys.get(name)
        if key is None:
            raise Refused('key_not_created', f'no earlier entry creates the API key {name}, which {actor} used')
        if key.agent != actor:
            raise Refused('key_of_another_agent', f'the API key {name} belongs to {key.agent}, but {actor} used the key')
        ends = [end for end in (key.revoked_ms, key.expires_ms) if end is not None]
        if ends and ms > min(ends) + KEY_LINGER_MS_MAX:
            raise Refused('key_not_valid', f'the API key {name} was revoked or expired before this entry')
        return key

    def _check_scope(self, statement: Statement, key: ApiKey, scope: str) -> None:
        predicate = statement.predicate
        if statement.kind in ABOUT_AGENT_KEYS and predicate['agent'] == predicate['actor']:
            scope = WRITE if statement.kind == 'agent-key-revoked' or 'endorsement' in predicate else scope
        if scope not in key.scopes:
            raise Refused('actor_not_entitled', f'the API key {predicate["key"]} lacks the scope {scope}, which {statement.kind} needs')

    def _check_required(self, entry: Entry, statement: Statement) -> None:
        """Checks that agents with `required` signed entries in their name."""
        predicate = statement.predicate
        actor = self.agents.get(predicate['actor'])
        by_server = entry.kid not in self.signing
        if not by_server:
            self.check_signer(entry, statement)
        if actor is not None and actor.required and by_server and entry.kind not in ABOUT_AGENT_KEYS:
            raise Refused('agent_signature_missing', f'{predicate["actor"]} must sign its own entries, and has not signed this one')
        if by_server and predicate['actor'] in self.pinned and entry.kind in SIGNED_BY_AGENTS:
            raise Refused(
                'agent_signature_missing', f'a key of {predicate["actor"]} was given, but {predicate["actor"]} has not signed this entry'
            )
        named = [predicate['onBehalfOf']] if 'onBehalfOf' in predicate else []
        for name in (*named, *(entry.batch.agents if entry.batch is not None else ())):
            agent = self.agents.get(name)
            # The actor itself is skipped, because the code before this loop checks the actor's
            # signature.
            if agent is not None and agent.required and name != predicate['actor']:
                raise Refused(
                    'agent_signature_missing', f'{name} must sign its own entries, so {predicate["actor"]} cannot act on its behalf'
                )

    def register(self, statement: Statement) -> None:
        name = statement.predicate['agent']
        if name in self.agents:
            raise Refused('duplicate_subject', f'{name} is registered twice')
        self.agents[name] = Agent(statement.digest)

    def disable(self, statement: Statement) -> None:
        agent = self._as_registered(statement)
        if agent.disabled_ms is not None:
            raise Refused('duplicate_subject', f'{statement.predicate["agent"]} is disabled twice')
        agent.disabled_ms = statement.ms

    def _as_registered(self, statement: Statement) -> Agent:
        name = statement.predicate['agent']
        agent = self.agents.get(name)
        if agent is None or agent.digest != statement.digest:
            raise Refused('subject_unknown', f'no earlier entry registers {name} with the digest that this entry names')
        return agent

    def create_key(self, statement: Statement) -> None:
        name = statement.subjects[0].name
        if name in self.api_keys:
            raise Refused('duplicate_subject', f'{name} is created twice')
        self.check_agent(statement.predicate['agent'], statement.ms)
        by = self.api_keys.get(statement.predicate.get('key', ''))
        if by is not None and not by.scopes.issuperset(statement.predicate['scopes']):
            raise Refused('actor_not_entitled', f'{statement.predicate["key"]} cannot grant scopes that it does not have')
        self.api_keys[name] = ApiKey(statement)

    def revoke_key(self, statement: Statement) -> None:
        name = statement.subjects[0].name
        key = self.api_keys.get(name)
        if key is None or key.digest != statement.digest:
            raise Refused('subject_unknown', f'no earlier entry creates the API key {name} with the digest that this entry names')
        if key.revoked_ms is not None:
            raise Refused('duplicate_subject', f'{name} is revoked twice')
        key.revoked_ms = statement.ms

    def register_signing_key(self, statement: Statement, known: Container[bytes]) -> None:
        """Registers the key of a statement. `known`: kids of all keys that have signed for the ledger."""
        predicate = statement.predicate
        agent = self._as_registered(statement)
        key = parse_key(predicate['newKey']['alg'], f.from_base64(predicate['newKey']['spki'], 'a key'))
        if key.kid in self.signing or key.kid in known:
            raise Refused('duplicate_subject', f'the key {key.kid.hex()} was already a key of an agent or of the ledger')
        text = possession_text(statement)
        if not is_signed(key, f.from_base64(predicate['proof'], 'a proof'), text):
            raise Refused('agent_key_refused', f'the proof of possession of the key {key.kid.hex()} does not verify')
        self._check_endorsement(predicate, text, agent)
        if agent.current_keys >= AGENT_KEYS_MAX:
            raise Refused('agent_key_refused', f'{predicate["agent"]} already has {AGENT_KEYS_MAX} current keys')
        self._check_pinned(predicate, key.kid)
        self.signing[key.kid] = SigningKey(predicate['agent'], key)
        agent.keys += 1
        agent.current_keys += 1
        agent.required = agent.required or predicate['required']

    def _check_pinned(self, predicate: dict[str, Any], kid: bytes) -> None:
        pinned = self.pinned.get(predicate['agent'])
        if pinned is None:
            return
        endorsement = predicate.get('endorsement')
        if kid not in pinned and (endorsement is None or bytes.fromhex(endorsement['kid']) not in self.trusted):
            found = f'the key {kid.hex()} of {predicate["agent"]} is neither one of the given keys nor endorsed by one'
            raise Refused('agent_key_refused', found)
        self.trusted.add(kid)

    def check_all_pinned(self) -> None:
        for agent, kids in self.pinned.items():
            if not kids & self.trusted:
                raise Refused(
                    'trusted_key_absent', f'{agent} has registered none of the given keys: {", ".join(sorted(kid.hex() for kid in kids))}'
                )

    def _check_endorsement(self, predicate: dict[str, Any], text: bytes, agent: Agent) -> None:
        endorsement = predicate.get('endorsement')
        if endorsement is None:
            if agent.keys:
                raise Refused('agent_key_refused', f'no current key of {predicate["agent"]} endorses the new one')
            return
        by = self.signing.get(bytes.fromhex(endorsement['kid']))
        if by is None or by.revoked or by.agent != predicate['agent']:
            raise Refused('agent_key_refused', f'the endorsing key {endorsement["kid"]} is not a current key of {predicate["agent"]}')
        if not is_signed(by.key, f.from_base64(endorsement['signature'], 'a signature'), text):
            raise Refused('agent_key_refused', f'the endorsement is not a signature of the key {endorsement["kid"]}')

    def revoke_signing_key(self, statement: Statement) -> None:
        predicate = statement.predicate
        agent = self._as_registered(statement)
        key = self.signing.get(bytes.fromhex(predicate['kid']))
        if key is None or key.agent != predicate['agent']:
            raise Refused(
                'subject_unknown', f'{predicate["agent"]} has registered no signing key {predicate["kid"]}, so the key cannot be revoked'
            )
        if key.revoked:
            raise Refused('duplicate_subject', f'the key {predicate["kid"]} is revoked twice')
        key.revoked = True
        agent.current_keys -= 1


def possession_text(statement: Statement) -> bytes:
    predicate = statement.predicate
    manner = 'required' if predicate['required'] else 'optional'
    parts = ('tallystick-agent-key-v1', predicate['ledger'], predicate['agent'], predicate['newKey']['kid'], manner)
    return ''.join(f'{part}\n' for part in parts).encode()
