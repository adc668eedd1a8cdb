# Made by `npm run python -- generate`; not to be edited.
"""Webhooks: endpoints that receive the ledger's events, and their deliveries."""

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
    """Webhooks: endpoints that receive the ledger's events, and their deliveries.

    A receiver verifies deliveries with `tallystick.webhooks.verify`. No method takes an idempotency
    key. After a lost answer, a call is retried only if a second call changes nothing more.
    `delete`, `rotate_secret`, `test`, `redeliver` and `recover` are not retried: check the state
    before you repeat one of them.
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
        """`POST /v1/webhooks`: creates a webhook for events from now on. `secret` of the answer
        verifies its deliveries.

        Raises ConflictError if the ledger has the same webhook already; `problem['webhook']` is its
        id. Raises SecretLostError if the first answer was lost and the call was repeated. Then call
        `rotate_secret` to get a new secret.
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
        """`GET /v1/webhooks`: lists the webhooks in order of creation, without their secrets."""
        return listing(self._http, Webhook, ops.GET_WEBHOOKS, members(limit=limit), options)

    def get(self, id: str, **options: Unpack[CallOptions]) -> Webhook:
        """`GET /v1/webhooks/{id}`: returns a webhook. `standing` shows how far deliveries have come, and how the endpoint answers."""
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
        """`PATCH /v1/webhooks/{id}`: changes the given settings. Other settings and the secrets stay
        unchanged.
        """
        body = members(url=url, events=events, types=types, include=include)
        if not isinstance(description, NotGiven):
            body['description'] = description
        return self._http.json(Webhook, ops.PATCH_WEBHOOKS_BY_ID, Call(params={'id': id}, body=body, options=options))

    def pause(self, id: str, **options: Unpack[CallOptions]) -> Webhook:
        """`POST /v1/webhooks/{id}/pause`: pauses a webhook. Its events wait until it is resumed."""
        call = Call(params={'id': id}, body={}, options=options)
        return self._http.json(Webhook, ops.POST_WEBHOOKS_BY_ID_PAUSE, call)

    def resume(self, id: str, *, from_: Literal['here', 'now'] | None = None, **options: Unpack[CallOptions]) -> Webhook:
        """`POST /v1/webhooks/{id}/resume`: resumes a webhook and delivers the events that waited. `from_='now'` skips them."""
        call = Call(params={'id': id}, body=members(from_=from_), options=options)
        return self._http.json(Webhook, ops.POST_WEBHOOKS_BY_ID_RESUME, call)

    def delete(self, id: str, **options: Unpack[CallOptions]) -> None:
        """`DELETE /v1/webhooks/{id}`: deletes a webhook with its secrets and deliveries, for good."""
        self._http.done(ops.DELETE_WEBHOOKS_BY_ID, Call(params={'id': id}, options=options))

    def rotate_secret(self, id: str, *, overlap_seconds: int | None = None, **options: Unpack[CallOptions]) -> WebhookWithSecret:
        """`POST /v1/webhooks/{id}/rotate-secret`: makes a new secret.

        For `overlap_seconds`, by default a day, deliveries are signed with the earlier secrets too. Not retried after a lost
        answer, because each call makes a secret.
        """
        call = Call(params={'id': id}, body=members(overlap_seconds=overlap_seconds), options=options)
        return self._http.json(WebhookWithSecret, ops.POST_WEBHOOKS_BY_ID_ROTATE_SECRET, call)

    def test(self, id: str, **options: Unpack[CallOptions]) -> Delivery:
        """`POST /v1/webhooks/{id}/test`: sends a test event without content. Call `delivery` later to
        get the outcome.
        """
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
        """`GET /v1/webhooks/{id}/deliveries`: lists the deliveries, newest first, without their attempts."""
        query = members(state=state, event=event, record=record, limit=limit)
        return listing(self._http, DeliverySummary, ops.GET_WEBHOOKS_BY_ID_DELIVERIES, query, options, {'id': id})

    def delivery(self, id: str, event: str, **options: Unpack[CallOptions]) -> Delivery:
        """`GET /v1/webhooks/{id}/deliveries/{event}`: returns a delivery with its attempts. `event`:
        id of the event, `evt_…`, which the header `webhook-id` contains.
        """
        call = Call(params={'id': id, 'event': event}, options=options)
        return self._http.json(Delivery, ops.GET_WEBHOOKS_BY_ID_DELIVERIES_BY_EVENT, call)

    def redeliver(self, id: str, event: str, **options: Unpack[CallOptions]) -> Delivery:
        """`POST /v1/webhooks/{id}/deliveries/{event}/redeliver`: delivers the event again now, under
        the same id, even if it was already delivered.
        """
        operation = ops.POST_WEBHOOKS_BY_ID_DELIVERIES_BY_EVENT_REDELIVER
        return self._deliver(operation, {'id': id, 'event': event}, options)

    def _deliver(self, operation: Operation, params: dict[str, str | int], options: CallOptions) -> Delivery:
        return self._http.json(Delivery, operation, Call(params=params, body={}, options=options))

    def redeliver_dead(self, id: str, *, since: str | datetime | None = None, **options: Unpack[CallOptions]) -> int:
        """`POST /v1/webhooks/{id}/redeliver-dead`: queues all dead deliveries again, oldest first. Returns their number.

        Sends as many requests as needed. If one fails, the deliveries queued before it are still made.
        """
        call = Call(params={'id': id}, body=members(since=since), options=options)
        redelivered = 0
        while True:
            page = self._http.json(Redelivery, ops.POST_WEBHOOKS_BY_ID_REDELIVER_DEAD, call)
            redelivered += page.redelivered
            if not page.more:
                return redelivered
            # Without this check, a server that queues nothing, but reports that there are more
            # deliveries, would keep this loop running for ever.
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
        """`POST /v1/webhooks/{id}/recover`: delivers the events of a period that were never delivered.

        With `delivered=True`, delivers all events of the period again. The server works in the
        background; `standing.recovery` shows its progress.
        """
        body: dict[str, Any] = members(since=since, until=until, delivered=delivered)
        call = Call(params={'id': id}, body=body, options=options)
        return self._http.json(Webhook, ops.POST_WEBHOOKS_BY_ID_RECOVER, call)
