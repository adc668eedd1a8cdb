"""Sends a batch until each of its records is recorded or refused, however long that takes."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from .._core import operations
from .._core.requests import make_idempotency_key
from .._core.retries import RetryPolicy, retry_delay
from ..errors import ApiError, TallystickError, UnexpectedAnswerError
from .effects import Ask, Effect, Effects, Older, OnDisk, Wait
from .foreign_refusals import halve, is_by_size, problem_of, rejoin, renew_keys, send_or_judge, sent_in_halves, set_aside, waits_after
from .handles import give_parents, lacks_parent, texts_of
from .items import Item
from .limits import RETRY_AFTER_S_MAX, SET_ASIDE_IN_A_ROW_MAX
from .options import Limits
from .pending import Pending
from .refusals import split_refused
from .reports import Reports
from .segments import RecordHandle, Refused, Segment, Spool, SpooledBatch, SpoolOwner


class Delivery:
    """Sends batches. The same bytes always have the same key, so that nothing is recorded twice.

    A changed batch is on disk before it is sent. The methods are generators that yield effects. If
    the caller closes a generator, the delivery ends and the batch stays in the spool.
    """

    def __init__(self, spool: Spool, limits: Limits, reports: Reports) -> None:
        self._spool = spool
        self._limits = limits
        self._reports = reports
        self._pauses = RetryPolicy(delay_min=limits.delay_s_min, delay_max=limits.delay_s_max)
        self._is_claimed = not spool.is_durable
        self._set_aside = 0
        """Records set aside in a row, without a record that was recorded in between."""
        self._is_size_reported = False

    def deliver(self, batch: SpooledBatch, older: tuple[Pending, ...]) -> Effects:
        """Sends one batch. `older`: batches that were accepted earlier. They may contain parents of
        this batch's records.
        """
        if not self._is_claimed:
            yield from self._claim()
        segments: Sequence[Segment] = yield from self._on_disk(batch.read)
        refusals = 0
        while segments:
            segments = yield from self._name_parents(batch, segments, older)
            segment, others, answer = yield from self._send_first(segments)
            if isinstance(answer, ApiError):
                segments = yield from self._refuse(batch, segment, others, answer, again=refusals > 0)
                refusals += 1
            elif isinstance(answer, UnexpectedAnswerError):
                segments = yield from self._avoid(batch, segment, others, answer)
            else:
                self._set_aside = 0
                yield from self._keep_handles(segment, answer)
                self._reports.recorded(segment, answer)
                segments = renew_keys(others, segment.idempotency_key, make_idempotency_key)
                if segments is not others:
                    yield from self._on_disk(partial(batch.replace, segments))
        yield from self._on_disk(batch.remove)

    def _claim(self) -> Effects:
        """Makes sure that the spool belongs to the key's agent, before anything is sent from it."""
        owner: SpoolOwner = yield from self._persistently(lambda: _once(Ask(operations.GET_LEDGER), _owner_of))
        yield from self._on_disk(partial(self._spool.claim, owner))
        self._is_claimed = True

    def _name_parents(self, batch: SpooledBatch, segments: Sequence[Segment], older: tuple[Pending, ...]) -> Effects:
        first, *others = segments
        if not lacks_parent(first):
            return segments
        yield Older(older)
        named = [give_parents(first, self._spool.handles), *others]
        yield from self._on_disk(partial(batch.replace, named))
        return named

    def _keep_handles(self, segment: Segment, answer: Mapping[str, Any]) -> Effects:
        found: list[RecordHandle] = [
            (item.handle, record['id']) for item, record in zip(segment.items, answer['records'], strict=True) if item.handle is not None
        ]
        if found:
            yield from self._on_disk(partial(self._spool.handles.keep, found))

    def _send_first(self, segments: Sequence[Segment]) -> Effects:
        """Sends the first segment. Returns the segment that was sent, the segments after it, and the
        answer.

        If the server knows the key from a larger request, the segment is joined with the following
        segments of the same key and sent again. The joined segment is not stored, so this is
        repeated after a crash.
        """
        first, *others = segments
        answer = yield from self._send(first)
        if not isinstance(answer, ApiError) or answer.code != 'idempotency_key_reused':
            return first, others, answer
        joined = rejoin(first, others)
        while joined is not None:
            found = yield from self._send(joined[0])
            if not isinstance(found, TallystickError):
                return (*joined, found)
            joined = rejoin(*joined)
        return first, others, answer

    def _send(self, segment: Segment) -> Effects:
        """Returns the answer to a segment. If the segment can never be accepted unchanged, returns the
        error.
        """
        ask = Ask(operations.POST_RECORDS_BATCH, _body_of(segment), segment.idempotency_key)

        def attempt() -> Effects:
            answer = yield from send_or_judge(segment, ask, partial(_check_batch, segment), self._limits.delay_s_min)
            is_too_many = len(segment.items) == 1 and self._set_aside >= SET_ASIDE_IN_A_ROW_MAX
            if isinstance(answer, UnexpectedAnswerError) and is_too_many:
                raise waits_after(self._set_aside, answer)
            return answer

        answer = yield from self._persistently(attempt)
        return answer

    def _avoid(self, batch: SpooledBatch, segment: Segment, others: Sequence[Segment], error: UnexpectedAnswerError) -> Effects:
        """Returns the segments that are left to send after an intermediary refused the first segment.

        The first segment is split into two halves. If it has only one record, that record is set
        aside, and the other segments are left.
        """
        if len(segment.items) == 1:
            why = set_aside(len(_body_of(segment)), error)
            self._set_aside += 1
            left = yield from self._take_out(batch, segment, segment.items, others, why, problem_of(why))
            return left
        halves = [*halve(segment), *others]
        yield from self._on_disk(partial(batch.replace, halves))
        # Reported only once, because a proxy with a small limit refuses every batch. A record that
        # is refused alone is reported separately.
        if is_by_size(error) and not self._is_size_reported:
            self._is_size_reported = True
            self._reports.failed(sent_in_halves(segment, error))
            self._reports.recovered()
        return halves

    def _refuse(self, batch: SpooledBatch, segment: Segment, others: Sequence[Segment], error: ApiError, *, again: bool) -> Effects:
        """Takes refused records out of a batch. Returns the segments that are left to be sent."""
        refused, left = split_refused(segment, others, error, again=again)
        left = yield from self._take_out(batch, segment, refused, left, error, error.problem)
        return left

    def _take_out(
        self,
        batch: SpooledBatch,
        segment: Segment,
        refused: Sequence[Item],
        left: Sequence[Segment],
        why: TallystickError,
        problem: Mapping[str, Any],
    ) -> Effects:
        """Stores refused records for people, and then removes them from the batch. Returns the segments that are left."""
        dead = [Refused(item, problem, segment.idempotency_key) for item in refused]
        if dead:
            yield from self._on_disk(partial(self._spool.refuse, dead))
        yield from self._on_disk(partial(batch.replace, left))
        if dead:
            self._reports.refused(dead, why)
        return left

    def _on_disk(self, work: Callable[[], Any]) -> Effects:
        result = yield from self._persistently(lambda: _once(OnDisk(work)))
        return result

    def _persistently(self, attempt: Callable[[], Effects]) -> Effects:
        retries = 0
        while True:
            try:
                result = yield from attempt()
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


