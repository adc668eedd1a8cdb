"""Errors for webhooks that do not verify."""

from __future__ import annotations

from typing import Literal

from ..errors import TallystickError

WebhookCode = Literal[
    'header_missing',
    'header_invalid',
    'timestamp_too_old',
    'timestamp_in_future',
    'signature_missing',
    'signature_mismatch',
    'body_invalid',
]
"""Reasons of a refusal. Codes are added, never renamed.

- `header_missing`: `webhook-id`, `webhook-timestamp` or `webhook-signature` is missing.
- `header_invalid`: one of these headers has another format, or is there twice.
- `timestamp_too_old`: the request was replayed, or this machine's clock is wrong.
- `signature_missing`: no signature of the required kind (`v1` for a secret, `v1a` for a public key).
- `body_invalid`: the request is signed, but its body is not an event.
"""


class WebhookVerificationError(TallystickError):
    """The ledger did not send this request: answer 400, and do nothing. The message contains no secret
    and no part of the body.
    """

    code: WebhookCode

    def __init__(self, code: WebhookCode, detail: str) -> None:
        super().__init__(f'{code}: {detail}')
        self.code = code
