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
    """Seconds for each attempt, or for each chunk of a stream."""
    max_retries: float
    """0: no retries. `math.inf`: retries until the call succeeds or an error is final."""
    if_known_size: int
    """Minimum ledger size that a read must reflect, in entries, such as `seq + 1` of an event.

    By default this is the size that the client has written or read before. Raises ConflictError `ledger_smaller` if the ledger
    has fewer entries.
    """


class WriteOptions(CallOptions, total=False):
    """Options of calls that write."""

    idempotency_key: str
    """1 to 255 visible ASCII characters. By default a random key is made, so that a retry never writes twice."""
    traceparent: str
    """W3C Trace Context, signed with the record."""


class RecordOptions(OtherMembers, WriteOptions):
    """Options of calls that make a record, and further members of the record."""


class SearchOptions(OtherFilters, CallOptions):
    """Options of a search of records, and further filters."""


class StepOptions(WriteOptions, total=False):
    """Options of steps of a gated record."""

    if_version: int
    """Takes the step only if the record still has this version. Otherwise raises ConflictError `version_mismatch`."""


@dataclass(frozen=True, slots=True)
class Call:
    """Input of one call of an operation."""

    params: Mapping[str, str | int] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    body: dict[str, Any] | None = None
    """Body as JSON, by the server's names."""
    content: bytes | None = None
    """Body that is not JSON, of `media_type`. Instead of `body`."""
    media_type: str = 'application/json'
    options: CallOptions = field(default_factory=lambda: CallOptions())
    gated: bool | None = None
    """True: creates a gated record. False: notarizes. Set by the caller; no answer of a server changes it."""
    unretried: tuple[str, ...] = ()
    """Error codes that count as an answer and are not retried."""
    known_version: int | None = None
    """Version of the record that the caller has. The server answers 304 while the record has this version."""
    held_seconds: float = 0.0
    """Seconds that the server may wait before it answers, added to the timeout."""

    def with_body(self, body: dict[str, Any], options: CallOptions) -> Call:
        return replace(self, body=body, options=options)

    @property
    def said(self) -> StepOptions:
        """The options of the call. Their type is that of a step's options, because these include the
        options of all other calls.
        """
        return cast(StepOptions, self.options)


Asking = Generator[tuple[Operation, Call], dict[str, Any], dict[str, Any] | None]


class RequestSigner(Protocol):
    """Signs calls of an agent before they are sent.

    One object may serve synchronous and asynchronous clients, and several ledgers. `client` is only
    used to distinguish clients.

    `sign` is a generator. It yields an operation and a call whose answer it needs. The caller sends
    this answer into the generator as a dict. The generator returns the call's body with the
    envelope, or None if this call is not signed.

    `forget` is called after the error `statement_mismatch`. It drops stored facts about the agent
    and the ledger of this client, because these facts are out of date.
    """

    def sign(self, client: object, operation: Operation, call: Call) -> Asking: ...

    def forget(self, client: object) -> None: ...


def members(**values: Any) -> dict[str, Any]:
    """Returns the members of a body or a query with the server's names: `on_behalf_of` becomes
    `onBehalfOf`. Leaves out members that are None.
    """
    return {camel_case(name): value for name, value in values.items() if value is not None}


def other_members(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the given members of OTHER_MEMBERS with the server's names. Leaves out members that are
    None.
    """
    return {name: given[argument] for argument, name in OTHER_MEMBERS.items() if given.get(argument) is not None}


def camel_case(name: str) -> str:
    first, *rest = name.rstrip('_').split('_')
    return first + ''.join(word.capitalize() for word in rest)
