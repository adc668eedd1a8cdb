"""Bundles of the Python client equal those of the SDK for TypeScript, byte for byte. Both verifiers
accept them.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import tracemalloc
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import forge
import pytest
from forge import SCOPES, Chain, Signer, compact
from forged_server import ForgedServer, serving
from ledger import URL, Ledger, needs_server
from oracle import ROOT, ours, verdicts

from tallystick import AsyncTallystick, NotFoundError, PermissionError, Tallystick, TallystickError, UnexpectedAnswerError, UsageError
from tallystick._canonical import stringify
from tallystick._core.bundles import inclusion_ranges
from tallystick._core.envelopes import read_envelope
from tallystick.verify.envelope import parse_envelope
from tallystick.verify.formats import from_base64

FLAVOURS = ['sync', 'async']
KEY = 'tly_forged'
Asked = tuple[str, tuple[Any, ...], dict[str, Any]]


def make(flavour: str, url: str, key: str, asked: Asked) -> bytes:
    """Returns the bundle for a method, its arguments and its options."""
    of, arguments, options = asked
    if flavour == 'sync':
        with Tallystick(base_url=url, api_key=key, max_retries=0) as client:
            return b''.join(getattr(client.bundles, of)(*arguments, **options))

    async def run() -> bytes:
        async with AsyncTallystick(base_url=url, api_key=key, max_retries=0) as client:
            return b''.join([line async for line in getattr(client.bundles, of)(*arguments, **options)])

    return asyncio.run(run())


def theirs(key: str, asked: list[tuple[str, Asked]]) -> list[bytes]:
    """Returns the bundles that the SDK for TypeScript makes. Each request names its server by URL.
    """

    def line(url: str, of: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> str:
        request = {name: value for name, value in options.items() if name in ('size', 'documents', 'tool')}
        wanted = {name: value for name, value in options.items() if name not in request}
        given = [{'from': arguments[0], 'to': arguments[1], **wanted}] if of == 'filter' else arguments
        return json.dumps({'url': url, 'of': of, 'from': given, 'request': request})

    return [said['text'].encode() for said in sdk(key, input='\n'.join(line(url, *each) for url, each in asked))]


def sdk(key: str, *arguments: str, input: str = '') -> list[Any]:
    command = ['node', 'tools/run.mjs', 'test/system/python/bundles.ts', *arguments]
    environment = {**os.environ, 'TALLYSTICK_API_KEY': key}
    ran = subprocess.run(command, cwd=ROOT, env=environment, input=input, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    # Only lines with JSON are results. node:test, which a helper imports, prints other lines.
    return [json.loads(line) for line in ran.stdout.split('\n') if line.startswith('{')]


def same_and_whole(key: str, asked: list[tuple[str, Asked]], folder: Path) -> list[bytes]:
    """Checks that the synchronous and the asynchronous client write the same bundles as the SDK. Both
    verifiers must answer BUNDLE_OK with the same report.
    """
    files = []
    for at, ((url, each), their) in enumerate(zip(asked, theirs(key, asked), strict=True)):
        for flavour in FLAVOURS:
            assert make(flavour, url, key, each) == their, (flavour, each)
        files.append(folder / str(at))
        files[-1].write_bytes(their)
    said = verdicts(['verify', 'bundle', str(path)] for path in files)
    for (_, each), path, verdict in zip(asked, files, said, strict=True):
        assert verdict[:2] == (0, 'BUNDLE_OK'), (each, verdict)
        assert ours([str(path), '--as', 'bundle']) == verdict, each
    return [path.read_bytes() for path in files]


class Filled:
    """A ledger with a little of everything. Nothing is added to it during the tests."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        client, self.key = self.ledger.client, self.ledger.key
        [said] = sdk(self.key, 'fill')
        self.records: list[str] = said['records']
        self.run: str = said['run']
        self.statement: int = said['statement']
        self.trace = '0af7651916cd43dd8448eb211c80319c'
        traceparent = f'00-{self.trace}-b7ad6b7169203331-01'
        # Naive code in Python or JavaScript would change each of these numbers or their order.
        numbers = {'10': 1, '9': 2, 'b': 1.0, '4294967295': 3, '01': 4, 'big': 1e21, 'less': 123456789.125, 'tiny': 1e-7}
        hard = {**numbers, 'text': '\u2028"\\\x7f\b😀'}
        client.types.register(name='note', version=1, payload_schema={'type': 'object'})
        self.traced = client.records.notarize(payload=hard, references=['urn:é'], traceparent=traceparent).id
        self.other = client.agents.register(name='other').id
        batch = client.batches.notarize(
            [
                {'type': 'generic/1', 'payload': {'n': 1, **hard}, 'onBehalfOf': self.other},
                {'type': 'note/1', 'payload': hard, 'references': ['urn:b'], 'traceparent': traceparent},
                {'type': 'generic/1', 'payload': {'n': 3}, 'parent': self.traced},
                {'type': 'generic/1', 'payload': {'n': 4}, 'parent': self.traced},
            ]
        )
        self.items = [each.id for each in batch.records]
        client.records.erase_payload(self.items[3], code='retention')
        self.early = client.records.proof(self.items[3]).tree_size
        client.holds.set(case='2027/2', records=[self.traced])
        client.records.notarize(payload={'the': 'last'})
        size = client.ledger.get().size
        self.size = client.entries.proof(size - 1).tree_size


