"""Files from a real deployment (test/system/python/make-files.ts). Both verifiers accept them with the
same report.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from oracle import ours, placed, verdicts

DIRECTORY = Path(os.environ.get('TALLYSTICK_REAL_FILES', '/nowhere'))
INDEX: list[dict[str, Any]] = json.loads((DIRECTORY / 'index.json').read_text()) if DIRECTORY.is_dir() else []
pytestmark = pytest.mark.skipif(not INDEX, reason='`npm run python` makes the files of a real deployment, and names them')


def test_both_take_them() -> None:
    theirs = verdicts(placed(one['theirs'], DIRECTORY / one['file']) for one in INDEX)
    for one, their in zip(INDEX, theirs, strict=True):
        assert their[0] == 0, one
        assert ours(placed(one['ours'], DIRECTORY / one['file'])) == their
