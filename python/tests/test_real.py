"""Files that a real deployment answered (test/system/python/make-files.ts), as they are and changed: both verifiers say the same."""

import json
import os
from pathlib import Path
from typing import Any

import mutate
import pytest
from differ import Kind, compare, ours, placed
from oracle import verdicts

DIRECTORY = Path(os.environ.get('TALLYSTICK_REAL_FILES', '/nowhere'))
INDEX: list[dict[str, Any]] = json.loads((DIRECTORY / 'index.json').read_text()) if DIRECTORY.is_dir() else []
TIMES = int(os.environ.get('TALLYSTICK_FILES', '1'))
SEED = int(os.environ.get('TALLYSTICK_SEED', '20261125'))

pytestmark = pytest.mark.skipif(not INDEX, reason='`npm run python` makes the files of a real deployment, and names them')


def test_both_take_them() -> None:
    theirs = verdicts(placed(one['theirs'], DIRECTORY / one['file']) for one in INDEX)
    for one, their in zip(INDEX, theirs, strict=True):
        assert their[0] == 0, one
        assert ours(placed(one['ours'], DIRECTORY / one['file'])) == their


def test_no_difference_when_changed(tmp_path: Path) -> None:
    assert compare([_changed(one) for one in INDEX], SEED, tmp_path) == []


def _changed(one: dict[str, Any]) -> tuple[Kind, int]:
    data = (DIRECTORY / one['file']).read_bytes()
    is_export = one['file'].endswith('export')
    change = {'.proof': mutate.json_or_bytes, '.receipt': mutate.damaged}.get(Path(one['file']).suffix, mutate.lines)
    return Kind(lambda chance: change(data, chance), one['theirs'], one['ours'], seq=is_export), (100 if is_export else 25) * TIMES
