"""Files that servers write rarely, and neighbours of these that nobody may take: the verifier in TypeScript says the same of each."""

from __future__ import annotations

from pathlib import Path

import forge
import pytest
from differ import ours
from forge import SCOPES, Chain, compact
from oracle import verdicts

from tallystick.verify import formats as f
from tallystick.verify import merkle
from tallystick.verify.strict_json import canonical


def both(path: Path, data: bytes, kind: str = 'export') -> tuple[int, str, str]:
    """The verdict of both verifiers, which must be one."""
    path.write_bytes(data)
    (theirs,) = verdicts([['verify', *([] if kind == 'export' else [kind]), str(path)]])
    own = ours([str(path), '--as', kind])
    assert own[:3] == theirs[:3]
    return own[:3]


def begun(name: str) -> tuple[Chain, tuple[str, str]]:
    chain = Chain(name)
    return chain, chain.api_key(chain.agent('admin'), SCOPES)


def run_of(parents: list[int | None], root: int) -> bytes:
    """The bundle of a run that is one batch: the place of each item's parent, and of the first of all."""
    chain, admin = begun('run')
    first = f.id_number(chain.id('rec', 0))
    names = [f.id_of('rec', (first + place).to_bytes(16, 'big')) for place in range(len(parents))]
    items, documents = [], []
    for name, parent in zip(names, parents, strict=True):
        digest, document = chain.document(name, {})
        above = {} if parent is None else {'parent': names[parent]}
        items.append({'record': name, 'type': 'generic/1', 'digest': digest, **above})
        documents.append(document)
    inner = [merkle.leaf_hash(canonical(item)) for item in items]
    said = {'batch': chain.id('bat'), 'count': len(items), 'tree': 'RFC9162_SHA256'}
    chain.add('batch-notarized', [(said['batch'], merkle.root_of(inner).hex())], said, admin, None, documents, items)
    at = merkle.genesis(f.id_bytes(chain.led))
    shown, leaves = [], []
    for seq, line in enumerate(chain.lines):
        value, leaf, at = forge.render_line(line, seq, at)
        del value['chain']
        shown.append(value)
        leaves.append(leaf)
    shown[-1]['items'] = [
        {'item': item, 'index': place, 'count': len(items), 'path': hex_path(inner, place)} for place, item in enumerate(items)
    ]
    lines = [{**shown[seq], 'path': hex_path(leaves, seq)} for seq in (0, len(leaves) - 1)]
    head = {
        'bundle': 1,
        'ledger': chain.led,
        'of': {'run': names[root]},
        'completeness': 'selection',
        'documents': 'all',
        'keys': [{**chain.server.public(), 'compromisedAt': None}],
        'checkpoint': chain.checkpoint(len(leaves), merkle.root_of(leaves), at),
    }
    return b'\n'.join(map(compact, (head, *lines, {'entries': len(lines)}))) + b'\n'


def hex_path(leaves: list[bytes], place: int) -> list[str]:
    return [node.hex() for node, _ in forge.path_of(leaves, place)]


@pytest.mark.parametrize(('parents', 'root'), [([None, 0, 1], 0), ([1, None, 0], 1), ([1, 2, 3, None], 3), ([1, 2, 1], 1)])
def test_an_item_may_stand_before_its_parent(parents: list[int | None], root: int, tmp_path: Path) -> None:
    assert both(tmp_path / 'run', run_of(parents, root), 'bundle') == (0, 'BUNDLE_OK', '')


@pytest.mark.parametrize('parents', [[1, 0, None], [None, 0, None], [2, 2, None, 0, 4]])
def test_an_item_of_no_run_is_refused(parents: list[int | None], tmp_path: Path) -> None:
    assert both(tmp_path / 'run', run_of(parents, 2 if parents[0] == 1 else 0), 'bundle') == (1, 'BUNDLE_FAILED', 'parent_absent')
