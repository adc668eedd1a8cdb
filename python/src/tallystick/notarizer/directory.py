"""A spool in a directory of its own (docs/formats/spool.md)."""

import json
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from threading import Lock as Mutex
from threading import Thread

from .._core.json import rfc3339
from .._core.requests import make_idempotency_key
from ..errors import TallystickError, UsageError
from .batch_file import BatchFile
from .errors import SpoolError, as_spool_error
from .files import NO_FOLLOW, is_own_file, replace_file, sync_directory, take_directory, write_all
from .handle_file import HANDLES_NAME, HandleFile
from .inbox import INBOX, InboxGroup, list_inbox
from .items import Item
from .limits import (
    LINE_BYTES_MAX,
    LOCK_STALE_S_DEFAULT,
    LOCK_STALE_S_MIN,
    REFUSED_BYTES_MAX_DEFAULT,
    SPOOL_BYTES_MAX_DEFAULT,
)
from .lines import format_refused, format_segments, parse_segments
from .lock import SpoolLock
from .reserve import Reserve, reserve_for
from .segments import Found, Refused, Segment, SpooledBatch, SpoolOwner

_BATCH_NAME = re.compile(r'\d{16}\.ndjson\Z')
_PARTS_NAME = re.compile(r'\d{16}\.parts\Z')
_UNFINISHED_NAME = re.compile(r'\d{16}\.ndjson\.tmp\Z')
"""Unfinished replacement of a file. The file to be replaced still exists."""


def open_spool(
    directory: str | os.PathLike[str],
    *,
    bytes_max: int = SPOOL_BYTES_MAX_DEFAULT,
    refused_bytes_max: int = REFUSED_BYTES_MAX_DEFAULT,
    lock_stale_s: float = LOCK_STALE_S_DEFAULT,
) -> 'DirectorySpool':
    """Opens a spool in a directory of its own. The SDK for TypeScript has the same format: one SDK can
    write records that the other SDK sends.

    Accepted records survive the end of the process; sealed batches survive a crash of the machine.
    Only the owner can read directory and files, because they contain payloads. Records that the
    server never accepts are stored in `refused.ndjson` with the reason, until a person removes
    them. Unreadable files are renamed to `….damaged`.

    - `bytes_max`: maximum size of the records that wait to be sent, in bytes.
    - `refused_bytes_max`: size in bytes at which `refused.ndjson` accepts no more records. Then
      batches with refused records wait.
    - `lock_stale_s`: seconds without an update of the lock after which another process may take the
      directory.

    Raises SpoolError if another process owns the directory, after at most `lock_stale_s`. Raises
    UsageError for invalid options. Programs of asyncio call it by `asyncio.to_thread`.
    """
    if bytes_max < LINE_BYTES_MAX:
        raise UsageError(f'bytes_max must be at least {LINE_BYTES_MAX}')
    if refused_bytes_max < 1:
        raise UsageError('refused_bytes_max must be at least 1')
    if lock_stale_s < LOCK_STALE_S_MIN:
        raise UsageError(f'lock_stale_s must be at least {LOCK_STALE_S_MIN}')
    path = Path(directory)
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = path.resolve(strict=True)
        take_directory(path)
    except OSError as error:
        raise as_spool_error(error, path) from error
    reserve = Reserve(path)
    lock = SpoolLock(path, lock_stale_s, reserve)
    try:
        return DirectorySpool(path, lock, reserve, bytes_max, refused_bytes_max)
    except OSError as error:
        lock.release()
        raise as_spool_error(error, path) from error
    except BaseException:
        lock.release()
        raise


