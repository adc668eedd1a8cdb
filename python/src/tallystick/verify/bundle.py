"""Verifies a bundle: entries of a record, a run or a range, with their proofs (docs/formats/bundles.md)."""

from __future__ import annotations

from typing import Any, NamedTuple

from . import formats as f
from .actors import ABOUT_AGENT_KEYS, Actors, Agent
from .bundle_lines import parse_entry, parse_first, parse_last
from .errors import Refused
from .hints import named_keys
from .limits import LINE_DEPTH_MAX
from .line import (
    STATEMENT,
    Context,
    Entry,
    Pending,
    await_erasures,
    check_definition,
    read_documents,
    take_erasure,
    unpaired,
    verify_documents,
    verify_members,
    verify_signed,
)
from .merkle import Tree, check_inclusion
from .note import Checkpoint, Cosignatures, NoteKey, check_note, note_key, parse_checkpoint
from .proof import Coverage, OfflineTrust, check_compromised, check_strict, count_given, cover, hashes, join, parse_consistency, verify_item
from .record import STEPS, Record
from .registered import Foreign, check_pair, judge
from .source import Lines
from .statement import Statement
from .strict_json import parse

_IS_SELECTION = 'the bundle is a selection: everything in it is genuine, but the ledger may have more'
_SOME_ISSUERS = 'the bundle has statements without their registration policy: it was not checked whether their issuers signed them'
_IS_WITHHELD = 'the bundle was made without documents: it was not checked whether they are intact'
_MAKES = frozenset(('record-notarized', 'record-created', 'batch-notarized'))
_ABOUT_KEYS = frozenset(('ledger-created', 'server-key-rotated', *ABOUT_AGENT_KEYS))


class BundleReport(NamedTuple):
    ledger: str
    of: dict[str, Any]
    name: str
    """Text for `of` in a result line."""
    completeness: str
    entries: int
    """Entries of the range, or entries about records of the selection."""
    of_entries: int | None
    """Entries that the filter was applied to. None: no filter."""
    records: int | None
    """Records of a selection. None: a range."""
    agent_signed: int
    statements: int
    issuers_judged: int
    erased: int
    withheld: bool
    first_kid: bytes
    keys_given: bool
    note_key_given: bool
    coverage: Coverage
    notices: list[str]
    """Gaps: checks that were not made, and entries that the bundle does not show."""


def verify_bundle(lines: Lines, trust: OfflineTrust) -> BundleReport:
    joins = [parse_consistency(one) for one in trust.consistency]
    first = parse_first(lines.first())
    last = lines.last()
    bundle = _Bundle(first, trust, joins)
    for entry_range in lines.ranges():
        for line in entry_range:
            bundle.take(line)
    return bundle.end(parse_last(last))


