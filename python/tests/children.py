"""A program whose child processes record: `children.py METHOD HOW SPOOL`. Together they call `work`
with the numbers 0 to 39.
"""

import concurrent.futures
import multiprocessing
import os
import sys
from typing import Any

from tallystick.actions import Actions, accountable
from tallystick.notarizer import open_spool

method, how, directory = sys.argv[1:]
# Children of forkserver import this file again, but only the parent may open the spool.
spool = open_spool(directory) if directory and __name__ == '__main__' else None
actions = Actions(spool=spool)


@accountable(actions=actions, content=True)
def work(n: int) -> int:
    return n


def child(first: int) -> None:
    for n in range(first, first + 20):
        work(n)


def main() -> None:
    context: Any = multiprocessing.get_context(method)
    if how == 'process':
        started = [context.Process(target=child, args=(first,)) for first in (0, 20)]
        for each in started:
            each.start()
        for each in started:
            each.join()
    elif how == 'pool':
        with context.Pool(2) as pool:
            pool.map(work, range(40))
            pool.close()
            pool.join()
    elif how == 'executor':
        with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as executor:
            list(executor.map(work, range(40)))
    else:
        for first in (0, 20):
            pid = os.fork()
            if pid == 0:
                child(first)
                if how == 'exit':
                    sys.exit()
                actions.flush()
                os._exit(0)
            os.waitpid(pid, 0)


if __name__ == '__main__':
    work(-1)
    main()
