"""Tests values that could be mistaken for others, in each member of a format: booleans as numbers,
absent members as null members, one key as another.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import forge
import pytest
from forge import Chain, compact, path_of
from oracle import Verdict, ours, placed, verdicts
from receipts import attached, encode, item_of, receipt_parts

from tallystick.verify import merkle
from tallystick.verify.note import note_key

EXPORT = ['verify', 'FILE'], ['FILE', '--as', 'export']
BUNDLE = ['verify', 'bundle', 'FILE'], ['FILE', '--as', 'bundle']
PROOF = ['verify', '--proof', 'FILE'], ['FILE', '--as', 'proof']
Commands = tuple[list[str], list[str]]
File = tuple[str, Commands, bytes]


@pytest.fixture(scope='module')
def chain() -> Chain:
    return forge.a_little_of_everything()


def both(files: list[File], folder: Path) -> list[tuple[str, Verdict]]:
    """Returns the verdicts of both verifiers on each file. Fails if their verdicts differ."""
    paths = []
    for index, (_, _, data) in enumerate(files):
        paths.append(folder / str(index))
        paths[-1].write_bytes(data)
    theirs = verdicts(placed(commands[0], path) for (_, commands, _), path in zip(files, paths, strict=True))
    found = []
    for (about, commands, _), path, their in zip(files, paths, theirs, strict=True):
        own = ours(placed(commands[1], path))
        # If a file is refused, the refused entry is not compared, because not every format names
        # it.
        count = 4 if own[0] == 0 else 3
        assert own[:count] == their[:count], (about, own, their)
        found.append((about, own))
    return found


def vkey(chain: Chain) -> str:
    return note_key(chain.origin, chain.note.spki).text


def proof_of(chain: Chain, seq: int, item: int | None = None) -> dict[str, Any]:
    """Returns the proof of an entry that the server signed."""
    leaves = [forge.leaf_of(line) for line in chain.lines]
    at, chains = merkle.genesis(forge.f.id_bytes(chain.led)), []
    for index, line in enumerate(chain.lines):
        shown, _, at = forge.render_line(line, index, at)
        chains.append(shown)
    entry = {name: chains[seq][name] for name in ('seq', 'kind', 'recordedAt', 'leaf', 'chain', 'envelope')}
    signer = chain.lines[seq].signer.public()
    times = {'activatedAt': forge.seconds_text(forge.T0), 'retiredAt': None, 'compromisedAt': None}
    proof: dict[str, Any] = {
        'ledger': {'id': chain.led, 'name': chain.name, 'issuer': forge.ISSUER, 'origin': chain.origin, 'noteVerifierKey': vkey(chain)},
        'keys': [{**signer, 'use': 'envelope', **times}],
        'entry': entry,
        'index': seq,
        'treeSize': len(leaves),
        'path': [node.hex() for node, _ in path_of(leaves, seq)],
        'checkpoint': chain.checkpoint(len(leaves), merkle.root_of(leaves), at),
    }
    items = chain.lines[seq].items
    if item is not None and items is not None:
        data, _ = item_of(items, item)
        hashes = [merkle.leaf_hash(forge.canonical(one)) for one in items]
        path = [node.hex() for node, _ in path_of(hashes, item)]
        proof['item'] = {'item': json.loads(data), 'index': item, 'count': len(items), 'path': path}
    return proof


def seqs_of(chain: Chain) -> dict[str, int]:
    """Returns the seq of the first entry of each kind."""
    found: dict[str, int] = {}
    for seq, line in enumerate(chain.lines):
        if line.statement is not None:
            found.setdefault(line.statement['predicateType'].split('/')[-2], seq)
    return found


# The next tests are about numbers in files.


def numbers_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yields the paths of numbers. Leaves out numbers in documents, because a document may contain any
    value.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        yield path
    elif isinstance(value, dict):
        for name, member in value.items():
            if name != 'document':
                yield from numbers_of(member, (*path, name))
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield from numbers_of(member, (*path, index))


def with_value(value: Any, path: tuple[Any, ...], put: Any) -> Any:
    changed = copy.deepcopy(value)
    at = changed
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = put(at[path[-1]])
    return changed


OTHERS: dict[str, Callable[[int], Any]] = {'true': lambda _: True, 'false': lambda _: False, 'text': str, 'float': float}


def number_files(about: str, commands: Commands, value: Any, render: Callable[[Any], bytes], seen: set[Any]) -> Iterator[File]:
    for path in numbers_of(value):
        pattern = (about, *(step for step in path if not isinstance(step, int)))
        if pattern in seen:
            continue
        seen.add(pattern)
        for name, put in OTHERS.items():
            yield f'{name}: {pattern}', commands, render(with_value(value, path, put))


def in_lines(data: bytes, index: int) -> tuple[Any, Callable[[Any], bytes]]:
    lines = data.removesuffix(b'\n').split(b'\n')

    def render(value: Any) -> bytes:
        return b'\n'.join([*lines[:index], compact(value), *lines[index + 1 :]]) + b'\n'

    return json.loads(lines[index]), render


def test_only_numbers_pass_for_numbers(chain: Chain, tmp_path: Path) -> None:
    files: list[File] = []
    seqs = seqs_of(chain)
    seen: set[Any] = set()
    for about, commands, data in (
        ('export', EXPORT, chain.export()),
        ('bundle', BUNDLE, forge.range_of(chain, chain.lines, 5, seqs['batch-notarized'] + 1)),
    ):
        for index in range(data.count(b'\n')):
            files += number_files(about, commands, *in_lines(data, index), seen)
    item = proof_of(chain, seqs['batch-notarized'], 2)
    files += number_files('proof', PROOF, item, compact, seen)
    for kind, seq in seqs.items():
        statement = chain.lines[seq].statement

        def render(value: Any, seq: int = seq) -> bytes:
            lines = copy.deepcopy(chain.lines)
            lines[seq].statement = value
            return forge.export_of(chain, lines)

        files += number_files(f'statement {kind}', EXPORT, statement, render, seen)
    assert len(files) > 100
    for about, verdict in both(files, tmp_path):
        if not about.startswith('float'):
            # A file whose first line has no `"export":1` is not an export.
            assert verdict[0] == (65 if "('export', 'export')" in about else 1), (about, verdict)
        elif 'statement' not in about:
            # JSON has one kind of number, so `1.0` is 1. Statements are not tested here, because a
            # changed statement has another chain hash.
            assert verdict[0] == 0, (about, verdict)


def test_only_numbers_pass_for_numbers_in_receipts(chain: Chain, tmp_path: Path) -> None:
    seq = seqs_of(chain)['batch-notarized']
    envelope, items = chain.lines[seq].envelope(), chain.lines[seq].items or []
    receipt = ['verify', 'receipt', 'FILE', '--note-key', vkey(chain)], ['FILE', '--as', 'receipt', '--note-key', vkey(chain)]
    good = receipt_parts(chain, seq, item_of(items, 1))
    assert both([('good', receipt, attached(chain, envelope, good))], tmp_path)[0][1][0] == 0
    files: list[File] = []
    for label in (1, 395, -65537):
        for put in (True, False, None, str(good['header'][label]), b'', [], {}):
            header = {**good['header'], label: put}
            files.append((f'{label}: {put!r}', receipt, attached(chain, envelope, {**good, 'header': header})))
    for put in (None, True, [], [b''], [b'', b''], [good['unprotected'][-65538][0], None], {}):
        unprotected = {**good['unprotected'], -65538: put}
        files.append((f'item: {put!r}', receipt, attached(chain, envelope, {**good, 'unprotected': unprotected})))
    for about, verdict in both(files, tmp_path):
        assert verdict[0] == 1, (about, verdict)


def test_nothing_is_in_a_receipt_that_is_not_verified(chain: Chain, tmp_path: Path) -> None:
    """Tests a receipt alone, a receipt in a statement, and a receipt that comes with an export."""
    batch, foreign = seqs_of(chain)['batch-notarized'], next(seq for seq, line in enumerate(chain.lines) if line.statement is None)
    items = chain.lines[batch].items or []
    other = {**items[1], 'type': 'order/1'}
    export = tmp_path / 'export'
    export.write_bytes(chain.export())
    key = ['--note-key', vkey(chain)]
    kept = ['verify', str(export), '--receipt', 'FILE'], [str(export), '--as', 'export', '--receipt', 'FILE']
    receipt = ['verify', 'receipt', 'FILE', *key], ['FILE', '--as', 'receipt', *key]
    statement = ['verify', 'statement', 'FILE', *key], ['FILE', '--as', 'statement', *key]
    good_item = item_of(items, 1)
    bad = {
        'no UTF-8': [b'\xff', good_item[1]],
        'another type': [forge.canonical(other), good_item[1]],
        'another place': [good_item[0], item_of(items, 2)[1]],
        'no canonical form': [compact(dict(reversed(items[1].items()))), good_item[1]],
    }
    envelope = chain.lines[batch].envelope()
    files: list[File] = []
    for about, item in bad.items():
        data = attached(chain, envelope, receipt_parts(chain, batch, item))
        files += [(f'{about}, kept', kept, data), (f'{about}, alone', receipt, data)]
    signed = attached(chain, chain.lines[foreign].envelope(), receipt_parts(chain, foreign, good_item))
    files += [('an item of a statement', statement, signed), ('an item of a statement, kept', kept, signed)]
    for about, verdict in both(files, tmp_path):
        assert verdict[0] == 1, (about, verdict)
    for commands in (kept, receipt):
        data = attached(chain, envelope, receipt_parts(chain, batch, good_item))
        assert both([('good', commands, data)], tmp_path)[0][1][0] == 0


# The next tests are about absent members and null members.

NULLABLE = frozenset(
    (
        'items',
        'received',
        'signer',
        'salt',
        'document',
        'erasedBy',
        'references',
        'tool',
        'retiredAt',
        'compromisedAt',
        'item',
        'registration',
    )
)


def nulls_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yields the paths of nullable members that are null."""
    if isinstance(value, dict):
        for name, member in value.items():
            if member is None and name in NULLABLE:
                yield (*path, name)
            elif name not in ('document', 'statement'):
                yield from nulls_of(member, (*path, name))
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield from nulls_of(member, (*path, index))


