"""Pages of lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from .answers import Asked, parse_model, wrong_server
from .operations import Operation

T = TypeVar('T')
M = TypeVar('M', bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A page of a list. `next_cursor` is None on the last page."""

    data: list[T]
    next_cursor: str | None


def page_of(model: type[M], answer: dict[str, Any], operation: Operation) -> Page[M]:
    """Returns a page as its model. Raises UnexpectedAnswerError if the answer is not a page."""
    asked = Asked(f'{operation.method} {operation.path}', None, True)
    data, cursor = answer.get('data'), answer.get('nextCursor')
    if not isinstance(data, list) or not (cursor is None or isinstance(cursor, str)):
        raise wrong_server(f'{asked.name} answered without a list in `data`, or with an invalid `nextCursor`')
    return Page([parse_model(model, item, asked) for item in data], cursor)
