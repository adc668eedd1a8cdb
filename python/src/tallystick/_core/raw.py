"""Raw responses: the HTTP answer beside the model that was made of it."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar('T')


@dataclass(frozen=True, slots=True)
class RawAnswer:
    status_code: int
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True, slots=True)
class RawResponse(Generic[T]):
    """The answer of a call as it came: of a call of several requests, the last one."""

    status_code: int
    headers: Mapping[str, str]
    content: bytes
    parsed: T

    @property
    def text(self) -> str:
        return self.content.decode()

    def parse(self) -> T:
        return self.parsed


kept: ContextVar[list[RawAnswer] | None] = ContextVar('tallystick_raw', default=None)
"""Where the transport puts the answers of the call that is under way; None: nobody asked for them."""


def keep(status_code: int, headers: Mapping[str, str], content: bytes) -> None:
    answers = kept.get()
    if answers is not None:
        answers[:] = [RawAnswer(status_code, headers, content)]


def raw_response(answers: list[RawAnswer], parsed: T) -> RawResponse[T]:
    last = answers[-1]
    return RawResponse(last.status_code, last.headers, last.content, parsed)
