"""Options of calls, and the calls themselves."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypedDict, cast

from .members import OTHER_MEMBERS, OtherFilters, OtherMembers
from .operations import Operation


class CallOptions(TypedDict, total=False):
    """Options of every call."""

    timeout: float
    """Seconds for each attempt, or for each piece of a stream."""
    max_retries: float
    """0: never again; `math.inf`: until it succeeds, or fails for good."""
    if_known_size: int
    """Fewest entries of the ledger that a read shows, such as `seq + 1` of an event. By itself a client demands what it has
    written or read before. ConflictError `ledger_smaller`: the ledger has fewer.
    """


class WriteOptions(CallOptions, total=False):
    """Options of calls that write."""

    idempotency_key: str
    """1 to 255 visible ASCII characters. One is made where none is given, so that a retry never does it twice."""
    traceparent: str
    """W3C Trace Context: signed with the record."""


class RecordOptions(OtherMembers, WriteOptions):
    """Options of calls that make a record, and members of the record."""


class SearchOptions(OtherFilters, CallOptions):
    """Options of a search of records, and filters of the search."""


class StepOptions(WriteOptions, total=False):
    """Options of steps of a gated record."""

    if_version: int
    """Only if the record still has this version; otherwise ConflictError `version_mismatch`."""


@dataclass(frozen=True, slots=True)
class Call:
    """Everything that one call of an operation says."""

    params: Mapping[str, str | int] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    body: dict[str, Any] | None = None
    """JSON, by the server's names."""
    content: bytes | None = None
    """A body that is no JSON, of `media_type`; instead of `body`."""
    media_type: str = 'application/json'
    options: CallOptions = field(default_factory=lambda: CallOptions())
    gated: bool | None = None
    """Whether the record is to be created, not notarized: the caller's word, which no server can change."""
    unretried: tuple[str, ...] = ()
    """Codes of errors that are answers, not obstacles: no retry because of these."""
    known_version: int | None = None
    """Version of the record that the caller has: 304 while it is the same."""
    held_seconds: float = 0.0
    """How long the server may hold the answer back, beyond the time for it."""

    def with_body(self, body: dict[str, Any], options: CallOptions) -> Call:
        return replace(self, body=body, options=options)

    @property
    def said(self) -> StepOptions:
        """Options of any kind."""
        return cast(StepOptions, self.options)


Asking = Generator[tuple[Operation, Call], dict[str, Any], dict[str, Any] | None]


class RequestSigner(Protocol):
    """Signs what an agent does, before it is sent. One object may serve clients of both flavours, and several ledgers.

    `sign` is a generator: it yields an operation and a call that it needs the answer of (JSON, as a dict), is sent that answer, and
    returns the call's body with its envelope, or None: such calls are not signed. `client` tells clients apart, and is no more than
    that. `forget`: the server says that it is somebody else by now.
    """

    def sign(self, client: object, operation: Operation, call: Call) -> Asking: ...

    def forget(self, client: object) -> None: ...


def members(**values: Any) -> dict[str, Any]:
    """Members of a body or a query that were given (None: not given), by the server's names: `on_behalf_of` → `onBehalfOf`."""
    return {camel_case(name): value for name, value in values.items() if value is not None}


def other_members(given: Mapping[str, Any]) -> dict[str, Any]:
    """Those of OTHER_MEMBERS that were given (None: not given), by the server's names."""
    return {name: given[argument] for argument, name in OTHER_MEMBERS.items() if given.get(argument) is not None}


def camel_case(name: str) -> str:
    first, *rest = name.rstrip('_').split('_')
    return first + ''.join(word.capitalize() for word in rest)