class DirectorySpool:
    """A spool in a directory, for one notarizer. Made by `open_spool`."""

    is_durable = True

    def __init__(self, path: Path, lock: SpoolLock, reserve: Reserve, bytes_max: int, refused_bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self.used_bytes = 0
        self._mutex = Mutex()
        self._shared = Mutex()
        """Guards files that several batches write, each from its own thread."""
        self._refused_bytes_max = refused_bytes_max
        self._path = path
        self._lock = lock
        self.reserve = reserve
        self.reserve.restore()
        self._next_number = 1
        self._adopting = Mutex()
        self._sealed: SimpleQueue[BatchFile | None] = SimpleQueue()
        self._syncing: Thread | None = None
        self._found: Found | None = None
        self.handles = HandleFile(path / HANDLES_NAME, reserve)
        batches: list[SpooledBatch] = []
        errors: list[TallystickError] = []
        for name in sorted(each.name for each in path.iterdir()):
            if _PARTS_NAME.match(name):
                self._merge(name[:16], errors)
        for name in sorted(each.name for each in path.iterdir()):
            if _UNFINISHED_NAME.match(name):
                (path / name).unlink()
            elif _BATCH_NAME.match(name):
                self._take_over(int(name[:16]), batches, errors)
        self._found = Found(batches, errors)

    @property
    def has_room(self) -> bool:
        return self.used_bytes + LINE_BYTES_MAX <= self.bytes_max

    def use(self, count: int) -> None:
        with self._mutex:
            self.used_bytes += count

    def require_held(self) -> None:
        self._lock.require_held()

    def recover(self) -> Found:
        found = self._found
        if found is None:
            raise UsageError('a spool can only be used by one notarizer')
        self._found = None
        return found

    def adopt(self) -> Found:
        with self._adopting:
            return self._adopt()

    def _adopt(self) -> Found:
        """Moves batches out of the inbox. A rename moves each file, so a record is never in both places, even after a crash."""
        inbox = self._path / INBOX
        batches: list[SpooledBatch] = []
        errors: list[TallystickError] = []
        try:
            for names in self._mergeable(list_inbox(inbox)):
                if not self.has_room:
                    break
                self.require_held()
                # The number is taken before the files are moved, because another thread may begin a
                # batch at the same time. If this process fails while it moves the files, the next
                # process merges the files that were moved.
                number = self._take_number()
                path = self._path_of(number)
                if len(names) == 1:
                    (inbox / names[0]).replace(path)
                else:
                    parts = path.with_suffix('.parts')
                    self.reserve.lend(partial(parts.mkdir, mode=0o700))
                    for name in names:
                        (inbox / name).replace(parts / name)
                    self._merge(path.name[:16], errors)
                self._take_over(number, batches, errors)
        except OSError as error:
            errors.append(as_spool_error(error, inbox))
        except SpoolError as error:
            errors.append(error)
        return Found(batches, errors)

    def _mergeable(self, groups: Iterable[InboxGroup]) -> Iterator[Sequence[str]]:
        """Yields groups of files that become one batch each. If the disk has no room to merge a group,
        yields its files one by one.
        """
        for names, size in groups:
            if self.reserve.restore(reserve_for(size, len(names))):
                yield names
            else:
                yield from ([name] for name in names)

    def begin(self, idempotency_key: str, item: Item) -> SpooledBatch:
        return BatchFile.begin(self, self._path_of(self._take_number()), idempotency_key, item)

    def _take_number(self) -> int:
        with self._mutex:
            number = self._next_number
            self._next_number = number + 1
            return number

    def refuse(self, refused: Sequence[Refused]) -> None:
        path = self._path / 'refused.ndjson'
        try:
            with self._shared:
                self.reserve.lend(lambda: _keep_refused(path, refused, self._refused_bytes_max))
                self.sync()
        except OSError as error:
            raise as_spool_error(error, path) from error

    def claim(self, owner: SpoolOwner) -> None:
        path = self._path / 'owner.json'
        self.require_held()
        try:
            with self._shared:
                self.reserve.lend(lambda: _claim(self._path, path, owner))
                self.sync()
        except OSError as error:
            raise as_spool_error(error, path) from error

    def sync(self) -> None:
        sync_directory(self._path)

    def close(self) -> None:
        if self._syncing is not None:
            self._sealed.put(None)
            self._syncing.join()
        self._lock.release()

    def make_durable(self, batch: BatchFile) -> None:
        if self._syncing is None:
            self._syncing = Thread(target=self._sync_sealed, name='tallystick-spool', daemon=True)
            self._syncing.start()
        self._sealed.put(batch)

    def _sync_sealed(self) -> None:
        while (batch := self._sealed.get()) is not None:
            # An error is ignored here: reading the batch tries again, and reports the error.
            with suppress(OSError, SpoolError):
                batch.sync()

    def _take_over(self, number: int, batches: list[SpooledBatch], errors: list[TallystickError]) -> None:
        path = self._path_of(number)
        with self._mutex:
            self._next_number = max(self._next_number, number + 1)
        try:
            size, segments = _read_batch(path)
        except SpoolError as error:
            errors.append(_move_aside(path, path.with_name(f'{path.name}.damaged'), error))
            return
        records = sum(len(items) for _, items in segments)
        # The process ended while it created the file, before it accepted a record.
        if records == 0:
            path.unlink()
        else:
            batches.append(BatchFile.left_behind(self, path, size, records))

    def _merge(self, number: str, errors: list[TallystickError]) -> None:
        """Merges the files of a folder into one batch. If the batch exists already, it has all of their records."""
        path = self._path / f'{number}.ndjson'
        parts = self._path / f'{number}.parts'
        if not path.exists():
            items: list[Item] = []
            for index, part in enumerate(sorted(parts.iterdir())):
                try:
                    items += [item for _, found in _read_batch(part)[1] for item in found]
                except SpoolError as error:
                    errors.append(_move_aside(part, path.with_name(f'{path.name}.{index}.damaged'), error))
            data = format_segments([Segment(make_idempotency_key(), items)])
            self.reserve.lend(lambda: replace_file(path, data))
            self.sync()
        shutil.rmtree(parts)

    def _path_of(self, number: int) -> Path:
        return self._path / f'{number:016d}.ndjson'


def _read_batch(path: Path) -> tuple[int, list[Segment]]:
    if not is_own_file(path.lstat()):
        raise SpoolError(f'{path} is not a file of this user')
    data = path.read_bytes()
    return len(data), parse_segments(path, data, every_line=True)


def _move_aside(path: Path, aside: Path, error: SpoolError) -> SpoolError:
    path.replace(aside)
    return SpoolError(f'{error}: the file was renamed to ….damaged, and its records are not sent')


def _keep_refused(path: Path, refused: Sequence[Refused], bytes_max: int) -> None:
    """Appends refused records to the file. Raises SpoolError if the file already has `bytes_max`
    bytes.

    Reads the file's size each time, because a person may move the file away.
    """
    refused_at = rfc3339(datetime.fromtimestamp(time.time(), UTC))
    data = b''.join(format_refused(one, refused_at) for one in refused)
    fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | NO_FOLLOW, 0o600)
    try:
        found = os.fstat(fd)
        size = found.st_size
        if not is_own_file(found):
            raise SpoolError(f'{path} is not a file of this user. What to do: remove it')
        if size >= bytes_max:
            raise SpoolError(
                f'{path} has {size} bytes of refused records, and its limit is {bytes_max}: the batch with the next refused '
                'record waits. What to do: check why records are refused, and move the file away'
            )
        try:
            # A process that crashed here may have left half a line.
            if size > 0 and os.pread(fd, 1, size - 1) != b'\n':
                write_all(fd, b'\n')
            write_all(fd, data)
            os.fsync(fd)
        except OSError:
            # Removes the incomplete line, because it would damage the next line.
            os.ftruncate(fd, size)
            raise
    finally:
        os.close(fd)