def without(value: Any, path: tuple[Any, ...]) -> Any:
    changed = copy.deepcopy(value)
    at = changed
    for step in path[:-1]:
        at = at[step]
    del at[path[-1]]
    return changed


def test_an_absent_member_and_a_null_one_mean_the_same(chain: Chain, tmp_path: Path) -> None:
    seqs = seqs_of(chain)
    export, bundle = chain.export(), forge.range_of(chain, chain.lines, 5, seqs['batch-notarized'] + 30)
    proof = proof_of(chain, seqs['record-notarized'])
    files: list[File] = [('export', EXPORT, export), ('bundle', BUNDLE, bundle), ('proof', PROOF, compact(proof))]
    seen: set[Any] = set()
    for about, commands, data in files[:2]:
        for index in range(data.count(b'\n')):
            value, render = in_lines(data, index)
            for path in nulls_of(value):
                pattern = (about, *(step for step in path if not isinstance(step, int)))
                if pattern not in seen:
                    seen.add(pattern)
                    files.append((f'without {pattern}', commands, render(without(value, path))))
            for name in {'items', 'received', 'signer'} if 'seq' in value else {'tool'} if 'bundle' in value else set[str]():
                if name not in value and (about, 'more', name) not in seen:
                    seen.add((about, 'more', name))
                    files.append((f'{about} with {name}', commands, render({**value, name: None})))
    for path in nulls_of(proof):
        files.append((f'proof without {path}', PROOF, compact(without(proof, path))))
    files.append(('proof with nulls', PROOF, compact({**proof, 'item': None, 'registration': None})))
    assert len(files) > 18
    found = both(files, tmp_path)
    whole = dict(found[:3])
    for about, verdict in found[3:]:
        assert verdict in whole.values(), (about, verdict)


