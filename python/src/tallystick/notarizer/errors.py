"""Errors of a notarizer and of its spool."""

import errno
from pathlib import Path

from ..errors import TallystickError


class BufferFullError(TallystickError):
    """The notarizer's buffer, or its spool, is full: nothing was taken. Wait for `ready()`, then record it."""


class SpoolError(TallystickError):
    """The spool can't keep what it should, or another process has it. No record was taken."""


class SpoolInUseError(SpoolError):
    """Another process has the spool, or this one has it already."""


class NotRecordedError(TallystickError):
    """Records that `flush` or `close` waited for were not recorded in time; `__cause__` is why, if that is known. Nothing is lost by it."""


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
"""Faults that pass without anybody's help, as other files are closed."""


def is_full(error: OSError) -> bool:
    """Whether nothing more can be written because there is no room, no inode, or no quota."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def as_spool_error(cause: OSError, path: Path) -> SpoolError:
    advice = _ADVICE.get(cause.errno or 0)
    error = SpoolError(f'{path}: {cause.strerror or cause}{f". What to do: {advice}" if advice else ""}', retryable=cause.errno in _PASSING)
    error.__cause__ = cause
    return error
