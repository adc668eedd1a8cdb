"""Settings of a client. Only this module reads the environment."""

from __future__ import annotations

import os
from typing import Final, TypeAlias

from .address import parse_base_url
from .limits import RETRY_DELAY_SECONDS_MAX, RETRY_DELAY_SECONDS_MIN
from .requests import Settings, parse_timeout
from .retries import RetryPolicy

URL_VARIABLE: Final = 'TALLYSTICK_URL'
API_KEY_VARIABLE: Final = 'TALLYSTICK_API_KEY'
BASE_URL_DEFAULT: Final = 'http://localhost:3000'
"""Address at which `npm start` listens."""

RetryDelays: TypeAlias = tuple[float, float]
RETRY_DELAYS: Final[RetryDelays] = (RETRY_DELAY_SECONDS_MIN, RETRY_DELAY_SECONDS_MAX)


def environment(name: str) -> str | None:
    """Returns an environment variable without surrounding white space. Returns None if the variable is
    unset or empty.
    """
    return os.environ.get(name, '').strip() or None


def make_settings(base_url: str | None, timeout: float, max_retries: float, retry_delays: RetryDelays) -> Settings:
    """Returns the settings of a client. Raises UsageError for invalid values."""
    return Settings(
        base_url=parse_base_url(base_url or environment(URL_VARIABLE) or BASE_URL_DEFAULT),
        timeout=parse_timeout(timeout),
        policy=RetryPolicy(max_retries, *retry_delays),
    )
