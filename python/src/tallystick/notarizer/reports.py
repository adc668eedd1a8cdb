"""Counts outcomes of records and calls the caller's callbacks. An error in a callback does not stop the sending."""

import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any

from ..errors import TallystickError
from .errors import NotRecordedError
from .limits import REFUSED_LINES_S
from .options import RecordedBatch
from .segments import Refused, Segment

log = logging.getLogger('tallystick')


class Reports:
    def __init__(self, options: Mapping[str, Any]) -> None:
        self._on_recorded: Callable[[RecordedBatch], object] | None = options.get('on_recorded')
        self._on_refused: Callable[[dict[str, Any], TallystickError], object] | None = options.get('on_refused')
        self._on_error: Callable[[TallystickError], object] | None = options.get('on_error')
        self._mutex = Lock()
        """Guards the counters: records are accepted in one thread and sent in others."""
        self.buffered = 0
        self.recorded_count = 0
        self.refused_count = 0
        self.failures = 0
        self.last_error: TallystickError | None = None
        self.blocks = 0
        """Counts failures that need a person. Waiters stop when it grows."""
        self.last_block: TallystickError | None = None
        self._has_complained = False
        self._unsaid = 0
        """Refused records that are not logged yet."""
        self._latest: TallystickError | None = None
        self._said_refused_at = -REFUSED_LINES_S

    def took(self, records: int) -> None:
        with self._mutex:
            self.buffered += records

    def recorded(self, segment: Segment, answer: Mapping[str, Any]) -> None:
        with self._mutex:
            self.buffered -= len(segment.items)
            self.recorded_count += len(segment.items)
        if self._on_recorded is None:
            return
        records = [
            record if item.tag is None else {**record, 'tag': item.tag}
            for item, record in zip(segment.items, answer['records'], strict=True)
        ]
        _tell(self._on_recorded, RecordedBatch(answer['batch'], answer['entry'], records))

    def refused(self, refused: Sequence[Refused], error: TallystickError) -> None:
        with self._mutex:
            self.buffered -= len(refused)
            self.refused_count += len(refused)
        if self._on_refused is None:
            self._unsaid += len(refused)
            self._latest = error
            if time.monotonic() - self._said_refused_at >= REFUSED_LINES_S:
                self._say_refused()
            return
        for item, _, _ in refused:
            record = json.loads(item.text)
            if item.tag is not None:
                record['tag'] = item.tag
            _tell(self._on_refused, record, error)

    def end(self) -> None:
        """Logs the refusals that were not logged yet. Must be the last call."""
        self._say_refused()

    def _say_refused(self) -> None:
        if self._unsaid:
            log.error('%d record(s) were refused: %s', self._unsaid, self._latest)
            self._unsaid = 0
            self._said_refused_at = time.monotonic()

    def failed(self, error: TallystickError) -> None:
        is_news = self.last_error is None or not error.retryable
        with self._mutex:
            self.failures += 1
            self.last_error = error
            if not error.retryable:
                self.blocks += 1
                self.last_block = error
        if self._on_error is not None:
            _tell(self._on_error, error)
        elif is_news:
            self._has_complained = True
            log.error('%s', error)

    def recovered(self) -> None:
        """Called when an attempt succeeds after failures."""
        self.last_error = None
        if self._has_complained:
            self._has_complained = False
            log.warning('records are sent again')

    def not_recorded(self, why: str) -> NotRecordedError:
        last = self.last_error
        error = NotRecordedError(
            f'{why}: {self.buffered} records are not recorded yet{f", because: {last}" if last else ""}', retryable=True
        )
        error.__cause__ = last
        return error


def _tell(callback: Callable[..., object], *arguments: Any) -> None:
    try:
        callback(*arguments)
    except Exception:
        log.exception('a callback of the notarizer failed')
