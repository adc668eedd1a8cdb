"""Reads the table of outcomes (test/vectors/outcomes.json). Also has an in-memory ledger that returns
the outcomes of actions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from oracle import ROOT

from tallystick.actions import Actions
from tallystick.notarizer import NotarizerStats, RecordedBatch

_CASES: list[dict[str, Any]] = json.loads((ROOT / 'test/vectors/outcomes.json').read_text())['cases']


def expected(way: str) -> dict[str, Any]:
    """Returns the table for one way to record actions: it maps each case to its expected statuses.
    """
    return {case['name']: case['expected'][way] for case in _CASES if way in case['expected']}


def require_all(way: str, tested: Iterable[str]) -> None:
    """Fails if a case of the table has no test, or a test has no case."""
    assert sorted(tested) == sorted(expected(way))


class Recorder:
    """Replaces a client and its notarizer, and stores records in memory. While `is_away`, no record reaches the ledger."""

    def __init__(self, *, is_away: bool = False) -> None:
        self.is_away = is_away
        self.records: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self._options: dict[str, Any] = {}

    def actions(self, **options: Any) -> Actions:
        return Actions(self, **options)  # type: ignore[arg-type]

    def notarizer(self, **options: Any) -> Recorder:
        self._options = options
        return self

    def record(self, payload: dict[str, Any], **options: Any) -> None:
        self.records.append((payload, options))

    def hurry(self) -> None:
        if not self.is_away:
            records = [{'id': 'rec_1', 'tag': options['tag']} for _, options in self.records if 'tag' in options]
            self._options['on_recorded'](RecordedBatch('bat_1', {}, records))  # type: ignore[arg-type]

    def flush(self, timeout: float = 0) -> None:
        """Does nothing."""

    close = flush

    @property
    def stats(self) -> NotarizerStats:
        return NotarizerStats(0, 0, 0, len(self.records), 0, 0, None)

    def ends(self, kind: str | None = None, *, name: str | None = None) -> list[str]:
        """Returns the statuses of actions, in the order in which they began. `open` means that an
        action has no outcome, and `ok,error` that it has two outcomes.
        """
        found = []
        for payload, options in self.records:
            if options['type'] != 'agent-action/1' or kind not in (None, payload['kind']) or name not in (None, payload['name']):
                continue
            ends = [end['status'] for end, about in self.records if about['type'] == 'agent-outcome/1' and _is_about(about, options)]
            found.append(','.join(ends) or 'open')
        return found

    def parents(self) -> list[str | None]:
        """Returns the name of each action's parent."""
        names = {options.get('handle'): payload['name'] for payload, options in self.records if options['type'] == 'agent-action/1'}
        return [names.get(options.get('parent_handle')) for _, options in self.records if options['type'] == 'agent-action/1']


def _is_about(outcome: dict[str, Any], action: dict[str, Any]) -> bool:
    return outcome.get('parent_handle') is not None and outcome['parent_handle'] == action.get('handle')


class ToolRun(Protocol):
    """A run of an agent with one tool, which calls the function `deed`. `of` returns the statuses of
    the run's actions of one kind.
    """

    async def __call__(self, deed: Callable[[int], Any], /, **options: Any) -> Any: ...

    def of(self, kind: str) -> list[str]: ...


def fail(n: int = 1) -> Any:
    raise LookupError('late')


async def plain(run: ToolRun, deed: Callable[[int], Any] = str, **options: Any) -> list[str]:
    await run(deed, **options)
    return run.of('deed')


async def falsy(run: ToolRun) -> list[str]:
    for value in (0, '', False):
        await run(lambda n, value=value: value)
    return sorted(set(run.of('deed')))
