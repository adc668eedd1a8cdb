"""Retention rules, legal holds, and the erasures and exports that entries record."""

from dataclasses import dataclass
from typing import Any

from .errors import Refused
from .line import Entry
from .statement import Statement


@dataclass(frozen=True, slots=True)
class Hold:
    case: str
    records: frozenset[str] | None
    """Ids of the held records. None: all records. Empty: a type or an agent selects the records, which erasures do not name."""


class Keeping:
    def __init__(self) -> None:
        self.rules: dict[int, int | None] = {}
        self.holds: dict[int, Hold] = {}
        self.of_all: set[int] = set()
        self.of_records: dict[str, set[int]] = {}
        """`of_all`: entries that hold everything. `of_records`: entries that hold a record, by its id."""
        self.erasures: set[int] = set()

    def follow(self, entry: Entry, statement: Statement) -> None:
        predicate = statement.predicate
        if entry.kind == 'retention-set':
            self.rules[entry.seq] = predicate['days']
        elif entry.kind == 'hold-set':
            self._set(entry.seq, _hold_of(predicate))
        elif entry.kind == 'hold-lifted':
            hold = self.holds.get(int(predicate['seq']))
            if hold is None or hold.case != predicate['case']:
                raise Refused(
                    'subject_unknown', f'entry {int(predicate["seq"])} did not set a hold of this case, or the hold was already lifted'
                )
            self._lift(int(predicate['seq']), hold)
        elif entry.kind == 'subject-erased':
            others = set(map(int, predicate['erased'])) - self.erasures
            if others:
                raise Refused('erasure_of_nothing', f'entry {min(others)}, named as an erasure, is not an earlier entry payload-erased')
        elif predicate['from'] > predicate['to'] or predicate['to'] >= entry.seq:
            start, end = int(predicate['from']), int(predicate['to'])
            raise Refused('subject_unknown', f'entries {start} to {end} must all be before entry {entry.seq}')

    def erase(self, entry: Entry, statement: Statement) -> None:
        predicate, name = statement.predicate, statement.subjects[0].name
        rule = predicate.get('rule')
        if (predicate['actor'] == 'system') != (rule is not None):
            raise Refused('actor_not_entitled', 'system may only erase by a retention rule, and agents only without a rule')
        if rule is not None and self.rules.get(int(rule)) is None:
            raise Refused('subject_unknown', f'entry {int(rule)} did not set a retention rule with a number of days')
        seqs = self.of_all or self.of_records.get(name.split('/')[0])
        if seqs:
            raise Refused(
                'erasure_held', f'{name} was erased despite the hold of seq {min(seqs)} for the case {self.holds[min(seqs)].case}'
            )
        self.erasures.add(entry.seq)

    def _set(self, seq: int, hold: Hold) -> None:
        self.holds[seq] = hold
        if hold.records is None:
            self.of_all.add(seq)
        for record in hold.records or ():
            self.of_records.setdefault(record, set()).add(seq)

    def _lift(self, seq: int, hold: Hold) -> None:
        del self.holds[seq]
        self.of_all.discard(seq)
        for record in hold.records or ():
            self.of_records[record].discard(seq)
            if not self.of_records[record]:
                del self.of_records[record]


def _hold_of(predicate: dict[str, Any]) -> Hold:
    narrowed = 'type' in predicate or 'agent' in predicate
    records = predicate.get('records')
    return Hold(predicate['case'], frozenset() if narrowed else None if records is None else frozenset(records))
