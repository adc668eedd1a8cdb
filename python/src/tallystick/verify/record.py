"""Steps of a gated record: their order, parties and times (docs/formats/statements.md). Home and guest have the same rules."""

from typing import Any

from .errors import Refused
from .formats import time_of
from .limits import CLOCK_SKEW_MS_MAX
from .statement import Statement

TRANSITIONS: dict[tuple[str, str, str], str] = {
    ('CREATED', 'record-activated', ''): 'ACTIVE',
    ('ACTIVE', 'completion-submitted', ''): 'SUBMITTED',
    ('SUBMITTED', 'completion-verified', 'pass'): 'VERIFIED',
    ('SUBMITTED', 'completion-verified', 'fail'): 'DISCREPANT',
    ('VERIFIED', 'verdict-rendered', 'accept'): 'ACCEPTED',
    ('DISCREPANT', 'verdict-rendered', 'accept'): 'ACCEPTED',
    ('VERIFIED', 'verdict-rendered', 'reject'): 'REJECTED',
    ('DISCREPANT', 'verdict-rendered', 'reject'): 'REJECTED',
    ('VERIFIED', 'revision-requested', ''): 'ACTIVE',
    ('DISCREPANT', 'revision-requested', ''): 'ACTIVE',
    ('CREATED', 'record-cancelled', ''): 'CANCELLED',
    ('ACTIVE', 'record-cancelled', ''): 'CANCELLED',
    ('CREATED', 'record-expired', ''): 'EXPIRED',
    ('ACTIVE', 'record-expired', ''): 'EXPIRED',
    ('REJECTED', 'verdict-overturned', ''): 'ACCEPTED',
}
SYSTEM = 'system'
STEPS = frozenset(kind for _, kind, _ in TRANSITIONS)

_ENDED = frozenset(('ACCEPTED', 'CANCELLED', 'EXPIRED'))
"""States after which no step is allowed."""


