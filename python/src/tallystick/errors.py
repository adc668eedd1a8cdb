"""Errors of the client. `retryable` says whether the same call may succeed later; the message says what to do.

The tree is that of the TypeScript SDK, so programs look at the class, and at `code` if there is one. Times are seconds.
"""

from __future__ import annotations

import math
from typing import Any, Final

from ._core.advice import ADVICE
from ._text import plain


class TallystickError(Exception):
    """Every error that this library raises on purpose."""

    retryable: bool
    retry_after: float | None
    """Wait that the server asked for, in seconds."""

    def __init__(self, message: str, *, retryable: bool = False, retry_after: float | None = None) -> None:
        super().__init__(plain(message))
        self.retryable = retryable
        self.retry_after = retry_after


class UsageError(TallystickError):
    """An argument is meaningless: nothing was sent."""


class SecretLostError(TallystickError):
    """The answer with a secret was lost, and the server sends it only once. The API key or webhook exists, but its secret is unknown."""

    id: str
    """Id of the API key, or of the webhook."""

    def __init__(self, id: str) -> None:
        super().__init__(f'the secret of {id} was lost with the first answer. What to do: rotate {id}, to get a new secret')
        self.id = id


class ApiError(TallystickError):
    """The server answered that it did not do it (RFC 9457). Subclasses are the families that callers tell apart."""

    status: int
    code: str
    """One of docs/reference/errors.md; a newer server has others besides."""
    request_id: str
    """Names the request in the server's log: tell the operator."""
    problem: dict[str, Any]
    """As the server sent it, with whatever else the code brings."""

    def __init__(self, problem: dict[str, Any], retry_after: float | None = None) -> None:
        code = problem['code']
        advice = f'. What to do: {ADVICE[code]}' if code in ADVICE else ''
        detail = problem['detail'] or problem['title']
        where = f' (at {problem["path"]})' if problem.get('path') else ''
        wait = '' if retry_after is None else f' (in {math.ceil(retry_after)} s)'
        super().__init__(
            f'{problem["status"]} {code}: {detail}{where}{advice}{wait} [request {problem["requestId"]}]',
            retryable=problem['retryable'],
            retry_after=retry_after,
        )
        self.status = problem['status']
        self.code = code
        self.request_id = problem['requestId']
        self.problem = problem


class AuthenticationError(ApiError):
    """401: the key is missing, wrong, expired or revoked."""


class PermissionError(ApiError):
    """403: the key may not do this: it lacks `problem['scope']`, the step is another agent's, or the ledger is frozen."""


class NotFoundError(ApiError):
    """404: nothing there that this key may know of."""


class InvalidRequestError(ApiError):
    """400, 413, 415, 422, 431: the request would be refused as often as it is sent."""


class ConflictError(ApiError):
    """409, 412: the current state does not allow it. The properties say which steps of a gated record are allowed."""

    @property
    def state(self) -> str | None:
        return self.problem.get('state')

    @property
    def version(self) -> int | None:
        return self.problem.get('version')

    @property
    def next_events(self) -> list[str] | None:
        return self.problem.get('nextEvents')


class RateLimitError(ApiError):
    """429: nothing was done."""


class UnavailableError(ApiError):
    """503: nothing was written."""


class ServerError(ApiError):
    """500, and every other status without a family."""


class UnknownOutcomeError(TallystickError):
    """Whether it was done is not known. With `idempotency_key` a write is repeated without being done twice.

    The class itself is raised when an attempt had no answer and a later one was refused: `__cause__` is the refusal.
    """

    idempotency_key: str | None
    """None: the call took none, or nothing was sent."""
    nothing_done: bool
    """Nothing was done after all: there was no connection, or the status proves it (docs/reference/client-outcomes.md)."""

    def __init__(
        self,
        message: str,
        *,
        retryable: bool,
        idempotency_key: str | None,
        nothing_done: bool = False,
        retry_after: float | None = None,
    ) -> None:
        if idempotency_key is not None and not nothing_done:
            message += f'; it is unknown whether it was written: repeat it with the idempotency key "{idempotency_key}"'
        super().__init__(message, retryable=retryable, retry_after=retry_after)
        self.idempotency_key = idempotency_key
        self.nothing_done = nothing_done


class OutcomeUnknownError(UnknownOutcomeError):
    """503 `outcome_unknown`: the server lost its database connection before the answer."""

    status: Final = 503
    code: Final = 'outcome_unknown'
    request_id: str
    problem: dict[str, Any]

    def __init__(self, problem: dict[str, Any], *, retry_after: float | None, idempotency_key: str | None, repeatable: bool) -> None:
        self.request_id = problem['requestId']
        self.problem = problem
        look = '' if repeatable else '; it is unknown whether it was done: check before you repeat it'
        super().__init__(
            f'503 outcome_unknown: the server lost its database connection before the answer [request {self.request_id}]{look}',
            retryable=problem['retryable'] and repeatable,
            idempotency_key=idempotency_key,
            retry_after=retry_after,
        )


class ConnectionError(UnknownOutcomeError):
    """No connection, or it broke off."""


class TimeoutError(UnknownOutcomeError):
    """No answer, or not all of it, within `timeout`."""


class UnexpectedAnswerError(UnknownOutcomeError):
    """Something answered that is not a Tallystick server, or is broken: a proxy's page, a cut-off body, a redirect."""

    status: int | None
    """HTTP status of the answer. None: the answer broke, or was understood only in part."""

    def __init__(
        self,
        message: str,
        *,
        retryable: bool,
        idempotency_key: str | None,
        status: int | None = None,
        nothing_done: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(
            message,
            retryable=retryable,
            idempotency_key=idempotency_key,
            nothing_done=nothing_done,
            retry_after=retry_after,
        )
        self.status = status


_FAMILIES: Final[dict[int, type[ApiError]]] = {
    400: InvalidRequestError,
    401: AuthenticationError,
    403: PermissionError,
    404: NotFoundError,
    409: ConflictError,
    412: ConflictError,
    413: InvalidRequestError,
    415: InvalidRequestError,
    422: InvalidRequestError,
    429: RateLimitError,
    431: InvalidRequestError,
    503: UnavailableError,
}


def error_of(problem: dict[str, Any], *, retry_after: float | None, idempotency_key: str | None, repeatable: bool) -> TallystickError:
    """The error that a problem document stands for."""
    if problem['code'] == 'outcome_unknown':
        return OutcomeUnknownError(problem, retry_after=retry_after, idempotency_key=idempotency_key, repeatable=repeatable)
    return _FAMILIES.get(problem['status'], ServerError)(problem, retry_after)
