"""An agent that forks while it records. Each process has its own records."""

import os

from tallystick import Tallystick

notarizer = Tallystick().notarizer(records_per_batch_max=10, linger_s=0.001)
children = []
for i in range(400):
    notarizer.record({'who': 'parent', 'i': i})
    if i % 50 == 25:
        pid = os.fork()
        if pid == 0:
            for own in range(50):
                notarizer.record({'who': f'child {i // 50}', 'i': own})
            notarizer.close()
            os._exit(0)
        children.append(pid)
notarizer.close()
for pid in children:
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
