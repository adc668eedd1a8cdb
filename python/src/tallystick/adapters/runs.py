"""Runs of a framework that are under way."""

from threading import Lock
from typing import Generic, TypeVar

RUNS_MAX = 10_000
"""Runs that never end must not fill the memory: the oldest are forgotten first."""

Run = TypeVar('Run')


class Runs(Generic[Run]):
    """By their ids."""

    def __init__(self) -> None:
        self._runs: dict[str, Run] = {}
        self._mutex = Lock()

    def find(self, key: object) -> Run | None:
        return None if key is None else self._runs.get(str(key))

    def add(self, key: object, run: Run) -> None:
        with self._mutex:
            self._runs[str(key)] = run
            while len(self._runs) > RUNS_MAX:
                del self._runs[next(iter(self._runs))]

    def take(self, key: object) -> Run | None:
        with self._mutex:
            return None if key is None else self._runs.pop(str(key), None)