def record_of(chain: Chain, seq: int, item: int | None = None) -> dict[str, Any]:
    """Returns a record as a server would return it directly after the entry at `seq` was written.
    """
    line = chain.lines[seq]
    assert line.statement is not None
    said: dict[str, Any] = line.statement['predicate']
    of = said if item is None or line.items is None else line.items[item]
    document = line.documents[item or 0]
    record: dict[str, Any] = {
        'id': of['record'],
        'ledger': chain.led,
        'type': of['type'],
        'digest': document['digest'],
        'actor': said['actor'],
        'key': said.get('key'),
        'recordedAt': said['recordedAt'],
        **{name: of.get(name) for name in ('onBehalfOf', 'parent', 'occurredAt')},
        'batch': None if item is None else said['batch'],
        'payload': document['document'],
        'salt': document['salt'],
        'references': document.get('references'),
        'gated': None,
        'version': 1,
        'state': 'RECORDED',
        'metadata': None,
    }
    if 'gate' in said:
        terms = {name: said.get(name) for name in ('gate', 'deadline', 'maxRevisions', 'tolerances', 'performer', 'share')}
        record |= {'state': 'CREATED', 'gated': {**terms, 'principal': said.get('onBehalfOf') or said['actor'], 'completion': None}}
    return record


def test_a_record_without_its_null_members_is_the_same(chain: Chain, tmp_path: Path) -> None:
    """A record that was stored before a member existed has no such member. Unknown members, which a
    later server may write, are ignored.
    """
    created = next(
        seq
        for seq, line in enumerate(chain.lines)
        if line.statement and line.statement['predicate'].get('to') == 'CREATED' and 'deadline' not in line.statement['predicate']
    )
    alone = next(
        seq
        for seq, line in enumerate(chain.lines)
        if line.statement and line.statement['predicateType'].endswith('record-notarized/v1') and line.documents[0]['salt'] is not None
    )
    batch = seqs_of(chain)['batch-notarized']
    files: list[File] = []
    bad: list[File] = []
    for index, (seq, item) in enumerate(((alone, None), (batch, 1), (created, None))):
        proof = tmp_path / f'proof {index}'
        proof.write_bytes(compact(proof_of(chain, seq, item)))
        commands = ['verify', '--proof', str(proof), '--record', 'FILE'], [str(proof), '--as', 'proof', '--record', 'FILE']
        record = record_of(chain, seq, item)
        files.append(('whole', commands, compact(record)))
        files.append(('with more', commands, compact({**record, 'another': 1})))
        gated = record['gated'] or {}
        nulls = [(name,) for name, member in record.items() if member is None]
        nulls += [('gated', name) for name, member in gated.items() if member is None]
        assert nulls
        files += [(f'without {path}', commands, compact(without(record, path))) for path in nulls]
        for path in [(name,) for name in record] + [('gated', name) for name in gated]:
            for put in (True, 0, 'x', [None]):
                bad.append((f'{put!r} for {path}', commands, compact(with_value(record, path, lambda _, put=put: put))))
    for about, verdict in both(files, tmp_path):
        assert verdict[:2] == (0, 'PROOF_OK') and ' record=same' in verdict[3], (about, verdict)
    both(bad, tmp_path)


