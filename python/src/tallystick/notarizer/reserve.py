"""Disk space that a spool reserves. Records never use this space."""

import os
from collections.abc import Callable
from contextlib import suppress
from errno import ENOSPC
from pathlib import Path
from threading import RLock
from typing import TypeVar

from .errors import SpoolError, is_full
from .files import NO_FOLLOW, is_own_file
from .limits import RESERVE_BASE_BYTES, RESERVE_FILES, RESERVE_RECORD_BYTES, RESERVE_STEP_BYTES

T = TypeVar('T')
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | NO_FOLLOW | getattr(os, 'O_BINARY', 0)


def reserve_for(size: int, records: int) -> int:
    """Returns the size of the reserve that is needed to replace a batch and to set some of its records
    aside.
    """
    return RESERVE_BASE_BYTES + size + records * RESERVE_RECORD_BYTES


class Reserve:
    """Reserved disk space. If the disk is full, the reserve is freed for writes that remove records
    from the spool. Afterwards the space is reserved again.
    """

    def __init__(self, directory: Path) -> None:
        self._paths = [directory / f'reserve.{number}' for number in range(RESERVE_FILES)]
        self._bytes = 0
        """Present size in bytes."""
        self._wanted = RESERVE_STEP_BYTES
        """Required size in bytes."""
        self._mutex = RLock()

    def ensure(self, size: int) -> None:
        """Grows the reserve. Raises OSError if the disk has no room; the reserve then keeps its size."""
        if size <= self._bytes:
            return
        with self._mutex:
            wanted = -(-size // RESERVE_STEP_BYTES) * RESERVE_STEP_BYTES
            try:
                for path in self._paths:
                    _grow(path, wanted // RESERVE_FILES)
            except BaseException:
                self._shrink()
                raise
            self._bytes = wanted
            self._wanted = max(self._wanted, wanted)

    def restore(self, size: int = 0) -> bool:
        """Grows the reserve as far as the disk has room. Returns whether the reserve has `size` bytes.
        """
        with self._mutex:
            wanted = self._wanted = max(self._wanted, size)
            while wanted >= RESERVE_STEP_BYTES:
                # The disk is full or fails. The next write reports the error.
                with suppress(OSError, SpoolError):
                    self.ensure(wanted)
                    return wanted >= size
                wanted //= 2
            return False

    def lend(self, work: Callable[[], T]) -> T:
        """Runs `work`, which must be repeatable. If the disk is full, frees the reserve and runs `work` again."""
        try:
            return work()
        except OSError as error:
            if not is_full(error):
                raise
        with self._mutex:
            self.give_up()
            try:
                return work()
            finally:
                self.restore()

    def give_up(self) -> None:
        """Deletes the files of the reserve."""
        with self._mutex:
            self._bytes = 0
            for path in self._paths:
                path.unlink(missing_ok=True)

    def _shrink(self) -> None:
        if self._bytes == 0:
            self.give_up()
            return
        for path in self._paths:
            with _Open(path) as (fd, size):
                if size > self._bytes // RESERVE_FILES:
                    os.ftruncate(fd, self._bytes // RESERVE_FILES)


def _grow(path: Path, to: int) -> None:
    with _Open(path) as (fd, size):
        # The bytes are random, because a file system that compresses would reserve no room for
        # zeros.
        missing = os.urandom(max(0, to - size))
        if missing and os.write(fd, missing) < len(missing):
            raise OSError(ENOSPC, os.strerror(ENOSPC))


class _Open:
    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> tuple[int, int]:
        self._fd = os.open(self._path, _FLAGS, 0o600)
        found = os.fstat(self._fd)
        if not is_own_file(found):
            os.close(self._fd)
            raise SpoolError(f'{self._path} is not a file of this user. What to do: remove it')
        return self._fd, found.st_size

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)
