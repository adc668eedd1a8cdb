"""Refusals of webhooks and signals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ..errors import TallystickError

if TYPE_CHECKING:
    from ._signal import VerifiedSignal

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


class SignalError(TallystickError):
    """The event is no settlement signal that anybody may act upon: `event_syntax`, `event_contradicts_envelope`, `signal_absent`,
    `signal_expired`, `ledger_foreign`, `key_unknown`, `key_compromised`, and the codes of envelopes and statements (docs/formats).
    """

    code: str

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f'{code}: {detail}')
        self.code = code


class SignalExpiredError(SignalError):
    """`signal_expired`: the signal is genuine, and it is too late to act upon it. An error, so that nobody settles by not having looked.
    It becomes no younger when it is sent again: keep it, have somebody look unless it was acted upon in time, and answer 2xx.
    """

    signal: VerifiedSignal

    def __init__(self, signal: VerifiedSignal) -> None:
        super().__init__('signal_expired', f'{signal.decision} of {signal.once} was valid until {signal.valid_until}')
        self.signal = signal
