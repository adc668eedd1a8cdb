"""Decides the outcome of a call that took several attempts."""

from __future__ import annotations

from typing import Final

from ..errors import ApiError, TallystickError, UnknownOutcomeError

_BEFORE_THE_KEY: Final = frozenset({401, 403, 421, 429})
"""Statuses that a server may send before it looks up the idempotency key. They prove nothing about an earlier attempt."""


class Doubt:
    """Remembers whether an earlier attempt may have taken effect. A later refusal does not change this."""

    def __init__(self) -> None:
        self._may_be_done = False

    def note(self, error: Exception) -> None:
        self._may_be_done = self._may_be_done or _is_unknown(error)

    def ending(self, error: Exception, idempotency_key: str | None) -> Exception:
        """Returns the error that ends the call.

        This is `error` itself, or UnknownOutcomeError with the key if an earlier attempt may have taken effect.
        """
        if not self._may_be_done or idempotency_key is None:
            return error
        is_known = error.status < 500 and error.status not in _BEFORE_THE_KEY if isinstance(error, ApiError) else _is_unknown(error)
        if is_known:
            return error
        unknown = UnknownOutcomeError(
            f'{error}; an earlier attempt had no answer',
            retryable=isinstance(error, TallystickError) and error.retryable,
            idempotency_key=idempotency_key,
            retry_after=error.retry_after if isinstance(error, TallystickError) else None,
        )
        unknown.__cause__ = error
        return unknown


def _is_unknown(error: Exception) -> bool:
    return isinstance(error, UnknownOutcomeError) and not error.nothing_done
