"""Reads files of lines without loading a whole file: the first and last line, ranges of lines, and
single entries a second time.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from array import array
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO

from .errors import Refused
from .limits import END_LINE_BYTES_MAX, LINE_BYTES_MAX, RANGE_BYTES, SPOOL_BYTES_MAX

_TAIL_BYTES = 64 * 1024
KIND_BYTES = 64
"""Bytes at the beginning that identify the kind of a file."""


class Lines:
    """A file of lines. Stores the offset of each entry's line, in 8 bytes each."""

    def __init__(self, file: IO[bytes], size: int, line_bytes_max: int = LINE_BYTES_MAX) -> None:
        self.file = file
        self.size = size
        self.line_bytes_max = line_bytes_max
        self.offsets = array('Q')
        self.first_is_whole = False
        """True if a newline ends the first line."""
        self.body_start = 0
        self.body_end = size

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None) -> None:
        self.file.close()

    def first(self) -> bytes:
        """Returns the first line. If it is longer than END_LINE_BYTES_MAX, returns only its beginning,
        which the caller refuses.
        """
        self.file.seek(0)
        line = self.file.readline(END_LINE_BYTES_MAX + 2)
        self.body_start = len(line)
        self.first_is_whole = line.endswith(b'\n')
        return line.removesuffix(b'\n')

    def last(self) -> bytes:
        """Returns the last line, and removes it from the lines of entries. Returns empty bytes if
        there is only one line.
        """
        end = self.size
        if self.body_start == end:
            return b''
        span = _TAIL_BYTES
        while True:
            start = max(self.body_start, end - span)
            self.file.seek(start)
            tail = self.file.read(end - start)
            at = tail.removesuffix(b'\n').rfind(b'\n')
            if at >= 0 or start == self.body_start or span > self.line_bytes_max:
                break
            span *= 8
        self.body_end = start + at + 1
        return tail[at + 1 :].removesuffix(b'\n')

    def ranges(self) -> Iterator[list[bytes]]:
        """Yields the entries' lines in ranges of about RANGE_BYTES."""
        self.file.seek(self.body_start)
        at = self.body_start
        while at < self.body_end:
            lines: list[bytes] = []
            size = 0
            while size < RANGE_BYTES and at < self.body_end:
                line = self.file.readline(min(self.line_bytes_max + 1, self.body_end - at))
                if len(line) > self.line_bytes_max:
                    raise Refused('line_syntax', 'a line is too long').at(len(self.offsets))
                self.offsets.append(at)
                at += len(line)
                size += len(line)
                lines.append(line.removesuffix(b'\n'))
            here = self.file.tell()
            yield lines
            self.file.seek(here)

    def entry(self, seq: int) -> bytes:
        self.file.seek(self.offsets[seq])
        return self.file.readline(self.line_bytes_max + 1).removesuffix(b'\n')


def kind_of(start: bytes) -> str:
    """Returns the kind of a file, by its first bytes. An unknown kind counts as an export, which is then refused."""
    start = start.lstrip(b' \t\r\n')
    if start.startswith(b'\xd2'):
        return 'receipt'
    if start.startswith(b'{"bundle"'):
        return 'bundle'
    return 'proof' if start.startswith((b'{"ledger"', b'{"keys"', b'{"entry"')) else 'export'


def open_lines(path: str) -> Lines:
    """Opens a file, or standard input if `path` is `-`. Standard input is first written to a temporary
    file, because the last line is read before the entries.
    """
    if path == '-':
        file = tempfile.TemporaryFile(prefix='tallystick-')  # noqa: SIM115
        _spool(sys.stdin.buffer, file)
        return Lines(file, file.tell())
    opened = Path(path).open('rb')  # noqa: SIM115, `Lines` closes it
    return Lines(opened, os.fstat(opened.fileno()).st_size)


def _spool(source: IO[bytes], file: IO[bytes]) -> None:
    room = min(SPOOL_BYTES_MAX, shutil.disk_usage(tempfile.gettempdir()).free * 9 // 10)
    while chunk := source.read(RANGE_BYTES):
        room -= len(chunk)
        if room < 0:
            raise OSError('standard input is too long, or there is no room for it')
        file.write(chunk)
