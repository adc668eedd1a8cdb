"""Derives the status of an action that ended with an exception (docs/reference/outcomes.md)."""

import re
from typing import Any

from ..errors import UnknownOutcomeError
from .action import Status

_IN_DOUBT = re.compile('Timeout|TimedOut|Cancel|DeadlineExceeded|TooSlow')
_CODE_IN_DOUBT = re.compile('TIMEDOUT|TIMEOUT|CANCEL|DEADLINE')
"""Names and codes of errors that end a wait, such as `subprocess.TimeoutExpired` and `httpx.ReadTimeout`.

After such an error, the deed may still have been done.
"""


def status_of(error: BaseException | str) -> Status:
    """Returns `error` if the deed is known to have failed; `unknown` if it was cancelled, interrupted
    or timed out.

    The status of an exception group is `error` if the status of one of its exceptions is `error`.
    """
    if isinstance(error, BaseExceptionGroup):
        return 'error' if any(status_of(each) == 'error' for each in error.exceptions) else 'unknown'
    if isinstance(error, str):
        return 'error'
    if isinstance(error, UnknownOutcomeError):
        return 'error' if error.nothing_done else 'unknown'
    return 'error' if isinstance(error, Exception) and not _is_in_doubt(error) else 'unknown'


def _is_in_doubt(error: BaseException) -> bool:
    if any(_IN_DOUBT.search(kind.__name__) for kind in type(error).__mro__):
        return True
    try:
        # gRPC has one class for all errors, and `code` distinguishes them. `urllib` has the
        # socket's error in `reason`.
        code: Any = getattr(error, 'code', None)
        code = code() if callable(code) else code
        name = getattr(code, 'name', code)
        reason = getattr(error, 'reason', None)
        return bool(isinstance(name, str) and _CODE_IN_DOUBT.search(name)) or isinstance(reason, TimeoutError)
    except Exception:
        return False
