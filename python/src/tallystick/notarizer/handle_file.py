"""Stores handles with their ids in a file, one line each, for the next process that uses the spool."""

import json
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from .errors import as_spool_error, is_full
from .files import NO_FOLLOW, replace_file, sync_data, write_all
from .handles import MemoryHandles
from .limits import HANDLE_LINES_MAX
from .reserve import Reserve
from .segments import RecordHandle

HANDLES_NAME = 'handles.ndjson'
_LINE = re.compile(rb'\["([!#-\[\]-~]{1,255})","(rec_[0-9a-z]{26})"\]\Z')
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | NO_FOLLOW


class HandleFile(MemoryHandles):
    def __init__(self, path: Path, reserve: Reserve) -> None:
        """Ignores invalid lines: a record without its parent is better than no record."""
        super().__init__()
        self._path = path
        self._reserve = reserve
        lines = _read(path).split(b'\n')
        self._suspect = lines.pop() != b''
        """True if the file may end with half a line, or may not be on the disk."""
        self._lines = len(lines)
        self.add([(match[1].decode(), match[2].decode()) for match in map(_LINE.match, lines) if match])

    def keep(self, found: Sequence[RecordHandle]) -> None:
        with self.lock:
            self.add(found)
            try:
                is_due = self._suspect or self._lines + len(found) > HANDLE_LINES_MAX
                if not is_due or not self._rewrite():
                    self._reserve.lend(lambda: self._append(found))
            except OSError as error:
                raise as_spool_error(error, self._path) from error

    def _append(self, found: Sequence[RecordHandle]) -> None:
        fd = os.open(self._path, _FLAGS, 0o600)
        try:
            size = os.fstat(fd).st_size
            try:
                write_all(fd, (b'\n' if self._suspect else b'') + _format(found))
                sync_data(fd)
            except OSError:
                self._suspect = True
                os.ftruncate(fd, size)
                raise
            self._lines += len(found)
        finally:
            os.close(fd)

    def _rewrite(self) -> bool:
        """Writes the file anew. Returns False if the disk has no room for all handles at once."""
        try:
            self._reserve.lend(lambda: replace_file(self._path, _format(self.ids.items())))
        except OSError as error:
            if is_full(error):
                return False
            raise
        self._suspect = False
        self._lines = len(self.ids)
        return True


def _read(path: Path) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | NO_FOLLOW)
    except FileNotFoundError:
        return b''
    with os.fdopen(fd, 'rb') as file:
        return file.read()


def _format(found: Iterable[RecordHandle]) -> bytes:
    return ''.join(json.dumps(each, separators=(',', ':')) + '\n' for each in found).encode()
