"""Inbox of a spool: a folder into which many processes put records at the same time, without the
spool's lock.

Each put makes one file, which is renamed into the inbox when it is complete. The process that owns
the spool moves the files out and sends them in the order of their names. A name has the time in ms,
a number within this millisecond, and a random value.
"""

import re
import time
from pathlib import Path
from typing import NamedTuple

from .limits import ADOPTED_FILES_MAX, MERGED_BYTES_MAX, MERGED_FILES_MAX, UNFINISHED_S

INBOX = 'inbox'
_INBOX_NAME = re.compile(r'\d{13}-\d{6}-[0-9a-f]{32}\.ndjson\Z')


class InboxGroup(NamedTuple):
    """Files that become one batch."""

    names: list[str]
    size: int


def list_inbox(inbox: Path) -> list[InboxGroup]:
    """Returns the files in the order in which they were put, grouped for merging."""
    try:
        names = sorted(each.name for each in inbox.iterdir())
    except FileNotFoundError:
        return []
    for name in names:
        if name.endswith('.tmp'):
            _remove_unfinished(inbox / name)
    groups: list[InboxGroup] = []
    for name in [name for name in names if _INBOX_NAME.match(name)][:ADOPTED_FILES_MAX]:
        own = (inbox / name).lstat().st_size
        last = groups[-1] if groups else None
        if last is not None and len(last.names) < MERGED_FILES_MAX and last.size + own <= MERGED_BYTES_MAX:
            groups[-1] = InboxGroup([*last.names, name], last.size + own)
        else:
            groups.append(InboxGroup([name], own))
    return groups


def _remove_unfinished(path: Path) -> None:
    try:
        if time.time() - path.stat().st_mtime > UNFINISHED_S:
            path.unlink()
    except FileNotFoundError:
        pass  # the file was renamed meanwhile
