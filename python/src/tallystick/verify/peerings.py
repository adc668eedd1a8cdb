"""Messages between two ledgers, as they are recorded in the chain of one of them (docs/formats/federation.md)."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, Protocol

from . import formats as f
from .envelope import check_signature
from .errors import Refused
from .keys import Key, parse_key
from .line import Entry, Received, documents_of
from .record import STEPS, Record
from .statement import Statement

PENDING, ACTIVE, SUSPENDED, REVOKED = 'pending', 'active', 'suspended', 'revoked'
_BEFORE: dict[str, tuple[str, ...]] = {
    SUSPENDED: (ACTIVE,),
    ACTIVE: (SUSPENDED,),
    REVOKED: (PENDING, ACTIVE, SUSPENDED),
}
_OF_PENDING = frozenset(('peer-added', 'peer-revoked', 'server-key-rotated'))
"""Kinds that are allowed before the other half of the handshake."""


class Ids(Protocol):
    """Ids of the ledger's records and completions."""

    def has_record(self, number: int) -> bool: ...
    def add_id(self, name: str) -> None: ...


class Offer:
    """An offer by an agent of this ledger."""

    __slots__ = ('answered', 'leaf', 'record', 'statement')

    def __init__(self, statement: Statement, leaf: bytes) -> None:
        self.statement = statement
        self.record: str = statement.predicate['record']
        self.leaf = leaf.hex()
        self.answered = False


class Peering:
    __slots__ = ('copies', 'digest', 'documents', 'keys', 'kids', 'leaf', 'name', 'other', 'received', 'shared', 'state')

    def __init__(self, name: str, other: str, digest: str, leaf: bytes, state: str, key: Key) -> None:
        self.name = name
        self.other = other
        self.digest = digest
        self.leaf = leaf.hex()
        self.state = state
        self.keys: list[tuple[int, Key]] = [(-1, key)]
        """Keys of the other ledger in order, each with the seq of the entry after which it is valid."""
        self.kids = {key.kid}
        self.received: set[int] = set()
        self.documents: dict[tuple[int, str], str] = {}
        self.shared: set[str] = set()
        """Records of the other ledger that it has announced as shared."""
        self.copies: dict[str, Record] = {}
        """Records of the other ledger that arrived through this peering. After a revocation, a new peering shares them anew."""

    def key_at(self, seq: int) -> Key:
        return self.keys[bisect_left(self.keys, seq, key=lambda one: one[0]) - 1][1]


