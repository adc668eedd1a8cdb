"""Tests test/vectors, which other implementations made: valid vectors are accepted, and the others are
refused with their code.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from forge import compact
from oracle import ROOT

from tallystick.verify import Refused, Trust, open_lines, verify_export
from tallystick.verify import formats as f
from tallystick.verify.actors import possession_text
from tallystick.verify.bundle import _path_of, verify_bundle
from tallystick.verify.cbor import signature_structure
from tallystick.verify.envelope import check_signature, parse_envelope
from tallystick.verify.keys import is_signed, parse_key
from tallystick.verify.limits import NOTE_BYTES_MAX
from tallystick.verify.line import Context, check_digest, handshake, verify_line
from tallystick.verify.merkle import (
    Tree,
    check_consistency,
    check_inclusion,
    genesis,
    leaf_hash,
    link,
    root_by_consistency,
    root_of,
)
from tallystick.verify.note import Cosignatures, check_note, count_cosignatures, note_key, parse_checkpoint, parse_verifier_key
from tallystick.verify.proof import Coverage, OfflineTrust, verify_proof
from tallystick.verify.receipt import parse_receipt, split_attached, verify_consistency, verify_place, verify_receipt
from tallystick.verify.statement import check_claims, parse_statement
from tallystick.verify.strict_json import canonical, parse_text


def read(name: str) -> Any:
    return json.loads((ROOT / 'test' / 'vectors' / name).read_text())


VECTORS = read('vectors.json')
KEY = parse_key('EdDSA', f.from_base64(VECTORS['key']['spki'], ''))


def refusal(work: Any) -> str:
    with pytest.raises(Refused) as refused:
        work()
    return refused.value.code


def test_key_and_ids() -> None:
    assert KEY.kid.hex() == VECTORS['key']['kid']
    for prefix, name in (('led', 'ledger'), ('agt', 'agent')):
        uuid = bytes.fromhex(VECTORS[name + 'Uuid'].replace('-', ''))
        assert f.id_bytes(VECTORS[name]) == uuid
        assert f.id_of(prefix, uuid) == VECTORS[name]


def test_entries_chain_and_tree() -> None:
    seed = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(VECTORS['key']['seed']))
    chain = genesis(f.id_bytes(VECTORS['ledger']))
    assert chain.hex() == VECTORS['genesis']
    tree = Tree()
    for entry in VECTORS['entries']:
        data = bytes.fromhex(entry['envelope'])
        envelope = parse_envelope(data)
        signed = signature_structure(envelope.protected, entry['statement'].encode())
        assert signed.hex() == entry['toBeSigned']
        assert seed.sign(signed) == envelope.signature
        check_signature(envelope, KEY)
        statement = parse_statement(envelope.payload)
        check_claims(envelope, statement)
        assert (statement.kind, leaf_hash(data).hex()) == (entry['kind'], entry['leaf'])
        chain = link(chain, leaf_hash(data))
        tree.add(leaf_hash(data))
        assert (chain.hex(), tree.root().hex()) == (entry['chain'], entry['merkleRoot'])


def test_documents_and_batch() -> None:
    for entry in VECTORS['entries']:
        for document in entry.get('documents') or ([entry] if 'jcs' in entry else []):
            assert canonical(document['document']).hex() == document['jcs']
            check_digest(document['document'], f.from_base64url(document['salt']) or b'', document['digest'], False, '')
        if entry.get('items'):
            leaves = [leaf_hash(canonical(item)) for item in entry['items']]
            assert [leaf.hex() for leaf in leaves] == entry['itemLeaves']
            root = bytes.fromhex(parse_statement(entry['statement'].encode()).digest)
            assert root_of(leaves) == root
            for index, path in enumerate(entry['paths']):
                check_inclusion(leaves[index], index, len(leaves), [bytes.fromhex(node) for node in path], root)


def test_json() -> None:
    for text in VECTORS['refusedJson']:
        assert refusal(lambda text=text: parse_text(text, 32)).startswith('json_')
    for text in VECTORS['acceptedJson']:
        canonical(parse_text(text, 32).value)


@pytest.mark.parametrize('batch', VECTORS['refusedBatches'], ids=lambda batch: batch['about'])
def test_refused_batches(batch: Any) -> None:
    context = Context({KEY.kid: KEY}, withheld=False)
    assert refusal(lambda: verify_line(compact(batch['line']), context)) == batch['code']


def test_checkpoint_and_cosignatures() -> None:
    key = parse_verifier_key(VECTORS['checkpoint']['verifierKey'])
    checkpoint = parse_checkpoint(VECTORS['checkpoint']['note'])
    check_note(checkpoint, key)
    last = VECTORS['entries'][-1]
    assert (checkpoint.size, checkpoint.root.hex(), checkpoint.chain.hex()) == (6, last['merkleRoot'], last['chain'])
    assert note_key(key.name, key.key.spki).text == VECTORS['checkpoint']['verifierKey']
    cosigned = read('cosignatures.json')
    witnesses = [parse_verifier_key(one['verifierKey'], 4) for one in cosigned['witnesses']]
    note = parse_checkpoint(cosigned['note'])
    assert (note.text, count_cosignatures(note, witnesses)) == (cosigned['text'], (2, 0))
    other = parse_checkpoint(cosigned['note'].replace('\n6\n', '\n7\n'))
    assert refusal(lambda: count_cosignatures(other, witnesses)) == 'signature_invalid'


def test_references() -> None:
    for vector in read('references.json')['vectors']:
        assert canonical(vector['references']).decode() == vector['canonical']
        check_digest(vector['references'], f.from_base64url(vector['salt']) or b'', vector['digest'], False, '')


def test_paths() -> None:
    vectors = read('proofs.json')
    for one in vectors['inclusion']:
        path = [bytes.fromhex(node) for node in one['path']]
        leaf, root = bytes.fromhex(one['leaf']), bytes.fromhex(one['root'])
        check_inclusion(leaf, one['index'], one['size'], path, root)
        assert refusal(
            lambda one=one, leaf=leaf, path=path, root=root: check_inclusion(leaf, one['index'], one['size'], [*path, leaf], root)
        )
        if path:
            assert refusal(
                lambda one=one, leaf=leaf, path=path, root=root: check_inclusion(leaf, one['index'], one['size'], path[:-1], root)
            )
    for one in vectors['consistency']:
        path = [bytes.fromhex(node) for node in one['path']]
        roots = bytes.fromhex(one['root1']), bytes.fromhex(one['root2'])
        check_consistency(one['from'], one['to'], path, *roots)
        if path:
            assert refusal(lambda one=one, path=path, roots=roots: check_consistency(one['from'], one['to'], path[1:], *roots))


def test_proofs() -> None:
    for proof in read('proofs.json')['proofs']:
        verify_proof(compact(proof), OfflineTrust(kids=[KEY.kid]))
        assert refusal(lambda proof=proof: verify_proof(compact(proof), OfflineTrust(kids=[b'x' * 32]))) == 'trusted_key_absent'


def test_receipts() -> None:
    vectors = read('receipts.json')
    key = parse_verifier_key(vectors['noteVerifierKey'])
    for one in vectors['receipts']:
        data = bytes.fromhex(one['statement'])
        report = verify_receipt(data, key, {KEY.kid: KEY})
        assert (report.shown.seq, report.root.hex()) == (one['seq'], vectors['root'])
        whole, attached = split_attached(data)
        assert attached.hex() == one['receipt']
        moved = parse_receipt(attached)._replace(origin='x')
        assert refusal(lambda moved=moved, whole=whole: verify_place(moved, leaf_hash(whole), key)) == 'checkpoint_foreign'


def test_bundles(tmp_path: Path) -> None:
    vectors = read('bundles.json')
    for index, one in enumerate((*vectors['bundles'], *vectors['refused'])):
        path = tmp_path / str(index)
        path.write_text(one['text'])
        with open_lines(str(path)) as lines:
            if 'code' in one:
                assert refusal(lambda lines=lines: verify_bundle(lines, OfflineTrust())) == one['code'], one['about']
            else:
                assert verify_bundle(lines, OfflineTrust()).entries == one['entries']
    for one in vectors['ranges']:
        leaves = [leaf_hash(index.to_bytes(8, 'big')) for index in range(one['size'])]
        tree = Tree(one['from'], [bytes.fromhex(node) for node in one['left']])
        for leaf in leaves[one['from'] : one['to']]:
            tree.add(leaf)
        path_up = _path_of(tree, one['size'], [bytes.fromhex(node) for node in one['right']])
        check_inclusion(leaves[one['to']], one['to'], one['size'], path_up, bytes.fromhex(one['root']))


def test_agent_keys() -> None:
    vectors = read('agent-keys.json')
    for one in vectors['keys']:
        key = parse_key(one['alg'], f.from_base64(one['spki'], ''))
        assert key.kid.hex() == one['kid']
        assert is_signed(key, f.from_base64(one['proof'], ''), one['text'].encode())
        envelope = parse_envelope(f.from_base64(one['envelope'], ''))
        check_signature(envelope, key)
        assert envelope.payload.decode() == vectors['statement']
        said = {
            'ledger': vectors['ledger'],
            'agent': vectors['agent'],
            'newKey': {'kid': one['kid']},
            'required': 'required' in one['text'],
        }
        statement = parse_statement(envelope.payload)._replace(predicate=said)
        assert possession_text(statement).decode() == one['text']


def test_keeping() -> None:
    vectors = read('keeping.json')
    for one in vectors['statements']:
        data = bytes.fromhex(one['envelope'])
        envelope = parse_envelope(data)
        check_signature(envelope, KEY)
        assert envelope.payload.decode() == one['statement']
        statement = parse_statement(envelope.payload)
        check_claims(envelope, statement)
        assert (statement.kind, leaf_hash(data).hex()) == (one['kind'], one['leaf'])
    for one in vectors['refused']:
        assert refusal(lambda one=one: parse_statement(one['statement'].encode())) == 'statement_predicate', one['why']


def test_federation(tmp_path: Path) -> None:
    vectors = read('federation.json')
    for name, side in vectors['ledgers'].items():
        first = {'export': 1, 'ledger': {'id': side['ledger']}, 'keys': side['keys']}
        path = tmp_path / name
        path.write_bytes(b'\n'.join(compact(line) for line in (first, *side['lines'], {'checkpoint': None})))
        with open_lines(str(path)) as lines:
            assert verify_export(lines, Trust()).entries == len(side['lines'])
    added = parse_statement(parse_envelope(f.from_base64(vectors['ledgers']['home']['lines'][3]['envelope'], '')).payload)
    assert canonical(handshake(vectors['peer'], added.predicate)) and added.digest == vectors['handshake']


def test_consistency_receipts() -> None:
    vectors = read('receipts.json')
    key = parse_verifier_key(vectors['noteVerifierKey'])
    leaves = [bytes.fromhex(entry['leaf']) for entry in VECTORS['entries']]
    for one in vectors['consistency']:
        size, root = verify_consistency(bytes.fromhex(one['receipt']), key, one['from'], bytes.fromhex(one['root']))
        assert (size, root.hex()) == (vectors['size'], vectors['root'])
        assert root_of(leaves) == root
        assert (
            refusal(lambda one=one, root=root: verify_consistency(bytes.fromhex(one['receipt']), key, one['from'] + 1, root))
            == 'consistency_missing'
        )
    assert refusal(lambda: root_by_consistency(0, 1, [], b'')) == 'merkle_range'


RULES = read('rules.json')
"""docs/formats/rules.md. test/proof/rules-vectors.test.ts checks the other verifier."""
LOG = parse_verifier_key(RULES['log']['verifierKey'])
WITNESS = parse_verifier_key(RULES['witness'], 4)


def test_characters_of_names_and_texts() -> None:
    for one in RULES['characters']:
        text = f'a{chr(int(one["codePoint"], 16))}b'
        assert (f.is_key_name(text), f.is_text(text)) == (one['name'], one['text']), one


def test_white_space_is_that_of_the_page() -> None:
    page = (ROOT / 'docs' / 'formats' / 'rules.md').read_text()
    rows = re.findall(r'^\| U\+([0-9A-F]{4})(?: to U\+([0-9A-F]{4}))? \|', page, re.MULTILINE)
    white = {chr(code) for first, last in rows for code in range(int(first, 16), int(last or first, 16) + 1)}
    assert len(white) == 25
    barred = {chr(code) for code in range(0x20)} | {chr(code) for code in range(0xD800, 0xE000)} | {'+'}
    assert {chr(code) for code in range(0x110000) if not f.is_key_name(chr(code))} == white | barred


def test_origins_and_urls() -> None:
    assert [one['origin'] for one in RULES['origins'] if f.is_origin(one['origin'], RULES['ledger']) != one['ok']] == []
    assert [one['url'] for one in RULES['urls'] if f.is_url(one['url']) != one['ok']] == []


@pytest.mark.parametrize('given', RULES['notes'] + RULES['cosignatures'], ids=lambda given: str(given['what']))
def test_notes(given: dict[str, Any]) -> None:
    def count() -> Any:
        checkpoint = parse_checkpoint(given['note'])
        check_note(checkpoint, LOG)
        return count_cosignatures(checkpoint, [WITNESS])

    if given['code'] is None:
        assert count() == ((1, 0) if 'seconds' in given else (0, given['unknown']))
    else:
        assert refusal(count) == given['code']


@pytest.mark.parametrize('given', RULES['verifierKeys'], ids=lambda given: str(given['what']))
def test_verifier_keys(given: dict[str, Any]) -> None:
    if given['code'] is None:
        parse_verifier_key(given['text'], 4)
        return
    with pytest.raises(Refused) as refused:
        parse_verifier_key(given['text'], 4)
    assert refused.value.code == given['code']
    assert given['names'] is None or f'of type {given["names"]}, not' in refused.value.reason


def test_a_note_has_room_for_16_signatures_of_5_kb_and_no_more_bytes_than_its_limit() -> None:
    line = f'\u2014 {"x" * 255} {f.to_base64(bytes(5_004))}\n'
    base = RULES['notes'][0]['note']
    assert len(parse_checkpoint(base + line * 16).lines) == 17
    for character in ('x', 'é', '漢', '🜁'):
        size = len(character.encode())
        room = NOTE_BYTES_MAX - len(base.encode()) - len('\u2014  AAAAAAA=\n'.encode())
        name = character * (room // size) + 'x' * (room % size)
        assert parse_checkpoint(f'{base}\u2014 {name} AAAAAAA=\n').lines[1].name == name
        assert refusal(lambda name=name: parse_checkpoint(f'{base}\u2014 x{name} AAAAAAA=\n')) == 'note_syntax'


def test_reports_count_unknown_cosignatures_where_there_are_any() -> None:
    counts = (None, Cosignatures(2, 0), Cosignatures(0, 3))
    said = [Coverage(given=True, covered=1, size=1, cosignatures=found).parts() for found in counts]
    assert said == [[], ['cosigned=2'], ['cosigned=0', 'unknown-cosignatures=3']]


CHAINS = read('chains.json')['chains']
BUNDLES = read('chains.json')['bundles']


@pytest.mark.parametrize('chain', CHAINS, ids=[one['name'] for one in CHAINS])
def test_chains(chain: Any, tmp_path: Path) -> None:
    """Tests the rules of the entries in order, and the order in which these rules are checked."""
    path = tmp_path / 'ledger.ndjson'
    path.write_text('\n'.join(chain['lines']) + '\n')
    trust = Trust(
        compromised={bytes.fromhex(kid): f.time_of(time) for kid, time in chain.get('compromised', {}).items()},
        receipts=[f.from_base64(one, '') for one in chain.get('receipts', [])],
        checkpoints=chain.get('checkpoints', []),
    )
    with open_lines(path) as lines:
        if chain['code'] is None:
            assert verify_export(lines, trust).entries == len(chain['lines']) - 2
        else:
            assert refusal(lambda: verify_export(lines, trust)) == chain['code']


@pytest.mark.parametrize('bundle', BUNDLES, ids=[one['name'] for one in BUNDLES])
def test_bundles_of_broken_chains(bundle: Any, tmp_path: Path) -> None:
    path = tmp_path / 'bundle'
    path.write_text('\n'.join(bundle['lines']) + '\n')
    with open_lines(path) as lines:
        assert refusal(lambda: verify_bundle(lines, OfflineTrust())) == bundle['code']