@pytest.fixture(scope='module')
def filled() -> Filled:
    return Filled()


@needs_server
def test_a_bundle_is_the_one_that_the_sdk_makes_and_verifies(filled: Filled, tmp_path: Path) -> None:
    size, start = filled.size, filled.statement
    end, tool = size - 1, {'tool': 'a "test" 1.0'}
    records: list[Asked] = [('record', (id,), {}) for id in (*filled.records, filled.traced, *filled.items)]
    runs: list[Asked] = [('run', (id,), {'size': size}) for id in (filled.run, filled.traced, filled.items[0])]
    whole: list[Asked] = [
        ('range', (0, end), {}),
        ('range', (0, 0), tool),
        ('range', (3, size - 3), {'documents': False, **tool}),
        ('range', (start, end), {}),
        ('range', (start + 2, start + 9), {'size': filled.early}),
        ('range', (end, end), {'size': size}),
        ('record', (filled.traced,), {'documents': False, 'size': filled.early}),
        ('run', (filled.traced,), {'documents': False, **tool}),
    ]
    agents = [each.id for each in filled.ledger.client.agents.list()]
    filtered: list[Asked] = [
        ('filter', (0, end), {'type': 'generic/1', **tool}),
        ('filter', (3, end - 1), {'type': 'deed/1'}),
        ('filter', (0, end), {'type': 'note/1'}),
        ('filter', (0, end), {'type': 'task/1', 'documents': False}),
        ('filter', (0, end), {'trace': filled.trace, 'size': size}),
        ('filter', (0, end), {'type': 'generic/1', 'agent': filled.other}),
        ('filter', (0, end), {'type': 'never/1'}),
        *(('filter', (0, end), {'agent': agent}) for agent in agents),
    ]
    asked = [(URL, each) for each in (*records, *runs, *whole, *filtered)]
    files = same_and_whole(filled.key, asked, tmp_path)
    text = b''.join(files).decode()
    for kind in ('record-created', 'verdict-rendered', 'batch-notarized', 'payload-erased', 'hold-set', 'statement-registered'):
        assert f'"kind":"{kind}"' in text
    assert '"signer":{' in text and '"registration-policy-set"' in text and '"withheld"' in text
    assert '"9":2,"10":1' in text and '"big":1e+21' in text


