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
    errno.ENOSPC: 'the disk is full: make room',
    errno.EDQUOT: 'the quota of the disk is used up: make room',
    errno.EROFS: 'the disk is read-only',
    errno.EACCES: 'its owner must be who runs this process',
    errno.EPERM: 'its owner must be who runs this process',
    errno.EIO: 'the disk fails',
    errno.ELOOP: 'a symbolic link is no file of a spool: remove it',
}


def as_spool_error(cause: OSError, path: Path) -> SpoolError:
    advice = _ADVICE.get(cause.errno or 0)
    error = SpoolError(f'{path}: {cause.strerror or cause}{f". What to do: {advice}" if advice else ""}')
    error.__cause__ = cause
    return error
