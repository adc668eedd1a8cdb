"""Remembers the sizes of ledgers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from .limits import KNOWN_SIZES_MAX

_SIZE: Final = re.compile(r'[1-9][0-9]{0,14}')
_LEDGER_CHARS: Final = len('tly_') + 26
"""An API key begins with the id of its ledger."""


class KnownSizes:
    """Stores for each ledger the largest size that an answer named in `Tallystick-Ledger-Size`.

    Read requests send this size as `If-Known-Size`. A server that reads from a replica then shows
    at least everything that this client has written or read before.
    """

    def __init__(self) -> None:
        self._sizes: dict[str, int] = {}

    def of(self, api_key: str) -> int:
        """Returns the largest known size of the key's ledger, or 0 if no size is known."""
        return self._sizes.get(api_key[:_LEDGER_CHARS], 0)

    def note(self, api_key: str, headers: Mapping[str, str]) -> None:
        text = headers.get('tallystick-ledger-size', '')
        if not _SIZE.fullmatch(text):
            return
        ledger = api_key[:_LEDGER_CHARS]
        if ledger not in self._sizes and len(self._sizes) >= KNOWN_SIZES_MAX:
            self._sizes.clear()
        self._sizes[ledger] = max(int(text), self._sizes.get(ledger, 0))

    def forget(self, api_key: str) -> None:
        """Forgets the size after the error `ledger_smaller`. If the database has lost entries, all
        reads would otherwise fail for ever.
        """
        self._sizes.pop(api_key[:_LEDGER_CHARS], None)