@needs_server
@pytest.mark.parametrize('flavour', FLAVOURS)
def test_one_line_saves_a_file_whole_or_not_at_all(flavour: str, filled: Filled, tmp_path: Path) -> None:
    path = tmp_path / 'run.bundle'

    def save(id: str, to: Path) -> None:
        if flavour == 'sync':
            filled.ledger.client.bundles.run(id).save(to)
            return

        async def run() -> None:
            async with AsyncTallystick(base_url=URL, api_key=filled.key) as client:
                await client.bundles.run(id).save(str(to))

        asyncio.run(run())

    save(filled.run, path)
    assert path.read_bytes() == make(flavour, URL, filled.key, ('run', (filled.run,), {}))
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(NotFoundError):
        save('rec_' + '0' * 26, path)
    assert ours([str(path), '--as', 'bundle'])[1] == 'BUNDLE_OK'
    part = Path(f'{path}.{os.getpid()}.part')
    part.symlink_to(tmp_path / 'elsewhere')
    with pytest.raises(FileExistsError):
        save(filled.run, path)
    part.unlink()
    assert [each.name for each in tmp_path.iterdir()] == ['run.bundle']


@needs_server
@pytest.mark.parametrize('flavour', FLAVOURS)
def test_refuses_a_range_that_is_none_and_a_record_of_somebody_else(flavour: str, filled: Filled) -> None:
    size, start = filled.size, filled.statement
    ranges: list[tuple[Any, Any]] = [(2, 1), (-1, 1), (0.5, 1), (0, float('nan')), (False, 1), (0, 2**53)]
    for start_, to in ranges:
        for asked in (('range', (start_, to), {}), ('filter', (start_, to), {'type': 'generic/1'})):
            with pytest.raises(UsageError, match='a range is from one seq'):
                make(flavour, URL, filled.key, asked)
    with pytest.raises(UsageError, match='a filter needs'):
        make(flavour, URL, filled.key, ('filter', (0, 1), {}))
    for asked in (('range', (start + 1, size - 1), {}), ('filter', (0, start), {'type': 'generic/1'})):
        with pytest.raises(UsageError, match=r'start with|end with'):
            make(flavour, URL, filled.key, asked)
    with pytest.raises(TallystickError):
        make(flavour, URL, filled.key, ('range', (0, size + 5), {'size': size}))
    other = Ledger()
    with pytest.raises(NotFoundError):
        make(flavour, URL, other.key, ('record', (filled.traced,), {}))


@needs_server
@pytest.mark.parametrize('flavour', FLAVOURS)
def test_needs_the_scopes_that_it_says(flavour: str, filled: Filled) -> None:
    keys = filled.ledger.client.keys
    reader = keys.create(name='reader', scopes=['records:read']).key
    auditor = keys.create(name='auditor', scopes=['audit:read']).key
    record: Asked = ('record', (filled.traced,), {})
    for key, asked in ((reader, record), (reader, ('range', (0, 3), {})), (auditor, record)):
        with pytest.raises(PermissionError):
            make(flavour, URL, key, asked)
    to = filled.size - 1
    with pytest.raises(UsageError, match='may not read rec_'):
        make(flavour, URL, auditor, ('range', (0, to), {}))
    without: Asked = ('range', (0, to), {'documents': False, 'size': filled.size})
    assert make(flavour, URL, auditor, without) == make(flavour, URL, filled.key, without)


