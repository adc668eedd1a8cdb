"""Reads HTTP fields, by the rules of src/proof/http-fields.ts. No function raises: a sender controls the fields."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

RETRY_AFTER_SECONDS_MAX: Final = 365 * 24 * 60 * 60.0
"""Longest wait that `retry_after_of` returns. Clients retry only after much shorter waits."""
_SECONDS_DIGITS_MAX: Final = 15
"""Most digits that are read as a number. A longer number counts as the longest wait."""

_MONTHS: Final = ('Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec')
_TIME: Final = r'(?P<hour>\d{2}):(?P<minute>\d{2}):(?P<second>\d{2})'
_DATES: Final = (
    # Sun, 06 Nov 1994 08:49:37 GMT
    re.compile(rf'[A-Z][a-z]{{2}}, (?P<day>\d{{2}}) (?P<month>[A-Z][a-z]{{2}}) (?P<year>\d{{4}}) {_TIME} GMT', re.ASCII),
    # Sunday, 06-Nov-94 08:49:37 GMT
    re.compile(rf'[A-Z][a-z]{{5,8}}, (?P<day>\d{{2}})-(?P<month>[A-Z][a-z]{{2}})-(?P<year>\d{{2}}) {_TIME} GMT', re.ASCII),
    # Sun Nov  6 08:49:37 1994
    re.compile(rf'[A-Z][a-z]{{2}} (?P<month>[A-Z][a-z]{{2}}) (?P<day>[ \d]\d) {_TIME} (?P<year>\d{{4}})', re.ASCII),
)
_SECONDS: Final = re.compile(r'(\d+)(\.\d+)?', re.ASCII)
_NUMBERS: Final = re.compile(r'[\d.\s,]*', re.ASCII)


def media_type_of(content_type: str | None) -> str:
    """Returns the media type without parameters, in lower case (RFC 9110 §8.3.1)."""
    return (content_type or '').split(';', 1)[0].strip().lower()


def retry_after_of(lines: Sequence[str], now: float) -> float | None:
    """Returns the seconds to wait by Retry-After (RFC 9110 §10.2.3), from 0 to
    RETRY_AFTER_SECONDS_MAX.

    Returns None if the field is absent or invalid. If there are several fields, the longest wait is
    returned.
    """
    texts = [text for line in lines for text in (line.split(',') if _NUMBERS.fullmatch(line) else [line])]
    waits = [wait for text in texts if (wait := _wait_of(text.strip(' \t'), now)) is not None]
    return min(RETRY_AFTER_SECONDS_MAX, max(waits)) if waits else None


def http_date_of(text: str, now: float) -> float | None:
    """Returns the seconds since 1970 of an HTTP-date in any of its three forms (RFC 9110 §5.6.7).
    Returns None if the text is not a date.
    """
    match = next((match for date in _DATES if (match := date.fullmatch(text))), None)
    if match is None or match['month'] not in _MONTHS:
        return None
    year = int(match['year'])
    if len(match['year']) == 2:
        year = _full_year(year, datetime.fromtimestamp(now, UTC).year)
    if int(match['second']) > 60:
        return None
    # datetime does not support leap seconds, so a second of 60 becomes 59.
    time = int(match['hour']), int(match['minute']), min(59, int(match['second']))
    try:
        return datetime(year, _MONTHS.index(match['month']) + 1, int(match['day']), *time, tzinfo=UTC).timestamp()
    except ValueError:
        return None


def _wait_of(text: str, now: float) -> float | None:
    # Returns the seconds to wait by one value of Retry-After. Accepts fractions of seconds too. RFC
    # 9110 does not allow fractions, but some servers send them.
    number = _SECONDS.fullmatch(text)
    if number is not None:
        return RETRY_AFTER_SECONDS_MAX if len(number[1].lstrip('0')) > _SECONDS_DIGITS_MAX else float(text)
    at = http_date_of(text, now)
    return None if at is None else max(0.0, at - now)


def _full_year(two_digits: int, this_year: int) -> int:
    """Returns the full year for a year of two digits. A year more than 50 years in the future is taken
    as a past year (RFC 9110 §5.6.7).
    """
    year = this_year - this_year % 100 + two_digits
    return year - 100 if year > this_year + 50 else year
