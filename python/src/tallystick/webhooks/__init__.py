"""Verifies webhooks of a ledger, and settlement signals in them."""

from __future__ import annotations

from ._errors import WebhookVerificationError
from ._signal import SignalError, SignalExpiredError, VerifiedSignal, verify_signal
from ._verify import VerifiedWebhook, verify

__all__ = [
    'SignalError',
    'SignalExpiredError',
    'VerifiedSignal',
    'VerifiedWebhook',
    'WebhookVerificationError',
    'verify',
    'verify_signal',
]
