"""Parses server-sent events."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Final

_ENDS: Final = re.compile('\r\n|\r|\n')
_DIGITS: Final = re.compile('[0-9]{1,15}')


@dataclass(frozen=True, slots=True)
class SseEvent:
    type: str
    """`message` if the stream names no type."""
    data: str
    last_event_id: str
    """The newest `id`, which an earlier event may have set. Empty: the stream has sent no `id` yet."""


class SseTooLongError(Exception):
    """A line, or the data of an event, is longer than `chars_max`."""


class SseParser:
    """Parses `text/event-stream` (WHATWG HTML §9.2.6), in chunks of any size.

    An incomplete event is not dispatched. `push` raises SseTooLongError if a line, or the data of an event, has more than
    `chars_max` characters.
    """

    def __init__(self, chars_max: int) -> None:
        self._chars_max = chars_max
        self._decoder = codecs.getincrementaldecoder('utf-8-sig')('replace')
        self._begun: list[str] = []
        self._begun_chars = 0
        self._after_cr = False
        """True if the last character was a CR. A LF that follows belongs to it."""
        self._type = ''
        self._data: list[str] = []
        self._data_chars = 0
        self._id = ''
        self.last_event_id = ''
        """The newest `id`. Includes events without data, which are not dispatched."""
        self.retry_ms: int | None = None
        """Wait before reconnecting that the stream asks for."""

    def push(self, piece: bytes) -> list[SseEvent]:
        """Returns the events that end in this chunk."""
        events: list[SseEvent] = []
        text = self._decoder.decode(piece)
        if not text:
            return events
        if self._after_cr and text[0] == '\n':
            text = text[1:]
        self._after_cr = text.endswith('\r')
        start = 0
        for match in _ENDS.finditer(text):
            self._begin(text[start : match.start()])
            line = ''.join(self._begun)
            self._begun.clear()
            self._begun_chars = 0
            self._take(line, events)
            start = match.end()
        if start < len(text):
            self._begin(text[start:])
        return events

    def _begin(self, text: str) -> None:
        self._begun_chars += len(text)
        if self._begun_chars > self._chars_max:
            raise SseTooLongError
        self._begun.append(text)

    def _take(self, line: str, events: list[SseEvent]) -> None:
        if line == '':
            self._dispatch(events)
        name, _, rest = line.partition(':')
        value = rest.removeprefix(' ')
        if name == 'data':
            self._add_data(value)
        elif name == 'event':
            self._type = value
        elif name == 'id' and '\0' not in value:
            self._id = value
        elif name == 'retry' and _DIGITS.fullmatch(value):
            self.retry_ms = int(value)

    def _add_data(self, value: str) -> None:
        self._data_chars += len(value) + 1
        if self._data_chars > self._chars_max:
            raise SseTooLongError
        self._data.append(value)

    def _dispatch(self, events: list[SseEvent]) -> None:
        self.last_event_id = self._id
        if self._data:
            events.append(SseEvent(self._type or 'message', '\n'.join(self._data), self._id))
        self._type = ''
        self._data.clear()
        self._data_chars = 0
