"""Verifies the entries of a ledger in order (docs/formats/export.md, "The entries in order")."""

from collections.abc import Callable, Mapping, Set
from types import MappingProxyType
from typing import Any, NamedTuple

from . import formats as f
from .actors import SYSTEM, Actors, Pinned
from .errors import Refused
from .keeping import Keeping
from .limits import TAIL_AGE_MS_MAX
from .line import BATCH_ITEM_BITS, ITEM_MASK, STATEMENT, Entry, Pending, await_erasures, take_erasure, unpaired
from .merkle import Tree, genesis, link
from .note import Checkpoint, NoteKey, note_key
from .peerings import Peerings
from .record import STEPS, Record
from .registered import check_pair, judge
from .statement import Statement

BUILT_IN = (
    'agent-action/1',
    'agent-outcome/1',
    'approval/1',
    'generic/1',
    'mcp-call/1',
    'otel-log/1',
    'otel-span/1',
    'task/1',
)
"""Types that every ledger has, even one that is older than they are."""


class Head(NamedTuple):
    """Expected root and chain hash at a size, from a checkpoint or a receipt. A receipt has no chain hash."""

    size: int
    root: bytes
    chain: bytes | None
    code: str = 'checkpoint_mismatch'


class Place(NamedTuple):
    """Position that the entry of a receipt must have."""

    seq: int
    leaf: bytes


class Expected(NamedTuple):
    heads: tuple[Head, ...] = ()
    places: tuple[Place, ...] = ()
    covered_outside: int = 0
    """Size of the largest checkpoint or receipt that the user stored."""
    covered: int = 0
    """Size of the largest checkpoint or receipt, including the ledger's own checkpoint."""
    own: int = 0
    """Size of the ledger's own checkpoint."""
    compromised: Mapping[bytes, int | None] = MappingProxyType({})
    """Compromised kids, each with the time since when. None: the user named no time."""
    pinned: Pinned = MappingProxyType({})


class Erasure(NamedTuple):
    seq: int
    subject: str
    of: int
    code: str
    by: str
    key: str
    at: str


class Definition(NamedTuple):
    ledger: str
    issuer: str
    origin: str
    first_kid: bytes
    note_key: NoteKey
    digest: str
    leaf: bytes


_FOUND_BY_IDS = frozenset(('record-notarized', 'batch-notarized'))
"""Repetitions of these kinds are not found by envelope: a repeated envelope repeats its ids, which are compared anyway."""
DigestsOf = Callable[[int], dict[str, str]]


