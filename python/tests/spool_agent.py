"""An agent with a spool. Tests kill it: `spool_agent.py DIRECTORY FROM`.

It records numbers as fast as possible, and prints each number after its record was accepted.
"""

import sys
import time

from tallystick import Tallystick
from tallystick.notarizer import open_spool

directory, first = sys.argv[1], int(sys.argv[2])
notarizer = Tallystick().notarizer(spool=open_spool(directory), records_per_batch_max=20, linger_s=0.001)
print('began', flush=True)
i = first
while True:
    notarizer.ready()
    notarizer.record({'i': i}, handle=f'h{i}', parent_handle=f'h{i - 1}' if i % 10 == 5 else None)
    i += 1
    print(i, flush=True)
    if i % 20 == 0:
        time.sleep(0.002)
