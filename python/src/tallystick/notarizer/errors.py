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
    errno.ENOSPC: 'the disk is full: free some space',
    errno.EDQUOT: 'the disk quota is used up: free some space',
    errno.EROFS: 'the disk is read-only',
    errno.EACCES: 'it must belong to the user of this process',
    errno.EPERM: 'it must belong to the user of this process',
    errno.EIO: 'the disk has errors: check or replace it',
    errno.EEXIST: 'something else has its name: remove that, or use another directory',
    errno.ENOTDIR: 'its path contains something that is not a directory: use another directory',
    errno.EMFILE: 'this process has too many files open: raise its limit (ulimit -n)',
    errno.ENFILE: 'this machine has too many files open: raise its limit (fs.file-max)',
    errno.ELOOP: 'a spool cannot use a symbolic link: remove it',
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
