"""Compares the two verifiers over changed files: `python tests/differ.py KIND COUNT [SEED]`. They must never disagree."""

from __future__ import annotations

import contextlib
import io
import json
import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import forge
import mutate
import peers
from oracle import ROOT, Verdict, read, verdicts

from tallystick.verify.cli import main

Maker = Callable[[random.Random], mutate.Mutation]
VECTORS = ROOT / 'test' / 'vectors'


class Kind:
    """A kind of files: how they are made, and how each of the two verifiers is asked about one."""

    def __init__(self, make: Maker, theirs: list[str], ours: list[str], seq: bool = True) -> None:
        self.make = make
        self.theirs = theirs
        self.ours = ours
        self.seq = seq
        """Whether both name the entry: of exports they do."""


def ours(arguments: list[str]) -> Verdict:
    stdout = io.StringIO()
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(io.StringIO()):
        try:
            code = main(arguments)
        except SystemExit as ended:
            code = int(ended.code or 0)
    return read(code, stdout.getvalue())


def placed(arguments: list[str], path: Path) -> list[str]:
    return [str(path) if argument == 'FILE' else argument for argument in arguments]


def compare(asked: list[tuple[Kind, int]], seed: int, directory: Path) -> list[str]:
    """The differences, of so many files of each kind. The other verifier is started once."""
    chance = random.Random(seed)
    made: list[tuple[Kind, str, Path]] = []
    for kind, count in asked:
        for _ in range(count):
            about, data = kind.make(chance)
            path = directory / f'{seed}-{len(made)}'
            path.write_bytes(data)
            made.append((kind, about, path))
    theirs = verdicts(placed(kind.theirs, path) for kind, _, path in made)
    differences = []
    for (kind, about, path), their in zip(made, theirs, strict=True):
        own = ours(placed(kind.ours, path))
        if not is_same(own, their, kind.seq):
            differences.append(f'{about}: {path}\n  ours   {own}\n  theirs {their}')
    return differences


def is_same(own: Verdict, their: Verdict, seq: bool) -> bool:
    return own == their if seq or own[0] == 0 else own[:3] == their[:3]


def one_of(files: list[bytes], change: Callable[[bytes, random.Random], mutate.Mutation]) -> Maker:
    return lambda chance: change(chance.choice(files), chance)


def kinds() -> dict[str, Kind]:
    chain = forge.a_little_of_everything()
    without = forge.a_little_of_everything(restored=False)
    data = chain.export()
    receipts = json.loads((VECTORS / 'receipts.json').read_text())
    proofs = [forge.compact(proof) for proof in json.loads((VECTORS / 'proofs.json').read_text())['proofs']]
    bundles = [one['text'].encode() for one in json.loads((VECTORS / 'bundles.json').read_text())['bundles']]
    export = ['verify', 'FILE'], ['FILE', '--as', 'export']
    receipt = (
        ['verify', 'receipt', 'FILE', '--note-key', receipts['noteVerifierKey']],
        ['FILE', '--as', 'receipt', '--note-key', receipts['noteVerifierKey']],
    )
    bundle = ['verify', 'bundle', 'FILE'], ['FILE', '--as', 'bundle']
    pinned = ['--agent-key', '='.join(chain.known)]
    pair = peers.two_that_share()
    home = Path(tempfile.mkdtemp(prefix='tallystick-home-')) / 'home'
    home.write_bytes(pair.home.export())
    return {
        'reconcile': Kind(
            lambda chance: mutate.other_half(pair.guest, chance),
            ['reconcile', str(home), 'FILE'],
            [str(home), '--reconcile', 'FILE'],
            seq=False,
        ),
        'home': Kind(lambda chance: mutate.resigned(pair.home, chance), *export),
        'guest': Kind(lambda chance: mutate.resigned(pair.guest, chance), *export),
        'received': Kind(one_of([pair.home.export(), pair.guest.export()], mutate.lines), *export),
        'resigned': Kind(lambda chance: mutate.resigned(without if chance.random() < 0.9 else chain, chance), *export),
        'damaged': Kind(one_of([data], mutate.damaged), *export),
        'lines': Kind(one_of([data], mutate.lines), *export),
        'proofs': Kind(one_of(proofs, mutate.json_or_bytes), ['verify', '--proof', 'FILE'], ['FILE', '--as', 'proof'], seq=False),
        'receipts': Kind(one_of([bytes.fromhex(one['statement']) for one in receipts['receipts']], mutate.damaged), *receipt, seq=False),
        'bundles': Kind(one_of(bundles, mutate.lines), *bundle, seq=False),
        'ranges': Kind(lambda chance: mutate.range_resigned(without, chance), *bundle, seq=False),
        'pinned': Kind(lambda chance: mutate.resigned(chain, chance), *([*asked, *pinned] for asked in export)),
        'pinned-ranges': Kind(lambda chance: mutate.range_resigned(chain, chance), *([*asked, *pinned] for asked in bundle), seq=False),
    }


if __name__ == '__main__':
    name, count = sys.argv[1], int(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(10**6)
    found = compare([(kinds()[name], count)], seed, Path(tempfile.mkdtemp(prefix='tallystick-differ-')))
    print('\n'.join(found))
    print(f'{name} seed={seed}: {len(found)} differences of {count}')
    sys.exit(1 if found else 0)
