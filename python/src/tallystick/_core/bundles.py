"""Selects the entries of a bundle, and makes its lines (docs/formats/bundles.md).
`_async/resources/bundles.py` sends the requests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from .._canonical import stringify
from ..errors import TallystickError, UsageError
from ..types import EntryLine, EntryProof, LedgerRecord, PublishedKey, RecordHistoryEntry, SigningKey
from .answers import wrong_server
from .envelopes import read_envelope
from .limits import BUNDLE_KEYS_MAX, BUNDLE_PROOFS_PER_KEY_MAX, BUNDLE_SIGNING_KEYS_MAX, RUN_RECORDS_MAX
from .options import CallOptions

Sent: TypeAlias = dict[str, Any]
"""JSON object as the server sent it, its members in their order."""
_SEQ_MAX: Final = 2**53 - 1
_ABOUT_KEYS: Final = ('agent-key-registered', 'agent-key-revoked')


@dataclass(frozen=True, slots=True)
class BundleRequest:
    """Options of a bundle. `size`: size of the checkpoint in the bundle. `tool`: name and version of
    the program that makes the bundle.
    """

    size: int | None
    documents: bool
    tool: str | None
    options: CallOptions


class Wanted(NamedTuple):
    """An entry of a bundle. `ids`: the records of a batch that the bundle shows. None if the whole
    entry is shown.
    """

    seq: int
    ids: list[str] | None = None


class Plan:
    """Collects the entries of a record, or of a run."""

    def __init__(self) -> None:
        self.agents: set[str] = set()
        """Agents that signed one of these entries with their own key."""
        self._shown: dict[int, list[str] | None] = {}

    def take_record(self, record: LedgerRecord) -> None:
        """Adds the record's first entry, and the entry that erased its payload. Only a gated record has more entries."""
        if record.erasure is not None:
            self._shown[record.erasure.seq] = None
        if record.gated is not None:
            return
        seq = record.entry.seq
        self._shown[seq] = None if record.batch is None else [*(self._shown.get(seq) or []), record.id]
        if record.entry.signed_by == 'agent':
            self.agents.add(record.actor)

    def take_step(self, entry: RecordHistoryEntry) -> None:
        """Adds an entry of a gated record."""
        self._shown[entry.seq] = None
        if entry.document is not None and entry.document.erased_by is not None:
            self._shown[entry.document.erased_by] = None
        if entry.signed_by == 'agent':
            self.agents.add(_said(entry.envelope, 'actor'))

    @property
    def top(self) -> int:
        return max(self._shown)

    def wanted(self, foundation: Iterable[int]) -> list[Wanted]:
        return [Wanted(seq, self._shown.get(seq)) for seq in sorted({*foundation, *self._shown})]


def refuse_long_run(records: int) -> None:
    if records > RUN_RECORDS_MAX:
        raise TallystickError(f'the run has more than {RUN_RECORDS_MAX} records: use a range of entries')


@dataclass
class Needs:
    """Keys and policies that are needed to verify a range.

    `agents`: agents that signed entries of the range, or whose keys these entries register or revoke. `policies`: leaves of
    the policies under which statements were registered.
    """

    start: int
    to: int
    agents: set[str] = field(default_factory=set)
    policies: set[str] = field(default_factory=set)

    def take(self, entry: EntryLine) -> None:
        """Adds an entry. Raises UsageError if the range separates a statement from the entry that registers it."""
        if entry.seq == self.start and entry.kind == 'statement-registered':
            raise UsageError(f'entry {entry.seq} registers the statement before it: start with {entry.seq - 1}')
        if entry.seq == self.to and entry.kind == 'statement':
            raise UsageError(f'entry {entry.seq} is a statement, which the next entry registers: end with {entry.seq + 1}')
        if entry.signer is not None:
            self.agents.add(_said(entry.envelope, 'actor'))
        elif entry.kind in _ABOUT_KEYS:
            self.agents.add(_said(entry.envelope, 'agent'))
        if entry.kind == 'statement-registered':
            self.policies.add(_said(entry.envelope, 'policy'))


def refuse_range(start: int, to: int) -> None:
    if not (_is_seq(start) and _is_seq(to) and start <= to):
        raise UsageError('a range is from one seq to the same or a later one')


