"""Splits streams of NDJSON into lines."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from ..types import EntryLine
from .answers import Asked, parse_model, parse_object, unexpected, wrong_server
from .limits import LINE_BYTES_MAX

_LAST_LINE: Final = b'{"checkpoint":'


class Lines:
    """Splits chunks of bytes into lines. Raises UnexpectedAnswerError for a line that is too long."""

    def __init__(self, asked: Asked, line_bytes_max: int = LINE_BYTES_MAX) -> None:
        self._asked = asked
        self._line_bytes_max = line_bytes_max
        self._begun = bytearray()

    def push(self, piece: bytes) -> list[bytes]:
        """Returns the lines that end in this chunk, without their newlines."""
        *ended, rest = piece.split(b'\n')
        if ended:
            ended[0] = bytes(self._begun) + ended[0]
            self._begun.clear()
        self._begun += rest
        if len(self._begun) > self._line_bytes_max:
            raise wrong_server(f'{self._asked.name} answered with a line of more than {self._line_bytes_max} bytes')
        return ended

    def end(self) -> None:
        """Raises UnexpectedAnswerError if the last line is incomplete."""
        if self._begun:
            raise unexpected(f'{self._asked.name} ended in the middle of a line', self._asked)


class SentEntry(NamedTuple):
    """An entry with the JSON object that the server sent for it. The members of the object are in the
    order of the server.
    """

    line: EntryLine
    sent: dict[str, Any]


def parse_entry(line: bytes, seq: int, asked: Asked) -> SentEntry:
    """Returns the entry of a line. Raises UnexpectedAnswerError unless its seq is `seq`."""
    sent = parse_object(line, asked)
    entry = SentEntry(parse_model(EntryLine, sent, asked), sent)
    if entry.line.seq != seq:
        raise wrong_server(f'{asked.name} answered with something else than entry {seq}')
    return entry


class WholeExport:
    """Checks that an export is complete: its last line must be the end line (docs/formats/export.md).
    """

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._last = b''
        self._begun = b''

    def push(self, piece: bytes) -> None:
        """Stores the first bytes of the last complete line, and the first bytes of the incomplete line
        after it.
        """
        end = piece.rfind(b'\n')
        if end >= 0:
            start = piece.rfind(b'\n', 0, end) + 1
            self._last = ((self._begun if start == 0 else b'') + piece[start:end])[: len(_LAST_LINE)]
            self._begun = b''
        if len(self._begun) < len(_LAST_LINE):
            self._begun = (self._begun + piece[end + 1 :])[: len(_LAST_LINE)]

    def end(self) -> None:
        if self._begun or self._last != _LAST_LINE:
            raise unexpected(f"{self._asked.name} ended before the export's last line", self._asked)
