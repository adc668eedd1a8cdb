"""Verifies that a webhook of a ledger is genuine, and reads it; and that a settlement signal is one to act upon, once."""

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