# The next tests are about keys in files.


def test_keys_of_the_first_line_have_their_form_and_their_kid(chain: Chain, tmp_path: Path) -> None:
    export, bundle = chain.export(), forge.range_of(chain, chain.lines, 5, 9)
    files: list[File] = []
    for about, commands, data in (('export', EXPORT, export), ('bundle', BUNDLE, bundle)):
        head, render = in_lines(data, 0)
        key = head['keys'][0]
        others: list[Any] = [None, 1, [], *({**key, 'compromisedAt': put} for put in ('yesterday', 0, True, '2026-02-30T00:00:00.000Z'))]
        for name in ('kid', 'alg', 'spki'):
            others += [without(key, (name,)), *({**key, name: put} for put in (None, 1, '', 'x', '0' * 64, 'ES256'))]
        for other in others:
            files.append((f'{about} {other}', commands, render({**head, 'keys': [*head['keys'][1:], other]})))
        doubled = data.replace(b'"keys":', b'"keys":[],"keys":', 1)
        files += [(f'{about}, doubled', commands, doubled), (f'{about}, no UTF-8', commands, data.replace(b'led_', b'led\xff', 1))]
        last = data.rstrip(b'\n').rfind(b'\n')
        files.append((f'{about}, no UTF-8 at its end', commands, data[: last + 4] + b'\xff' + data[last + 4 :]))
    for about, verdict in both(files, tmp_path):
        assert verdict[0] == 1, (about, verdict)


