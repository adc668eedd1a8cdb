"""Compares the table of entry kinds with test/vectors/kinds.json, and with the TypeScript verifier's
table (docs/reference/kinds.json).
"""

import json
from pathlib import Path
from typing import Any

import pytest
from oracle import ROOT

from tallystick.verify import Refused, Trust, open_lines, verify_export
from tallystick.verify.actors import ALSO_SYSTEM, SCOPES, SIGNED_BY_AGENTS
from tallystick.verify.bundle import verify_bundle
from tallystick.verify.proof import OfflineTrust
from tallystick.verify.record import TRANSITIONS
from tallystick.verify.statement import KINDS, parse_statement

VECTORS = json.loads((ROOT / 'test' / 'vectors' / 'kinds.json').read_text())
PRINT = json.loads((ROOT / 'docs' / 'reference' / 'kinds.json').read_text())


def text_of(vector: Any) -> bytes:
    sample = VECTORS['samples'][vector['kind']]
    members = {**sample['predicate'], **vector.get('set', {})}
    predicate = {name: value for name, value in members.items() if name not in vector.get('without', ())}
    names = vector.get('subjects')
    subject = sample['subject'] if names is None else [{'name': name, 'digest': {'sha256': 'ab' * 32}} for name in names]
    return json.dumps({**sample, 'subject': subject, 'predicate': predicate}).encode()


@pytest.mark.parametrize('kind', KINDS)
def test_statements(kind: str) -> None:
    own = [one for one in VECTORS['statements'] if one['about'].startswith(f'{kind}: ') or one['about'].endswith(f' of {kind}')]
    assert len(own) > 20
    for vector in own:
        code = None
        try:
            parse_statement(text_of(vector))
        except Refused as refused:
            code = refused.code
        assert (vector['about'], code) == (vector['about'], vector['code'])


LAST = [*VECTORS['first'], *VECTORS['last']]


@pytest.mark.parametrize('last', LAST, ids=[one['about'] for one in LAST])
def test_last_entries(last: Any, tmp_path: Path) -> None:
    path = tmp_path / 'ledger.ndjson'
    begin = [last['head']] if 'head' in last else VECTORS['begin']
    lines = [*begin, json.dumps(last['line']), json.dumps({'checkpoint': None})]
    path.write_text('\n'.join(lines) + '\n')
    with open_lines(path) as opened:
        if last['code'] is None:
            assert verify_export(opened, Trust()).entries == len(lines) - 2
            return
        with pytest.raises(Refused) as refused:
            verify_export(opened, Trust())
        assert refused.value.code == last['code']


@pytest.mark.parametrize('bundle', VECTORS['bundles'], ids=[one['about'] for one in VECTORS['bundles']])
def test_bundles(bundle: Any, tmp_path: Path) -> None:
    path = tmp_path / 'bundle'
    path.write_text('\n'.join(bundle['lines']) + '\n')
    with open_lines(path) as lines:
        if bundle['code'] is None:
            verify_bundle(lines, OfflineTrust())
            return
        with pytest.raises(Refused) as refused:
            verify_bundle(lines, OfflineTrust())
        assert refused.value.code == bundle['code']


@pytest.mark.parametrize('kind', PRINT['kinds'])
def test_table(kind: str) -> None:
    """Each row equals the row of the TypeScript verifier, in the members that both rows have."""
    row, own = PRINT['kinds'][kind], KINDS[kind]
    assert own.subjects.replace('received', 'entry').split(' ') == row['subjects']
    assert own.required.keys() == row['required'].keys()
    assert own.optional.keys() == row['optional'].keys()
    assert (own.event, own.first) == (row.get('records') in ('makes', 'moves'), row.get('records') == 'makes')
    assert SCOPES.get(kind) == row['scope']
    assert (kind not in SCOPES or kind in ALSO_SYSTEM) == row['system']
    assert (kind in SIGNED_BY_AGENTS) == row.get('agentSigns', False)


def test_no_other_kinds() -> None:
    assert list(KINDS) == list(PRINT['kinds'])


def test_record_steps() -> None:
    ways = {(way['from'], way['kind'], way.get('outcome', '')): way['to'] for way in PRINT['machines']['record']['ways'] if way['from']}
    assert ways == TRANSITIONS
