"""Decides whether and when a failed call is tried again."""

from __future__ import annotations

import random
from dataclasses import dataclass

from ..errors import TallystickError, UsageError
from .limits import RETRIES_MAX, RETRY_AFTER_SECONDS_MAX, RETRY_DELAY_SECONDS_MAX, RETRY_DELAY_SECONDS_MIN


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Limits of retries. Raises UsageError for invalid values."""

    max_retries: float = RETRIES_MAX
    delay_min: float = RETRY_DELAY_SECONDS_MIN
    delay_max: float = RETRY_DELAY_SECONDS_MAX

    def __post_init__(self) -> None:
        if not self.max_retries >= 0:
            raise UsageError('max_retries must be a number, 0 or more')
        if not 0 <= self.delay_min <= self.delay_max < 2**31:
            raise UsageError('retry_delays must be two numbers of seconds, the smaller one first')


class Retries:
    """Counts the failures in a row."""

    def __init__(self, policy: RetryPolicy) -> None:
        self._policy = policy
        self._count = 0

    def reset(self) -> None:
        """Starts a new count, after the call made progress."""
        self._count = 0

    def delay_before(self, error: TallystickError) -> float:
        """Returns the seconds to wait before the next attempt. Raises the error if it must not be tried again."""
        if not error.retryable or self._count >= self._policy.max_retries:
            raise error
        delay = retry_delay(self._policy, self._count, error.retry_after)
        if delay is None:
            raise error
        self._count += 1
        return delay


def retry_delay(policy: RetryPolicy, retries: int, retry_after: float | None) -> float | None:
    """Returns the wait before a retry in seconds: half fixed, half random, and at least `retry_after`.

    The random half spreads clients that were refused together. Returns None if `retry_after` is
    longer than a client may wait.
    """
    asked = retry_after or 0.0
    if asked > RETRY_AFTER_SECONDS_MAX:
        return None
    # 2.0 ** 1024 would overflow.
    delay = min(policy.delay_max, policy.delay_min * 2.0 ** min(retries, 62))
    return max(asked, delay / 2) + random.random() * delay / 2
