# Made by `npm run python:generate`; not to be edited.
"""Calls that answer the HTTP answer beside the model."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from .._core.raw import RawAnswer, RawResponse, kept, raw_response

P = ParamSpec('P')
T = TypeVar('T')


def raw(method: Callable[P, T]) -> Callable[P, RawResponse[T]]:
    """The same method, answering a RawResponse."""

    @wraps(method)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> RawResponse[T]:
        answers: list[RawAnswer] = []
        token = kept.set(answers)
        try:
            parsed = method(*args, **kwargs)
        finally:
            kept.reset(token)
        return raw_response(answers, parsed)

    return wrapped
