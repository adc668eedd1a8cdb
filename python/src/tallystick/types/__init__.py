"""Models of the server's answers, and types of arguments (`…Param`, dicts with the server's names)."""

from __future__ import annotations

from typing import TypeAlias

from . import _models
from ._models import *
from ._params import *

LedgerEvent: TypeAlias = (
    _models.RecordEvent
    | _models.SignalEvent
    | _models.BatchEvent
    | _models.ErasureEvent
    | _models.ReceivedEvent
    | _models.StatementEvent
    | _models.CheckpointEvent
    | _models.UnknownEvent
)
"""An event of the ledger. `UnknownEvent`: a kind that only a newer server has."""

DeliveredEvent: TypeAlias = (
    _models.DeliveredRecordEvent
    | _models.DeliveredSignalEvent
    | _models.DeliveredBatchEvent
    | _models.DeliveredErasureEvent
    | _models.DeliveredReceivedEvent
    | _models.DeliveredStatementEvent
    | _models.DeliveredCheckpointEvent
    | _models.DeliveredWebhookPausedEvent
    | _models.DeliveredWebhookTestEvent
    | _models.DeliveredUnknownEvent
)
"""An event as a webhook delivers it. `DeliveredUnknownEvent`: a kind that only a newer server has."""
