# Made by `npm run python -- generate`; not to be edited.
"""Endpoints that the ledger's events are delivered to, and their deliveries."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Unpack

from ..._core import operations as ops
from ..._core.answers import wrong_server
from ..._core.given import NOT_GIVEN, NotGiven
from ..._core.operations import Operation
from ..._core.options import Call, CallOptions, members
from ...errors import ConflictError, SecretLostError, TallystickError, UnknownOutcomeError
from ...types import Delivery, DeliverySummary, Redelivery, Webhook, WebhookWithSecret
from ..io import sleep
from ..listing import Listing, listing
from ..transport import Transport

if TYPE_CHECKING:
    from ...types import WebhookEventName


class Webhooks:
    """Endpoints that the ledger's events are delivered to, and their deliveries. A receiver verifies them with
    `tallystick.webhooks.verify`.

    None of it takes an idempotency key. A call that comes to the same when it is made twice is repeated if its answer was lost; the
    rest (`delete`, `rotate_secret`, `test`, `redeliver`, `recover`) is not: look before you repeat it.
    """

    def __init__(self, http: Transport) -> None:
        self._http = http

    def create(
        self,
        *,
        url: str,
        events: Sequence[WebhookEventName],
        description: str | None = None,
        types: Sequence[str] | None = None,
        include: Sequence[Literal['documents', 'envelope']] | None = None,
        **options: Unpack[CallOptions],
    ) -> WebhookWithSecret:
        """`POST /v1/webhooks`: it hears of what is appended from now on. Raises ConflictError where the ledger has one that is just like
        it, and `problem['webhook']` names that one; SecretLostError where the first answer was lost, and the call repeated:
        `rotate_secret` makes another.
        """
        body = members(url=url, events=events, description=description, types=types, include=include)
        retries = self._http.retries_of(options)
        once: CallOptions = {**options, 'max_retries': 0}
        may_be_there = False
        while True:
            try:
                return self._http.json(WebhookWithSecret, ops.POST_WEBHOOKS, Call(body=body, options=once))
            except TallystickError as error:
                twin = error.problem.get('webhook') if isinstance(error, ConflictError) else None
                if may_be_there and twin is not None:
                    raise SecretLostError(str(twin)) from error
                may_be_there = may_be_there or (isinstance(error, UnknownOutcomeError) and not error.nothing_done)
                sleep(retries.delay_before(error))

    def list(self, *, limit: int | None = None, **options: Unpack[CallOptions]) -> Listing[Webhook]:
        """`GET /v1/webhooks`: in the order in which they were made, without their secrets."""
        return listing(self._http, Webhook, ops.GET_WEBHOOKS, members(limit=limit), options)

    def get(self, id: str, **options: Unpack[CallOptions]) -> Webhook:
        """`GET /v1/webhooks/{id}`: `standing` says how far it has heard, and how it answers."""
        return self._http.json(Webhook, ops.GET_WEBHOOKS_BY_ID, Call(params={'id': id}, options=options))

    def update(
        self,
        id: str,
        *,
        url: str | None = None,
        events: Sequence[WebhookEventName] | None = None,
        description: str | NotGiven | None = NOT_GIVEN,
        types: Sequence[str] | None = None,
        include: Sequence[Literal['documents', 'envelope']] | None = None,
        **options: Unpack[CallOptions],
    ) -> Webhook:
        """`PATCH /v1/webhooks/{id}`: arguments that are not given stay as they are, and so do its secrets."""
        body = members(url=url, events=events, types=types, include=include)
        if not isinstance(description, NotGiven):
            body['description'] = description
        return self._http.json(Webhook, ops.PATCH_WEBHOOKS_BY_ID, Call(params={'id': id}, body=body, options=options))

    def pause(self, id: str, **options: Unpack[CallOptions]) -> Webhook:
        """`POST /v1/webhooks/{id}/pause`: events wait until it is resumed."""
        call = Call(params={'id': id}, body={}, options=options)
        return self._http.json(Webhook, ops.POST_WEBHOOKS_BY_ID_PAUSE, call)

    def resume(self, id: str, *, from_: Literal['here', 'now'] | None = None, **options: Unpack[CallOptions]) -> Webhook:
        """`POST /v1/webhooks/{id}/resume`: `from_='now'` leaves out what it has missed; without that all of it is delivered."""
        call = Call(params={'id': id}, body=members(from_=from_), options=options)
        return self._http.json(Webhook, ops.POST_WEBHOOKS_BY_ID_RESUME, call)

    def delete(self, id: str, **options: Unpack[CallOptions]) -> None:
        """`DELETE /v1/webhooks/{id}`: with its secrets and deliveries; not to be undone."""
        self._http.done(ops.DELETE_WEBHOOKS_BY_ID, Call(params={'id': id}, options=options))

    def rotate_secret(self, id: str, *, overlap_seconds: int | None = None, **options: Unpack[CallOptions]) -> WebhookWithSecret:
        """`POST /v1/webhooks/{id}/rotate-secret`: deliveries are signed with those before as well for `overlap_seconds`, by default a
        day. Not repeated where the answer is lost, because each time makes a secret.
        """
        call = Call(params={'id': id}, body=members(overlap_seconds=overlap_seconds), options=options)
        return self._http.json(WebhookWithSecret, ops.POST_WEBHOOKS_BY_ID_ROTATE_SECRET, call)

    def test(self, id: str, **options: Unpack[CallOptions]) -> Delivery:
        """`POST /v1/webhooks/{id}/test`: sends an event that says nothing; `delivery` says later what became of it."""
        return self._deliver(ops.POST_WEBHOOKS_BY_ID_TEST, {'id': id}, options)

    def deliveries(
        self,
        id: str,
        *,
        state: str | None = None,
        event: str | None = None,
        record: str | None = None,
        limit: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Listing[DeliverySummary]:
        """`GET /v1/webhooks/{id}/deliveries`: newest first, without their attempts."""
        query = members(state=state, event=event, record=record, limit=limit)
        return listing(self._http, DeliverySummary, ops.GET_WEBHOOKS_BY_ID_DELIVERIES, query, options, {'id': id})

    def delivery(self, id: str, event: str, **options: Unpack[CallOptions]) -> Delivery:
        """`GET /v1/webhooks/{id}/deliveries/{event}`: with its attempts. `event`: `evt_…`, the `webhook-id`."""
        call = Call(params={'id': id, 'event': event}, options=options)
        return self._http.json(Delivery, ops.GET_WEBHOOKS_BY_ID_DELIVERIES_BY_EVENT, call)

    def redeliver(self, id: str, event: str, **options: Unpack[CallOptions]) -> Delivery:
        """`POST /v1/webhooks/{id}/deliveries/{event}/redeliver`: now, under the same id, whatever became of it before."""
        operation = ops.POST_WEBHOOKS_BY_ID_DELIVERIES_BY_EVENT_REDELIVER
        return self._deliver(operation, {'id': id, 'event': event}, options)

    def _deliver(self, operation: Operation, params: dict[str, str | int], options: CallOptions) -> Delivery:
        return self._http.json(Delivery, operation, Call(params=params, body={}, options=options))

    def redeliver_dead(self, id: str, *, since: str | datetime | None = None, **options: Unpack[CallOptions]) -> int:
        """`POST /v1/webhooks/{id}/redeliver-dead`: all that was given up, oldest first, in as many requests as that takes; answers how
        many there were. Where it ends with an error, what was asked for until then is delivered all the same.
        """
        call = Call(params={'id': id}, body=members(since=since), options=options)
        redelivered = 0
        while True:
            page = self._http.json(Redelivery, ops.POST_WEBHOOKS_BY_ID_REDELIVER_DEAD, call)
            redelivered += page.redelivered
            if not page.more:
                return redelivered
            # Another request would never get to the end.
            if page.redelivered <= 0:
                raise wrong_server('the server answered that it redelivered nothing and that more remains')

    def recover(
        self,
        id: str,
        *,
        since: str | datetime,
        until: str | datetime | None = None,
        delivered: bool | None = None,
        **options: Unpack[CallOptions],
    ) -> Webhook:
        """`POST /v1/webhooks/{id}/recover`: delivers the events of a time that were never delivered, and with `delivered` all of them
        again. It goes on by itself: `standing.recovery` says how far it is.
        """
        body: dict[str, Any] = members(since=since, until=until, delivered=delivered)
        call = Call(params={'id': id}, body=body, options=options)
        return self._http.json(Webhook, ops.POST_WEBHOOKS_BY_ID_RECOVER, call)
