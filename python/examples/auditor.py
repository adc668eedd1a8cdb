"""Audits a ledger as an outsider, once a day, with a key that has only the scope `audit:read`.

    python examples/auditor.py [--kid HEX] [--folder audit]

Stores the ledger's newest checkpoint, and a copy of the ledger. The next run checks the ledger
against every stored checkpoint. TALLYSTICK_URL and TALLYSTICK_API_KEY name the server and the key.

`--kid`: the kid of the ledger's first key, which you know from another source. Without it the
auditor trusts the key that the server names.

- Exit code 1: something contradicts a signature or a stored checkpoint.
- Exit code 2: the ledger could not be checked.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tallystick import Tallystick, TallystickError
from tallystick.verify import Refused, Report, Trust, open_lines, verify_export


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument('--kid', action='append', default=[])
    options.add_argument('--folder', type=Path, default=Path('audit'))
    given = options.parse_args()
    try:
        report = audit([bytes.fromhex(kid) for kid in given.kid], given.folder)
    except Refused as refused:
        print(f'CONTRADICTION {refused}', file=sys.stderr)
        return 1
    except (TallystickError, OSError, ValueError) as error:
        print(f'not checked: {error}', file=sys.stderr)
        return 2
    print(f'{report.records} records in {report.entries} entries verify; {report.covered} entries are under a kept checkpoint')
    return 0


def audit(kids: list[bytes], folder: Path) -> Report:
    """Returns the report. Raises Refused if the ledger is not genuine, or does not extend each stored checkpoint."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = [path.read_text() for path in sorted(folder.glob('*.note'))]
    copy = folder / 'ledger.ndjson'
    with Tallystick() as tallystick:
        newest = tallystick.checkpoints.latest()
        with tallystick.exports.stream() as export, copy.open('wb') as file:
            for piece in export:
                file.write(piece)
    with open_lines(str(copy)) as lines:
        report = verify_export(lines, Trust(kids=kids, checkpoints=kept))
    if newest is not None:
        # The ledger verified, so the new checkpoint is stored. The checkpoint's second line is the
        # ledger's size.
        (folder / f'{int(newest.splitlines()[1]):012}.note').write_text(newest)
    return report


if __name__ == '__main__':
    sys.exit(main())