class Ledger:
    def __init__(self, expected: Expected, digests_of: DigestsOf, begun: Callable[[Definition], None]) -> None:
        """`begun` is called when the first entry has named the ledger. It raises Refused for input
        that could not be checked before.
        """
        self.expected = expected
        self.digests_of = digests_of
        self.begun = begun
        self.tree = Tree()
        self.chain = b''
        self.chain_before = b''
        self.definition: Definition | None = None
        self.current_kid = b''
        self.server_kids: dict[bytes, None] = {}
        """Kids of the ledger's own keys, in the order of the chain."""
        self.actors = Actors(expected.pinned)
        self.types: dict[str, str | None] = dict.fromkeys(BUILT_IN)
        """Digest of each type. None: a built-in type that the ledger's definition does not name."""
        self.agent_signed_types: set[str] = set()
        self.records: dict[int, Record | None] = {}
        """By id. None: a notarized record."""
        self.batches: dict[int, int] = {}
        """Number of items, by the common bits of the ids of a batch."""
        self.ids: set[int] = set()
        self.leaves: set[bytes] = set()
        self.peerings = Peerings()
        self.pending: Pending = {}
        """Missing documents, by the entry that should erase them."""
        self.erased: set[tuple[int, str]] = set()
        self.keeping = Keeping()
        self.erasures: list[Erasure] = []
        self.policy: tuple[str, dict[str, Any]] | None = None
        self.statement_before: Entry | None = None
        self.registering: Entry | None = None
        self.record_count = 0
        self.agent_signed = 0
        self.statements = 0
        self.documents_shown = 0
        self.newest_ms: int | None = None
        self.uncovered_kid: bytes | None = None
        """A compromised key that signed entries which no stored checkpoint covers."""
        self.oldest_uncovered: tuple[int, int] | None = None
        self.oldest_beyond_own: int | None = None
        self.newest_within_own: int | None = None
        self.heads = _by_size(expected)
        self.places: dict[int, list[bytes]] = {}
        for place in expected.places:
            self.places.setdefault(place.seq, []).append(place.leaf)

    @property
    def size(self) -> int:
        return self.tree.size

    def take(self, entry: Entry) -> None:
        if entry.seq != self.size:
            raise Refused('seq_not_dense', f'the next entry must have seq {self.size}, but has seq {entry.seq}', self.size)
        if (entry.kind == 'ledger-created') != (entry.seq == 0):
            found = f'seq {entry.seq} is {entry.kind}: ledger-created must be the first entry, and no other'
            raise Refused('ledger_created_misplaced', found)
        self._check_pair(entry)
        if entry.statement is None:
            self._link(entry)
        else:
            self._take_statement(entry, entry.statement)
        self._count(entry)
        self._check_expected(entry)
        if entry.statement is not None:
            self._check_compromised(entry)

    def _take_statement(self, entry: Entry, statement: Statement) -> None:
        if self.definition is None:
            self._define(entry, statement)
        self._check_origin(entry, statement)
        self.agent_signed += self.actors.check_signed_by(entry, self.current_kid, statement)
        self._link(entry)
        self.actors.check_actor(entry, statement)
        self._apply(entry, statement)
        self._check_missing(entry)

    def _define(self, entry: Entry, statement: Statement) -> None:
        predicate = statement.predicate
        definition = predicate['definition']
        self.chain = genesis(f.id_bytes(statement.ledger))
        self.current_kid = bytes.fromhex(definition['envelopeKey']['kid'])
        self.server_kids[self.current_kid] = None
        self.types |= definition['types']
        spki = f.from_base64(definition['noteKey'], 'the note key')
        self.definition = Definition(
            statement.ledger,
            definition['issuer'],
            definition['origin'],
            self.current_kid,
            note_key(definition['origin'], spki),
            statement.digest,
            entry.leaf,
        )
        self.peerings.define(statement.ledger, definition, entry.leaf)
        self.begun(self.definition)

    def _check_origin(self, entry: Entry, statement: Statement) -> None:
        definition = self.definition
        assert definition is not None
        if statement.ledger != definition.ledger:
            raise Refused('ledger_foreign', f'the chain belongs to {definition.ledger}, but has an entry of {statement.ledger}')
        if entry.issuer != definition.issuer:
            raise Refused(
                'ledger_foreign',
                f'the entry was issued by {entry.issuer[:64]!r}, but the issuer of the ledger is {definition.issuer[:64]!r}',
            )

    def _check_compromised(self, entry: Entry) -> None:
        if entry.kid not in self.expected.compromised:
            return
        since = self.expected.compromised[entry.kid]
        if since is not None and entry.ms >= since:
            raise Refused(
                'key_compromised', f'the entry was recorded at {entry.recorded_at}, when the key {entry.kid.hex()} was already compromised'
            )
        if entry.seq >= self.expected.covered_outside:
            self.uncovered_kid = self.uncovered_kid or entry.kid

    def _link(self, entry: Entry) -> None:
        chain = link(self.chain, entry.leaf)
        if chain != entry.chain:
            raise Refused('chain_broken', f'the entry has the chain hash {entry.chain.hex()}, but the computed chain hash is {chain.hex()}')
        if entry.kind not in _FOUND_BY_IDS:
            if entry.leaf in self.leaves:
                raise Refused('duplicate_envelope', 'the same envelope is in the chain twice')
            self.leaves.add(entry.leaf)
        self.chain_before = self.chain
        self.chain = chain
        self.tree.add(entry.leaf)

    def _check_pair(self, entry: Entry) -> None:
        before, self.statement_before = self.statement_before, entry if entry.kind == STATEMENT else None
        self.registering = before
        if (before is not None) != (entry.kind == 'statement-registered'):
            raise unpaired(entry, before)

    def _count(self, entry: Entry) -> None:
        self.documents_shown += entry.documents
        self.statements += entry.kind == STATEMENT
        self.newest_ms = entry.ms if self.newest_ms is None else max(self.newest_ms, entry.ms)
        if entry.seq >= self.expected.covered and (self.oldest_uncovered is None or entry.ms < self.oldest_uncovered[0]):
            self.oldest_uncovered = (entry.ms, entry.seq)
        if entry.seq < self.expected.own:
            self.newest_within_own = max(entry.ms, self.newest_within_own or entry.ms)
        else:
            self.oldest_beyond_own = min(entry.ms, self.oldest_beyond_own or entry.ms)

    def is_own_tail_long(self) -> bool:
        """Whether the ledger's own checkpoint is too old.

        It is too old in two cases. An entry after the checkpoint is more than a minute older than
        the newest entry. Or an entry after the checkpoint is more than a minute newer than the last
        entry before the checkpoint.
        """
        if self.oldest_beyond_own is None or self.newest_ms is None:
            return False
        if self.newest_ms - self.oldest_beyond_own > TAIL_AGE_MS_MAX:
            return True
        return self.newest_within_own is not None and self.oldest_beyond_own - self.newest_within_own > TAIL_AGE_MS_MAX

    def _check_expected(self, entry: Entry) -> None:
        for head in self.heads.get(self.size, ()):
            if head.root != self.tree.root() or head.chain not in (None, self.chain):
                raise Refused(head.code, f'a checkpoint or receipt of size {self.size} has another root or chain hash than these entries')
        if any(leaf != entry.leaf for leaf in self.places.get(entry.seq, ())):
            raise Refused('receipt_mismatch', f'a receipt was issued for another entry at seq {entry.seq} than the entry in this chain')

    # The methods from here on apply the changes of each kind of entry.

    def _apply(self, entry: Entry, statement: Statement) -> None:
        kind = entry.kind
        if kind in STEPS:
            self._step(entry, statement)
        else:
            apply = _APPLY.get(kind)
            if apply is not None:
                apply(self, entry, statement)

    def _rotate(self, _entry: Entry, statement: Statement) -> None:
        self._check_definition(statement)
        kid = bytes.fromhex(statement.predicate['newKey']['kid'])
        if kid in self.actors.signing:
            raise Refused('key_not_current', f'the key {kid.hex()} belongs to an agent, so the key cannot become a key of the ledger')
        if kid in self.server_kids:
            raise Refused('key_not_current', f'the key {kid.hex()} was already a key of the ledger')
        self.current_kid = kid
        self.server_kids[kid] = None
        self.peerings.own_key = statement.predicate['newKey']

    def _register_type(self, _entry: Entry, statement: Statement) -> None:
        name = statement.subjects[0].name
        if name in self.types:
            raise Refused('duplicate_subject', f'the type {name} is registered twice')
        self.types[name] = statement.digest
        if 'agentSigned' in statement.predicate:
            self.agent_signed_types.add(name)

    def _notarize(self, entry: Entry, statement: Statement) -> None:
        predicate = statement.predicate
        self._check_types(entry, {predicate['type']})
        self._add_record(f.id_number(predicate['record']), None)

    def _create(self, entry: Entry, statement: Statement) -> None:
        predicate = statement.predicate
        self._check_types(entry, {predicate['type']})
        if self.types[predicate['type']] not in (None, predicate['typeDigest']):
            raise Refused(
                'type_unknown',
                f'the type {predicate["type"]} was registered with the digest {self.types[predicate["type"]]}, '
                f'but the record names {predicate["typeDigest"]}',
            )
        record = Record(statement, entry.leaf)
        self._add_record(f.id_number(predicate['record']), record)
        self.peerings.share_created(statement)

    def _notarize_batch(self, entry: Entry, statement: Statement) -> None:
        batch = entry.batch
        assert batch is not None
        self._check_types(entry, batch.types)
        first = batch.first
        self.add_id(statement.predicate['batch'])
        if first >> BATCH_ITEM_BITS in self.batches or any(first + i in self.records for i in range(batch.size)):
            raise Refused('duplicate_subject', 'a record id of the batch is used twice')
        self.batches[first >> BATCH_ITEM_BITS] = batch.size
        self.record_count += batch.size

    def _check_types(self, entry: Entry, names: Set[str]) -> None:
        for name in names - self.types.keys():
            raise Refused('type_unknown', f'no earlier entry registers the type {name}')
        if entry.kid not in self.actors.signing:
            for name in names & self.agent_signed_types:
                raise Refused('agent_signature_missing', f'agents must sign records of {name} themselves')

    def has_record(self, number: int) -> bool:
        return number in self.records or number & ITEM_MASK < self.batches.get(number >> BATCH_ITEM_BITS, 0)

    def _add_record(self, number: int, record: Record | None) -> None:
        if self.has_record(number):
            raise Refused('duplicate_subject', 'the record id is used twice')
        self.records[number] = record
        self.record_count += 1

    def add_id(self, name: str) -> None:
        number = f.id_number(name)
        if number in self.ids:
            raise Refused('duplicate_subject', f'{name} is used twice')
        self.ids.add(number)

    def _step(self, entry: Entry, statement: Statement) -> None:
        predicate = statement.predicate
        if 'offer' in predicate:
            self.peerings.take_offer(entry, statement)
        record = self.gated(predicate['record'])
        by_server = entry.kid not in self.actors.signing
        if by_server and predicate['actor'] != SYSTEM and record.type in self.agent_signed_types:
            raise Refused('agent_signature_missing', f'agents must sign steps of {record.type} themselves')
        record.step(statement, entry.leaf)
        if entry.kind == 'completion-submitted':
            self.add_id(predicate['completion'])

    def gated(self, name: str) -> Record:
        number = f.id_number(name)
        record = self.records.get(number)
        if record is None:
            code = 'transition_refused' if self.has_record(number) else 'subject_unknown'
            raise Refused(code, f'{name} is not a gated record of the ledger')
        return record

    def _share(self, _entry: Entry, statement: Statement) -> None:
        name = statement.predicate['record']
        record = self.records.get(f.id_number(name))
        if record is None or record.payload != statement.digest:
            raise Refused('subject_unknown', f'no gated record {name} was created in this ledger with this payload')
        if record.principal != statement.party:
            raise Refused('actor_not_entitled', f'only the principal of {name} can share the record, not {statement.party}')
        self.peerings.share_later(statement)

    def _erase(self, entry: Entry, statement: Statement) -> None:
        predicate, subject = statement.predicate, statement.subjects[0]
        self.keeping.erase(entry, statement)
        of = int(predicate['seq'])
        is_missing = take_erasure(self.pending, self.erased, entry.seq, statement)
        if of >= entry.seq:
            raise Refused('erasure_of_nothing', f'seq {of} is not before the erasure')
        if not is_missing and self.digests_of(of).get(subject.name) != subject.digest:
            raise Refused('erasure_of_nothing', f'entry {of} has no {subject.name} with this digest, so nothing can be erased')
        by, key = predicate['actor'], predicate.get('key', '')
        self.erasures.append(Erasure(entry.seq, subject.name, of, predicate['code'], by, key, predicate['recordedAt']))

    def _check_missing(self, entry: Entry) -> None:
        await_erasures(self.pending, entry)
        if entry.seq in self.pending:
            of, name, _ = self.pending[entry.seq]
            found = f'the document of {name} at seq {of} is missing, and entry {entry.seq}, named as its erasure, is not an erasure'
            raise Refused('erasure_unexplained', found)

    def _restore(self, entry: Entry, statement: Statement) -> None:
        self._check_definition(statement)
        found = statement.predicate['found']
        if found['size'] != entry.seq or found['chain'] != self.chain_before.hex():
            raise Refused(
                'chain_broken',
                f'the entry names the restored state of {int(found["size"])} entries, '
                f'but {entry.seq} entries are before this entry, or their chain hash differs',
            )

    def _check_definition(self, statement: Statement) -> None:
        assert self.definition is not None
        if statement.digest != self.definition.digest:
            raise Refused(
                'definition_mismatch',
                f'the ledger’s definition has the digest {self.definition.digest}, but the entry names {statement.digest}',
            )

    def _set_policy(self, entry: Entry, statement: Statement) -> None:
        self._check_definition(statement)
        self.policy = (entry.leaf.hex(), statement.predicate)

    def _keep(self, entry: Entry, statement: Statement) -> None:
        self._check_definition(statement)
        self.keeping.follow(entry, statement)

    def _register_statement(self, entry: Entry, statement: Statement) -> None:
        before = self.registering
        assert before is not None and before.foreign is not None
        foreign, predicate = before.foreign, statement.predicate
        check_pair(foreign, before.recorded_at, statement.digest, predicate)
        if self.policy is None:
            raise Refused('policy_refused', 'a statement was registered before a policy was set')
        if predicate['policy'] != self.policy[0]:
            raise Refused(
                'policy_refused', f'the statement was registered under the policy {predicate["policy"]}, which was not the newest policy'
            )
        judge(foreign, self.policy[1])
        self.add_id(statement.subjects[0].name)

    def end(self) -> None:
        """Makes the checks that need all entries. Raises Refused."""
        if self.statement_before is not None:
            raise Refused('statement_pair', f'no entry registers the statement at seq {self.size - 1}').at(self.size - 1)
        if self.pending:
            by, (of, name, _) = min(self.pending.items(), key=lambda one: one[1])
            found = f'the document of {name} at seq {of} is missing, and its erasure, entry {by}, is not in the ledger'
            raise Refused('erasure_unexplained', found)
        beyond = [size for size in self.heads if size > self.size]
        if beyond or any(seq >= self.size for seq in self.places):
            raise Refused('checkpoint_beyond_chain', f'a checkpoint or a receipt covers more than the {self.size} entries of the chain')
        if self.uncovered_kid is not None:
            found = f'the key {self.uncovered_kid.hex()} is compromised, and no stored checkpoint covers all entries that it signed'
            raise Refused('key_compromised', found)
        if self.oldest_uncovered is not None and self.newest_ms is not None and self.newest_ms - self.oldest_uncovered[0] > TAIL_AGE_MS_MAX:
            seq = self.oldest_uncovered[1]
            found = f'entry {seq} is more than a minute older than the newest entry, and no checkpoint covers it'
            raise Refused('checkpoint_missing_tail', f'{found}: verify again when the ledger has a newer checkpoint')


