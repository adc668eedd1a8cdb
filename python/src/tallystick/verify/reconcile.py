"""Compares two ledgers that share records (docs/formats/federation.md, "Reconciliation")."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from .errors import Refused
from .export import Report, Trust, verify_export
from .line import Entry
from .peerings import REVOKED, Peering
from .record import STEPS
from .source import Lines

_OF_PEERING = frozenset(('peer-added', 'peer-suspended', 'peer-resumed', 'peer-revoked'))


class Differs(Exception):
    """The first difference between two ledgers. `ledger` and `seq` name the entry."""

    def __init__(self, ledger: str | None, seq: int | None, code: str, reason: str) -> None:
        super().__init__(code, reason)
        self.ledger = ledger
        self.seq = seq
        self.code = code
        self.reason = reason


@dataclass
class Sent:
    """An entry that a ledger shares through a peering."""

    seq: int
    leaf: str
    kind: str
    record: str | None
    offer: bool


@dataclass
class Taken:
    """A received entry, and the seq of the local entry that records it."""

    by: int
    seq: int
    leaf: str
    kind: str


@dataclass
class Side:
    """One ledger of a peering: the messages that it sent and received."""

    ledger: str
    peering: Peering
    added: int
    counterpart: str | None
    sent: list[Sent] = field(default_factory=list)
    taken: list[Taken] = field(default_factory=list)
    ended: bool = False


@dataclass
class History:
    """A verified ledger, with the messages that it sent to other ledgers and received from them."""

    name: str
    report: Report
    sides: dict[str, Side]
    homes: dict[str, str]


class Collector:
    """Collects the shared entries of a ledger."""

    def __init__(self) -> None:
        self.sides: dict[str, Side] = {}
        self.shared: dict[str, set[str]] = {}
        self.events: dict[str, list[Entry]] = {}
        self.homes: dict[str, str] = {}
        self.records_of: dict[int, str] = {}
        self.offers_for: dict[int, str] = {}

    def see(self, entry: Entry, peerings: dict[str, Peering]) -> None:
        statement = entry.statement
        if statement is None:
            return
        predicate, kind = statement.predicate, entry.kind
        if kind == 'peer-added':
            name = statement.subjects[0].name
            self.sides[name] = Side(statement.ledger, peerings[name], entry.seq, predicate.get('counterpart'))
        self._see_received(entry, predicate)
        if kind == 'record-created' or kind in STEPS:
            self._see_event(entry, predicate)
        elif kind == 'record-shared':
            for share in predicate['share']:
                # The entry that shares the record is sent first. So the other side can see why the
                # record's entries follow.
                self._send(share['peer'], entry, predicate['record'])
                self._share(predicate['record'], share['peer'])
        elif kind == 'payload-erased':
            record = self.records_of.get(int(predicate['seq']))
            for peer in sorted(self.shared.get(record or '', ())):
                self._send(peer, entry, record)
        elif kind in ('step-offered', 'offer-refused'):
            self._send(predicate['peer'], entry, predicate['record'], offer=kind == 'step-offered')
        elif kind == 'server-key-rotated':
            for name in self.sides:
                self._send(name, entry, None)
        elif kind in _OF_PEERING:
            self._see_peering(entry, statement.subjects[0].name)

    def _see_event(self, entry: Entry, predicate: dict[str, Any]) -> None:
        record = predicate['record']
        if entry.kind == 'record-created':
            self.homes[record] = predicate['ledger']
            for share in predicate.get('share', []):
                self._share(record, share['peer'])
        self.records_of[entry.seq] = record
        self.events.setdefault(record, []).append(entry)
        for peer in sorted(self.shared.get(record, ())):
            self._send(peer, entry, record)

    def _share(self, record: str, peer: str) -> None:
        """Shares a record: all entries of the record, from the first on, count as sent to the peer.
        """
        self.shared.setdefault(record, set()).add(peer)
        for entry in self.events.get(record, []):
            self._send(peer, entry, record)

    def _see_peering(self, entry: Entry, name: str) -> None:
        side = self.sides[name]
        if entry.kind == 'peer-revoked' or (entry.kind == 'peer-added' and side.counterpart is not None):
            self._send(name, entry, None)
        if entry.kind == 'peer-revoked':
            side.ended = True

    def _send(self, peer: str, entry: Entry, record: str | None, offer: bool = False) -> None:
        side = self.sides.get(peer)
        if side is not None and not side.ended:
            side.sent.append(Sent(entry.seq, entry.leaf.hex(), entry.kind, record, offer))

    def _see_received(self, entry: Entry, predicate: dict[str, Any]) -> None:
        if entry.received is None or entry.statement is None:
            return
        claim = predicate.get('received') or predicate['offer']
        peer = predicate.get('peer') or (predicate.get('offer') or {}).get('peer') or entry.statement.subjects[0].name
        side = self.sides.get(peer)
        if side is None:
            return
        kind = entry.received.statement.kind
        side.taken.append(Taken(entry.seq, int(claim['seq']), claim['leaf'], kind))
        if kind == 'record-created':
            self.homes[entry.received.statement.predicate['record']] = claim['ledger']
        if kind == 'peer-revoked':
            side.ended = True


def read_history(name: str, lines: Lines, trust: Trust) -> History:
    collector = Collector()
    try:
        report = verify_export(lines, replace(trust, observe=collector.see))
    except Refused as refused:
        raise Differs(None, refused.seq, refused.code, f'{name}: {refused.reason}') from None
    return History(name, report, collector.sides, collector.homes)


@dataclass
class Counts:
    records: set[str] = field(default_factory=set)
    entries: int = 0
    offers: int = 0
    in_flight: int = 0
    dropped: int = 0
    beyond: int = 0


def reconcile(one: History, other: History) -> Counts:
    counts = Counts()
    common = _common(one, other)
    for mine, theirs in common:
        _check_handshake(mine, theirs)
    for mine, theirs in common:
        for receiver, sender, history in ((mine, theirs, other), (theirs, mine, one)):
            _check_taken(receiver, sender, history.report.entries, counts)
    for mine, theirs in common:
        for sender, receiver in ((mine, theirs), (theirs, mine)):
            _check_arrived(sender, receiver, counts)
    _check_homes(one, other)
    return counts


def weaker_keys(one: History, other: History) -> str:
    return 'given' if one.report.keys == other.report.keys == 'given' else 'self-asserted'


def _common(one: History, other: History) -> list[tuple[Side, Side]]:
    found = []
    for history, others in ((one, other), (other, one)):
        for name, side in history.sides.items():
            if side.peering.other == others.report.ledger and name not in others.sides and side.taken:
                raise Differs(side.ledger, side.added, 'peering_missing', f'{others.report.ledger} does not know {name}')
    for name, side in one.sides.items():
        if side.peering.other == other.report.ledger and name in other.sides:
            found.append((side, other.sides[name]))
    if not found:
        raise Differs(None, None, 'peering_missing', 'the two have no peering in common')
    return found


def _check_handshake(one: Side, other: Side) -> None:
    inviter, invited = (other, one) if one.counterpart is not None else (one, other)
    if one.peering.digest != other.peering.digest or inviter.counterpart is not None or invited.counterpart != inviter.peering.leaf:
        raise Differs(one.ledger, one.added, 'handshake_mismatch', 'the halves of the handshake do not name each other')


def _check_taken(receiver: Side, sender: Side, size: int, counts: Counts) -> None:
    sent = {one.seq: one for one in sender.sent}
    for taken in receiver.taken:
        if taken.seq >= size:
            counts.beyond += 1
            continue
        entry = sent.get(taken.seq)
        if entry is None:
            reason = f'received as entry {taken.seq} of {sender.ledger}, which is none that is shared'
            raise Differs(receiver.ledger, taken.by, 'not_sent', reason)
        if entry.leaf != taken.leaf:
            raise Differs(receiver.ledger, taken.by, 'leaf_mismatch', f'entry {taken.seq} of {sender.ledger} is another one')
        counts.entries += 1
        counts.offers += entry.offer


def _check_arrived(sender: Side, receiver: Side, counts: Counts) -> None:
    """Checks that each stream is received without a gap. Messages after the last received one are in flight."""
    taken = {one.seq for one in receiver.taken}
    over = REVOKED in (sender.peering.state, receiver.peering.state)
    for stream in _streams(sender.sent):
        if stream[0].record is not None:
            counts.records.add(stream[0].record)
        last = max((place for place, one in enumerate(stream) if one.seq in taken), default=-1)
        for place, one in enumerate(stream):
            if one.seq in taken:
                continue
            if place < last:
                code = 'offer_open' if one.offer else 'not_received'
                raise Differs(sender.ledger, one.seq, code, f'{receiver.ledger} has received what comes behind it, and not this')
            if over:
                counts.dropped += 1
            else:
                counts.in_flight += 1


def _streams(sent: list[Sent]) -> Iterator[list[Sent]]:
    """Splits messages into streams, each in the order of sending. There is one stream for each record,
    for the offers of each record, for rotations, and for the peering.
    """
    streams: dict[tuple[str | None, str], list[Sent]] = {}
    for one in sent:
        kind = 'offers' if one.offer else 'rotations' if one.kind == 'server-key-rotated' else ''
        streams.setdefault((one.record, kind), []).append(one)
    yield from streams.values()


def _check_homes(one: History, other: History) -> None:
    for record, home in one.homes.items():
        if other.homes.get(record, home) != home:
            raise Differs(one.report.ledger, None, 'state_mismatch', f'{record} has two homes')
