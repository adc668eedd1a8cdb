"""Sizes of its ledgers that a client knows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from .limits import KNOWN_SIZES_MAX

_SIZE: Final = re.compile(r'[1-9][0-9]{0,14}')
_LEDGER_CHARS: Final = len('tly_') + 26
"""An API key begins with its ledger's id."""


class KnownSizes:
    """The largest size of each ledger that an answer has said, in `Tallystick-Ledger-Size`. Reads demand it (`If-Known-Size`), so that
    a server that reads from a replica shows no less than what this client has written, or has read before.
    """

    def __init__(self) -> None:
        self._sizes: dict[str, int] = {}

    def of(self, api_key: str) -> int:
        """0: nothing is known."""
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
        """After an error that told the caller: a database that lost entries must not be refused for ever."""
        self._sizes.pop(api_key[:_LEDGER_CHARS], None)