class _Bundle:
    def __init__(self, first: dict[str, Any], trust: OfflineTrust, joins: list[dict[str, Any]]) -> None:
        self.first = first
        self.trust = trust
        self.joins = joins
        self.ledger: str = first['ledger']
        self.keys, self.compromised = named_keys(first['keys'])
        self.context = Context(self.keys, first['documents'] == 'withheld')
        self.checkpoint: Checkpoint | None = None
        self.joined: int | None = None
        self.cosignatures: Cosignatures | None = None
        span = first['of'].get('range')
        self.span = (int(span['from']), int(span['to'])) if span is not None else None
        self.tree = Tree(self.span[0], hashes(span['left'])) if self.span is not None else Tree()
        if self.span is not None and len(self.tree.peaks) != self.span[0].bit_count():
            found = f'left has {len(self.tree.peaks)} hashes, but {self.span[0]} entries have {self.span[0].bit_count()} subtrees'
            raise Refused('merkle_range', found)
        self.filter: dict[str, Any] | None = first['of'].get('selection')
        self.issuer = ''
        self.first_kid = b''
        self.current_kid = b''
        self.named: set[bytes] = set()
        self.actors = Actors(trust.agent_keys)
        self.records: dict[str, Record | None] = {}
        self.completions: set[str] = set()
        self.count = 0
        self.related = 0
        self.last_seq = -1
        self.newest = -1
        """The last entry of the range, or the last one about a record of the selection."""
        self.range_leaf: bytes | None = None
        """The last leaf of the range. All earlier ones are in the tree."""
        self.before: Entry | None = None
        self.registering: Entry | None = None
        self.pending: Pending = {}
        self.erased = 0
        self.erased_names: set[tuple[int, str]] = set()
        self.agent_signed = 0
        self.statements = 0
        self.policies: dict[str, dict[str, Any]] = {}
        """Policies by the leaf of the entry that set them."""
        self.unused_policies: set[str] = set()
        self.policy_of_range: str | None = None
        self.issuers_judged = 0

    def take(self, data: bytes) -> None:
        text = parse(data, LINE_DEPTH_MAX)
        value = parse_entry(text.value, self.span)
        entry, items = self._verify_alone(value, text.plain)
        try:
            self._take(entry, value, items)
        except Refused as refused:
            raise refused.at(entry.seq) from None
        self.count += 1
        self.last_seq = entry.seq

    def _in_range(self, seq: int) -> bool:
        return self.span is not None and self.span[0] <= seq <= self.span[1]

    def _verify_alone(self, value: dict[str, Any], plain: bool) -> tuple[Entry, list[dict[str, Any]] | None]:
        if value['kind'] == STATEMENT or value['items'] is None or self._in_range(int(value['seq'])):
            return verify_members(value, plain, self.context), None
        return self._verify_selected(value, plain)

    def _verify_selected(self, value: dict[str, Any], plain: bool) -> tuple[Entry, list[dict[str, Any]]]:
        """Verifies a batch with only the items that belong to the selection."""
        data = f.from_base64(value['envelope'], 'the envelope')
        read_documents(value)
        received = None if value['received'] is None else f.from_base64(value['received'], 'the received envelope')
        envelope, statement, leaf, signer = verify_signed(value, data, self.context)
        check_definition(statement)
        if statement.kind != 'batch-notarized':
            raise Refused('batch_contradicts_statement', f'{statement.kind} cannot have items')
        if not value['items']:
            raise Refused('entry_unrelated', 'the bundle has a batch without any record of the batch')
        if received is not None:
            raise Refused('received_mismatch', 'a batch cannot have a received entry')
        items = [verify_item(proof, statement) for proof in value['items']]
        missing = verify_documents(value, statement, plain, self.context.withheld, items)
        shown = len(items) - len(missing)
        entry = Entry(
            int(value['seq']),
            statement.kind,
            leaf,
            b'',
            statement.ms,
            value['recordedAt'],
            envelope.kid,
            envelope.issuer,
            statement,
            None,
            signer,
            shown,
            missing,
            None,
            None,
        )
        return entry, items

    def _take(self, entry: Entry, value: dict[str, Any], items: list[dict[str, Any]] | None) -> None:
        if (entry.kind == 'ledger-created') != (entry.seq == 0) or (self.count == 0) != (entry.seq == 0):
            found = f'seq {entry.seq} is {entry.kind}: ledger-created must be the first entry, at seq 0, and no other'
            raise Refused('ledger_created_misplaced', found)
        self._check_seq(entry)
        self._check_turn(entry)
        if entry.statement is None:
            self._hold(entry)
        else:
            self._take_own(entry, entry.statement, value, items)
        if entry.seq in self.pending:
            of, name, _ = self.pending[entry.seq]
            found = f'the document of {name} at seq {of} is missing, and entry {entry.seq}, named as its erasure, is not an erasure'
            raise Refused('erasure_unexplained', found)

    def _hold(self, entry: Entry) -> None:
        if not self._in_range(entry.seq):
            raise Refused('entry_unrelated', f'entry {entry.seq} is a registered statement, and these belong only inside a range')
        self._check_place(entry, [])
        self.statements += 1
        self._relate(entry)

    def _take_own(self, entry: Entry, statement: Statement, value: dict[str, Any], items: list[dict[str, Any]] | None) -> None:
        if entry.kind == 'ledger-created':
            self._define(entry, statement)
        self._check_author(entry, statement)
        check_compromised(self.compromised, entry.kid, statement, self.joined, self.trust, entry.seq)
        self._check_place(entry, value.get('path', []))
        await_erasures(self.pending, entry)
        if self._in_range(entry.seq):
            self._relate(entry)
        self._follow(entry, statement, items)

    def _relate(self, entry: Entry) -> None:
        self.related += 1
        self.newest = entry.seq

    def _check_seq(self, entry: Entry) -> None:
        if entry.seq <= self.last_seq:
            raise Refused('seq_not_dense', f'the entries must be in the order of seq, but seq {entry.seq} comes after seq {self.last_seq}')
        if self.span is None:
            return
        start, end = self.span
        wanted = self.last_seq + 1 if self.last_seq >= start else start
        if (wanted <= end and entry.seq > wanted) or (start <= entry.seq <= end and entry.seq != wanted):
            raise Refused('seq_not_dense', f'the next entry must have seq {wanted}, but has seq {entry.seq}')

    def _define(self, entry: Entry, statement: Statement) -> None:
        definition = statement.predicate['definition']
        self.first_kid = self.current_kid = bytes.fromhex(definition['envelopeKey']['kid'])
        if entry.kid != self.first_kid:
            raise Refused('key_not_current', f'the first entry names the key {self.first_kid.hex()}, but is signed by {entry.kid.hex()}')
        self.named.add(self.first_kid)
        self.issuer = entry.issuer
        key = note_key(definition['origin'], f.from_base64(definition['noteKey'], 'the note key'))
        if self.trust.note_key is not None and self.trust.note_key.text != key.text:
            raise Refused('trusted_key_absent', f'the ledger’s definition names the note key {key.text}, which is not the given note key')
        self._begin(parse_checkpoint(self.first['checkpoint']), key)

    def _begin(self, checkpoint: Checkpoint, key: NoteKey) -> None:
        check_note(checkpoint, key)
        self.checkpoint = checkpoint
        if self.span is not None and self.span[1] >= checkpoint.size:
            found = f'the range ends at {self.span[1]}, but the checkpoint covers {checkpoint.size} entries'
            raise Refused('checkpoint_too_old', found)
        if self.filter is not None and self.filter['to'] >= checkpoint.size:
            found = f'the selection ends at {int(self.filter["to"])}, but the checkpoint covers {checkpoint.size} entries'
            raise Refused('checkpoint_too_old', found)
        self.joined = join(checkpoint, key, self.trust, self.joins)
        self.cosignatures = count_given(checkpoint, self.trust)

    def _check_turn(self, entry: Entry) -> None:
        before, self.before = self.before, entry if entry.kind == STATEMENT else None
        self.registering = before
        if (before is not None) != (entry.kind == 'statement-registered'):
            raise unpaired(entry, before)

    def _check_author(self, entry: Entry, statement: Statement) -> None:
        if statement.ledger != self.ledger:
            raise Refused('ledger_foreign', f'the bundle belongs to {self.ledger}, but has an entry of {statement.ledger}')
        if entry.issuer != self.issuer:
            raise Refused(
                'ledger_foreign', f'the entry was issued by {entry.issuer[:64]!r}, but the issuer of the ledger is {self.issuer[:64]!r}'
            )
        self.agent_signed += self.actors.check_signed_by(entry, self.current_kid, statement)

    def _check_place(self, entry: Entry, path: list[str]) -> None:
        assert self.checkpoint is not None
        if entry.seq >= self.checkpoint.size:
            raise Refused('checkpoint_too_old', f'the checkpoint of {self.checkpoint.size} entries does not cover entry {entry.seq}')
        if not self._in_range(entry.seq):
            check_inclusion(entry.leaf, entry.seq, self.checkpoint.size, hashes(path), self.checkpoint.root)
            return
        if self.range_leaf is not None:
            self.tree.add(self.range_leaf)
        self.range_leaf = entry.leaf

    def _follow(self, entry: Entry, statement: Statement, items: list[dict[str, Any]] | None) -> None:
        kind = entry.kind
        if kind == 'server-key-rotated':
            kid = bytes.fromhex(statement.predicate['newKey']['kid'])
            if kid in self.actors.signing:
                raise Refused('key_not_current', f'the key {kid.hex()} belongs to an agent, so the key cannot become a key of the ledger')
            if kid in self.named:
                raise Refused('key_not_current', f'the key {kid.hex()} was already a key of the ledger')
            self.current_kid = kid
            self.named.add(kid)
        elif kind in ABOUT_AGENT_KEYS:
            # The digest comes from this entry. The agent's registration, which determines it, is
            # not in the bundle.
            self.actors.agents.setdefault(statement.predicate['agent'], Agent(statement.digest)).digest = statement.digest
            if kind == 'agent-key-registered':
                self.actors.register_signing_key(statement, self.named)
            else:
                self.actors.revoke_signing_key(statement)
        elif kind == 'payload-erased':
            self._erase(entry, statement)
        if self.span is None:
            self._follow_selection(entry, statement, items)
        elif kind == 'registration-policy-set':
            self._set_policy(entry, statement)
        elif kind == 'statement-registered' and self._in_range(entry.seq):
            assert self.registering is not None and self.registering.foreign is not None
            check_pair(self.registering.foreign, self.registering.recorded_at, statement.digest, statement.predicate)
            self._judge(self.registering.foreign, statement.predicate['policy'])
        elif not self._in_range(entry.seq) and kind not in _ABOUT_KEYS and kind != 'payload-erased':
            raise Refused('entry_unrelated', f'entry {entry.seq}, {kind}: the entry does not belong to the range')

    def _set_policy(self, entry: Entry, statement: Statement) -> None:
        leaf = entry.leaf.hex()
        self.policies[leaf] = statement.predicate
        if self._in_range(entry.seq):
            self.policy_of_range = leaf
        else:
            self.unused_policies.add(leaf)

    def _judge(self, foreign: Foreign, policy: str) -> None:
        if self.policy_of_range not in (None, policy):
            raise Refused('policy_refused', f'the statement was registered under the policy {policy}, which was not the newest policy')
        if policy in self.policies:
            judge(foreign, self.policies[policy])
            self.unused_policies.discard(policy)
            self.issuers_judged += 1

    def _erase(self, entry: Entry, statement: Statement) -> None:
        is_missing = take_erasure(self.pending, self.erased_names, entry.seq, statement)
        if not is_missing and not self._in_range(entry.seq):
            raise Refused(
                'entry_unrelated', f'entry {entry.seq}, payload-erased: the entry erases no document that is missing in the bundle'
            )
        self.erased += is_missing

    def _follow_selection(self, entry: Entry, statement: Statement, items: list[dict[str, Any]] | None) -> None:
        kind = entry.kind
        if self.filter is not None and (kind in _MAKES or kind in STEPS) and not self.filter['from'] <= entry.seq <= self.filter['to']:
            start, end = int(self.filter['from']), int(self.filter['to'])
            raise Refused('entry_unrelated', f'entry {entry.seq} is not in the range {start} to {end}')
        if kind in _MAKES:
            for made in self._parents_first(items) if items is not None else [statement.predicate]:
                self._check_related(made, statement.predicate)
                self.records[made['record']] = Record(statement, entry.leaf) if kind == 'record-created' else None
            self._relate(entry)
        elif kind in STEPS:
            name = statement.predicate['record']
            record = self.records.get(name)
            if record is None:
                code = 'transition_refused' if name in self.records else 'subject_unknown'
                raise Refused(code, f'{name} is not a gated record of this bundle')
            record.step(statement, entry.leaf)
            if kind == 'completion-submitted':
                self._add_completion(statement.predicate['completion'])
            self._relate(entry)
        elif kind not in _ABOUT_KEYS and kind != 'payload-erased':
            raise Refused('entry_unrelated', f'entry {entry.seq}, {kind}: the entry does not belong to a record of the selection')

    def _add_completion(self, name: str) -> None:
        if name in self.completions:
            raise Refused('duplicate_subject', f'the completion {name} is submitted twice')
        self.completions.add(name)

    def _parents_first(self, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Orders items of a run so that each item follows its parent. Within a batch, the parent may
        be a later item.

        Items without a known parent come last.
        """
        root = self.first['of'].get('run')
        if root is None:
            return items
        ordered: list[dict[str, Any]] = []
        below: dict[str | None, list[dict[str, Any]]] = {}
        for item in items:
            parent = item.get('parent')
            known = item['record'] == root or parent in self.records
            (ordered if known else below.setdefault(parent, [])).append(item)
        for item in ordered:
            ordered += below.pop(item['record'], ())
        return ordered + [item for others in below.values() for item in others]

    def _check_related(self, made: dict[str, Any], predicate: dict[str, Any]) -> None:
        of, name = self.first['of'], made['record']
        if name in self.records:
            raise Refused('duplicate_subject', f'{name} is created twice')
        if self.filter is not None:
            if not _is_filtered(self.filter, made, predicate):
                raise Refused('entry_unrelated', f'{name} does not match the filter')
        elif 'record' in of:
            if name != of['record']:
                raise Refused('entry_unrelated', f'the bundle is of the record {of["record"]}, but also has the record {name}')
        elif name != of['run'] and made.get('parent') not in self.records:
            found = f'the parent {made["parent"]}, which is not in the run' if 'parent' in made else 'no parent, so it is not in the run'
            raise Refused('parent_absent', f'{name} has {found}')

    def end(self, declared: int) -> BundleReport:
        if declared != self.count:
            raise Refused('bundle_incomplete', f'the bundle has {self.count} entries, but its last line names {declared}')
        if self.checkpoint is None:
            raise Refused('bundle_incomplete', 'the bundle has no entry')
        if self.span is not None:
            self._end_range(self.span[1], self.checkpoint)
        root = self.first['of'].get('record') or self.first['of'].get('run')
        if self.span is None and self.filter is None and root not in self.records:
            raise Refused('bundle_incomplete', f'the record {root} is not in the bundle')
        if self.before is not None:
            raise Refused('statement_pair', f'no entry registers the statement at seq {self.before.seq}')
        if self.pending:
            by, (of, name, _) = min(self.pending.items())
            found = f'the document of {name} at seq {of} is missing, and entry {by}, named as its erasure, is not in the bundle'
            raise Refused('erasure_unexplained', found)
        if self.unused_policies:
            raise Refused('entry_unrelated', f'no statement of the bundle was registered under the policy {min(self.unused_policies)}')
        self._check_named()
        return self._report(cover(self.checkpoint, self.joined, self.cosignatures, self.newest))

    def _end_range(self, last: int, checkpoint: Checkpoint) -> None:
        if self.range_leaf is None or self.last_seq < last:
            raise Refused('bundle_incomplete', f'the bundle ends before entry {last}, the end of its range')
        path = _path_of(self.tree, checkpoint.size, hashes(self.first['of']['range']['right']))
        check_inclusion(self.range_leaf, last, checkpoint.size, path, checkpoint.root)

    def _check_named(self) -> None:
        for kid in self.keys:
            if kid not in self.named:
                raise Refused('key_not_current', f'no entry introduces the key {kid.hex()} of the first line')
        for kid in self.trust.kids:
            if kid not in self.named:
                raise Refused('trusted_key_absent', f'no entry introduces the key {kid.hex()}, which was given')

    def _report(self, coverage: Coverage) -> BundleReport:
        keys_given, note_key_given = self.first_kid in self.trust.kids, self.trust.note_key is not None
        if self.trust.strict:
            check_strict(keys_given or note_key_given, coverage, self.trust)
            if self.context.withheld:
                raise Refused('documents_withheld', 'documents were not checked: use an API key with the scope records:read')
        of = self.first['of']
        return BundleReport(
            ledger=self.ledger,
            of=of if self.span is None else {'from': self.span[0], 'to': self.span[1]},
            name=_name(of),
            completeness=self.first['completeness'],
            entries=self.related,
            of_entries=None if self.filter is None else int(self.filter['to']) - int(self.filter['from']) + 1,
            records=len(self.records) if self.span is None else None,
            agent_signed=self.agent_signed,
            statements=self.statements,
            issuers_judged=self.issuers_judged,
            erased=self.erased,
            withheld=self.context.withheld,
            first_kid=self.first_kid,
            keys_given=keys_given,
            note_key_given=note_key_given,
            coverage=coverage,
            notices=self._notices(),
        )

    def _notices(self) -> list[str]:
        return [
            *([_IS_SELECTION] if self.span is None else []),
            *([_SOME_ISSUERS] if self.statements > self.issuers_judged else []),
            *([_IS_WITHHELD] if self.context.withheld else []),
        ]


def _name(of: dict[str, Any]) -> str:
    if 'range' in of:
        return f'range:{int(of["range"]["from"])}-{int(of["range"]["to"])}'
    if 'selection' in of:
        names = ('type', 'agent', 'trace')
        start, end = int(of['selection']['from']), int(of['selection']['to'])
        said = [f'{name}:{of["selection"][name]}' for name in names if name in of['selection']]
        return ','.join([f'selection:{start}-{end}', *said])
    return f'record:{of["record"]}' if 'record' in of else f'run:{of["run"]}'


def _is_filtered(wanted: dict[str, Any], made: dict[str, Any], predicate: dict[str, Any]) -> bool:
    agents = (predicate['actor'], made.get('onBehalfOf'), made.get('performer'))
    trace = made.get('traceparent')
    return (
        wanted.get('type', made['type']) == made['type']
        and ('agent' not in wanted or wanted['agent'] in agents)
        and ('trace' not in wanted or (trace is not None and trace[3:35] == wanted['trace']))
    )


def _path_of(before: Tree, size: int, right: list[bytes]) -> list[bytes]:
    """Returns the path of the leaf after the tree `before`. The hashes on the left are the peaks of
    `before`. `right` has the hashes on the right.
    """
    peaks, others = list(before.peaks), list(right)
    node, last = before.size, size - 1
    path: list[bytes] = []
    while last:
        if node & 1 or node == last:
            if node & 1:
                side = peaks.pop() if peaks else None
            else:
                while not node & 1 and node:
                    node >>= 1
                    last >>= 1
                side = peaks.pop() if peaks else None
        else:
            side = others.pop(0) if others else None
        if side is None:
            raise Refused('merkle_path', 'left or right has too few hashes')
        path.append(side)
        node >>= 1
        last >>= 1
    if peaks or others:
        raise Refused('merkle_path', 'left or right has too many hashes')
    return path
