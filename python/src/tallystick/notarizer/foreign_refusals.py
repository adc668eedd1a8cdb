"""Requests that something between a notarizer and its server (a firewall, a proxy with a limit) refuses for their contents or their size.

Halves find the record. The answer does not prove that the server never got the request, so a half keeps the request's key:

[abcd K]  refused   ->  [ab K] [cd K]     the same key: it is known of none of them whether it was written
[ab K]    recorded  ->  [cd L]            K has been used for ab alone: the whole was never written
[ab K]    `idempotency_key_reused`  ->  [abcd K]   the whole was written, and its answer was lost or replaced. If that is answered now,
                                        all are recorded. Otherwise nothing is sent again
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
"""By these people prove who they are, whatever the request says."""
_BY_SIZE = frozenset({413, 414, 431})
_NO_RECORDS = b'{"records":[]}'


def is_foreign_refusal(error: Exception) -> TypeGuard[UnexpectedAnswerError]:
    """Whether something before the server refused this request, for its contents or its size, or because it refuses everything."""
    if not isinstance(error, UnexpectedAnswerError) or error.retryable or error.status is None:
        return False
    return 400 <= error.status < 600 and error.status not in _LOGINS


def is_by_size(error: UnexpectedAnswerError) -> bool:
    """Whether it says that the request is too large."""
    return error.status in _BY_SIZE


def send_or_judge(segment: Segment, ask: Ask, check: Callable[[Any], Any], pause: float) -> Effects:
    """Sends a segment: the answer, or why it will never be taken as it is.

    Raises every other error, and one that says so where everything is refused. `pause`: seconds between attempts at a record alone.
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
    """Whether a batch without records passes, which the server refuses and nobody else has a reason to."""
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
    """Two segments of more than one record, under the same key."""
    key, items = segment
    middle = (len(items) + 1) // 2
    return [Segment(key, items[:middle]), Segment(key, items[middle:])]


def rejoin(segment: Segment, others: Sequence[Segment]) -> tuple[Segment, Sequence[Segment]] | None:
    """The first segment joined with the next one of its key, as it was before it was halved, and those after; None: there is none."""
    key, items = segment
    if not others or others[0].idempotency_key != key:
        return None
    return Segment(key, [*items, *others[0].items]), others[1:]


def renew_keys(segments: Sequence[Segment], recorded: str, make_key: Callable[[], str]) -> Sequence[Segment]:
    """The segments, with keys of their own for those that have the key of one that was recorded."""
    if all(key != recorded for key, _ in segments):
        return segments
    return [Segment(make_key(), items) if key == recorded else Segment(key, items) for key, items in segments]


def sent_in_halves(segment: Segment, error: UnexpectedAnswerError) -> UnexpectedAnswerError:
    """For people, about a segment that goes on in halves."""
    return _told(
        f'something before the server answered {error.status} to a batch of {len(segment.items)} records, which are sent in halves. '
        f'What to do: {_advice_for(error)}',
        error,
        retryable=True,
    )


def set_aside(size: int, error: UnexpectedAnswerError) -> UnexpectedAnswerError:
    """For people, about a record that is set aside. `size`: bytes of its request."""
    return _told(
        f'something before the server answers {error.status} to this record alone ({size} bytes), and lets other requests pass: it is set '
        f'aside. What to do: {_advice_for(error)}; then record it again',
        error,
    )


def waits_after(records: int, error: UnexpectedAnswerError) -> UnexpectedAnswerError:
    """For people, about records that wait because too many in a row were set aside."""
    return _told(
        f'something before the server refused {records} records in a row, each alone, and none was recorded: the others wait. '
        f'What to do: {_advice_for(error)}',
        error,
    )


def problem_of(error: UnexpectedAnswerError) -> Mapping[str, Any]:
    """The refusal as `refused.ndjson` has it: without a code, as the server has not answered."""
    return {'type': 'about:blank', 'title': 'Refused before the server', 'status': error.status, 'detail': str(error)}


def _everything_refused(error: UnexpectedAnswerError) -> UnexpectedAnswerError:
    known = _told(f'requests without any record are refused as well, so all wait: {error}', error)
    known.__cause__ = error
    return known


def _told(message: str, error: UnexpectedAnswerError, *, retryable: bool = False) -> UnexpectedAnswerError:
    return UnexpectedAnswerError(message, retryable=retryable, idempotency_key=None, status=error.status, nothing_done=error.nothing_done)


def _advice_for(error: UnexpectedAnswerError) -> str:
    if is_by_size(error):
        return f'have the proxy take bodies of {BODY_MB} MB for POST /v1/records/batch (client_max_body_size of nginx)'
    return 'have the firewall let bodies of POST /v1/records/batch pass, whatever is in them'