class Peerings:
    def __init__(self) -> None:
        self.ledger = ''
        self.origin = ''
        self.genesis = ''
        self.own_key: dict[str, Any] = {}
        self.peerings: dict[str, Peering] = {}
        self.newest_with: dict[str, Peering] = {}
        """Newest peering with each other ledger. Earlier peerings with the same ledger are revoked."""
        self.shared: dict[str, set[str]] = {}
        """Peerings that a record of this ledger is shared with."""
        self.offers: dict[int, Offer] = {}

    def define(self, ledger: str, definition: dict[str, Any], leaf: bytes) -> None:
        self.ledger = ledger
        self.origin = definition['origin']
        self.genesis = leaf.hex()
        self.own_key = definition['envelopeKey']

    def add(self, entry: Entry, statement: Statement) -> None:
        predicate, name = statement.predicate, statement.subjects[0].name
        invited = 'counterpart' in predicate
        own, other = (predicate['invited'], predicate['inviter']) if invited else (predicate['inviter'], predicate['invited'])
        itself = {'ledger': self.ledger, 'origin': self.origin, 'genesis': self.genesis, 'envelopeKey': self.own_key}
        for member, value in itself.items():
            if own[member] != value:
                raise Refused('definition_mismatch', f'the handshake names another {member} of this ledger than the ledger has')
        before = self.newest_with.get(other['ledger'])
        if name in self.peerings or (before is not None and before.state != REVOKED):
            raise Refused('duplicate_subject', f'there is already a peering with {other["ledger"]}, or one named {name}')
        key = parse_key(other['envelopeKey']['alg'], f.from_base64(other['envelopeKey']['spki'], 'a key'))
        state = ACTIVE if invited else PENDING
        self.peerings[name] = Peering(name, other['ledger'], statement.digest, entry.leaf, state, key)
        self.newest_with[other['ledger']] = self.peerings[name]

    def change(self, statement: Statement, state: str) -> None:
        peering = self._as_added(statement)
        if peering.state not in _BEFORE[state]:
            raise Refused('transition_refused', f'{statement.kind} is not possible, because {peering.name} is {peering.state}')
        peering.state = state

    def _as_added(self, statement: Statement) -> Peering:
        peering = self._known(statement.subjects[0].name)
        _check_about(peering, statement)
        return peering

    def _known(self, name: str) -> Peering:
        peering = self.peerings.get(name)
        if peering is None:
            raise Refused('peer_unknown', f'no earlier entry adds the peering {name}')
        return peering

    def share_created(self, statement: Statement) -> None:
        predicate = statement.predicate
        peers = self._share(predicate['record'], predicate.get('share', []))
        performer = predicate.get('performer', '')
        ledger, remote, _ = performer.partition('/')
        if remote and all(self.peerings[peer].other != ledger for peer in peers):
            raise Refused('not_shared', f'the record’s performer is an agent of {ledger}, but the record is not shared with that ledger')

    def share_later(self, statement: Statement) -> None:
        self._share(statement.predicate['record'], statement.predicate['share'])

    def _share(self, record: str, share: list[dict[str, Any]]) -> list[str]:
        peers = [one['peer'] for one in share]
        shared = self.shared.setdefault(record, set()) if peers else set()
        for peer in peers:
            state = self._known(peer).state
            if state not in (ACTIVE, SUSPENDED):
                raise Refused('peer_not_active', f'the peering {peer} is {state}, so this entry is not possible')
            if peer in shared:
                raise Refused('duplicate_subject', f'{record} is shared with {peer} twice')
            shared.add(peer)
        return peers

    # The following methods check received entries.

    def receive(self, entry: Entry, statement: Statement, ids: Ids) -> None:
        claim = statement.predicate['received']
        received = entry.received
        assert received is not None
        peering = self._accept(statement.predicate['peer'], claim, received)
        kind = received.statement.kind
        if kind == 'peer-added':
            self._receive_handshake(peering, received)
        elif kind in STEPS or kind in ('record-created', 'record-shared'):
            self._receive_record(peering, received, ids)
        elif kind == 'payload-erased':
            self._receive_erasure(peering, received.statement)
        elif kind == 'offer-refused':
            self._answer(received.statement.predicate['received'], received.statement)
        elif kind == 'peer-revoked':
            _check_about(peering, received.statement)
            peering.state = REVOKED
        for name, digest, _ in documents_of(received.statement, None):
            peering.documents[int(claim['seq']), name] = digest

    def _accept(self, name: str, claim: dict[str, Any], received: Received, about: Statement | None = None) -> Peering:
        """Applies the rules for every entry of another ledger. `about`: a statement of this ledger whose subject is the peering."""
        peering = self._known(name)
        if claim['ledger'] != peering.other:
            raise Refused(
                'ledger_foreign', f'an entry of {claim["ledger"]} was received through the peering with another ledger, {peering.other}'
            )
        if about is not None:
            _check_about(peering, about)
        seq = int(claim['seq'])
        key = peering.key_at(seq)
        if received.envelope.kid != key.kid:
            signer = received.envelope.kid.hex()
            found = f'the peer’s entry {seq} is signed by {signer}, but the peer’s key for this entry is {key.kid.hex()}'
            raise Refused('key_not_current', found)
        check_signature(received.envelope, key)
        if peering.state != ACTIVE and not (peering.state == PENDING and received.statement.kind in _OF_PENDING):
            raise Refused('peer_not_active', f'the peering {name} is {peering.state}, so this entry is not possible')
        if seq in peering.received:
            code = 'offer_answered_twice' if received.statement.kind == 'step-offered' else 'received_twice'
            raise Refused(code, f'entry {seq} of {peering.other} was already received')
        peering.received.add(seq)
        return peering

    def _receive_handshake(self, peering: Peering, received: Received) -> None:
        _check_about(peering, received.statement)
        if received.statement.predicate.get('counterpart') != peering.leaf:
            raise Refused('handshake_mismatch', f'the counterpart is not {peering.leaf}, the leaf of the entry that added the peering')
        if peering.state != PENDING:
            raise Refused('transition_refused', f'a handshake was received, but {peering.name} is {peering.state}, not {PENDING}')
        peering.state = ACTIVE

    def _receive_record(self, peering: Peering, received: Received, ids: Ids) -> None:
        statement = received.statement
        name: str = statement.predicate['record']
        if ids.has_record(f.id_number(name)):
            raise Refused('not_home', f'the home of {name} is this ledger, not {peering.other}')
        if statement.kind == 'record-shared':
            peering.shared.add(name)
            return
        copy = peering.copies.get(name)
        if statement.kind == 'record-created':
            if name not in peering.shared and all(share['peer'] != peering.name for share in statement.predicate.get('share', [])):
                raise Refused('not_shared', f'{name} is not shared with this ledger')
            if copy is not None:
                raise Refused('received_twice', f'the creation of {name} was already received')
            peering.copies[name] = Record(statement, received.leaf)
            return
        if copy is None:
            raise Refused('subject_unknown', f'a step of {name} was received before the creation of {name}')
        copy.step(statement, received.leaf)
        offer = statement.predicate.get('offer')
        if offer is not None and offer['ledger'] == self.ledger:
            if offer['peer'] != peering.name:
                raise Refused('offer_mismatch', f'the offer was made to {offer["peer"]}, but its answer came from {peering.name}')
            self._answer(offer, statement)

    def _receive_erasure(self, peering: Peering, statement: Statement) -> None:
        of, subject = int(statement.predicate['seq']), statement.subjects[0]
        if peering.documents.get((of, subject.name)) != subject.digest:
            raise Refused('erasure_of_nothing', f'no {subject.name} with this digest was received from seq {of} of {peering.other}')

    def _answer(self, claim: dict[str, Any], answer: Statement) -> None:
        """Matches an answer of the other ledger with an offer of this ledger."""
        offer = self.offers.get(int(claim['seq'])) if claim['ledger'] == self.ledger else None
        if offer is not None and offer.answered:
            raise Refused('offer_answered_twice', f'the offer at seq {int(claim["seq"])} was already answered')
        if offer is None or offer.leaf != claim['leaf'] or offer.record != answer.predicate['record']:
            raise Refused(
                'offer_mismatch', f'there is no such offer at seq {int(claim["seq"])}: the answer has another ledger, leaf or record'
            )
        named = claim if answer.kind in STEPS else answer.predicate
        if named['peer'] != offer.statement.predicate['peer']:
            raise Refused(
                'offer_mismatch', f'the answer names {named["peer"]}, but the offer was made to {offer.statement.predicate["peer"]}'
            )
        if answer.kind in STEPS and not _is_offered(offer.statement, answer):
            raise Refused('offer_mismatch', 'the step differs from the one that was offered')
        offer.answered = True

    # The following methods check offers.

    def offer(self, entry: Entry, statement: Statement, ids: Ids) -> None:
        predicate = statement.predicate
        peering = self._known(predicate['peer'])
        if peering.state != ACTIVE:
            raise Refused('peer_not_active', f'the peering {peering.name} is {peering.state}, so this entry is not possible')
        copy = peering.copies.get(predicate['record'])
        if copy is None or copy.payload != statement.digest:
            raise Refused('subject_unknown', f'{predicate["record"]} was not received from {peering.name} with this payload')
        if 'completion' in predicate:
            ids.add_id(predicate['completion'])
        self.offers[entry.seq] = Offer(statement, entry.leaf)

    def take_offer(self, entry: Entry, statement: Statement) -> None:
        """Checks a step of the home ledger that accepts an offer."""
        claim = statement.predicate['offer']
        assert entry.received is not None
        peering = self._accept(claim['peer'], claim, entry.received)
        if peering.name not in self.shared.get(statement.predicate['record'], ()):
            record = statement.predicate['record']
            raise Refused('not_shared', f'{record} is not shared with {peering.name}, which offered a step of it')

    def refuse(self, entry: Entry, statement: Statement, _ids: Ids) -> None:
        claim = statement.predicate['received']
        assert entry.received is not None
        self._accept(statement.predicate['peer'], claim, entry.received)

    def rotate(self, entry: Entry, statement: Statement) -> None:
        claim = statement.predicate['received']
        assert entry.received is not None
        peering = self._accept(statement.subjects[0].name, claim, entry.received, statement)
        new = statement.predicate['newKey']
        key = parse_key(new['alg'], f.from_base64(new['spki'], 'a key'))
        if key.kid in peering.kids or peering.keys[-1][0] >= int(claim['seq']):
            found = f'the key {key.kid.hex()} was already a key of {peering.other}, or a later rotation was already received'
            raise Refused('key_not_current', found)
        peering.keys.append((int(claim['seq']), key))
        peering.kids.add(key.kid)


def _check_about(peering: Peering, statement: Statement) -> None:
    if (peering.name, peering.digest) != statement.subjects[0]:
        raise Refused(
            'handshake_mismatch', f'{peering.name} was added with the handshake {peering.digest}, not {statement.subjects[0].digest}'
        )


def _is_offered(offer: Statement, step: Statement) -> bool:
    offered, taken = offer.predicate, step.predicate
    agent = str(taken['actor']).partition('/')[2]
    said = (taken['version'], taken['previous'], step.kind, agent, taken.get('completion'))
    wanted = (offered['version'], offered['previous'], offered['step'], offer.party, offered.get('completion'))
    return said == wanted and [s.digest for s in step.subjects] == [s.digest for s in offer.subjects]