def test_a_signer_is_the_key_of_its_envelope_where_the_agent_signed(chain: Chain, tmp_path: Path) -> None:
    files: list[File] = []
    own = next(seq for seq, line in enumerate(chain.lines) if line.by_agent)
    agent = {'alg': 'EdDSA', 'spki': chain.lines[own].signer.public()['spki']}
    server = {'alg': 'EdDSA', 'spki': chain.lines[0].signer.public()['spki']}
    for about, commands, data in (
        ('export', EXPORT, chain.export()),
        ('bundle', BUNDLE, forge.range_of(chain, chain.lines, 1, own + 1)),
    ):
        lines = data.rstrip(b'\n').split(b'\n')
        head = json.loads(lines[0])
        for index in range(1, len(lines) - 1):
            value, render = in_lines(data, index)
            if value['seq'] not in (0, 3, own):
                continue
            for signer in (agent, server):
                if value.get('signer') != signer:
                    files.append((f'{about} {value["seq"]}', commands, render({**value, 'signer': signer})))
            if 'signer' in value:
                # The agent's key is named only in the first line. This is not enough: only the
                # `signer` of the entry's own line says that the agent signed.
                named = render(without(value, ('signer',))).replace(
                    compact(head),
                    compact({**head, 'keys': [*head['keys'], {**chain.lines[own].signer.public(), 'compromisedAt': None}]}),
                    1,
                )
                files.append((f'{about} without', commands, named))
    for about, verdict in both(files, tmp_path):
        assert verdict[0] == 1, (about, verdict)


def test_bytes_that_are_no_text_are_refused_wherever_they_stand(chain: Chain, tmp_path: Path) -> None:
    good = next(
        seq
        for seq, line in enumerate(chain.lines)
        if line.statement and line.statement['predicateType'].endswith('record-notarized/v1') and line.documents[0]['salt'] is not None
    )
    proof, note = tmp_path / 'proof', tmp_path / 'note'
    proof.write_bytes(compact(proof_of(chain, good)))
    note.write_text(json.loads(chain.export().splitlines()[-1])['checkpoint'])
    joined = ['--checkpoint', str(note), '--consistency', 'FILE']
    record = ['verify', '--proof', str(proof), '--record', 'FILE'], [str(proof), '--as', 'proof', '--record', 'FILE']
    consistency = ['verify', '--proof', str(proof), *joined], [str(proof), '--as', 'proof', *joined]
    bundle = forge.range_of(chain, chain.lines, 1, 9)
    texts: list[File] = [
        ('first line of an export', EXPORT, chain.export()),
        ('entry of an export', EXPORT, chain.export().split(b'\n', 1)[1]),
        ('first line of a bundle', BUNDLE, bundle),
        ('entry of a bundle', BUNDLE, bundle.split(b'\n', 1)[1]),
        ('proof', PROOF, compact(proof_of(chain, good))),
        ('record', record, compact(record_of(chain, good))),
        ('consistency proof', consistency, compact({'from': 1, 'to': 2, 'path': ['led_']})),
    ]
    files: list[File] = []
    for about, commands, data in texts:
        first = {'entry of an export': chain.export(), 'entry of a bundle': bundle}.get(about, b'\n').split(b'\n', 1)[0]
        for bad in (b'\xff', b'\xc0\x80', b'\xed\xa0\x80', b'\xf4\x90\x80\x80'):
            place = b'"kind":"' if about.startswith('entry') else b'led_'
            spoilt = data.replace(place, place + bad, 1)
            files.append((about, commands, first + b'\n' + spoilt if first else spoilt))
    for about, verdict in both(files, tmp_path):
        assert verdict[2] == 'bad_utf8', (about, verdict)


