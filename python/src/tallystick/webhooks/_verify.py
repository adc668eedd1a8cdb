"""Verification of webhooks (Standard Webhooks): signatures `v1` with a secret, and `v1a` with a public
key.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from pydantic import ValidationError

from ..errors import UsageError
from ..types import DeliveredEvent, WebhookEvent
from ._errors import WebhookVerificationError
from ._headers import WebhookHeaders, read_head
from ._keys import parse_keys, verify_signatures

_TOLERANCE_SECONDS: Final = 300.0


@dataclass(frozen=True, slots=True)
class VerifiedWebhook:
    """Event of a verified webhook.

    Use `isinstance(webhook.event, DeliveredSignalEvent)` to tell events apart. A newer server may
    send other events; they are of the class `DeliveredUnknownEvent`. Answer 2xx to them.
    """

    id: str
    """The same for each attempt to deliver the event to one endpoint. Act once for each."""
    sent_at: datetime
    """Time of this request. `event.timestamp` is the time when the event was recorded."""
    event: DeliveredEvent

    @property
    def type(self) -> str:
        return self.event.type


def verify(
    body: bytes | str,
    headers: WebhookHeaders,
    *,
    secret: str | Sequence[str] | None = None,
    public_key: str | Sequence[str] | None = None,
    tolerance: float = _TOLERANCE_SECONDS,
    now: datetime | None = None,
) -> VerifiedWebhook:
    """Verifies that the ledger sent this webhook just now. Returns its event, or raises
    WebhookVerificationError.

    - `body`: text or bytes as received, before any parser.
    - `secret`: `whsec_…`. Whoever has the secret can sign too.
    - `public_key`: `whpk_…`. Only the ledger can sign for it. Needs `tallystick[verify]`.
    - `tolerance`: seconds by which `webhook-timestamp` may differ from `now`, in both directions.

    If a secret and a public key are given, both must verify. During a rotation, pass lists of
    secrets or public keys. Raises UsageError for invalid arguments. The same event may arrive
    again: act once for each `id`. Pass a settlement signal on to `verify_signal`.
    """
    data = _bytes_of(body)
    keys = parse_keys(secret, public_key)
    head = read_head(headers)
    sent_at = _verify_time(int(head.timestamp), tolerance, now)
    verify_signatures(head.signatures, f'{head.id}.{head.timestamp}.'.encode() + data, keys)
    return VerifiedWebhook(head.id, sent_at, _parse_event(data))


def _bytes_of(body: object) -> bytes:
    """Returns the body as bytes. The same bytes are verified and parsed."""
    if isinstance(body, str):
        return body.encode('utf-8', 'surrogatepass')
    if isinstance(body, bytes | bytearray | memoryview):
        return bytes(body)
    raise UsageError(
        'body must be the text or the bytes as received: the signature is over them, and a parsed body is not the same. '
        'What to do: read the body before the parser (await request.body() of Starlette and FastAPI, request.get_data() of Flask, '
        'request.body of Django)'
    )


def _verify_time(seconds: int, tolerance: float, now: datetime | None) -> datetime:
    if not math.isfinite(tolerance) or tolerance < 0:
        raise UsageError('tolerance must be a number of seconds, 0 or more')
    if now is not None and now.tzinfo is None:
        raise UsageError('now needs a time zone: datetime.now(UTC)')
    age = math.floor(time.time() if now is None else now.timestamp()) - seconds
    if age > tolerance:
        raise WebhookVerificationError('timestamp_too_old', f'it was sent {age} s ago by this clock')
    if -age > tolerance:
        raise WebhookVerificationError('timestamp_in_future', f'it was sent {-age} s in the future by this clock')
    return datetime.fromtimestamp(seconds, UTC)


def _parse_event(data: bytes) -> DeliveredEvent:
    try:
        value: Any = json.loads(data.decode())
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise WebhookVerificationError('body_invalid', 'it is signed, but not a JSON object')
    try:
        return WebhookEvent.model_validate(value).root
    except ValidationError:
        raise WebhookVerificationError('body_invalid', 'it is signed, but has no type, timestamp and data') from None
