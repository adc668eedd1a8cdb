"""A marker for arguments that were not given. None is not such a marker, because some arguments accept
None as a value.
"""

from __future__ import annotations

from typing import Final


class NotGiven:
    def __repr__(self) -> str:
        return 'NOT_GIVEN'


NOT_GIVEN: Final = NotGiven()
