"""Models of what the server answers, and types of what a caller passes on (`…Param`, dicts by the server's names)."""

from __future__ import annotations

from typing import TypeAlias

from ._models import *
from ._models import (
    BatchEvent,
    CheckpointEvent,
    DeliveredBatchEvent,
    DeliveredCheckpointEvent,
    DeliveredErasureEvent,
    DeliveredReceivedEvent,
    DeliveredRecordEvent,
    DeliveredSignalEvent,
    DeliveredStatementEvent,
    DeliveredUnknownEvent,
    DeliveredWebhookPausedEvent,
    DeliveredWebhookTestEvent,
    ErasureEvent,
    ReceivedEvent,
    RecordEvent,
    SignalEvent,
    StatementEvent,
    UnknownEvent,
)
from ._params import *

LedgerEvent: TypeAlias = (
    RecordEvent | SignalEvent | BatchEvent | ErasureEvent | ReceivedEvent | StatementEvent | CheckpointEvent | UnknownEvent
)
"""An event of the ledger; `UnknownEvent` is one that a newer server has."""
DeliveredEvent: TypeAlias = (
    DeliveredRecordEvent
    | DeliveredSignalEvent
    | DeliveredBatchEvent
    | DeliveredErasureEvent
    | DeliveredReceivedEvent
    | DeliveredStatementEvent
    | DeliveredCheckpointEvent
    | DeliveredWebhookPausedEvent
    | DeliveredWebhookTestEvent
    | DeliveredUnknownEvent
)
"""An event as a webhook delivers it; `DeliveredUnknownEvent` is one that a newer server has."""
