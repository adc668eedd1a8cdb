"""Errors that the client raises.

`retryable` is True if the same call may succeed later. The message says what to do. All times are
in seconds. The classes match those of the TypeScript SDK: branch on the class, and on `code` where
there is one.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final

from ._core.advice import ADVICE
from ._text import plain


class TallystickError(Exception):
    """Base class of every error that this library raises on purpose."""

    retryable: bool
    retry_after: float | None
    """Seconds that the server asked to wait. None: the server named no wait."""

    def __init__(self, message: str, *, retryable: bool = False, retry_after: float | None = None) -> None:
        super().__init__(plain(message))
        self.retryable = retryable
        self.retry_after = retry_after


class UsageError(TallystickError):
    """An argument is invalid. Nothing was sent."""


class SecretLostError(TallystickError):
    """The answer with a secret was lost. The server sends a secret only once.

    The API key or webhook exists: rotate it to get a new secret.
    """

    id: str
    """Id of the API key, or of the webhook."""

    def __init__(self, id: str) -> None:
        super().__init__(f'the secret of {id} was lost with the first answer. What to do: rotate {id}, to get a new secret')
        self.id = id


class ApiError(TallystickError):
    """The server refused the request with a problem document (RFC 9457). Subclasses group the statuses."""

    status: int
    code: str
    """Error code, listed in docs/reference/errors.md. A newer server may send codes that are not listed there."""
    request_id: str
    """Id of the request in the server's log. Give it to the operator."""
    problem: dict[str, Any]
    """The problem document as the server sent it, with the members that its code adds."""

    def __init__(self, problem: dict[str, Any], retry_after: float | None = None) -> None:
        code = problem['code']
        advice = f'. What to do: {ADVICE[code]}{_named_members(ADVICE[code], problem)}' if code in ADVICE else ''
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


_SHOWN: Final = ('detail', 'path', 'requestId')
"""Members of a problem document that every message has already."""


def _named_members(advice: str, problem: dict[str, Any]) -> str:
    """Renders the members of a problem document that its advice names, such as ` (nextEvents: record-activated)`.
    Returns '' if the document has none of them.
    """
    names = dict.fromkeys(re.findall(r'`([A-Za-z]+)`', advice))
    shown = [f'{name}: {_value_text(problem[name])}' for name in names if name not in _SHOWN and name in problem]
    return f' ({"; ".join(shown)})' if shown else ''


def _value_text(value: Any) -> str:
    if isinstance(value, list):
        return ', '.join(_value_text(one) for one in value) if value else 'none'
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(',', ':'))


class AuthenticationError(ApiError):
    """401: the key is missing, wrong, expired or revoked."""


class PermissionError(ApiError):
    """403: the key lacks a scope, the step belongs to another agent, or the ledger is frozen. The message
    names the scopes that would do, or the party.
    """


class NotFoundError(ApiError):
    """404: the resource does not exist, or this key may not see it."""


class InvalidRequestError(ApiError):
    """400, 413, 415, 422, 431: the request is invalid. Repeating it does not help."""


class ConflictError(ApiError):
    """409, 412: the current state does not allow the request.

    If the request is about a gated record, the properties give the record's state, its version and
    the allowed steps.
    """

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
    """429: too many requests. Nothing was done."""


class UnavailableError(ApiError):
    """503: nothing was written."""


class ServerError(ApiError):
    """500, and every status that has no class of its own."""


class UnknownOutcomeError(TallystickError):
    """The outcome of the call is unknown. With `idempotency_key` a write can be repeated without being
    done twice.

    This class itself is raised when an attempt had no answer and a later attempt was refused.
    `__cause__` is the refusal.
    """

    idempotency_key: str | None
    """None: the call takes no key, or nothing was sent."""
    nothing_done: bool
    """True if nothing was done: no connection was made, or the status proves it (docs/reference/client-outcomes.md)."""

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
    """503 `outcome_unknown`: the server lost its connection to the database before the database answered."""

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
    """No connection could be made, or the connection broke."""


class TimeoutError(UnknownOutcomeError):
    """The answer did not arrive completely within `timeout`."""


class UnexpectedAnswerError(UnknownOutcomeError):
    """The answer does not come from a Tallystick server, or is damaged: a proxy's page, a truncated body, a redirect."""

    status: int | None
    """HTTP status of the answer. None: the body broke off, or was not the expected one."""

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
    """Returns the error for a problem document. The status selects the class; `outcome_unknown` has its own."""
    if problem['code'] == 'outcome_unknown':
        return OutcomeUnknownError(problem, retry_after=retry_after, idempotency_key=idempotency_key, repeatable=repeatable)
    return _FAMILIES.get(problem['status'], ServerError)(problem, retry_after)
