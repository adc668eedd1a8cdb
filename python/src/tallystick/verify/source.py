"""Files of lines, read without holding them: an export's first and last line, its entries in portions, one entry again."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from array import array
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO

from .errors import Refused, Unreadable
from .limits import LINE_BYTES_MAX, LINES_KEPT_MAX, PORTION_BYTES, SPOOL_BYTES_MAX

_TAIL_BYTES = 64 * 1024


class Lines:
    """A file of lines. Its entries have the offsets of their lines kept, 8 bytes each."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self.file = file
        self.size = size
        self.offsets = array('Q')
        self._kept: OrderedDict[int, bytes] = OrderedDict()
        self.body_start = 0
        self.body_end = size

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None) -> None:
        self.file.close()

    def first(self) -> bytes:
        self.file.seek(0)
        line = self.file.readline(LINE_BYTES_MAX + 1)
        if len(line) > LINE_BYTES_MAX:
            raise Unreadable('the first line is too long')
        self.body_start = len(line)
        return line.removesuffix(b'\n')

    def last(self) -> bytes:
        """The last line, which then is no entry. Empty where there is but the first."""
        end = self.size
        if self.body_start == end:
            return b''
        span = _TAIL_BYTES
        while True:
            start = max(self.body_start, end - span)
            self.file.seek(start)
            tail = self.file.read(end - start)
            at = tail.removesuffix(b'\n').rfind(b'\n')
            if at >= 0 or start == self.body_start or span > LINE_BYTES_MAX:
                break
            span *= 8
        self.body_end = start + at + 1
        return tail[at + 1 :].removesuffix(b'\n')

    def portions(self) -> Iterator[list[bytes]]:
        """The lines of the body, some at a time."""
        self.file.seek(self.body_start)
        at = self.body_start
        while at < self.body_end:
            lines: list[bytes] = []
            size = 0
            while size < PORTION_BYTES and at < self.body_end:
                line = self.file.readline(min(LINE_BYTES_MAX + 1, self.body_end - at))
                if len(line) > LINE_BYTES_MAX:
                    raise Refused('line_syntax', 'a line is too long').at(len(self.offsets))
                self.offsets.append(at)
                at += len(line)
                size += len(line)
                lines.append(line.removesuffix(b'\n'))
            here = self.file.tell()
            yield lines
            self.file.seek(here)

    def entry(self, seq: int) -> bytes:
        if seq not in self._kept:
            self.file.seek(self.offsets[seq])
            self._kept[seq] = self.file.readline(LINE_BYTES_MAX + 1).removesuffix(b'\n')
            if len(self._kept) > LINES_KEPT_MAX:
                self._kept.popitem(last=False)
        return self._kept[seq]


def open_lines(path: str) -> Lines:
    """A file, or `-` for standard input, which is written to a temporary file: its end must be known before its entries."""
    if path == '-':
        file = tempfile.TemporaryFile(prefix='tallystick-')  # noqa: SIM115
        _spool(sys.stdin.buffer, file)
        return Lines(file, file.tell())
    opened = Path(path).open('rb')  # noqa: SIM115, `Lines` closes it
    return Lines(opened, os.fstat(opened.fileno()).st_size)


def _spool(source: IO[bytes], file: IO[bytes]) -> None:
    room = min(SPOOL_BYTES_MAX, shutil.disk_usage(tempfile.gettempdir()).free * 9 // 10)
    while chunk := source.read(PORTION_BYTES):
        room -= len(chunk)
        if room < 0:
            raise OSError('standard input is too long, or there is no room for it')
        file.write(chunk)