def test_a_receipt_is_refused_for_the_first_reason_of_the_format(chain: Chain, tmp_path: Path) -> None:
    seq = seqs_of(chain)['record-notarized']
    envelope, good = chain.lines[seq].envelope(), receipt_parts(chain, seq)
    header = good['header']
    receipt = ['verify', 'receipt', 'FILE', '--note-key', vkey(chain)], ['FILE', '--as', 'receipt', '--note-key', vkey(chain)]
    bad_proofs = {396: {-1: [b'']}, 5: 5}
    parts = {
        'cose_structure': {'payload': good['root'], 'header': {**header, 2: [1]}},
        'cose_crit': {'header': {**header, 2: [1], 1: -7}},
        'receipt_syntax': {'header': dict.fromkeys((1, 15, 395, -65537), -7)},
        'cose_algorithm': {'header': {**header, 1: -7, 4: b''}, 'unprotected': bad_proofs},
        'checkpoint_foreign': {'header': {**header, 15: {1: '', 2: 'x'}, 4: bytes(32)}},
        'kid_mismatch': {'header': {**header, 4: bytes(32), -65537: 1}},
        'proof_contradicts_entry': {'header': {**header, -65537: 1}},
    }
    files = [(code, receipt, attached(chain, envelope, {**good, **change})) for code, change in parts.items()]
    for code, verdict in both(files, tmp_path):
        assert verdict[2] == code, (code, verdict)


def test_a_kept_receipt_is_refused_for_the_first_reason_of_the_format(chain: Chain, tmp_path: Path) -> None:
    """Receipts with one or more faults. The Merkle path is checked after the key and the tree size,
    because with a wrong key or size the path may lead to no root.
    """
    seq = seqs_of(chain)['record-notarized']
    envelope, good = chain.lines[seq].envelope(), receipt_parts(chain, seq)
    header = good['header']
    nowhere = {'unprotected': {396: {-1: [encode([seq, seq, []])]}}}
    broken = {'unprotected': {396: {-1: [encode([header[-65537], seq, []])]}}}
    parts = {
        'receipt_syntax': {'header': {**header, 15: {1: '', 2: 'x'}}, 'unprotected': {}},
        'checkpoint_foreign': {'header': {**header, 15: {1: '', 2: 'x'}, 4: bytes(32)}, **nowhere},
        'kid_mismatch': {'header': {**header, 4: bytes(32)}, **nowhere},
        'proof_contradicts_entry': nowhere,
        'merkle_path': broken,
        'signature_invalid': {'root': bytes(32)},
    }
    export = tmp_path / 'export'
    export.write_bytes(chain.export())
    own, their = [str(export), '--as', 'export', '--receipt', 'FILE'], ['verify', str(export), '--receipt', 'FILE']
    files: list[File] = []
    for code, change in parts.items():
        files.append((code, (their, own), attached(chain, envelope, {**good, **change})))
        later = tmp_path / f'{code}.receipt'
        later.write_bytes(files[-1][2])
    for (first, _, receipt), second in product(tuple(files), parts):
        more = ['--receipt', str(tmp_path / f'{second}.receipt')]
        files.append((first, (their + more, own + more), receipt))
    for code, verdict in both(files, tmp_path):
        assert verdict[2:] == (code, '0'), (code, verdict)


def test_checkpoints_of_a_size_come_before_the_entry_of_a_kept_receipt(chain: Chain, tmp_path: Path) -> None:
    envelope, good = chain.lines[1].envelope(), receipt_parts(chain, 1)
    root = merkle.leaf_hash(envelope)
    receipt, note = tmp_path / 'receipt', tmp_path / 'note'
    change = {'header': {**good['header'], -65537: 1}, 'unprotected': {396: {-1: [encode([1, 0, []])]}}, 'root': root}
    receipt.write_bytes(attached(chain, envelope, {**good, **change}))
    note.write_text(chain.checkpoint(1, root, bytes(32)))
    kept = ['--receipt', str(receipt), '--checkpoint', str(note)]
    ((_, verdict),) = both([('kept', (EXPORT[0] + kept, EXPORT[1] + kept), chain.export())], tmp_path)
    assert verdict[2:] == ('checkpoint_mismatch', '0')