def _claim(directory: Path, path: Path, claimed: SpoolOwner) -> None:
    """Claims the directory for its first sender. Raises SpoolError for any other sender.

    Idempotency keys belong to an agent. If the answer to a batch was lost, another agent would record the batch a second time.
    """
    owner = _read_owner(path)
    if owner is None:
        replace_file(path, json.dumps(claimed._asdict(), separators=(',', ':')).encode() + b'\n')
    elif owner != claimed:
        raise SpoolError(
            f'the spool {directory} has records of the agent {owner.agent} of the ledger {owner.ledger}, '
            f'but the key belongs to {claimed.agent} of {claimed.ledger}: nothing is sent. '
            f'What to do: use a key of {owner.agent}, or another directory'
        )


def _read_owner(path: Path) -> SpoolOwner | None:
    """Returns the owner. Returns None if nothing was sent from the spool yet."""
    try:
        fd = os.open(path, os.O_RDONLY | NO_FOLLOW)
    except FileNotFoundError:
        return None
    with os.fdopen(fd, 'rb') as file:
        text = file.read()
    try:
        found = json.loads(text)
        owner = SpoolOwner(found['ledger'], found['agent'])
        if all(isinstance(part, str) for part in owner):
            return owner
    except (ValueError, KeyError, TypeError):
        pass
    raise SpoolError(
        f"{path} does not name the agent whose records are in the spool. What to do: remove that file if they are those of the key's agent"
    )
