"""The file `lock`, which gives a directory to one process."""

import json
import os
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from .errors import SpoolError, SpoolInUseError, as_spool_error, is_full
from .files import make_file
from .limits import LOCK_BEATS_PER_STALE, LOCK_POLLS_PER_STALE, LOCK_SETTLE_S
from .reserve import Reserve

_STARTED_AT_MS = int(time.time() * 1000)
_SAME_START_MS = 100
"""Tolerance, because clocks are adjusted."""

_held: set[tuple[int, Path]] = set()
"""Directories that a process owns, by its pid: a child of `fork` owns none of its parent's."""


class Holder(NamedTuple):
    """Process that owns a spool.

    `place`: the machine and namespace in which the pid is valid. `started_at_ms`: distinguishes the process from an earlier one with
    the same pid.
    """

    token: str
    pid: int
    place: str
    started_at_ms: float


class Lock(NamedTuple):
    text: bytes
    touched_at_ns: int
    holder: Holder | None


class SpoolLock:
    """The lock of a directory. Its owner updates the file's time regularly, in a separate thread.

    A killed process leaves its lock behind. A lock is therefore stale if its process is known to
    have ended, or if nobody has touched the lock for `stale_s`. The pid alone proves nothing,
    because in containers many processes have pid 1. A waiting process measures `stale_s` with its
    own clock, because files on a shared disk have the time of another machine.
    """

    def __init__(self, directory: Path, stale_s: float, reserve: Reserve) -> None:
        """Acquires the lock. `directory`: the real path of the directory.

        Raises SpoolError if another process owns the lock, or if the lock cannot be written, not
        even with the reserve.
        """
        self._directory = directory
        self._reserve = reserve
        self._path = directory / 'lock'
        self._stale_s = stale_s
        self._token = str(uuid4())
        self._pid = os.getpid()
        self._seen_at = 0.0
        self._lost = False
        self._ended = threading.Event()
        held = (self._pid, directory)
        if held in _held:
            raise _in_use(directory, 'this process, which opened it before')
        _held.add(held)
        try:
            self._acquire()
        except OSError as error:
            _held.discard(held)
            raise as_spool_error(error, self._path) from error
        except BaseException:
            _held.discard(held)
            raise

    def require_held(self) -> None:
        """Raises SpoolError if another process has taken the lock. Also raises it in a child of
        `fork`, which never owns the lock.

        Reads the lock only when it was not checked recently. A process that was stopped, or could
        not touch its lock, must not write into files that another process has sent and removed.
        """
        if self._pid != os.getpid():
            raise SpoolError(f'the spool {self._directory} belongs to the process {self._pid}. What to do: open another spool after a fork')
        if not self._lost and time.monotonic() - self._seen_at <= self._stale_s / 2:
            return
        if not self._lost and self._is_own():
            self._seen_at = time.monotonic()
            return
        self._lost = True
        raise SpoolError(f'another process has taken over the spool {self._directory}, because this one was suspended')

    def release(self) -> None:
        if self._pid != os.getpid():
            return
        self._ended.set()
        self._beating.join()
        _held.discard((self._pid, self._directory))
        # An unreadable lock stays. The next process takes it when it is stale.
        with suppress(SpoolError):
            if not self._lost and self._is_own():
                self._path.unlink(missing_ok=True)
        self._lost = True

    def _acquire(self) -> None:
        while not self._create():
            found = _read_lock(self._path)
            if found is None:
                continue
            if not is_gone(found.holder):
                self._wait_until_stale(found)
            if self._replace(found):
                break
        self._seen_at = time.monotonic()
        self._beating = threading.Thread(target=self._beat, name='tallystick-spool-lock', daemon=True)
        self._beating.start()

    def _create(self) -> bool:
        try:
            self._make_file(self._path)
            return True
        except FileExistsError:
            return False

    def _wait_until_stale(self, found: Lock) -> None:
        """Waits until nobody has touched the lock for `stale_s`. Raises SpoolInUseError if somebody
        touches the lock.
        """
        until = time.monotonic() + self._stale_s
        while time.monotonic() < until:
            time.sleep(self._stale_s / LOCK_POLLS_PER_STALE)
            now = _read_lock(self._path)
            if now is None:
                return
            if now.text != found.text or now.touched_at_ns != found.touched_at_ns:
                holder = now.holder
                who = f'process {holder.pid} of {holder.place.split(" ")[0]}' if holder else 'another process'
                raise _in_use(self._directory, who)

    def _replace(self, found: Lock) -> bool:
        """Replaces a stale lock. Returns whether this process owns the lock; another process may have
        replaced it at the same time.
        """
        own = self._path.with_name(f'lock.{self._token}')
        try:
            made = self._make_replacement(own, found)
            now = _read_lock(self._path)
            if now is not None and now.text != found.text:
                return False
            if made:
                own.replace(self._path)
            else:
                self._path.unlink(missing_ok=True)
                if not self._create():
                    return False
        finally:
            own.unlink(missing_ok=True)
        time.sleep(LOCK_SETTLE_S)
        return self._is_own()

    def _make_replacement(self, path: Path, found: Lock) -> bool:
        """Writes the new lock beside the old one.

        Returns False if the disk is full and the old lock belongs to a process that has ended. The
        caller can then remove the old lock to make room.
        """
        try:
            self._make_file(path)
            return True
        except OSError as error:
            if is_full(error) and is_gone(found.holder):
                return False
            raise

    def _make_file(self, path: Path) -> None:
        try:
            make_file(path, self._text())
        except OSError as error:
            if not is_full(error):
                raise
            self._reserve.give_up()
            make_file(path, self._text())

    def _beat(self) -> None:
        while not self._ended.wait(self._stale_s / LOCK_BEATS_PER_STALE):
            try:
                if self._is_own():
                    os.utime(self._path)
                    self._seen_at = time.monotonic()
                else:
                    self._lost = True
            except (OSError, SpoolError):
                pass  # if the time was not updated for too long, require_held reads the lock itself

    def _text(self) -> bytes:
        holder = {'token': self._token, 'pid': self._pid, 'place': _place(), 'startedAtMs': _STARTED_AT_MS}
        return json.dumps(holder, separators=(',', ':')).encode()

    def _is_own(self) -> bool:
        """Whether the lock belongs to this process. Raises SpoolError if the file cannot be read,
        because the owner is then unknown.
        """
        try:
            holder = parse_holder(self._path.read_bytes())
        except FileNotFoundError:
            return False
        except OSError as error:
            raise as_spool_error(error, self._path) from error
        return holder is not None and holder.token == self._token


