"""Refusals by an intermediary between notarizer and server (a firewall, a proxy with a limit), for contents or size.

Halving the request finds the refused record. The refusal does not prove that the server never received the request, so each half
keeps the key of the request:

[abcd K]  refused   ->  [ab K] [cd K]     the same key: it is unknown whether abcd was written
[ab K]    recorded  ->  [cd L]            K was used for ab alone: abcd was never written
[ab K]    `idempotency_key_reused`  ->  [abcd K]   abcd was written, and its answer was lost or replaced. An answer to
                                        [abcd K] now means that all four are recorded; otherwise nothing is sent again
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard

from .._core import operations
from ..errors import ApiError, UnexpectedAnswerError
from .effects import Ask, Effects, Wait
from .limits import ATTEMPTS_ALONE, BODY_MB
from .refusals import is_refusal
from .segments import Segment

_LOGINS = frozenset({401, 407, 511})
"""Statuses that demand a login, whatever the request contains."""
_BY_SIZE = frozenset({413, 414, 431})
_NO_RECORDS = b'{"records":[]}'


def is_foreign_refusal(error: Exception) -> TypeGuard[UnexpectedAnswerError]:
    """Whether an intermediary refused the request: for its contents, its size, or every request."""
    if not isinstance(error, UnexpectedAnswerError) or error.retryable or error.status is None:
        return False
    return 400 <= error.status < 600 and error.status not in _LOGINS


def is_by_size(error: UnexpectedAnswerError) -> bool:
    """Whether the status means that the request is too large."""
    return error.status in _BY_SIZE


def send_or_judge(segment: Segment, ask: Ask, check: Callable[[Any], Any], pause: float) -> Effects:
    """Sends a segment. Returns the answer. If the segment can never be accepted unchanged, returns the
    error.

    Raises every other error, also if the intermediary refuses every request. `pause`: seconds
    between attempts at a single record.
    """
    is_alone = len(segment.items) == 1
    attempts = 0
    while True:
        attempts += 1
        try:
            return check((yield ask))
        except Exception as error:
            if isinstance(error, ApiError) and is_refusal(error):
                return error
            if not is_foreign_refusal(error):
                raise
            refusal = error
        if not is_alone and is_by_size(refusal):
            return refusal
        if not (yield from _passes()):
            raise _everything_refused(refusal)
        if not is_alone or attempts == ATTEMPTS_ALONE:
            return refusal
        yield Wait(pause, is_blocked=False)


def _passes() -> Effects:
    """Whether the intermediary lets a batch without records pass. The server refuses such a batch, but
    a firewall has no reason to.
    """
    try:
        content = yield Ask(operations.POST_RECORDS_BATCH, _NO_RECORDS, media_type='application/json')
    except ApiError as error:
        if error.status >= 500:
            raise
        return True
    except UnexpectedAnswerError as error:
        if is_foreign_refusal(error):
            return False
        raise
    try:
        return json.loads(content)['records'] == []
    except (ValueError, KeyError, TypeError, RecursionError):
        return False


def halve(segment: Segment) -> list[Segment]:
    """Splits a segment of more than one record into two segments with the same key."""
    key, items = segment
    middle = (len(items) + 1) // 2
    return [Segment(key, items[:middle]), Segment(key, items[middle:])]


def rejoin(segment: Segment, others: Sequence[Segment]) -> tuple[Segment, Sequence[Segment]] | None:
    """Undoes halving: joins the first segment with the next segment, if both have the same key.

    Returns the joined segment and the rest. Returns None if the next segment has another key.
    """
    key, items = segment
    if not others or others[0].idempotency_key != key:
        return None
    return Segment(key, [*items, *others[0].items]), others[1:]


def renew_keys(segments: Sequence[Segment], recorded: str, make_key: Callable[[], str]) -> Sequence[Segment]:
    """Gives a new key to each segment whose key is `recorded`, the key of a recorded segment."""
    if all(key != recorded for key, _ in segments):
        return segments
    return [Segment(make_key(), items) if key == recorded else Segment(key, items) for key, items in segments]


def sent_in_halves(segment: Segment, error: UnexpectedAnswerError) -> UnexpectedAnswerError:
    """Returns an error for `on_error`, which says that the segment is sent in halves."""
    return _told(
        f'something in front of the server answered {error.status} to a batch of {len(segment.items)} records, '
        f'which is sent in halves now. What to do: {_advice_for(error)}',
        error,
        retryable=True,
    )


def set_aside(size: int, error: UnexpectedAnswerError) -> UnexpectedAnswerError:
    """Returns an error for `on_refused`, which says that the record is set aside. `size`: bytes of the
    record's request.
    """
    return _told(
        f'something in front of the server answers {error.status} to this record ({size} bytes), but lets other requests '
        f'pass: the record is skipped. What to do: {_advice_for(error)}; then record it again',
        error,
    )


def waits_after(records: int, error: UnexpectedAnswerError) -> UnexpectedAnswerError:
    """Returns an error for `on_error`, which says that records wait, because too many in a row were
    set aside.
    """
    return _told(
        f'something in front of the server refused {records} records in a row, each sent alone: the others wait. '
        f'What to do: {_advice_for(error)}',
        error,
    )


def problem_of(error: UnexpectedAnswerError) -> Mapping[str, Any]:
    """Returns the problem for `refused.ndjson`. It has no `code`, because the server did not answer."""
    return {'type': 'about:blank', 'title': 'Refused before the server', 'status': error.status, 'detail': str(error)}


def _everything_refused(error: UnexpectedAnswerError) -> UnexpectedAnswerError:
    known = _told(f'requests without records are refused too, so all records wait: {error}', error)
    known.__cause__ = error
    return known


def _told(message: str, error: UnexpectedAnswerError, *, retryable: bool = False) -> UnexpectedAnswerError:
    return UnexpectedAnswerError(message, retryable=retryable, idempotency_key=None, status=error.status, nothing_done=error.nothing_done)


def _advice_for(error: UnexpectedAnswerError) -> str:
    if is_by_size(error):
        return f'let the proxy accept bodies of {BODY_MB} MB for POST /v1/records/batch (client_max_body_size of nginx)'
    return 'let the firewall pass bodies of POST /v1/records/batch, whatever they contain'
