"""Verifies a bundle: all entries of a record, a run or a range, with what proves them (docs/formats/bundles.md)."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any, NamedTuple

from . import formats as f
from .actors import ABOUT_AGENT_KEYS, Actors, Agent
from .errors import Refused
from .keys import Key, parse_key
from .limits import BUNDLE_FIRST_LINE_CHARS_MAX, BUNDLE_FIRST_LINE_DEPTH_MAX, BUNDLE_KEYS_MAX, INCLUSION_PATH_MAX, LINE_DEPTH_MAX
from .line import (
    STATEMENT,
    Context,
    Entry,
    Pending,
    await_erasures,
    check_definition,
    check_documents,
    check_head,
    is_signer,
    verify_documents,
    verify_members,
    verify_signed,
)
from .merkle import Tree, check_inclusion
from .note import Checkpoint, NoteKey, check_note, note_key, parse_checkpoint
from .proof import OfflineTrust, check_strict, cover, hashes, is_item_proof, is_path, verify_item
from .record import STEPS, Record
from .registered import Foreign, check_pair, judge
from .source import Lines
from .statement import Statement
from .strict_json import parse

_FIRST = frozenset(('bundle', 'ledger', 'of', 'completeness', 'documents', 'keys', 'checkpoint'))
_SELECTION = frozenset(('from', 'to'))
_FILTER = frozenset(('type', 'agent', 'trace'))
_TRACE = re.compile(r'[0-9a-f]{32}\Z')
_KEY = frozenset(('kid', 'alg', 'spki', 'compromisedAt'))
_RANGE = frozenset(('from', 'to', 'left', 'right'))
_MEMBERS = frozenset(('seq', 'kind', 'recordedAt', 'leaf', 'envelope', 'documents', 'items'))
_OPTIONAL = frozenset(('path', 'received', 'signer'))
_MAKES = frozenset(('record-notarized', 'record-created', 'batch-notarized'))
_ABOUT_KEYS = frozenset(('ledger-created', 'server-key-rotated', *ABOUT_AGENT_KEYS))


def _syntax(what: str) -> Refused:
    return Refused('bundle_syntax', what)


class BundleReport(NamedTuple):
    line: str
    notices: list[str]
    """Gaps: checks that were not made, and entries that the bundle does not show."""


def verify_bundle(lines: Lines, trust: OfflineTrust) -> BundleReport:
    first = _parse_first(lines.first())
    declared = _parse_last(lines.last())
    bundle = _Bundle(first, trust)
    for portion in lines.portions():
        for line in portion:
            bundle.take(line)
    if declared is None:
        raise Refused('bundle_incomplete', 'cut off: its last line is not {"entries":…}')
    return bundle.end(declared)


def _parse_first(data: bytes) -> dict[str, Any]:
    if len(data.decode('utf-8', 'replace')) > BUNDLE_FIRST_LINE_CHARS_MAX:
        raise _syntax('the first line is too long')
    value: dict[str, Any] = parse(data, BUNDLE_FIRST_LINE_DEPTH_MAX).value
    if not isinstance(value, dict) or value.keys() - {'tool'} != _FIRST or value['bundle'] != 1 or not f.is_id_of(value['ledger'], 'led'):
        raise _syntax('not the members of a first line')
    if value['documents'] not in ('all', 'withheld') or not isinstance(value['checkpoint'], str):
        raise _syntax('documents or checkpoint is of another form')
    if 'tool' in value and not f.is_text(value['tool']):
        raise _syntax('tool is of another form')
    of = value['of']
    if not isinstance(of, dict) or len(of) != 1 or not _is_of(of):
        raise _syntax('of is of another form')
    if value['completeness'] != ('complete' if 'range' in of else 'selection'):
        raise _syntax('completeness is not that of what it is of')
    keys = value['keys']
    if not isinstance(keys, list) or len(keys) > BUNDLE_KEYS_MAX or not all(map(_is_key, keys)):
        raise _syntax('keys are of another form')
    return value


def _is_of(of: dict[str, Any]) -> bool:
    if 'selection' in of:
        return _is_selection(of['selection'])
    if 'range' not in of:
        return any(f.is_id_of(of.get(name), 'rec') for name in ('record', 'run'))
    span = of['range']
    if not isinstance(span, dict) or span.keys() != _RANGE:
        return False
    if not f.is_integer(span['from'], 0) or not f.is_integer(span['to'], int(span['from'])):
        return False
    return is_path(span['left'], INCLUSION_PATH_MAX) and is_path(span['right'], INCLUSION_PATH_MAX)


def _is_selection(value: Any) -> bool:
    if not isinstance(value, dict) or not value.keys() >= _SELECTION or not value.keys() - _SELECTION <= _FILTER or len(value) < 3:
        return False
    if not f.is_integer(value['from'], 0) or not f.is_integer(value['to'], int(value['from'])):
        return False
    trace = value.get('trace', '0' * 32)
    if not isinstance(trace, str) or _TRACE.match(trace) is None:
        return False
    return ('type' not in value or f.is_type(value['type'])) and ('agent' not in value or f.is_id_of(value['agent'], 'agt'))


def _is_key(value: Any) -> bool:
    if not isinstance(value, dict) or value.keys() != _KEY or not f.is_hex64(value['kid']):
        return False
    compromised = value['compromisedAt']
    return value['alg'] in ('EdDSA', 'ES256') and isinstance(value['spki'], str) and (compromised is None or f.is_time(compromised))


def _parse_last(data: bytes) -> int | None:
    try:
        value = parse(data, LINE_DEPTH_MAX).value
    except Refused:
        return None
    if not isinstance(value, dict) or value.keys() != {'entries'} or not f.is_integer(value['entries'], 0):
        return None
    return int(value['entries'])


class _Bundle:
    def __init__(self, first: dict[str, Any], trust: OfflineTrust) -> None:
        self.first = first
        self.trust = trust
        self.ledger: str = first['ledger']
        self.keys, self.compromised = _keys(first['keys'])
        self.context = Context(self.keys, first['documents'] == 'withheld')
        self.checkpoint: Checkpoint = parse_checkpoint(first['checkpoint'])
        span = first['of'].get('range')
        self.span = (int(span['from']), int(span['to'])) if span is not None else None
        self.tree = Tree(self.span[0], hashes(span['left'])) if self.span is not None else Tree()
        if self.span is not None and len(self.tree.peaks) != self.span[0].bit_count():
            raise Refused('merkle_range', f'left is not the subtrees of {self.span[0]} leaves')
        self.filter: dict[str, Any] | None = first['of'].get('selection')
        self.note_key: NoteKey | None = None
        self.issuer = ''
        self.first_kid = b''
        self.current_kid = b''
        self.named: set[bytes] = set()
        self.actors = Actors(trust.agent_keys)
        self.records: dict[str, Record | None] = {}
        self.count = 0
        self.related = 0
        self.last_seq = -1
        self.before: Entry | None = None
        self.registering: Foreign | None = None
        self.pending: Pending = {}
        self.erased = 0
        self.erased_names: set[tuple[int, str]] = set()
        self.agent_signed = 0
        self.statements = 0
        self.policies: dict[str, dict[str, Any]] = {}
        """By the leaf of their entry."""
        self.unused_policies: set[str] = set()
        self.policy_of_range: str | None = None
        self.issuers_judged = 0
        self.signed_by: dict[bytes, tuple[int, int]] = {}

    def take(self, data: bytes) -> None:
        value = parse(data, LINE_DEPTH_MAX)
        entry, items = self._verify_alone(value.value, value.plain)
        try:
            self._take(entry, value.value, items)
        except Refused as refused:
            raise refused.at(entry.seq) from None
        self.count += 1
        self.last_seq = entry.seq

    def _in_range(self, seq: int) -> bool:
        return self.span is not None and self.span[0] <= seq <= self.span[1]

    def _verify_alone(self, value: Any, plain: bool) -> tuple[Entry, list[dict[str, Any]] | None]:
        if not isinstance(value, dict) or not value.keys() >= _MEMBERS or not value.keys() - _MEMBERS <= _OPTIONAL:
            raise _syntax('not the members of an entry')
        try:
            check_head(value)
        except Refused as refused:
            raise _syntax(refused.reason) from None
        if not isinstance(value.get('received', ''), str) or ('signer' in value and not is_signer(value['signer'])):
            raise _syntax('received or signer is of another form')
        inside = self._in_range(int(value['seq']))
        if inside == ('path' in value) or not is_path(value.get('path', []), INCLUSION_PATH_MAX):
            raise _syntax('a path where none belongs, or none, or one of another form')
        if not inside and value['items'] is not None:
            return self._verify_selected(value, plain)
        entry = verify_members(value, plain, self.context)
        return entry, None

    def _verify_selected(self, value: dict[str, Any], plain: bool) -> tuple[Entry, list[dict[str, Any]]]:
        """A batch with the items that belong to the selection."""
        proofs = value['items']
        if not isinstance(proofs, list) or not all(map(is_item_proof, proofs)):
            raise _syntax('items are of another form')
        check_documents(value)
        envelope, statement, leaf, signer = verify_signed(value, f.from_base64(value['envelope'], 'the envelope'), self.context)
        check_definition(statement)
        if statement.kind != 'batch-notarized':
            raise Refused('batch_contradicts_statement', 'items of what is no batch')
        items = [verify_item(proof, statement) for proof in proofs]
        places = [proof['index'] for proof in proofs]
        if any(a >= b for a, b in pairwise(places)):
            raise _syntax('the items are not in the order of their places')
        if not items:
            raise Refused('entry_unrelated', 'a batch without an item')
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
            raise Refused('ledger_created_misplaced', 'ledger-created is the first entry, with seq 0, and no other')
        self._check_seq(entry)
        if entry.statement is not None and entry.kind == 'ledger-created':
            self._define(entry, entry.statement)
        self._check_pair(entry)
        if entry.statement is not None:
            self._check_author(entry, entry.statement)
        self._check_place(entry, value)
        if entry.statement is not None:
            self._follow(entry, entry.statement, value, items)
        elif not self._in_range(entry.seq):
            raise Refused('entry_unrelated', 'a registered statement stands in a range only')
        self._check_missing(entry)
        self.statements += entry.kind == STATEMENT
        if self._in_range(entry.seq):
            self.related += 1

    def _check_seq(self, entry: Entry) -> None:
        if entry.seq <= self.last_seq:
            raise Refused('seq_not_dense', f'seq {entry.seq} stands behind {self.last_seq}')
        if self.span is None:
            return
        start, end = self.span
        wanted = self.last_seq + 1 if self.last_seq >= start else start
        if (wanted <= end and entry.seq > wanted) or (start <= entry.seq <= end and entry.seq != wanted):
            raise Refused('seq_not_dense', f'seq {entry.seq} stands where {wanted} belongs')

    def _define(self, entry: Entry, statement: Statement) -> None:
        definition = statement.predicate['definition']
        self.first_kid = self.current_kid = bytes.fromhex(definition['envelopeKey']['kid'])
        self.named.add(self.first_kid)
        self.issuer = definition['issuer']
        if statement.ledger != self.ledger or entry.issuer != self.issuer:
            raise Refused('ledger_foreign', 'the first entry is of another ledger')
        if entry.kid != self.first_kid:
            raise Refused('key_not_current', 'the first entry is not signed by the key that it names')
        self.note_key = note_key(definition['origin'], f.from_base64(definition['noteKey'], 'the note key'))
        if self.trust.note_key is not None and self.trust.note_key.text != self.note_key.text:
            raise Refused('trusted_key_absent', 'another note key than the one that was given')
        check_note(self.checkpoint, self.note_key)
        if self.span is not None and self.span[1] >= self.checkpoint.size:
            raise Refused('checkpoint_too_old', 'the checkpoint does not cover the range')
        if self.filter is not None and self.filter['to'] >= self.checkpoint.size:
            raise Refused('checkpoint_too_old', 'the checkpoint does not cover the entries that it selects from')

    def _check_pair(self, entry: Entry) -> None:
        before, self.before = self.before, entry if entry.kind == STATEMENT else None
        registers = entry.kind == 'statement-registered'
        if (before is not None) != registers or (before is not None and entry.seq != before.seq + 1):
            raise Refused('statement_pair', 'a statement and its statement-registered stand side by side')
        if before is not None and before.foreign is not None and entry.statement is not None:
            check_pair(before.foreign, before.recorded_at, entry.statement.digest, entry.statement.predicate)
            self.registering = before.foreign

    def _check_author(self, entry: Entry, statement: Statement) -> None:
        if statement.ledger != self.ledger or entry.issuer != self.issuer:
            raise Refused('ledger_foreign', 'the entry is of another ledger or issuer')
        self.actors.check_required(entry, statement)
        if entry.kid in self.actors.signing:
            self.actors.check_signer(entry, statement)
            self.agent_signed += 1
        elif entry.kid != self.current_kid:
            raise Refused('key_not_current', f'{entry.kid.hex()} is not the key of this place')
        last = self.signed_by.get(entry.kid, (-1, 0))
        self.signed_by[entry.kid] = (max(last[0], entry.seq), max(last[1], entry.ms))

    def _check_place(self, entry: Entry, value: dict[str, Any]) -> None:
        if entry.seq >= self.checkpoint.size:
            raise Refused('checkpoint_too_old', f'the checkpoint does not cover entry {entry.seq}')
        if not self._in_range(entry.seq):
            check_inclusion(entry.leaf, entry.seq, self.checkpoint.size, hashes(value['path']), self.checkpoint.root)
            return
        assert self.span is not None
        if entry.seq == self.span[1]:
            path = _path_of(self.tree, self.checkpoint.size, hashes(self.first['of']['range']['right']))
            check_inclusion(entry.leaf, entry.seq, self.checkpoint.size, path, self.checkpoint.root)
        self.tree.add(entry.leaf)

    def _follow(self, entry: Entry, statement: Statement, value: dict[str, Any], items: list[dict[str, Any]] | None) -> None:
        kind = entry.kind
        if kind == 'server-key-rotated':
            kid = bytes.fromhex(statement.predicate['newKey']['kid'])
            if kid in self.actors.signing:
                raise Refused('key_not_current', 'a key of an agent cannot become the ledger’s')
            if kid in self.named:
                raise Refused('key_not_current', f'the key {kid.hex()} has signed in this ledger before')
            self.current_kid = kid
            self.named.add(kid)
        elif kind in ABOUT_AGENT_KEYS:
            # The registration of the agent, which says what its digest is, is not here.
            self.actors.agents.setdefault(statement.predicate['agent'], Agent(statement.digest)).digest = statement.digest
            if kind == 'agent-key-registered':
                self.actors.register_signing_key(statement, self.named)
            else:
                self.actors.revoke_signing_key(statement)
        elif kind == 'payload-erased':
            self._erase(entry, statement)
        if self.span is None:
            self._follow_selection(entry, statement, items)
        elif kind == 'registration-policy-set' and entry.seq <= self.span[1]:
            self._set_policy(entry, statement)
        elif kind == 'statement-registered' and self.registering is not None:
            self._judge(self.registering, statement.predicate['policy'])
        elif not self._in_range(entry.seq) and kind not in _ABOUT_KEYS and kind != 'payload-erased':
            raise Refused('entry_unrelated', f'{kind} stands beside the range')

    def _set_policy(self, entry: Entry, statement: Statement) -> None:
        leaf = entry.leaf.hex()
        self.policies[leaf] = statement.predicate
        if self._in_range(entry.seq):
            self.policy_of_range = leaf
        else:
            self.unused_policies.add(leaf)

    def _judge(self, foreign: Foreign, policy: str) -> None:
        if self.policy_of_range not in (None, policy):
            raise Refused('policy_refused', 'the policy is not the newest one')
        if policy in self.policies:
            judge(foreign, self.policies[policy])
            self.unused_policies.discard(policy)
            self.issuers_judged += 1

    def _erase(self, entry: Entry, statement: Statement) -> None:
        claims = self.pending.pop(entry.seq, [])
        of, subject = int(statement.predicate['seq']), statement.subjects[0]
        if (of, subject.name) in self.erased_names:
            raise Refused('duplicate_subject', f'{subject.name} of entry {of} is erased twice')
        self.erased_names.add((of, subject.name))
        for seq, name, digest in claims:
            if (seq, name, digest) != (of, subject.name, subject.digest):
                raise Refused('erasure_unexplained', f'{name} of entry {seq} is not what entry {entry.seq} erases')
        if not claims and not self._in_range(entry.seq):
            raise Refused('entry_unrelated', 'an erasure of nothing that is here')
        self.erased += len(claims)

    def _check_missing(self, entry: Entry) -> None:
        if entry.seq in self.pending:
            raise Refused('erasure_unexplained', f'entry {entry.seq} erases nothing')
        await_erasures(self.pending, entry)

    def _follow_selection(self, entry: Entry, statement: Statement, items: list[dict[str, Any]] | None) -> None:
        kind = entry.kind
        if self.filter is not None and (kind in _MAKES or kind in STEPS) and not self.filter['from'] <= entry.seq <= self.filter['to']:
            raise Refused('entry_unrelated', f'entry {entry.seq} is not one that it selects from')
        if kind in _MAKES:
            for made in self._parents_first(items) if items is not None else [statement.predicate]:
                self._check_related(made, statement.predicate)
                self.records[made['record']] = Record(statement, entry.leaf) if kind == 'record-created' else None
            self.related += 1
        elif kind in STEPS:
            record = self.records.get(statement.predicate['record'])
            if record is None:
                raise Refused('subject_unknown', f'{statement.predicate["record"]} was not created in what is here')
            record.step(statement, entry.leaf)
            self.related += 1
        elif kind not in _ABOUT_KEYS and kind != 'payload-erased':
            raise Refused('entry_unrelated', f'{kind} is about no record of the selection')

    def _parents_first(self, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Orders items of a run so that each stands behind its parent, which may be a later one of the same batch. Strangers come last."""
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
            raise Refused('duplicate_subject', f'{name} is there')
        if self.filter is not None:
            if not _is_filtered(self.filter, made, predicate):
                raise Refused('entry_unrelated', f'{name} does not match the filter')
        elif 'record' in of:
            if name != of['record']:
                raise Refused('entry_unrelated', f'{name} is not the record {of["record"]}')
        elif name != of['run'] and made.get('parent') not in self.records:
            raise Refused('parent_absent', f'{name} has a parent that is not in the run')

    def end(self, declared: int) -> BundleReport:
        of = self.first['of']
        if self.before is not None:
            raise Refused('statement_pair', 'the last statement is not registered')
        if self.span is not None and self.last_seq < self.span[1]:
            raise Refused('bundle_incomplete', f'it ends before entry {self.span[1]}')
        if self.span is None and self.filter is None and (of.get('record') or of.get('run')) not in self.records:
            raise Refused('bundle_incomplete', 'it lacks the record that it is of')
        if declared != self.count:
            raise Refused('bundle_incomplete', f'{self.count} entries, and it says {declared}')
        if self.pending:
            raise Refused('erasure_unexplained', 'an erasure that is named is not here')
        if self.unused_policies:
            raise Refused('entry_unrelated', 'no statement here was registered by a policy that is beside the range')
        self._check_named()
        return BundleReport(self._report(), self._notices())

    def _check_named(self) -> None:
        for kid in self.keys:
            if kid not in self.named:
                raise Refused('key_not_current', f'no entry names the key {kid.hex()}')
        for kid in self.trust.kids:
            if kid not in self.named:
                raise Refused('trusted_key_absent', f'no entry names the key {kid.hex()}, which was given')

    def _report(self) -> str:
        assert self.note_key is not None
        last = self.span[1] if self.span is not None else self.last_seq
        coverage = cover(self.checkpoint, self.note_key, self.trust, last)
        self._check_compromised(coverage.covered if coverage.given else 0)
        keys_given = self.first_kid in self.trust.kids
        if self.trust.strict:
            check_strict(keys_given or self.trust.note_key is not None, coverage, self.trust)
            if self.context.withheld:
                raise Refused('documents_withheld', 'documents are withheld')
        parts = [
            f'ledger={self.ledger} of={_name(self.first["of"])} completeness={self.first["completeness"]} entries={self.related}',
            f'keys={"given" if keys_given else "self-asserted"}',
            f'note-key={"given" if self.trust.note_key is not None else "self-asserted"}',
            f'checkpoint={"given" if coverage.given else "own"} covered={coverage.covered} of {coverage.size}',
            *([f'cosigned={coverage.cosigned}'] if coverage.cosigned is not None else []),
            *([f'selected="{self.related} of {self.filter["to"] - self.filter["from"] + 1}"'] if self.filter is not None else []),
            *([f'records={len(self.records)}'] if self.span is None else []),
            *([f'agent-signed={self.agent_signed}'] if self.agent_signed else []),
            *([f'statements={self.statements}'] if self.statements else []),
            *([f'erased={self.erased}'] if self.erased else []),
            *(['documents=withheld'] if self.context.withheld else []),
        ]
        return ' '.join(parts)

    def _notices(self) -> list[str]:
        return [
            *(['it is a selection: all of it is genuine, and the ledger may hold more'] if self.span is None else []),
            *(['whether the issuers of some statements signed them was not judged'] if self.statements > self.issuers_judged else []),
            *(['it was made without documents: whether they are intact was not checked'] if self.context.withheld else []),
        ]

    def _check_compromised(self, covered: int) -> None:
        for kid, (seq, ms) in self.signed_by.items():
            since = self.trust.compromised.get(kid)
            if kid not in self.compromised and kid not in self.trust.compromised:
                continue
            if seq >= covered or (since is not None and ms >= since):
                raise Refused('key_compromised', f'the key {kid.hex()} is in wrong hands, and nothing kept covers all that it signed')


def _keys(values: list[dict[str, Any]]) -> tuple[dict[bytes, Key], set[bytes]]:
    keys: dict[bytes, Key] = {}
    compromised: set[bytes] = set()
    for value in values:
        key = parse_key(value['alg'], f.from_base64(value['spki'], 'a key'))
        if key.kid.hex() != value['kid']:
            raise Refused('kid_mismatch', f'the kid {value["kid"]} is not the thumbprint of its key')
        keys[key.kid] = key
        if value['compromisedAt'] is not None:
            compromised.add(key.kid)
    return keys, compromised


def _name(of: dict[str, Any]) -> str:
    if 'range' in of:
        return f'range:{of["range"]["from"]}-{of["range"]["to"]}'
    if 'selection' in of:
        names = ('type', 'agent', 'trace')
        start, end = of['selection']['from'], of['selection']['to']
        said = [f'{name}:{of["selection"][name]}' for name in of['selection'] if name in names]
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
    """The path of the leaf behind the tree `before`: its left hashes are that tree's peaks, smallest first; the others are given."""
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
