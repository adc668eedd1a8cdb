"""Queries of receipts."""

from __future__ import annotations

from typing import Any, Final

from .options import members

COSE: Final = 'application/cose'
_WAIT_SECONDS: Final = 10
"""Default of `wait`. A checkpoint is published within two seconds."""


def receipt_query(size: int | None, cosignatures: int | None, wait: float | None, statement: bool) -> dict[str, Any]:
    """Returns the query of an entry's receipt.

    `statement`: whether the answer includes the entry. A receipt without the entry is useful only
    to readers who already have the entry.
    """
    return members(
        size=size,
        cosignatures=cosignatures,
        wait=_WAIT_SECONDS if wait is None else wait,
        statement='true' if statement else 'false',
    )
