"""Child processes of a recording process send their own records, with every start method."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ledger import URL, Ledger, ledger, needs_server

__all__ = ['ledger']
pytestmark = [needs_server, pytest.mark.skipif(not hasattr(os, 'fork'), reason='no fork')]
PROGRAM = Path(__file__).parent / 'children.py'


@pytest.mark.parametrize(
    ('method', 'how', 'spooled'),
    [
        *(('fork', how, False) for how in ('process', 'pool', 'executor', 'exit', '_exit')),
        *(('fork', how, True) for how in ('process', 'exit')),
        *(('forkserver', how, False) for how in ('process', 'pool', 'executor')),
        ('forkserver', 'process', True),
    ],
)
def test_every_record_of_every_child_is_delivered_once(ledger: Ledger, tmp_path: Path, method: str, how: str, spooled: bool) -> None:
    env = {**os.environ, 'TALLYSTICK_URL': URL, 'TALLYSTICK_API_KEY': ledger.key, 'PYTHONPATH': os.pathsep.join(sys.path)}
    command = [sys.executable, PROGRAM, method, how, str(tmp_path) if spooled else '']
    ran = subprocess.run(command, env=env, timeout=60, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, '')
    found = ledger.records()
    actions = {record['id']: record['payload']['arguments']['n'] for record in found if record['type'] == 'agent-action/1'}
    ends = [actions[record['parent']] for record in found if record['type'] == 'agent-outcome/1' and record['payload']['status'] == 'ok']
    assert sorted(actions.values()) == sorted(ends) == list(range(-1, 40))