class Record:
    """State of a gated record after its last entry."""

    __slots__ = (
        'completion',
        'deadline',
        'gate',
        'leaf',
        'outcome',
        'payload',
        'performer',
        'principal',
        'revisions_left',
        'state',
        'type',
        'verdict',
        'version',
    )

    def __init__(self, statement: Statement, leaf: bytes) -> None:
        predicate = statement.predicate
        self.leaf = leaf.hex()
        self.version = 1
        self.state = 'CREATED'
        self.payload = statement.digest
        self.type: str = predicate['type']
        self.principal = statement.party
        self.performer: str | None = predicate.get('performer')
        self.gate: str = predicate['gate']
        self.revisions_left: int = predicate['maxRevisions']
        self.deadline: int | None = time_of(predicate['deadline']) if 'deadline' in predicate else None
        self.completion: tuple[str, str] | None = None
        self.outcome: str | None = None
        self.verdict: str | None = None
        if self.principal == SYSTEM:
            raise Refused('actor_not_entitled', 'the principal is not an agent')
        if self.principal == self.performer:
            raise Refused('actor_not_entitled', 'performer and principal are the same agent')

    def step(self, statement: Statement, leaf: bytes) -> None:
        """Applies the next step. Raises Refused."""
        predicate = statement.predicate
        if self.state in _ENDED:
            raise Refused(
                'transition_refused', f'{predicate["record"]} is in the terminal state {self.state}, so no further step is possible'
            )
        if predicate['previous'] != self.leaf:
            raise Refused('previous_mismatch', f'previous is not the leaf of the record’s last entry, {self.leaf}')
        if predicate['version'] != self.version + 1:
            raise Refused(
                'version_mismatch', f'the version after {self.version} must be {self.version + 1}, not {int(predicate["version"])}'
            )
        if predicate['from'] != self.state:
            found = f'{statement.kind} names the state {predicate["from"]}, but the record is {self.state}'
            raise Refused('transition_refused', found)
        self._check_subjects(statement)
        self._check_transition(statement)
        self._check_deadline(statement)
        self._check_party(statement)
        self._check_terms(statement)
        self._apply(statement, leaf)

    def _check_transition(self, statement: Statement) -> None:
        predicate = statement.predicate
        result = predicate.get('outcome') or predicate.get('verdict') or ''
        wanted = TRANSITIONS.get((self.state, statement.kind, result))
        if wanted is None or predicate['to'] != wanted:
            raise Refused('transition_refused', f'{statement.kind} cannot change the state from {self.state} to {predicate["to"]}')

    def _check_subjects(self, statement: Statement) -> None:
        if statement.digest != self.payload:
            raise Refused('subject_unknown', f'{statement.subjects[0].name} was created with another payload than this step names')
        if statement.kind == 'completion-submitted':
            return
        newest = self.completion or ('', '')
        if statement.predicate.get('completion', newest[0]) != newest[0]:
            raise Refused('subject_unknown', f'{statement.predicate["completion"]} is not the newest completion of the record')
        about, *others = statement.subjects
        if others and others[0].name != f'{about.name}/reason' and tuple(others[0]) != newest:
            found = f'{others[0].name} is not the newest completion of the record, or was submitted with other evidence'
            raise Refused('subject_unknown', found)

    def _check_party(self, statement: Statement) -> None:
        if not self._is_entitled(statement):
            parties = f'the principal is {self.principal}, the performer {self.performer or "not known yet"}, the gate {self.gate}'
            raise Refused('actor_not_entitled', f'{statement.party} cannot make {statement.kind}: {parties}')

    def _is_entitled(self, statement: Statement) -> bool:
        predicate, kind, party = statement.predicate, statement.kind, statement.party
        if kind == 'record-activated':
            return party == self.performer if self.performer is not None else party not in (self.principal, SYSTEM)
        if kind == 'completion-submitted':
            return party == self.performer
        if kind in ('completion-verified', 'record-expired'):
            return party == SYSTEM
        if kind in ('revision-requested', 'record-cancelled'):
            return party == self.principal
        if predicate['actor'] == self.performer:
            return False
        if kind == 'verdict-overturned':
            return party not in (self.performer, SYSTEM)
        if predicate['by'] != self.gate:
            return False
        if self.gate == 'auto':
            return party == SYSTEM and predicate['verdict'] == ('accept' if self.outcome == 'pass' else 'reject')
        return party == self.principal

    def _check_deadline(self, statement: Statement) -> None:
        is_timed = statement.kind in ('record-activated', 'completion-submitted') and self.deadline is not None
        if is_timed and statement.ms > (self.deadline or 0) + CLOCK_SKEW_MS_MAX:
            raise Refused('time_out_of_order', f'{statement.kind} was recorded after the deadline')

    def _check_terms(self, statement: Statement) -> None:
        """Checks the terms for a step that the party is allowed to take."""
        kind = statement.kind
        if kind == 'record-expired' and (self.deadline is None or statement.ms < self.deadline - CLOCK_SKEW_MS_MAX):
            raise Refused('time_out_of_order', 'the record expired before its deadline, or has no deadline')
        if kind == 'revision-requested' and (self.gate == 'auto' or self.revisions_left < 1):
            raise Refused(
                'transition_refused', f'no revision can be requested: the gate is {self.gate}, and {self.revisions_left} revisions are left'
            )
        if kind == 'verdict-overturned' and statement.predicate['supersedes'] != self.verdict:
            raise Refused('previous_mismatch', f'supersedes is not the leaf of the verdict, {self.verdict}')

    def _apply(self, statement: Statement, leaf: bytes) -> None:
        predicate: dict[str, Any] = statement.predicate
        kind = statement.kind
        self.leaf = leaf.hex()
        self.version += 1
        self.state = predicate['to']
        if kind == 'record-activated':
            self.performer = statement.party
        elif kind == 'completion-submitted':
            self.completion = (predicate['completion'], statement.subjects[1].digest)
        elif kind == 'completion-verified':
            self.outcome = predicate['outcome']
        elif kind == 'verdict-rendered':
            self.verdict = self.leaf
        elif kind == 'revision-requested':
            self.revisions_left -= 1
