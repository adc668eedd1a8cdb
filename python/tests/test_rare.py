"""Rare valid files, and similar files that must be refused. The verifier in TypeScript gives the same verdicts."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import forge
import pytest
from forge import SCOPES, Chain, compact
from oracle import ours, verdicts
from peers import Pair

from tallystick.verify import formats as f
from tallystick.verify import merkle
from tallystick.verify import registered as registrations
from tallystick.verify.cbor import bytes_head, signature_structure
from tallystick.verify.errors import Refused
from tallystick.verify.note import note_key, parse_checkpoint
from tallystick.verify.proof import OfflineTrust, cover, join
from tallystick.verify.strict_json import canonical


def both(path: Path, data: bytes, kind: str = 'export') -> tuple[int, str, str]:
    """Returns the verdict of both verifiers. Fails if their verdicts differ."""
    path.write_bytes(data)
    (theirs,) = verdicts([['verify', *([] if kind == 'export' else [kind]), str(path)]])
    own = ours([str(path), '--as', kind])
    assert own[:3] == theirs[:3]
    return own[:3]


def begun(name: str) -> tuple[Chain, tuple[str, str]]:
    chain = Chain(name)
    return chain, chain.api_key(chain.agent('admin'), SCOPES)


def run_of(parents: list[int | None], root: int) -> bytes:
    """Returns the bundle of a run in one batch. `parents`: index of each item's parent. `root`: index of the run's first record."""
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


def test_one_of_many_checkpoints_that_were_kept_is_enough() -> None:
    chain = Chain('kept')
    leaves = [merkle.leaf_hash(bytes([seq])) for seq in range(8)]
    note = {size: chain.checkpoint(size, merkle.root_of(leaves[:size]), bytes(32)) for size in (2, 4, 6, 8)}
    own, key = parse_checkpoint(note[8]), note_key(chain.origin, chain.note.spki)
    joins = [{'from': 4, 'to': 8, 'path': [merkle.root_of(leaves[4:]).hex()]}]

    def covered(sizes: tuple[int, ...], consistency: list[dict[str, Any]], seq: int = 3) -> tuple[bool, int]:
        trust = OfflineTrust(checkpoints=[note[size] for size in sizes])
        found = cover(own, join(own, key, trust, consistency), None, seq)
        return found.given, found.covered

    assert covered((2, 4, 6), joins) == (True, 4)
    assert covered((2, 6, 8), []) == (True, 8)
    assert covered((2, 4, 6), joins, 4) == (False, 8)
    with pytest.raises(Refused, match='consistency_missing'):
        covered((2, 6), joins)
    with pytest.raises(Refused, match='merkle_path'):
        covered((4,), [{**joins[0], 'path': [merkle.root_of(leaves[3:]).hex()]}])


class Hasty(Pair):
    """Peers whose guest makes entries before the other half of the handshake arrives. `meanwhile`
    makes these entries.
    """

    def __init__(self, meanwhile: Callable[[Hasty], None]) -> None:
        self.meanwhile: Callable[[Hasty], None] | None = meanwhile
        super().__init__('hasty')

    def receive(self, receiver: Chain, sender: Chain, seq: int) -> int:
        if self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            meanwhile(self)
            if receiver.lines[-1].received is not None and b'peer-revoked' in receiver.lines[-1].received:
                return -1
        return super().receive(receiver, sender, seq)

    def revoke(self) -> None:
        self.guest.add('peer-revoked', [(self.peer, self.handshake)], {'code': 'done'}, self.helper)
        self.receive(self.home, self.guest, self.last(self.guest))

    def rotate_guest(self) -> None:
        self.guest.rotate('hasty envelopes 2')
        seq = self.last(self.guest)
        said = {'newKey': self.guest.server.public(), 'received': self.claim(self.guest, seq)}
        self.home.add('peer-key-rotated', [(self.peer, self.handshake)], said, received=self.guest.lines[seq].envelope())


@pytest.mark.parametrize('meanwhile', [Hasty.revoke, Hasty.rotate_guest])
def test_a_pending_peering_hears_of_its_end_and_of_keys(meanwhile: Callable[[Hasty], None], tmp_path: Path) -> None:
    assert both(tmp_path / 'home', Hasty(meanwhile).home.export()) == (0, 'INTEGRITY_OK', '')


def test_a_pending_peering_hears_of_nothing_else(tmp_path: Path) -> None:
    def share(pair: Hasty) -> None:
        record = pair.guest.create(pair.helper, {'do': 'it'}, share=[{'peer': pair.peer, 'documents': 'whole'}])
        assert record
        Pair.receive(pair, pair.home, pair.guest, pair.last(pair.guest))

    assert both(tmp_path / 'home', Hasty(share).home.export()) == (1, 'INTEGRITY_FAILED', 'peer_not_active')


def shared_again(times: int) -> Pair:
    """Returns peers that shared a record through one peering. Through their next peering, they shared
    it `times` more times.
    """
    pair = Pair('again')
    record = pair.create()
    created = pair.last(pair.home)
    pair.guest.add('peer-revoked', [(pair.peer, pair.handshake)], {'code': 'done'}, pair.helper)
    pair.receive(pair.home, pair.guest, pair.last(pair.guest))
    pair.peer = pair.home.id('peer')
    pair._shake()
    if times > 0:
        share = {'record': record, 'share': [{'peer': pair.peer, 'documents': 'whole'}]}
        pair.home.add('record-shared', [(record, pair.home.payloads[record])], share, pair.boss)
        pair.receive(pair.guest, pair.home, pair.last(pair.home))
        for _ in range(times):
            pair.receive(pair.guest, pair.home, created)
    pair.home.step('record-cancelled', record, 'CANCELLED', pair.boss, reason='over')
    pair.receive(pair.guest, pair.home, pair.last(pair.home))
    return pair


def test_a_record_comes_anew_by_a_new_peering(tmp_path: Path) -> None:
    pair = shared_again(1)
    assert both(tmp_path / 'home', pair.home.export()) == (0, 'INTEGRITY_OK', '')
    assert both(tmp_path / 'guest', pair.guest.export()) == (0, 'INTEGRITY_OK', '')


@pytest.mark.parametrize(('times', 'code'), [(0, 'subject_unknown'), (2, 'received_twice')])
def test_a_new_peering_knows_nothing_of_the_one_before(times: int, code: str, tmp_path: Path) -> None:
    assert both(tmp_path / 'guest', shared_again(times).guest.export()) == (1, 'INTEGRITY_FAILED', code)


@pytest.mark.parametrize('required', [False, True])
def test_an_agent_that_signs_for_itself_may_name_itself(required: bool, tmp_path: Path) -> None:
    chain, admin = begun('itself')
    gateway = chain.api_key(chain.agent('gateway', admin), ['agents:act', 'records:write'], admin)
    own = forge.Signer('gateway')
    chain.agent_key(gateway[0], 'gateway', own, admin, required=required)
    chain.notarize(gateway, {}, own, onBehalfOf=gateway[0])
    chain.batch(gateway, [{}, {}], own, onBehalfOf=gateway[0])
    assert both(tmp_path / 'own', chain.export()) == (0, 'INTEGRITY_OK', '')
    chain.batch(gateway, [{}, {}], onBehalfOf=gateway[0])
    code = 'agent_signature_missing' if required else ''
    assert both(tmp_path / 'server', chain.export())[2] == code


def test_a_key_of_the_ledger_does_not_come_back(tmp_path: Path) -> None:
    chain, admin = begun('back')
    first = chain.server
    chain.rotate('back envelopes 2')
    chain.notarize(admin, {})
    digest = forge.digest_of(chain.definition)
    chain.add('server-key-rotated', [(chain.led, digest)], {'newKey': first.public()})
    chain.server = first
    chain.notarize(admin, {})
    assert both(tmp_path / 'back', chain.export()) == (1, 'INTEGRITY_FAILED', 'key_not_current')
    bundle = forge.range_of(chain, chain.lines, 1, len(chain.lines) - 1)
    assert both(tmp_path / 'range', bundle, 'bundle') == (1, 'BUNDLE_FAILED', 'key_not_current')


def test_a_key_of_a_peer_does_not_come_back(tmp_path: Path) -> None:
    pair = Pair('back')
    first = pair.home.server
    pair.rotate()
    assert both(tmp_path / 'forth', pair.guest.export()) == (0, 'INTEGRITY_OK', '')
    pair.home.add('server-key-rotated', [(pair.home.led, forge.digest_of(pair.home.definition))], {'newKey': first.public()})
    seq = pair.last(pair.home)
    said = {'newKey': first.public(), 'received': pair.claim(pair.home, seq)}
    pair.guest.add('peer-key-rotated', [(pair.peer, pair.handshake)], said, received=pair.home.lines[seq].envelope())
    assert both(tmp_path / 'back', pair.guest.export()) == (1, 'INTEGRITY_FAILED', 'key_not_current')


def test_the_first_note_that_is_refused_names_the_code(tmp_path: Path) -> None:
    """Stored checkpoints are verified first, then the ledger's own checkpoint, then later entries.
    """
    chain, admin = begun('notes')
    chain.notarize(admin, {})
    lines = chain.export().splitlines()
    good: str = json.loads(lines[-1])['checkpoint']
    text = good[: good.rindex('\n\n') + 2]
    witness = forge.Signer('witness')
    vkey = note_key('w.example', witness.spki, 4)

    def cosigned(seconds: int) -> str:
        signature = witness.sign(f'cosignature/v1\ntime {seconds}\n{text[:-1]}'.encode())
        return good + f'\u2014 w.example {f.to_base64(vkey.id + seconds.to_bytes(8, "big") + signature)}\n'

    notes = {
        'good': cosigned(1),
        'note_syntax': good.replace('\u2014 ', '\u2014  '),
        'checkpoint_syntax': good.replace('\nchain ', '\nchains '),
        'note_unsigned': text + '\u2014 w.example AAAAAAA=\n',
        'signature_invalid': cosigned(2**63),
        'checkpoint_mismatch': chain.checkpoint(0, sha256(b'').digest(), merkle.genesis(f.id_bytes(chain.led))),
    }
    broken = json.loads(lines[2]) | {'chain': '0' * 64}
    asked: list[tuple[str, list[str], str]] = []
    for own, kept, body in product(notes, [None, *notes], [lines[1:-1], [lines[1], compact(broken), *lines[3:-1]]]):
        place = tmp_path / f'{len(asked)}'
        place.write_bytes(b'\n'.join([lines[0], *body, compact({'checkpoint': notes[own]})]) + b'\n')
        held = tmp_path / f'{kept}.note'
        if kept is not None:
            held.write_text(notes[kept])
        options = ['--witness', vkey.text, *(['--checkpoint', str(held)] if kept is not None else [])]
        first = next((code for code in (kept, own) if code not in (None, 'good')), 'chain_broken' if body[1] != lines[2] else '')
        asked.append((str(place), options, first))
    theirs = verdicts([['verify', file, *options] for file, options, _ in asked])
    for (file, options, code), verdict in zip(asked, theirs, strict=True):
        assert ours([file, '--as', 'export', *options]) == verdict, (options, code)
        assert verdict[2] == code, (options, code)


class Named(Pair):
    """Peers whose guest has a changed value in one member of its identity."""

    def __init__(self, member: str, value: str) -> None:
        self._named = {member: value}
        super().__init__()

    def _identity(self, chain: Chain) -> dict[str, Any]:
        named = {name: value.replace('LEDGER', chain.led) for name, value in self._named.items()}
        return {**super()._identity(chain), **(named if chain is self.guest else {})}


@pytest.mark.parametrize(
    ('member', 'value'),
    [
        *(('url', url) for url in ('ftp://a', 'https://', 'https://a b', 'https://é', 'https://a\x7f', 'https://' + 'a' * 2_041)),
        *(('origin', origin + '/LEDGER') for origin in ('', '/', 'a b', 'a+b', 'a\x85', 'a\u3000', 'a\x7f', 'a' * 1_000)),
        ('origin', 'a/led_01jegv5gyme00r000000000001'),
    ],
)
def test_a_peer_that_no_verifier_would_take(member: str, value: str, tmp_path: Path) -> None:
    assert both(tmp_path / 'home', Named(member, value).home.export()) == (1, 'INTEGRITY_FAILED', 'statement_predicate')


def test_a_peer_has_any_host_and_any_address_of_the_form(tmp_path: Path) -> None:
    for member, value in (('url', 'http://h:1/a?b#c'), ('origin', 'a:8080/b/LEDGER'), ('origin', '\ufeff/LEDGER')):
        assert both(tmp_path / 'home', Named(member, value).home.export()) == (0, 'INTEGRITY_OK', '')


def text(said: str | bytes) -> bytes:
    data = said.encode() if isinstance(said, str) else said
    head = bytearray(bytes_head(len(data)))
    head[0] |= 0x20
    return bytes(head) + data


def registered(
    subject: str | bytes, said: str, content: bytes, said_content: str, more: bytes = b'', unprotected: bytes = b'\xa0'
) -> bytes:
    """Returns an export with a registered statement. `more`: an additional member of the statement's
    protected header.
    """
    chain, admin = begun('registered')
    issuer = forge.Signer('issuer')
    key = {'kid': b'k1'.hex(), 'alg': 'EdDSA', 'spki': f.to_base64(issuer.spki)}
    policy = {'issuers': [{'issuer': 'https://build.example', 'keys': [key]}]}
    chain.add('registration-policy-set', [(chain.led, forge.digest_of(chain.definition))], policy, admin)
    claims = b'\xa2\x01' + text('https://build.example') + b'\x02' + text(subject)
    size = bytes([0xA5 if more else 0xA4])
    protected = size + b'\x01\x27\x03' + content + b'\x04\x42k1\x0f' + claims + more
    signature = issuer.sign(signature_structure(protected, b'{}'))
    sent = b'\xd2\x84' + bytes_head(len(protected)) + protected + unprotected + b'\x42{}\x58\x40' + signature
    predicate = {
        'policy': chain.lines[-1].leaf().hex(),
        'issuer': 'https://build.example',
        'subject': said,
        'contentType': said_content,
        'kid': b'k1'.hex(),
        'payload': sha256(b'{}').hexdigest(),
    }
    chain.ms += 1_000
    lines = [*chain.lines, forge.Line(None, chain.server, foreign=sent, recorded_at=forge.seconds_text(chain.ms))]
    chain.add('statement-registered', [(chain.id('stm'), merkle.leaf_hash(sent).hex())], predicate, admin, after=0)
    return forge.export_of(chain, [*lines, chain.lines[-1]])


OF_JSON = text('application/json'), 'application/json'
LABEL_100 = b'\x18\x64'


@pytest.mark.parametrize(
    'make',
    [
        lambda: registered('a', 'a', *OF_JSON),
        lambda: registered('\U0001f600' * 256, '\U0001f600' * 256, *OF_JSON),
        lambda: registered('\ufeffa', '\ufeffa', *OF_JSON),
        lambda: registered('a', 'a', b'\x1b\x00\x1f' + b'\xff' * 6, str(2**53 - 1)),
        lambda: registered('a', 'a', *OF_JSON, LABEL_100 + b'\x81' * 7 + b'\x01'),
        lambda: registered('a', 'a', *OF_JSON, LABEL_100 + text(b'\xff')),
        lambda: registered('a', 'a', *OF_JSON, LABEL_100 + b'\x1b' + b'\xff' * 8),
        lambda: registered('a', 'a', *OF_JSON, LABEL_100 + b'\xf7'),
        lambda: registered('a', 'a', *OF_JSON, LABEL_100 + b'\xa2' + text('\ufeffa') + b'\x01' + text('a') + b'\x01'),
        lambda: registered('a', 'a', *OF_JSON, LABEL_100 + b'\xa2\x81\x01\x01\x81\x02\x01'),
    ],
)
def test_statements_of_others(make: Callable[[], bytes], tmp_path: Path) -> None:
    assert both(tmp_path / 'file', make()) == (0, 'INTEGRITY_OK', '')


@pytest.mark.parametrize(
    ('code', 'make'),
    [
        ('cose_header', lambda: registered('\U0001f600' * 257, '', *OF_JSON)),
        ('cose_header', lambda: registered(b'\xed\xa0\x80', '', *OF_JSON)),
        ('statement_pair', lambda: registered('\ufeffa', 'a', *OF_JSON)),
        ('cose_header', lambda: registered('a', 'a', b'\x1b\x00\x20' + bytes(6), str(2**53))),
        ('cose_header', lambda: registered('a', 'a', *OF_JSON, b'\x41x\x01')),
        ('cose_unprotected', lambda: registered('a', 'a', *OF_JSON, unprotected=b'\xa1\x19\x01\x8a\x80')),
        ('cbor_malformed', lambda: registered('a', 'a', *OF_JSON, LABEL_100 + b'\x81' * 8 + b'\x01')),
        ('cbor_malformed', lambda: registered('a', 'a', *OF_JSON, LABEL_100 + b'\xa2\x41a\x01\x41a\x02')),
        ('cbor_malformed', lambda: registered('a', 'a', *OF_JSON, LABEL_100 + b'\xa2\x81\x01\x01\x81\x01\x02')),
    ],
)
def test_statements_of_others_that_nobody_takes(
    code: str, make: Callable[[], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        # `registered` calls the verifier's parser to get the leaf. Without this patch, the parser
        # would refuse the statement.
        patch.setattr(registrations, 'parse_foreign', lambda data: SimpleNamespace(leaf=merkle.leaf_hash(data)))
        file = make()
    assert both(tmp_path / 'file', file)[2] == code


@pytest.mark.parametrize(('after', 'code'), [(30_000, ''), (30_001, 'time_out_of_order')])
def test_a_step_is_in_time_by_a_clock_that_is_30_s_off(after: int, code: str, tmp_path: Path) -> None:
    chain, admin = begun('late')
    worker = chain.api_key(chain.agent('worker', admin), ['records:write'], admin)
    record = chain.create(admin, {}, performer=worker[0], deadline=forge.seconds_text(chain.ms + 2_000))
    chain.ms += after
    chain.step('record-activated', record, 'ACTIVE', worker)
    assert both(tmp_path / 'late', chain.export())[2] == code


def test_a_key_of_an_agent_that_is_disabled_signs_nothing(tmp_path: Path) -> None:
    """A signing key of a disabled agent can be registered, because its registration may have been in
    flight when the agent was disabled.
    """
    chain, admin = begun('disabled')
    gone = chain.api_key(chain.agent('gone', admin), ['records:write'], admin)
    digest = forge.digest_of({'agent': gone[0], 'name': 'gone'})
    chain.add('agent-disabled', [(gone[0], digest)], {'agent': gone[0], 'name': 'gone'}, admin)
    own = forge.Signer('gone')
    chain.agent_key(gone[0], 'gone', own, admin, required=False)
    assert both(tmp_path / 'registered', chain.export()) == (0, 'INTEGRITY_OK', '')
    chain.ms += 120_000
    chain.notarize(gone, {}, own)
    assert both(tmp_path / 'signed', chain.export())[2] == 'agent_disabled'


def test_a_missing_member_is_no_other_name_of_a_subject(tmp_path: Path) -> None:
    pair = Pair()
    record = pair.create()
    seq = pair.offer(record, 'completion-submitted', {})
    statement = pair.guest.lines[seq].statement
    assert statement is not None
    del statement['predicate']['completion']
    assert both(tmp_path / 'guest', pair.guest.export()) == (1, 'INTEGRITY_FAILED', 'statement_predicate')


def test_the_key_of_a_received_entry_comes_before_what_was_received(tmp_path: Path) -> None:
    pair = Pair()
    record = pair.create()
    created = pair.last(pair.home)
    pair.rotate()
    pair.home.step('record-cancelled', record, 'CANCELLED', pair.boss, reason='over')
    line = pair.home.lines[pair.last(pair.home)]
    claim = {**pair.claim(pair.home, pair.last(pair.home)), 'seq': created}
    subject = (f'{pair.home.led}/{created}', claim['leaf'])
    pair.guest.add('entry-received', [subject], {'peer': pair.peer, 'received': claim}, received=line.envelope())
    assert both(tmp_path / 'guest', pair.guest.export()) == (1, 'INTEGRITY_FAILED', 'key_not_current')


def test_two_missing_documents_of_one_erasure_are_refused_at_the_second(tmp_path: Path) -> None:
    chain, admin = begun('twice')
    for _ in range(2):
        chain.notarize(admin, {})
    first, second = len(chain.lines) - 2, len(chain.lines) - 1
    chain.erase(admin, first)
    chain.erase(admin, first)
    chain.lines[second].documents[0].update({'salt': None, 'document': None, 'erasedBy': len(chain.lines) - 1})
    file = tmp_path / 'twice'
    assert both(file, chain.export())[2] == 'erasure_unexplained'
    assert ours([str(file), '--as', 'export'])[2:] == ('erasure_unexplained', str(second))


def test_a_single_line_is_no_export(tmp_path: Path) -> None:
    assert both(tmp_path / 'line', b'{"export":1,"ledger":{"id":"led_')[2] == ''


@pytest.mark.parametrize(
    ('code', 'step', 'changes'),
    [
        ('', 'verdict-overturned', {'completion': None}),
        ('subject_unknown', 'verdict-overturned', {'completion': None, 'evidence': '0' * 64}),
        ('subject_unknown', 'verdict-overturned', {'payload': '0' * 64, 'to': 'REJECTED'}),
        ('transition_refused', 'record-cancelled', {'previous': '0' * 64}),
        ('time_out_of_order', 'record-activated', {}),
    ],
)
def test_faults_of_a_step_have_one_order(code: str, step: str, changes: dict[str, Any], tmp_path: Path) -> None:
    """If a step has several faults, the first one in this order is reported: a final record, subjects,
    the transition, time, the agent.
    """
    chain, admin = begun('order')
    worker = chain.api_key(chain.agent('worker', admin), ['records:write'], admin)
    judged = 'completion-submitted' if step == 'verdict-overturned' else ''
    deadline = {'deadline': forge.seconds_text(chain.ms + 2_000)} if step == 'record-activated' else {}
    record = chain.create(admin, {}, performer=worker[0], **deadline)
    if judged:
        chain.step('record-activated', record, 'ACTIVE', worker)
        chain.step('completion-submitted', record, 'SUBMITTED', worker, evidence={})
        chain.step('completion-verified', record, 'DISCREPANT', None, values=[], outcome='fail', rules=[])
        signal = {'code': 'bad', 'failingRules': [], 'validUntil': None}
        said = {'verdict': 'reject', 'by': 'principal', 'signal': {'decision': 'HOLD', **signal}}
        chain.step('verdict-rendered', record, 'REJECTED', admin, **said)
        verdict = chain.lines[-1].leaf().hex()
        chain.step(step, record, 'ACCEPTED', admin, signal={'decision': 'RELEASE', **signal}, supersedes=verdict)
    elif step == 'record-cancelled':
        chain.step(step, record, 'CANCELLED', admin)
        chain.step(step, record, 'CANCELLED', admin)
    else:
        chain.ms += 60_000
        chain.step(step, record, 'ACTIVE', admin)
    statement = chain.lines[-1].statement
    assert statement is not None
    for name, value in changes.items():
        if name in ('payload', 'evidence'):
            statement['subject'][name == 'evidence']['digest']['sha256'] = value
        elif value is None:
            del statement['predicate'][name]
        else:
            statement['predicate'][name] = value
    assert both(tmp_path / 'order', chain.export())[2] == code


def test_a_peer_shares_no_record_of_the_ledger_itself(tmp_path: Path) -> None:
    pair = Pair()
    record = pair.guest.create(pair.helper, {})
    share = {'record': record, 'share': [{'peer': pair.peer, 'documents': 'whole'}]}
    pair.home.add('record-shared', [(record, pair.guest.payloads[record])], share, pair.boss)
    pair.receive(pair.guest, pair.home, pair.last(pair.home))
    assert both(tmp_path / 'guest', pair.guest.export()) == (1, 'INTEGRITY_FAILED', 'not_home')