def _read_lock(path: Path) -> Lock | None:
    """Returns the lock. Returns None if the file does not exist."""
    try:
        text = path.read_bytes()
        return Lock(text, path.stat().st_mtime_ns, parse_holder(text))
    except FileNotFoundError:
        return None


def parse_holder(text: bytes) -> Holder | None:
    """Returns the owner in a lock file. Returns None if the text is incomplete or is no lock."""
    try:
        found = json.loads(text)
        token, pid, place, started = found['token'], found['pid'], found['place'], found['startedAtMs']
    except (ValueError, KeyError, TypeError):
        return None
    if not isinstance(token, str) or not isinstance(place, str) or not isinstance(started, (int, float)):
        return None
    # For a pid of 0 or below, kill() signals a group of processes or all processes.
    return Holder(token, pid, place, started) if isinstance(pid, int) and 0 < pid < 2**31 else None


def is_gone(holder: Holder | None) -> bool:
    """Whether the process is known to have ended."""
    if holder is None or holder.place != _place():
        return False
    if holder.pid == os.getpid():
        return abs(holder.started_at_ms - _STARTED_AT_MS) > _SAME_START_MS
    if os.name == 'nt':
        return False  # on Windows, os.kill would end the process
    try:
        os.kill(holder.pid, 0)
        return False
    except ProcessLookupError:
        return True
    except OSError:
        return False


def _place() -> str:
    """Returns the machine's boot and, on Linux, its pid namespace, because each container counts its
    pids from 1.
    """
    try:
        boot = Path('/proc/sys/kernel/random/boot_id').read_text().strip()
    except OSError:
        boot = ''
    try:
        namespace = str(Path('/proc/self/ns/pid').readlink())
    except OSError:
        namespace = ''
    return f'{socket.gethostname()} {boot} {namespace}'


def _in_use(directory: Path, who: str) -> SpoolInUseError:
    return SpoolInUseError(
        f'the spool {directory} is in use by {who}. What to do: give each process its own directory, or end the other process'
    )
