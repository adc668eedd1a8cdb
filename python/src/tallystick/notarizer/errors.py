"""Errors of a notarizer and of its spool."""

import errno
from pathlib import Path

from ..errors import TallystickError


class BufferFullError(TallystickError):
    """The buffer or the spool is full, and the record was not accepted. Wait for `ready()`, then record it again."""


class SpoolError(TallystickError):
    """The spool cannot store a record, or another process owns it. The record was not accepted."""


class SpoolInUseError(SpoolError):
    """The spool is already open, in another process or in this process."""


class NotRecordedError(TallystickError):
    """Records were not recorded in time for `flush` or `close`. `__cause__` is the reason, if known. No record is lost."""


_ADVICE = {
    errno.ENOSPC: 'free some space, because the disk is full',
    errno.EDQUOT: 'free some space, because the disk quota is used up',
    errno.EROFS: 'use a directory on a disk that is not read-only',
    errno.EACCES: 'give it to the user of this process (chown)',
    errno.EPERM: 'give it to the user of this process (chown)',
    errno.EIO: 'check or replace the disk, because it has errors',
    errno.EEXIST: 'remove what has this name, or use another directory',
    errno.ENOTDIR: 'use another directory: a part of this path is not a directory',
    errno.EMFILE: 'raise the limit of open files of this process (ulimit -n)',
    errno.ENFILE: 'raise the limit of open files of this machine (fs.file-max)',
    errno.ELOOP: 'remove the symbolic link, because a spool cannot use it',
}


_PASSING = (errno.EMFILE, errno.ENFILE)
"""Errors that pass by themselves when other files are closed."""


def is_full(error: OSError) -> bool:
    """Whether a write failed because the disk has no room, no inode, or no quota left."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def as_spool_error(cause: OSError, path: Path) -> SpoolError:
    advice = _ADVICE.get(cause.errno or 0)
    error = SpoolError(f'{path}: {cause.strerror or cause}{f". What to do: {advice}" if advice else ""}', retryable=cause.errno in _PASSING)
    error.__cause__ = cause
    return error
