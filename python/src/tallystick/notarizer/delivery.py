"""Sends a batch until all of it is recorded or refused, however long that takes."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from .._core import operations
from .._core.retries import RetryPolicy, retry_delay
from ..errors import ApiError, TallystickError, UnexpectedAnswerError
from .effects import Ask, Effect, Effects, Older, OnDisk, Wait
from .handles import give_parents, lacks_parent, texts_of
from .limits import RETRY_AFTER_S_MAX
from .options import Limits
from .pending import Pending
from .refusals import is_refusal, split_refused
from .reports import Reports
from .segments import RecordHandle, Refused, Segment, Spool, SpooledBatch, SpoolOwner


class Delivery:
    """The same bytes go with the same key, so that nothing is there twice. A change of the batch is on the disk before it is acted upon.

    Its generators yield effects, and are closed to end them: then the batch stays where it is.
    """

    def __init__(self, spool: Spool, limits: Limits, reports: Reports) -> None:
        self._spool = spool
        self._limits = limits
        self._reports = reports
        self._pauses = RetryPolicy(delay_min=limits.delay_s_min, delay_max=limits.delay_s_max)
        self._is_claimed = not spool.is_durable

    def deliver(self, batch: SpooledBatch, older: tuple[Pending, ...]) -> Effects:
        """`older`: batches that were taken before, and may hold parents of this one's records."""
        if not self._is_claimed:
            yield from self._claim()
        segments: Sequence[Segment] = yield from self._persistently(OnDisk(batch.read))
        refusals = 0
        while segments:
            segments = yield from self._name_parents(batch, segments, older)
            segment, *others = segments
            answer = yield from self._send(segment)
            if isinstance(answer, ApiError):
                segments = yield from self._refuse(batch, segment, others, answer, again=refusals > 0)
                refusals += 1
            else:
                yield from self._keep_handles(segment, answer)
                self._reports.recorded(segment, answer)
                segments = others
        yield from self._persistently(OnDisk(batch.remove))

    def _claim(self) -> Effects:
        """The spool is known to be that of the key's agent before anything is sent from it."""
        owner: SpoolOwner = yield from self._persistently(Ask(operations.GET_LEDGER), _owner_of)
        yield from self._persistently(OnDisk(partial(self._spool.claim, owner)))
        self._is_claimed = True

    def _name_parents(self, batch: SpooledBatch, segments: Sequence[Segment], older: tuple[Pending, ...]) -> Effects:
        first, *others = segments
        if not lacks_parent(first):
            return segments
        yield Older(older)
        named = [give_parents(first, self._spool.handles), *others]
        yield from self._persistently(OnDisk(partial(batch.replace, named)))
        return named

    def _keep_handles(self, segment: Segment, answer: Mapping[str, Any]) -> Effects:
        found: list[RecordHandle] = [
            (item.handle, record['id']) for item, record in zip(segment.items, answer['records'], strict=True) if item.handle is not None
        ]
        if found:
            yield from self._persistently(OnDisk(partial(self._spool.handles.keep, found)))

    def _send(self, segment: Segment) -> Effects:
        """The answer, or why the server will never take it."""
        body = b'{"records":[' + b','.join(texts_of(segment)) + b']}'
        asked = Ask(operations.POST_RECORDS_BATCH, body, segment.idempotency_key)
        answer = yield from self._persistently(asked, partial(_check_batch, segment))
        return answer

    def _refuse(self, batch: SpooledBatch, segment: Segment, others: list[Segment], error: ApiError, *, again: bool) -> Effects:
        """The segments that are left to be sent."""
        refused, rest = split_refused(segment.items, error, again=again)
        dead = [Refused(item, error.problem, segment.idempotency_key) for item in refused]
        if dead:
            yield from self._persistently(OnDisk(partial(self._spool.refuse, dead)))
        left = [*rest, *others]
        yield from self._persistently(OnDisk(partial(batch.replace, left)))
        if dead:
            self._reports.refused(dead, error)
        return left

    def _persistently(self, effect: Effect, judge: Callable[[Any], Any] = lambda answer: answer) -> Effects:
        retries = 0
        while True:
            try:
                result = judge((yield effect))
            except ApiError as error:
                if isinstance(effect, Ask) and effect.content is not None and is_refusal(error):
                    result = error
                else:
                    yield from self._pause(error, retries)
                    retries += 1
                    continue
            except Exception as error:
                yield from self._pause(_known(error), retries)
                retries += 1
                continue
            if retries > 0:
                self._reports.recovered()
            return result

    def _pause(self, error: TallystickError, retries: int) -> Effects:
        self._reports.failed(error)
        if not error.retryable:
            yield Wait(self._limits.blocked_delay_s, is_blocked=True)
            return
        delay = retry_delay(self._pauses, retries, error.retry_after)
        yield Wait(RETRY_AFTER_S_MAX if delay is None else delay, is_blocked=False)


def _known(error: Exception) -> TallystickError:
    if isinstance(error, TallystickError):
        return error
    known = TallystickError(f'{type(error).__name__}: {error}')
    known.__cause__ = error
    return known


def _check_batch(segment: Segment, answer: Any) -> Any:
    """Raises unless the answer is about these records: anything that answers 201 could say that they are recorded."""
    if isinstance(answer, dict) and isinstance(answer.get('batch'), str) and isinstance(answer.get('entry'), dict):
        records = answer.get('records')
        if isinstance(answer['entry'].get('seq'), int) and isinstance(records, list) and len(records) == len(segment.items):
            return answer
    raise UnexpectedAnswerError(
        f'what was answered does not speak of the {len(segment.items)} records that were sent: check that the address is a '
        "Tallystick server's",
        retryable=False,
        idempotency_key=segment.idempotency_key,
    )


def _owner_of(ledger: Any) -> SpoolOwner:
    """Raises unless the answer says whose key it is: a spool would be another's for good."""
    if isinstance(ledger, dict) and isinstance(ledger.get('id'), str) and isinstance(ledger.get('key'), dict):
        agent = ledger['key'].get('agent')
        if isinstance(agent, str):
            return SpoolOwner(ledger['id'], agent)
    raise UnexpectedAnswerError(
        "what was answered does not name a ledger and an agent: check that the address is a Tallystick server's",
        retryable=False,
        idempotency_key=None,
    )