def _once(effect: Effect, judge: Callable[[Any], Any] = lambda answer: answer) -> Effects:
    return judge((yield effect))


def _body_of(segment: Segment) -> bytes:
    return b'{"records":[' + b','.join(texts_of(segment)) + b']}'


def _known(error: Exception) -> TallystickError:
    if isinstance(error, TallystickError):
        return error
    known = TallystickError(f'{type(error).__name__}: {error}')
    known.__cause__ = error
    return known


def _check_batch(segment: Segment, answer: Any) -> Any:
    """Raises UnexpectedAnswerError unless the answer lists as many records as the segment has. The
    status is not enough, because a wrong server could answer 201 too.
    """
    if isinstance(answer, dict) and isinstance(answer.get('batch'), str) and isinstance(answer.get('entry'), dict):
        records = answer.get('records')
        if isinstance(answer['entry'].get('seq'), int) and isinstance(records, list) and len(records) == len(segment.items):
            return answer
    raise UnexpectedAnswerError(
        f'the answer does not match the {len(segment.items)} sent records: check that the address is that of a Tallystick server',
        retryable=False,
        idempotency_key=segment.idempotency_key,
    )


def _owner_of(ledger: Any) -> SpoolOwner:
    """Returns the owner of the API key. Raises UnexpectedAnswerError if the answer has none. A wrong
    owner would claim the spool for good.
    """
    if isinstance(ledger, dict) and isinstance(ledger.get('id'), str) and isinstance(ledger.get('key'), dict):
        agent = ledger['key'].get('agent')
        if isinstance(agent, str):
            return SpoolOwner(ledger['id'], agent)
    raise UnexpectedAnswerError(
        'the answer names no ledger and agent: check that the address is that of a Tallystick server',
        retryable=False,
        idempotency_key=None,
    )