def _by_size(expected: Expected) -> dict[int, list[Head]]:
    found: dict[int, list[Head]] = {}
    for head in expected.heads:
        found.setdefault(head.size, []).append(head)
    return found


def head_of(checkpoint: Checkpoint) -> Head:
    return Head(checkpoint.size, checkpoint.root, checkpoint.chain)


_APPLY: dict[str, Callable[[Ledger, Entry, Statement], None]] = {
    'server-key-rotated': Ledger._rotate,
    'agent-registered': lambda ledger, _, statement: ledger.actors.register(statement),
    'agent-disabled': lambda ledger, _, statement: ledger.actors.disable(statement),
    'agent-key-registered': lambda ledger, _, statement: ledger.actors.register_signing_key(statement, ledger.server_kids),
    'agent-key-revoked': lambda ledger, _, statement: ledger.actors.revoke_signing_key(statement),
    'key-created': lambda ledger, _, statement: ledger.actors.create_key(statement),
    'key-revoked': lambda ledger, _, statement: ledger.actors.revoke_key(statement),
    'type-registered': Ledger._register_type,
    'record-notarized': Ledger._notarize,
    'batch-notarized': Ledger._notarize_batch,
    'record-created': Ledger._create,
    'payload-erased': Ledger._erase,
    'ledger-restored': Ledger._restore,
    'registration-policy-set': Ledger._set_policy,
    'statement-registered': Ledger._register_statement,
    'retention-set': Ledger._keep,
    'hold-set': Ledger._keep,
    'hold-lifted': Ledger._keep,
    'subject-erased': Ledger._keep,
    'export-made': Ledger._keep,
    'record-shared': Ledger._share,
    'peer-added': lambda ledger, entry, statement: ledger.peerings.add(entry, statement),
    'peer-suspended': lambda ledger, _, statement: ledger.peerings.change(statement, 'suspended'),
    'peer-resumed': lambda ledger, _, statement: ledger.peerings.change(statement, 'active'),
    'peer-revoked': lambda ledger, _, statement: ledger.peerings.change(statement, 'revoked'),
    'peer-key-rotated': lambda ledger, entry, statement: ledger.peerings.rotate(entry, statement),
    'entry-received': lambda ledger, entry, statement: ledger.peerings.receive(entry, statement, ledger),
    'step-offered': lambda ledger, entry, statement: ledger.peerings.offer(entry, statement, ledger),
    'offer-refused': lambda ledger, entry, statement: ledger.peerings.refuse(entry, statement, ledger),
}
