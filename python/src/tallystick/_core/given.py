"""Marks an argument that was not given. None cannot mark it where None is a value."""

from __future__ import annotations

from typing import Final


class NotGiven:
    def __repr__(self) -> str:
        return 'NOT_GIVEN'


NOT_GIVEN: Final = NotGiven()
