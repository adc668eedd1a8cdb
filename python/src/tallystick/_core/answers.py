"""Parses answers, and makes the errors for unusable answers."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn, TypeVar

import httpx2
from pydantic import BaseModel, ValidationError

from ..errors import ConnectionError, TallystickError, TimeoutError, UnexpectedAnswerError, error_of
from .http_fields import media_type_of, retry_after_of
from .statuses import meaning_of

_NEVER_CONNECTED: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)

M = TypeVar('M', bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Asked:
    """The request that an answer belongs to."""

    name: str
    """Method and address without the query, for messages."""
    idempotency_key: str | None
    repeatable: bool
    """True if a repeated request cannot take effect twice."""


def parse_object(content: bytes, asked: Asked) -> dict[str, Any]:
    """Returns the JSON object of an answer. Raises UnexpectedAnswerError for anything else."""
    try:
        value = json.loads(content.decode(), parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise unexpected(f'{asked.name} answered with invalid JSON', asked) from None
    if isinstance(value, dict):
        return value
    raise wrong_server(f'{asked.name} answered with JSON that is not an object', asked)


def _refuse(_: str) -> NoReturn:
    raise ValueError


def parse_model(model: type[M], value: object, asked: Asked) -> M:
    """Returns an answer as its model. Raises UnexpectedAnswerError, which names the first invalid member."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = '/'.join(str(step) for step in first['loc'])
        raise wrong_server(f'{asked.name} answered with something else than {model.__name__} (/{where}: {first["msg"]})', asked) from None


def refuse_media_type(status: int, headers: Mapping[str, str], media_type: str, asked: Asked) -> None:
    """Raises UnexpectedAnswerError unless the answer has this media type.

    Wrong servers and proxies answer with pages of HTML.
    """
    found = headers.get('content-type')
    if media_type_of(found) != media_type:
        type_ = 'no content type' if found is None else found[:100]
        raise wrong_server(f'{asked.name} answered {status} with {type_}, not with {media_type}', asked, status)


def refusal(status: int, headers: httpx2.Headers, content: bytes, asked: Asked) -> TallystickError:
    """Returns the error for an answer whose status is a refusal. The server or a proxy wrote the answer."""
    retry_after = retry_after_of(headers.get_list('retry-after'), time.time())
    if media_type_of(headers.get('content-type')) == 'application/problem+json':
        problem = _parse_problem(content)
        if problem is not None and problem['status'] == status:
            return error_of(
                problem,
                retry_after=retry_after,
                idempotency_key=asked.idempotency_key,
                repeatable=asked.repeatable,
            )
    if 300 <= status < 400:
        return UnexpectedAnswerError(
            f"{asked.name} redirects, but the API key is only sent to the named server: use the server's own address{look_first(asked)}",
            retryable=False,
            idempotency_key=asked.idempotency_key,
            status=status,
        )
    meaning = meaning_of(status)
    what = (
        f'something in front of the server answered {asked.name} with {status}'
        if meaning.passing
        else f'{asked.name} answered {status} without a reason'
    )
    outcome = '; nothing was done' if meaning.nothing_done else look_first(asked)
    return UnexpectedAnswerError(
        f'{what}: {meaning.advice}{outcome}',
        retryable=meaning.passing and (asked.repeatable or meaning.nothing_done),
        idempotency_key=asked.idempotency_key,
        status=status,
        nothing_done=meaning.nothing_done,
        retry_after=retry_after,
    )


def unexpected(message: str, asked: Asked) -> UnexpectedAnswerError:
    """Returns the error for an answer that may have been damaged in transit. The error is retryable if the request is repeatable."""
    return UnexpectedAnswerError(
        message + look_first(asked),
        retryable=asked.repeatable,
        idempotency_key=asked.idempotency_key,
    )


def wrong_server(message: str, asked: Asked | None = None, status: int | None = None) -> UnexpectedAnswerError:
    """Returns the error for an answer that no Tallystick server gives. Another attempt would not help.

    `asked`: None for requests that take no idempotency key.
    """
    return UnexpectedAnswerError(
        f'{message}: check that the address is that of a Tallystick server{look_first(asked) if asked else ""}',
        retryable=False,
        idempotency_key=asked.idempotency_key if asked else None,
        status=status,
    )


def look_first(asked: Asked) -> str:
    """Returns advice for the error message, if the answer was lost and the request cannot safely be
    repeated. Otherwise returns an empty text.
    """
    return '' if asked.repeatable else '; it is unknown whether it was done: check before you repeat it'


def timed_out(asked: Asked, timeout: float) -> TimeoutError:
    return TimeoutError(
        f"{asked.name} did not answer within {timeout:g} s: check the server's load, or use a longer timeout{look_first(asked)}",
        retryable=asked.repeatable,
        idempotency_key=asked.idempotency_key,
    )


def disconnected(asked: Asked, error: Exception, timeout: float) -> TallystickError:
    """Returns the error for an attempt that failed without a complete answer."""
    reason = str(error) or type(error).__name__
    if isinstance(error, _NEVER_CONNECTED):
        return ConnectionError(
            f'{asked.name}: no connection ({reason}); is the server running, and is the address right?',
            retryable=True,
            idempotency_key=None,
            nothing_done=True,
        )
    if isinstance(error, httpx2.TimeoutException):
        return timed_out(asked, timeout)
    if isinstance(error, httpx2.DecodingError):
        return unexpected(f'{asked.name} answered with something that cannot be decompressed', asked)
    return ConnectionError(
        f'{asked.name}: the connection broke ({reason}){look_first(asked)}',
        retryable=asked.repeatable,
        idempotency_key=asked.idempotency_key,
    )


def _parse_problem(content: bytes) -> dict[str, Any] | None:
    """Returns the problem document. Returns None if the body is not a problem document; then a proxy
    may have written it.
    """
    try:
        problem = json.loads(content.decode())
    except (ValueError, RecursionError):
        return None
    is_problem = (
        isinstance(problem, dict)
        and type(problem.get('status')) is int
        and type(problem.get('retryable')) is bool
        and all(type(problem.get(name)) is str for name in ('code', 'title', 'detail', 'requestId'))
    )
    return problem if is_problem else None
