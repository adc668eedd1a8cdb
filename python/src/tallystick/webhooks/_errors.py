"""Refusals of webhooks."""

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
"""`header_missing`: `webhook-id`, `webhook-timestamp` or `webhook-signature` is not there. `header_invalid`: one of them is there
twice, or is not of its format. `timestamp_too_old`: played again, or this machine's clock is wrong. `signature_missing`: none of the
kind that must verify (`v1` for a secret, `v1a` for a public key). `body_invalid`: signed, but no event. Closed: codes are added,
never renamed.
"""


class WebhookVerificationError(TallystickError):
    """The ledger did not send this request: answer 400, and do nothing. The message holds no secret and nothing of the body."""

    code: WebhookCode

    def __init__(self, code: WebhookCode, detail: str) -> None:
        super().__init__(f'{code}: {detail}')
        self.code = code
