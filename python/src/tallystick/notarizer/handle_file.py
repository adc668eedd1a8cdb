"""Handles with their ids in a file, a line each, for the next process on the spool."""

import json
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from .errors import as_spool_error
from .files import NO_FOLLOW, replace_file, sync_data, write_all
from .handles import MemoryHandles
from .limits import HANDLE_LINES_MAX
from .segments import RecordHandle

HANDLES_NAME = 'handles.ndjson'
_LINE = re.compile(rb'\["([!#-\[\]-~]{1,255})","(rec_[0-9a-z]{26})"\]\Z')
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | NO_FOLLOW


class HandleFile(MemoryHandles):
    def __init__(self, path: Path) -> None:
        """Lines that nobody understands are passed over: a record without its parent is better than none."""
        super().__init__()
        self._path = path
        lines = _read(path).split(b'\n')
        self._suspect = lines.pop() != b''
        """A failed write may have left half a line."""
        self._lines = len(lines)
        self.add([(match[1].decode(), match[2].decode()) for match in map(_LINE.match, lines) if match])

    def keep(self, found: Sequence[RecordHandle]) -> None:
        with self.lock:
            self.add(found)
            try:
                if self._suspect or self._lines + len(found) > HANDLE_LINES_MAX:
                    self._rewrite()
                else:
                    self._append(found)
            except OSError as error:
                raise as_spool_error(error, self._path) from error

    def _append(self, found: Sequence[RecordHandle]) -> None:
        fd = os.open(self._path, _FLAGS, 0o600)
        try:
            self._suspect = True
            write_all(fd, _format(found))
            sync_data(fd)
            self._suspect = False
            self._lines += len(found)
        finally:
            os.close(fd)

    def _rewrite(self) -> None:
        replace_file(self._path, _format(self.ids.items()))
        self._suspect = False
        self._lines = len(self.ids)


def _read(path: Path) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | NO_FOLLOW)
    except FileNotFoundError:
        return b''
    with os.fdopen(fd, 'rb') as file:
        return file.read()


def _format(found: Iterable[RecordHandle]) -> bytes:
    return ''.join(json.dumps(each, separators=(',', ':')) + '\n' for each in found).encode()
