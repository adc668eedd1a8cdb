"""Calls functions at the end of a process."""

import atexit
from collections.abc import Callable
from multiprocessing.util import Finalize, register_after_fork


def at_exit(work: Callable[[], object], *, priority: int) -> None:
    """Calls `work` when the process ends, even in children of `multiprocessing` (pools, executors), which do not run `atexit`.

    Work with a higher priority is called first. `work` may be called twice, and must be a function of a module.
    """
    atexit.register(work)

    def register(_: object) -> None:
        Finalize(None, work, exitpriority=priority)

    # A child process drops finalizers that it inherits, and finalizers that were registered before
    # it began to run.
    register_after_fork(work, register)
    register(work)
