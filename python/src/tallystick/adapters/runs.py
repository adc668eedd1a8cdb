"""Runs of a framework that have not ended."""

from contextlib import suppress
from typing import Generic, TypeVar

RUNS_MAX = 10_000
"""Most runs, because some may never end. Beyond it the oldest are removed, and their actions end as `unknown`."""

Run = TypeVar('Run')


class Runs(Generic[Run]):
    """Open runs by their id. It needs no lock, because each change of a dict is atomic. A lock would
    be dangerous, because another thread could have it during a fork.
    """

    def __init__(self) -> None:
        self._runs: dict[str, Run] = {}

    def find(self, key: object) -> Run | None:
        return None if key is None else self._runs.get(str(key))

    def add(self, key: object, run: Run) -> None:
        self._runs[str(key)] = run
        while len(self._runs) > RUNS_MAX:
            # Another thread may have changed the dict.
            with suppress(RuntimeError, StopIteration):
                self._runs.pop(next(iter(self._runs)), None)

    def take(self, key: object) -> Run | None:
        return None if key is None else self._runs.pop(str(key), None)

    def items(self) -> list[tuple[str, Run]]:
        return list(self._runs.copy().items())
