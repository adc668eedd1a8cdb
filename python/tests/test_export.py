"""Verifies whole ledgers: with one or several processes, in bounded memory, with trusted facts from
other sources.
"""

import copy
import json
import tracemalloc
from pathlib import Path

import forge
import pytest
from oracle import ROOT, ours, verdicts

from tallystick.verify import Trust, open_lines, verify_export
from tallystick.verify import export as exports
from tallystick.verify.cli import main
from tallystick.verify.limits import RANGE_BYTES


def large(count: int, size: int = 100) -> bytes:
    chain = forge.Chain('large')
    by = chain.api_key(chain.agent('agent'), ['records:write'])
    for index in range(count):
        chain.notarize(by, {'n': index, 'text': 'x' * size}, occurredAt='2026-01-01T00:00:00.000Z')
        chain.ms -= 999
    return chain.export()


@pytest.fixture(scope='module')
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp('large') / 'export'
    path.write_bytes(large(2_500))
    return path


def test_processes_say_the_same(file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr('tallystick.verify.source.RANGE_BYTES', 100_000)
    one, two = ours([str(file), '--processes', '1']), ours([str(file), '--processes', '2'])
    assert one == two
    assert one[0] == 0
    lines = file.read_bytes().split(b'\n')
    value = json.loads(lines[1_800])
    value['documents'][0]['document']['n'] = 0
    lines[1_800] = forge.compact(value)
    changed = tmp_path / 'changed'
    changed.write_bytes(b'\n'.join(lines))
    for processes in ('1', '2'):
        assert ours([str(changed), '--processes', processes]) == (1, 'INTEGRITY_FAILED', 'document_digest', '1799')


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """Memory grows only by the id and the offset of each entry."""
    peaks = []
    for size in (100, 20_000):
        path = tmp_path / str(size)
        path.write_bytes(large(400, size))
        with open_lines(str(path)) as lines:
            tracemalloc.start()
            verify_export(lines, Trust(processes=1))
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert peaks[1] < peaks[0] + 4 * RANGE_BYTES


def test_keys_checkpoints_and_strictness(tmp_path: Path) -> None:
    chain = forge.a_little_of_everything()
    path, note = tmp_path / 'export', tmp_path / 'note'
    path.write_bytes(chain.export())
    note.write_text(json.loads(chain.export().splitlines()[-1])['checkpoint'])
    kid = chain.lines[0].signer.kid.hex()
    assert ours([str(path), '--strict'])[2] == 'keys_not_given'
    assert ours([str(path), '--strict', '--key', kid])[2] == 'checkpoint_not_given'
    assert ours([str(path), '--strict', '--key', kid, '--checkpoint', str(note)])[1] == 'INTEGRITY_OK'
    assert ours([str(path), '--key', 'a' * 64])[2] == 'trusted_key_absent'
    assert ours([str(path), '--compromised', kid])[2] == 'key_compromised'
    assert ours([str(path), '--compromised', kid, '--checkpoint', str(note)])[1] == 'INTEGRITY_OK'
    assert ours([str(path), '--compromised', f'{kid}=2020-01-01T00:00:00Z', '--checkpoint', str(note)])[2] == 'key_compromised'


def test_what_agents_sign_the_server_cannot(tmp_path: Path) -> None:
    """Replaces an agent's signature by a signature of the server. The verifier refuses this for a
    record, a batch and a step of a type with `agentSigned`. It accepts this for all other entries.
    """
    chain = forge.a_little_of_everything()
    path = tmp_path / 'export'
    refused = []
    for seq, line in enumerate(chain.lines):
        if not line.by_agent or line.signer.kid.hex() == chain.known[1]:
            continue
        lines = copy.deepcopy(chain.lines)
        lines[seq].signer, lines[seq].by_agent = chain.lines[0].signer, False
        path.write_bytes(forge.export_of(chain, lines))
        own = ours([str(path)])
        assert own == (1, 'INTEGRITY_FAILED', 'agent_signature_missing', str(seq))
        assert [own] == verdicts([['verify', str(path)]])
        refused.append(str(line.statement and line.statement['predicateType']).split('/')[-2])
    assert refused[-5:] == ['record-notarized', 'batch-notarized', 'record-created', 'record-cancelled', 'record-created']


def test_keys_of_agents_that_are_known(tmp_path: Path) -> None:
    chain = forge.a_little_of_everything()
    (agent, kid), path = chain.known, tmp_path / 'export'
    path.write_bytes(chain.export())
    endorsed = next(line.signer.kid.hex() for line in chain.lines if line.by_agent and line.signer.kid.hex() != kid)
    free = next(line.statement['predicate']['actor'] for line in reversed(chain.lines) if line.by_agent and line.statement)
    for known, code in (
        ([f'{agent}={kid}'], ''),
        ([f'{agent}={kid}', f'{agent}={endorsed}'], ''),
        # A trusted key makes only later entries trusted. Entries before the trusted key are
        # refused.
        ([f'{agent}={endorsed}'], 'agent_key_refused'),
        ([f'{free}={kid}'], 'agent_key_refused'),
        ([f'{chain.id("agt")}={kid}'], 'trusted_key_absent'),
        # The first agent is an administrator. It created records, and the server signed them.
        ([f'{chain.lines[2].statement["predicate"]["agent"]}={kid}' if chain.lines[2].statement else ''], 'agent_signature_missing'),
    ):
        options = [part for one in known for part in ('--agent-key', one)]
        own = ours([str(path), *options])
        assert own[2] == code, known
        assert [own] == verdicts([['verify', str(path), *options]])
    assert ours([str(path), '--agent-key', f'{agent}={kid[:-1]}'])[0] == 64
    assert ours([str(path), '--agent-key', kid])[0] == 64


def test_types_and_erasures_are_there_once(tmp_path: Path) -> None:
    chain = forge.Chain('once')
    by = chain.api_key(chain.agent('agent'), ['records:write', 'payloads:erase', 'types:write'])
    chain.notarize(by, {'x': 1})
    path = tmp_path / 'export'
    size, wanted = len(chain.lines), ('', 'duplicate_subject', 'duplicate_subject')
    # A record of a built-in type that is newer than this ledger is accepted. Registering such a
    # type is refused.
    for change, code in zip((_act, _register, _erase_twice), wanted, strict=True):
        change(chain, by)
        path.write_bytes(chain.export())
        own = ours([str(path)])
        assert own[2] == code
        assert [own] == verdicts([['verify', str(path)]])
        del chain.lines[size:]


def _act(chain: forge.Chain, by: tuple[str, str]) -> None:
    chain.notarize(by, {'x': 2}, type='agent-action/1')


def _register(chain: forge.Chain, by: tuple[str, str]) -> None:
    chain.type('otel-log/1', by)


def _erase_twice(chain: forge.Chain, by: tuple[str, str]) -> None:
    seq = len(chain.lines) - 1
    chain.erase(by, seq)
    chain.erase(by, seq)


def test_a_range_judges_issuers_by_the_policy_that_is_shown(tmp_path: Path) -> None:
    chain = forge.a_little_of_everything()
    at = next(seq for seq, line in enumerate(chain.lines) if line.statement is None)
    forged = forge.foreign_statement('https://build.example', 'artifact', forge.Signer('somebody else'), b'{"x":1}')
    registration = chain.lines[at + 1].statement
    assert registration is not None
    chain.lines[at].foreign = forged
    registration['subject'][0]['digest']['sha256'] = forge.leaf_of(chain.lines[at]).hex()
    path = tmp_path / 'bundle'
    # The entry with the policy is directly before the range. If the bundle includes it, the
    # signature is refused. If not, the report says that the issuer was not checked.
    rotated = next(seq for seq, line in enumerate(chain.lines) if line.statement and 'rotated' in line.statement['predicateType'])
    for beside, code in ((None, 'signature_invalid'), ({0, rotated}, '')):
        path.write_bytes(forge.range_of(chain, chain.lines, at, at + 1, beside))
        own = ours([str(path)])
        assert own[2] == code
        assert [own[:3]] == [their[:3] for their in verdicts([['verify', 'bundle', str(path)]])]


def test_what_cannot_be_read_is_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / 'export'
    path.write_bytes(b'hello\nworld\n')
    assert ours([str(path)])[0] == 65
    assert ours([str(tmp_path / 'absent')])[0] == 74
    assert ours([str(path), '--key', 'x'])[0] == 64
    path.write_bytes(forge.a_little_of_everything().export())

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(exports, 'verify_line', broken)
    assert ours([str(path)]) == (70, '', '', '')


NOT_ONE = 'not an export: its first line is not {"export":1,…} with the id of a ledger and its keys'


@pytest.mark.parametrize('text', ['# Tallystick\n\nA ledger.\n', 'one line', '', '{"export":1}\n{}\n', '{"export":2}\n{}\n'])
def test_another_file_is_refused_in_the_words_of_the_verifier_in_typescript(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / 'README.md'
    path.write_text(text)
    assert NOT_ONE in (ROOT / 'src/proof/ledger/export-ends.ts').read_text()
    for options, either in (([], '. It is no bundle, proof or receipt either'), (['--as', 'export'], '')):
        assert main([str(path), *options]) == 65
        assert capsys.readouterr().err == f'tallystick-verify: {path} is {NOT_ONE}{either}\n'
    assert 'It is no bundle, proof or receipt either' in (ROOT / 'cli/commands/verify.ts').read_text()
    other = tmp_path / 'export'
    other.write_bytes(forge.a_little_of_everything().export())
    assert main([str(other), '--reconcile', str(path)]) == 65
    assert capsys.readouterr().err == f'tallystick-verify: {path} is {NOT_ONE}\n'