@needs_server
@pytest.mark.parametrize('flavour', FLAVOURS)
def test_refuses_a_run_that_is_too_large(flavour: str, filled: Filled, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [json.loads(line) for line in make(flavour, URL, filled.key, ('run', (filled.run,), {})).splitlines()[1:-1]]
    subjects = {document['subject'] for line in lines for document in line['documents']}
    records = sum(subject.startswith('rec_') and '/' not in subject for subject in subjects)
    assert records == 6
    monkeypatch.setattr('tallystick._core.bundles.RUN_RECORDS_MAX', records)
    make(flavour, URL, filled.key, ('run', (filled.run,), {}))
    monkeypatch.setattr('tallystick._core.bundles.RUN_RECORDS_MAX', records - 1)
    with pytest.raises(TallystickError, match=f'more than {records - 1} records: use a range'):
        make(flavour, URL, filled.key, ('run', (filled.run,), {}))


@pytest.fixture
def chain() -> Chain:
    """A ledger to which the tests add an agent and its records."""
    return Chain('bundled')


def written(pattern: str, chain: Chain) -> tuple[str, str]:
    """Adds one entry for each letter of `pattern`. A: an entry that an agent signs. S: an entry that
    the server signs. R: an entry that rotates the server's key.
    """
    by = chain.api_key(chain.agent('worker'), SCOPES)
    own = Signer(f'own {pattern}')
    chain.agent_key(by[0], 'worker', own, by, False)
    for at, who in enumerate(pattern):
        if who == 'R':
            chain.rotate(f'{pattern} {at}')
        else:
            chain.notarize(by, {'n': at}, own if who == 'A' else None)
    return by


def test_rotations_are_found_between_what_agents_signed(tmp_path: Path) -> None:
    asked: list[tuple[str, Asked]] = []
    expected: list[list[int]] = []
    with ExitStack() as servers:
        for pattern in ('ARAAASA', 'SRAAAAAA', 'RSRSAAAA', 'AAAARAAAASRSA', 'SSSRAARSAAAAAAAAS', 'AAAA', 'RRRR', 'S'):
            chain = Chain(pattern)
            written(pattern, chain)
            to, start = len(chain.lines) - 1, len(chain.lines) - len(pattern)
            url = servers.enter_context(serving(ForgedServer(chain)))
            asked += [(url, ('range', (to, to), {})), (url, ('range', (1, to), {'tool': 't'}))]
            # A bundle needs only the rotations before the last entry that the server signed.
            last = max(seq for seq, line in enumerate(chain.lines) if not line.by_agent)
            rotated = {start + at for at, who in enumerate(pattern) if who == 'R' and start + at < last}
            expected.append(sorted({0, *rotated, *([start - 1] if pattern.endswith('A') else []), to}))
        files = same_and_whole(KEY, asked, tmp_path)
    shown = [[json.loads(line)['seq'] for line in file.splitlines()[1:-1]] for file in files[::2]]
    assert shown == expected


@pytest.mark.parametrize('flavour', FLAVOURS)
def test_a_record_of_another_home_is_bundled_there(flavour: str, chain: Chain) -> None:
    written('S', chain)
    home = Chain('elsewhere').led
    server = ForgedServer(chain, lambda path, answer: {**answer, 'ledger': home} if path.startswith('/v1/records/') else answer)
    with serving(server) as url, pytest.raises(UsageError, match=f"the record's home is {home}"):
        make(flavour, url, KEY, ('record', (chain.notarized[0],), {}))


@pytest.mark.parametrize('flavour', FLAVOURS)
def test_a_server_that_answers_nonsense_is_said_to_be_wrong(flavour: str, chain: Chain) -> None:
    written('SRAS', chain)
    to = len(chain.lines) - 1
    whole: Asked = ('range', (1, to), {})

    def altered(name: str, value: Any) -> Any:
        return lambda path, answer: {**answer, name: value} if path.endswith('/proof') else answer

    def changed(seq: int, envelope: str) -> Any:
        def change(path: str, answer: Any) -> Any:
            lines = [json.loads(text) for text in answer] if path == '/v1/entries' else []
            return [compact({**line, 'envelope': envelope} if line['seq'] == seq else line) + b'\n' for line in lines] or answer

        return change

    cases: list[tuple[Any, str]] = [
        (altered('keys', []), 'a proof without a key'),
        (altered('path', []), 'a path of the wrong length'),
        (lambda path, answer: [] if path == '/v1/entries' else answer, 'no entry is signed'),
        (lambda path, answer: answer[:-1] if path == '/v1/entries' and len(answer) == to else answer, 'ended before'),
        (changed(to - 1, 'AAAA'), 'an envelope of unknown form'),
        (changed(to - 1, '!'), 'an envelope of unknown form'),
    ]
    for alter, message in cases:
        with serving(ForgedServer(chain, alter)) as url, pytest.raises(UnexpectedAnswerError, match=message):
            make(flavour, url, KEY, whole)


@pytest.mark.parametrize('flavour', FLAVOURS)
def test_keys_that_come_and_go_do_not_keep_it_for_ever(flavour: str, chain: Chain) -> None:
    """The forged server alternates between three keys. A real server never uses a replaced key again.
    The client's search for rotations must end nevertheless.
    """
    written('S', chain)

    class Turning(ForgedServer):
        def answer(self, path: str, query: dict[str, str]) -> Any:
            if not path.endswith('/proof'):
                return super().answer(path, query)
            seq = int(path.split('/')[3])
            shown = super().answer('/v1/entries/4/proof', query)
            return {**shown, 'treeSize': 2**41, 'keys': [{**shown['keys'][0], 'kid': str(seq % 3) * 64}]}

        def stream(self, path: str, query: dict[str, str]) -> Any:
            self.asked += 1
            return [compact({**self.lines[4], 'seq': int(query.get('after', -1)) + 1}) + b'\n']

    server = Turning(chain)
    with serving(server) as url, pytest.raises(UnexpectedAnswerError, match='keys in an impossible order'):
        make(flavour, url, KEY, ('record', (chain.notarized[0],), {}))
    assert server.asked < 1_000


@pytest.mark.parametrize('flavour', FLAVOURS)
def test_memory_does_not_grow_with_the_range(flavour: str, chain: Chain) -> None:
    """A bundle of 40 MB needs only a few MB of memory."""
    by = chain.api_key(chain.agent('worker'), SCOPES)
    text = 'x' * 40_000
    for n in range(1_000):
        chain.notarize(by, {'n': n, 'text': text})
    server = ForgedServer(chain)
    to = len(chain.lines) - 1
    with serving(server) as url:
        peak, size = measured(flavour, url, to)
    assert size > 40_000_000
    assert peak < 8_000_000, peak


def measured(flavour: str, url: str, to: int) -> tuple[int, int]:
    """Returns the peak of allocated bytes, and the size of the bundle."""
    tracemalloc.start()
    try:
        size = 0
        if flavour == 'sync':
            with Tallystick(base_url=url, api_key=KEY) as client:
                for line in client.bundles.range(0, to):
                    size += len(line)
        else:

            async def run() -> int:
                async with AsyncTallystick(base_url=url, api_key=KEY) as client:
                    return sum([len(line) async for line in client.bundles.range(0, to)])

            size = asyncio.run(run())
        return tracemalloc.get_traced_memory()[1], size
    finally:
        tracemalloc.stop()


def paths(size: int) -> Iterator[tuple[int, list[bytes]]]:
    for index in range(size):
        yield index, [node for node, _ in forge.path_of([bytes([leaf]) * 32 for leaf in range(size)], index)]


def test_a_path_is_of_the_ranges_that_its_tree_has() -> None:
    for size in range(1, 34):
        leaves = [bytes([leaf]) * 32 for leaf in range(size)]
        for index, path in paths(size):
            roots = [forge.merkle.root_of(leaves[each.start : each.stop]) for each in inclusion_ranges(index, size)]
            assert roots == path


def test_json_is_what_ecmascript_writes() -> None:
    value = {'b': 1.0, '10': -0.0, '9': 1e21, 'a': {'4294967295': 1, '4294967294': 2, '01': 3, '0': 4}, '-1': 5}
    program = f'console.log(JSON.stringify(JSON.parse({json.dumps(json.dumps(value))})))'
    ran = subprocess.run(['node', '-e', program], capture_output=True, text=True, check=True)
    assert stringify(value) == ran.stdout.rstrip('\n')


def test_an_envelope_is_read_as_the_verifier_reads_it(chain: Chain) -> None:
    by = written('SA', chain)
    chain.notarize(by, {'long': 'x'}, references=['urn:' + 'y' * 300], traceparent='z' * 300)
    for line in ForgedServer(chain).lines:
        read, known = read_envelope(line['envelope']), parse_envelope(from_base64(line['envelope'], ''))
        assert read.kid == known.kid.hex()
        assert read.predicate == json.loads(known.payload)['predicate']
