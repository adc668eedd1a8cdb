"""A batch stored in a file."""

import os
from collections.abc import Sequence
from errno import ENOSPC
from pathlib import Path
from threading import Lock
from typing import Protocol

from .errors import as_spool_error, is_full
from .files import replace_file, sync_data
from .items import Item
from .lines import format_item, format_key, format_segments, parse_segments
from .reserve import Reserve, reserve_for
from .segments import Segment

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, 'O_BINARY', 0)


class SpoolDirectory(Protocol):
    """Methods of the spool that a batch needs."""

    @property
    def reserve(self) -> Reserve: ...

    def use(self, count: int) -> None:
        """Adds `count` to the used bytes. `count` is negative if bytes were removed."""

    def require_held(self) -> None:
        """Raises SpoolError if another process has taken the spool."""

    def sync(self) -> None:
        """Makes the names of files in the directory durable."""

    def make_durable(self, batch: 'BatchFile') -> None:
        """Queues the batch to be made durable, without waiting."""


class BatchFile:
    """A batch in a file. Each accepted record is written at once to the page cache, where it survives
    the end of the process.

    The file and its name are on the disk before the first byte is sent. So a request that was sent
    before a power cut is sent again unchanged after it.
    """

    def __init__(self, directory: SpoolDirectory, path: Path, bytes_used: int, records: int) -> None:
        self._directory = directory
        self._path = path
        self._bytes = bytes_used
        self._records = records
        self._fd: int | None = None
        """Open while records are appended."""
        self._suspect = False
        """True after a failed write or fsync. A later fsync does not prove that the data is on disk."""
        self._is_durable = False
        self._mutex = Lock()
        """Guards `_suspect` and `_is_durable`: the spool's thread makes a batch durable, and the sending thread waits for it."""

    @classmethod
    def begin(cls, directory: SpoolDirectory, path: Path, idempotency_key: str, item: Item) -> 'BatchFile':
        """Creates a batch with its first item. Raises SpoolError, and then leaves no file."""
        directory.require_held()
        batch = cls(directory, path, 0, 0)
        data = format_key(idempotency_key) + format_item(item)
        try:
            batch._reserve_for(data)
            batch._fd = os.open(path, _FLAGS, 0o600)
            batch._write(data)
        except OSError as error:
            if batch._fd is not None:
                os.close(batch._fd)
                path.unlink()
            raise as_spool_error(error, path) from error
        return batch

    @classmethod
    def left_behind(cls, directory: SpoolDirectory, path: Path, bytes_used: int, records: int) -> 'BatchFile':
        """Returns a batch that an earlier process left."""
        directory.use(bytes_used)
        directory.reserve.restore(reserve_for(bytes_used, records))
        return cls(directory, path, bytes_used, records)

    @property
    def records(self) -> int:
        return self._records

    def append(self, item: Item) -> None:
        self._directory.require_held()
        data = format_item(item)
        try:
            self._reserve_for(data)
            self._append(data)
        except OSError as error:
            raise as_spool_error(error, self._path) from error

    def _append(self, data: bytes) -> None:
        try:
            self._write(data)
        except OSError as error:
            self._suspect = True
            if is_full(error):
                assert self._fd is not None
                # Truncating needs no disk space, and removes the incomplete line.
                os.ftruncate(self._fd, self._bytes)
                self._suspect = False
            raise

    def _reserve_for(self, data: bytes) -> None:
        """Reserves the room that is needed to remove a record later. Raises OSError if the disk does not have it."""
        self._directory.reserve.ensure(reserve_for(self._bytes + len(data), self._records + 1))

    def _write(self, data: bytes) -> None:
        assert self._fd is not None
        written = os.write(self._fd, data)
        if written < len(data):
            raise OSError(ENOSPC, f'only {written} of {len(data)} bytes were written')
        self._bytes += len(data)
        self._directory.use(len(data))
        self._records += 1

    def seal(self) -> None:
        self._directory.make_durable(self)

    def read(self) -> Sequence[Segment]:
        self._directory.require_held()
        try:
            self.sync()
            return self._parse()
        except OSError as error:
            raise as_spool_error(error, self._path) from error

    def sync(self) -> None:
        """Makes the file and its name durable. Raises OSError; a later call tries again."""
        with self._mutex:
            if self._is_durable:
                return
            fd, self._fd = self._fd, None
            if fd is None:
                fd = os.open(self._path, os.O_RDWR)
            try:
                sync_data(fd)
            except OSError:
                self._suspect = True
            finally:
                os.close(fd)
            if self._suspect:
                self._rewrite(self._parse())
            self._directory.sync()
            self._is_durable = True

    def _parse(self) -> list[Segment]:
        """Parses the file, except bytes at the end that a failed write may have left."""
        return parse_segments(self._path, self._path.read_bytes()[: self._bytes], every_line=False)

    def replace(self, segments: Sequence[Segment]) -> None:
        self._directory.require_held()
        try:
            self._rewrite(segments)
            self._directory.sync()
        except OSError as error:
            raise as_spool_error(error, self._path) from error

    def _rewrite(self, segments: Sequence[Segment]) -> None:
        data = format_segments(segments)
        self._directory.reserve.lend(lambda: replace_file(self._path, data))
        self._suspect = False
        self._directory.use(len(data) - self._bytes)
        self._bytes = len(data)
        self._records = sum(len(items) for _, items in segments)

    def remove(self) -> None:
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            raise as_spool_error(error, self._path) from error
        self._directory.use(-self._bytes)
        self._bytes = self._records = 0
        self._directory.reserve.restore()