def _is_seq(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _SEQ_MAX


@dataclass(frozen=True, slots=True)
class Filter:
    """Filter of records. Raises UsageError if no member is given.

    `agent`: the actor of the record, the agent that it acts for, or the performer. `trace`: 32 hex digits.
    """

    type: str | None
    agent: str | None
    trace: str | None

    def __post_init__(self) -> None:
        if not self.given():
            raise UsageError('a filter needs a type, an agent or a trace; without any use the range, which is provably complete')

    def given(self) -> dict[str, str]:
        named = {'type': self.type, 'agent': self.agent, 'trace': self.trace}
        return {name: value for name, value in named.items() if value is not None}

    def matches(self, type: str | None, agents: Iterable[str | None], traceparent: str | None) -> bool:
        return (
            (self.type is None or self.type == type)
            and (self.agent is None or self.agent in agents)
            and (self.trace is None or (traceparent or '')[3:35] == self.trace)
        )


class Selection:
    """Selects the entries of a filtered bundle while the entries of its range are read, in order."""

    def __init__(self, filter: Filter, foundation: Iterable[int]) -> None:
        self._filter = filter
        self._foundation = sorted(foundation, reverse=True)
        self._gated: set[str] = set()
        """Gated records that were selected so far."""
        self._erasures: set[int] = set()

    def take(self, entry: EntryLine) -> Iterator[Wanted]:
        while self._foundation and self._foundation[-1] < entry.seq:
            yield Wanted(self._foundation.pop())
        is_selected, ids = self._selected(entry)
        is_needed = entry.seq in self._erasures or entry.seq in self._foundation[-1:]
        self._erasures.discard(entry.seq)
        if entry.seq in self._foundation[-1:]:
            self._foundation.pop()
        if is_selected:
            shown = [each for each in entry.documents if ids is None or each.subject in ids]
            self._erasures |= {each.erased_by for each in shown if each.erased_by is not None}
        if is_selected or is_needed:
            yield Wanted(entry.seq, ids)

    def rest(self) -> Iterator[Wanted]:
        """Yields the needed entries that come after the range."""
        for seq in sorted({*self._foundation, *self._erasures}):
            yield Wanted(seq)

    def _selected(self, entry: EntryLine) -> tuple[bool, list[str] | None]:
        if entry.kind == 'statement':
            return False, None
        said = read_envelope(entry.envelope).predicate
        if entry.kind == 'batch-notarized':
            ids = [
                item.record
                for item in entry.items or []
                if self._filter.matches(item.type, (said.get('actor'), item.on_behalf_of), item.traceparent)
            ]
            return bool(ids), ids or None
        if entry.kind in ('record-notarized', 'record-created'):
            agents = (said.get('actor'), said.get('onBehalfOf'), said.get('performer'))
            if not self._filter.matches(said.get('type'), agents, said.get('traceparent')):
                return False, None
            if entry.kind == 'record-created':
                self._gated.add(said['record'])
            return True, None
        return 'version' in said and said.get('record') in self._gated, None


class Keys:
    """Collects the ledger's keys from proofs. `take` raises UnexpectedAnswerError if it finds more keys than a ledger can have."""

    def __init__(self) -> None:
        self.found: dict[str, PublishedKey] = {}
        self._asked = 0

    def take(self, proof: EntryProof) -> str:
        """Returns the kid of the ledger's key at the entry of this proof."""
        if not proof.keys:
            raise wrong_server('the server answered with a proof without a key')
        key = proof.keys[0]
        self.found[key.kid] = key
        self._asked += 1
        # A hostile server could alternate between two keys. Then the search for a rotation would
        # never end.
        if len(self.found) > BUNDLE_KEYS_MAX or self._asked > BUNDLE_PROOFS_PER_KEY_MAX * len(self.found):
            raise wrong_server('the server answered with keys in an impossible order')
        return key.kid


class AgentKeys:
    """Keys of agents, and the entries that register and revoke them.

    All keys of an agent are needed: each key after the first was endorsed by an earlier one.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self.seqs: set[int] = set()
        self.signers: dict[str, dict[str, str]] = {}

    def take(self, key: SigningKey) -> None:
        if len(self.signers) >= BUNDLE_SIGNING_KEYS_MAX:
            raise wrong_server('the server answered with more keys of agents than possible')
        self.signers[key.kid] = {'alg': key.alg, 'spki': key.spki}
        self.seqs |= {seq for seq in (key.seq, key.revoked_seq) if seq is not None and seq < self._size}


@dataclass(frozen=True, slots=True)
class Tree:
    """The tree that proves all entries of the bundle.

    `foundation`: seqs of the ledger's first entry, its key rotations, the entries about agents'
    keys, and a policy.
    """

    ledger: str
    size: int
    checkpoint: str
    keys: list[PublishedKey]
    foundation: list[int]
    signers: Mapping[str, dict[str, str]]


def is_of_server(entry: EntryLine) -> bool:
    """Whether the server signed the entry. An entry's proof names the ledger's key only if the server
    signed the entry.
    """
    return entry.signer is None and entry.kind != 'statement'


def range_of(start: int, to: int, first: EntryProof, last: EntryProof) -> Sent:
    """Returns the range with the hashes of the tree to its left and right.

    The left hashes are in the path of the first entry. The right hashes are in the path of the last
    entry.
    """
    left = [node for node, at in _beside(first) if at.stop <= start]
    right = [node for node, at in _beside(last) if at.start > to]
    return {'from': start, 'to': to, 'left': left[::-1], 'right': right}


def _beside(proof: EntryProof) -> Iterable[tuple[str, range]]:
    ranges = inclusion_ranges(proof.index, proof.tree_size)
    if len(ranges) != len(proof.path):
        raise wrong_server('the server answered with a path of the wrong length')
    return zip(proof.path, ranges, strict=True)


def inclusion_ranges(index: int, size: int) -> list[range]:
    """Returns the range of leaves below each hash of a leaf's path, from the leaf up (RFC 9162 §2.1.3.1).

    `index` is below `size`.
    """
    found: list[range] = []
    start, end = 0, size
    while end - start > 1:
        middle = start + (1 << (end - start - 1).bit_length() - 1)
        if index < middle:
            found.append(range(middle, end))
            end = middle
        else:
            found.append(range(start, middle))
            start = middle
    return found[::-1]


def head_line(tree: Tree, of: Sent, completeness: str, request: BundleRequest) -> bytes:
    return text_of(
        {
            'bundle': 1,
            'ledger': tree.ledger,
            'of': of,
            'completeness': completeness,
            'documents': 'all' if request.documents else 'withheld',
            **({} if request.tool is None else {'tool': request.tool}),
            'keys': [{'kid': key.kid, 'alg': key.alg, 'spki': key.spki, 'compromisedAt': key.compromised_at} for key in tree.keys],
            'checkpoint': tree.checkpoint,
        }
    )


def shown_line(sent: Sent, request: BundleRequest) -> Sent:
    """Returns the line of an entry in the bundle. The line has no chain hash, because no signature in
    a bundle covers it.

    Raises UsageError for a document that the API key may not read.
    """
    line = {name: value for name, value in sent.items() if name != 'chain'}
    if not request.documents:
        line['documents'] = [_without_content(each) for each in line['documents']]
        return line
    for document in line['documents']:
        if document['salt'] is None and document['erasedBy'] is None:
            raise UsageError(f'the API key may not read {document["subject"]}: make the bundle without documents')
    return line


def proved_line(sent: Sent, path: list[str], request: BundleRequest) -> Sent:
    return {**shown_line(sent, request), 'path': path, 'items': None}


def part_of_batch(proofs: list[Sent], records: list[LedgerRecord], tree: Tree, request: BundleRequest) -> Sent:
    """Returns the line of a batch that shows only some of its records, each with its proof."""
    entry = proofs[0]['entry']
    signer = tree.signers.get(read_envelope(entry['envelope']).kid)
    whole = {**entry, 'documents': [_document_of(record) for record in records], 'items': None}
    line = shown_line(whole if signer is None else {**whole, 'signer': signer}, request)
    return {**line, 'path': proofs[0]['path'], 'items': [proof.get('item') for proof in proofs]}


def _without_content(document: Sent) -> Sent:
    kept = {name: document[name] for name in ('subject', 'digest')}
    return {**kept, 'salt': None, 'document': None, 'erasedBy': document['erasedBy']}


def _document_of(record: LedgerRecord) -> Sent:
    """Returns the document of one record of a batch, in the same form as in the line of a whole batch.
    """
    document: Sent = {
        'subject': record.id,
        'digest': record.digest,
        'salt': record.salt,
        'document': record.payload,
        'erasedBy': None if record.erasure is None else record.erasure.seq,
    }
    return document if record.references is None else {**document, 'references': record.references}


def last_line(entries: int) -> bytes:
    return text_of({'entries': entries})


def text_of(line: Sent) -> bytes:
    return stringify(line).encode() + b'\n'


def _said(envelope: str, name: str) -> str:
    """Returns the member `name` of the predicate as text. Raises UnexpectedAnswerError if it is
    missing or not text.
    """
    value = read_envelope(envelope).predicate.get(name)
    if not isinstance(value, str):
        raise wrong_server(f'the server answered with an envelope without {name}')
    return value
