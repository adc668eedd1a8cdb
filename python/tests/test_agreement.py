"""The verifier in TypeScript says the same, of every file: verdict and code (needs the repository's Node)."""

import os
from pathlib import Path

from differ import compare, kinds

# Each kind, and how many files of it. TALLYSTICK_FILES=20 compares twenty times as many, TALLYSTICK_SEED others.
COUNTS = {
    'resigned': 60,
    'damaged': 40,
    'lines': 40,
    'home': 40,
    'guest': 40,
    'received': 30,
    'proofs': 60,
    'receipts': 60,
    'bundles': 60,
    'ranges': 60,
    'pinned': 40,
    'pinned-ranges': 40,
    'reconcile': 40,
}
TIMES = int(os.environ.get('TALLYSTICK_FILES', '1'))
SEED = int(os.environ.get('TALLYSTICK_SEED', '20261125'))


def test_no_difference(tmp_path: Path) -> None:
    made = kinds()
    assert compare([(made[name], count * TIMES) for name, count in COUNTS.items()], SEED, tmp_path) == []
