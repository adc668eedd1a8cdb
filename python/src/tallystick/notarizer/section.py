"""A condition variable that is safe against finalizers."""

from threading import Condition, local
from types import TracebackType


class Section(Condition):
    """A condition variable that records whether its own thread is inside a guarded section.

    Garbage collection may run finalizers in the middle of a section. The finalizers must not change
    the guarded state.
    """

    def __init__(self) -> None:
        super().__init__()
        self._here = local()

    @property
    def is_inside(self) -> bool:
        return getattr(self._here, 'depth', 0) > 0

    def __enter__(self) -> bool:
        entered = super().__enter__()
        self._here.depth = getattr(self._here, 'depth', 0) + 1
        return entered

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._here.depth -= 1
        super().__exit__(kind, error, trace)
