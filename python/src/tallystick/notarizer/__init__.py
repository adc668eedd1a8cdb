"""Records in batches without waiting for the server: `Tallystick.notarizer()`, `AsyncTallystick.notarizer()`, `open_spool`."""

from .asynchronous import AsyncNotarizer
from .directory import DirectorySpool, open_spool
from .errors import BufferFullError, NotRecordedError, SpoolError, SpoolInUseError
from .options import NotarizerOptions, NotarizerStats, RecordedBatch
from .segments import Spool
from .threaded import Notarizer

__all__ = [
    'AsyncNotarizer',
    'BufferFullError',
    'DirectorySpool',
    'NotRecordedError',
    'Notarizer',
    'NotarizerOptions',
    'NotarizerStats',
    'RecordedBatch',
    'Spool',
    'SpoolError',
    'SpoolInUseError',
    'open_spool',
]
