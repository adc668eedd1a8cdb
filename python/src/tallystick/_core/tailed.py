"""Reads the events of a stream."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from pydantic import TypeAdapter, ValidationError

from ..types import LedgerEvent
from .answers import Asked, wrong_server
from .limits import EVENT_CHARS_MAX
from .sse import SseEvent, SseParser, SseTooLongError

ASKED: Final = Asked('GET /v1/events', None, True)
_EVENT: Final[TypeAdapter[LedgerEvent]] = TypeAdapter(LedgerEvent)


@dataclass(frozen=True, slots=True)
class TailedEvent:
    """An event, and the cursor after it. Pass the cursor as `after` to continue there."""

    event: LedgerEvent
    cursor: str


def parse_events(parser: SseParser, piece: bytes) -> list[TailedEvent]:
    """Returns the events that end in this chunk. Raises UnexpectedAnswerError for anything that is not an event."""
    try:
        return [_parse(event) for event in parser.push(piece)]
    except SseTooLongError:
        raise wrong_server(f'{ASKED.name} answered with an event of more than {EVENT_CHARS_MAX} characters') from None


def _parse(event: SseEvent) -> TailedEvent:
    try:
        parsed = _EVENT.validate_python(json.loads(event.data))
        if parsed.type == event.type and event.last_event_id:
            return TailedEvent(parsed, event.last_event_id)
    except (ValidationError, ValueError, RecursionError):
        pass
    raise wrong_server(f'{ASKED.name} answered with something else than an event')
