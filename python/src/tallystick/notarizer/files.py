"""Files of a spool: private, and either complete or absent."""

import os
import re
import stat
from pathlib import Path

from .errors import SpoolError

_SPOOL_NAME = re.compile(
    r'(\d{16}\.(ndjson|parts)|(refused|handles)\.ndjson|owner\.json|lock|inbox|reserve|calls|sender\.log|lost\+found)(\..+)?\Z'
)
NO_FOLLOW: int = getattr(os, 'O_NOFOLLOW', 0)
"""Refuses links: an attacker who can write into the directory could put one in place of a file. Windows has no such flag."""


def take_directory(path: Path) -> None:
    """Makes a directory private for this user. Also accepts a directory of root, because volumes of
    Kubernetes belong to root and a group.

    Raises SpoolError if the directory belongs to another user, who could read and change the
    records, or if it contains files that do not belong to a spool.
    """
    found = path.stat()
    own = _own_uid()
    if own is None:
        return
    if found.st_uid == own:
        if found.st_mode & 0o077 == 0:
            return
        # A directory with other files is not made private, because it could be /tmp or /var/spool,
        # which other users need.
        if any(_SPOOL_NAME.match(each.name) is None for each in path.iterdir()):
            raise SpoolError(
                f'the directory {path} has other files, and other users may read it. '
                'What to do: use a directory inside it, only for the spool'
            )
        path.chmod(0o700)
    elif found.st_uid != 0:
        raise SpoolError(
            f'the directory {path} belongs to the user {found.st_uid}, who could read and '
            f'change the records in it, but this process runs as {own}. What to do: give it to {own} (chown), or use another one'
        )


def is_own_file(found: os.stat_result) -> bool:
    """Whether the path is a regular file of this user."""
    own = _own_uid()
    return stat.S_ISREG(found.st_mode) and (own is None or found.st_uid == own)


def _own_uid() -> int | None:
    """Returns the user id. Returns None if files have no owners on this system."""
    return os.geteuid() if hasattr(os, 'geteuid') else None


def write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def make_file(path: Path, content: bytes) -> None:
    """Creates a file. Raises FileExistsError if the path exists, even as a link. A failure leaves no file."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, 'O_BINARY', 0), 0o600)
    try:
        try:
            write_all(fd, content)
            os.fsync(fd)
        finally:
            os.close(fd)
    except OSError:
        path.unlink()
        raise


def replace_file(path: Path, content: bytes) -> None:
    """Replaces a file atomically. After the directory is synced, this holds even across a power cut.
    """
    made = path.with_name(f'{path.name}.tmp')
    made.unlink(missing_ok=True)
    make_file(made, content)
    made.replace(path)


def sync_data(fd: int) -> None:
    getattr(os, 'fdatasync', os.fsync)(fd)


def sync_directory(path: Path) -> None:
    """Makes the names of files in the directory durable. Does nothing on Windows, which cannot open
    directories and does not need this.
    """
    if os.name == 'nt':
        return
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
