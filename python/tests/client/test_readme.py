"""Runs the programs of README.md and compares what they print."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tallystick import Tallystick, TallystickOperator

pytestmark = pytest.mark.skipif('TALLYSTICK_URL' not in os.environ, reason='`npm run python` starts a server')

PACKAGE = Path(__file__).parent.parent.parent
PROGRAMS = re.findall(r'^```py\n(.*?)^```', (PACKAGE / 'README.md').read_text(), re.MULTILINE | re.DOTALL)
PRINTS = [
    r'rec_\w+ RECORDED\n',
    r'10 records\n',
    r'ACCEPTED SETTLE\n',
    r'checkpoint\.published|record\.\w+ ',
    r'^$',
    r'^$',
    r'recorded\nNotarizerStats\(buffered=0, .*recorded=3',
    r'^agent\n',
    r'^copper: 9,612 dollars a ton\n',
    r'(rec_\w+ agent-\w+/1 .*\n){5}rec_\w+ agent-outcome/1 other Agent workflow ok\n',
    r'(rec_\w+ agent-\w+/1 .*\n){7}rec_\w+ agent-outcome/1 agent analyst ok\n',
    r'header_missing\n',
    r'^export WEBHOOK_SECRET=whsec_\S+ WEBHOOK_PUBLIC_KEY=whpk_\S+\n',
    r'^$',
]
ADAPTERS = ('agents', 'langchain')


@pytest.fixture
def environment() -> dict[str, str]:
    """Environment with the API key of a new ledger."""
    with TallystickOperator(operator_key=os.environ['TALLYSTICK_OPERATOR_KEY']) as operator:
        key = operator.ledgers.create(name='README').key
    return {**os.environ, 'TALLYSTICK_API_KEY': key.key, 'PYTHONPATH': str(PACKAGE / 'src')}


def run(program: list[str], environment: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *program], env=environment, cwd=folder, capture_output=True, text=True, timeout=60)


def test_the_page_has_as_many_programs_as_are_tried() -> None:
    # The last program is run by the next test, because it verifies the export of the first program.
    assert len(PROGRAMS) == len(PRINTS) + 1


def test_the_verifier_as_a_library_verifies_the_export_of_the_quick_start(environment: dict[str, str], tmp_path: Path) -> None:
    assert run(['-c', PROGRAMS[0]], environment, tmp_path).returncode == 0
    with Tallystick(api_key=environment['TALLYSTICK_API_KEY']) as client:
        kid = client.key_document().keys[0].kid
    ran = run(['-W', 'error', '-c', PROGRAMS[-1], kid], environment, tmp_path)
    assert re.fullmatch(r'\d+ entries\n', ran.stdout), ran


@pytest.mark.parametrize('at', range(len(PRINTS)))
def test_a_program_of_the_page_runs(at: int, environment: dict[str, str], tmp_path: Path) -> None:
    for library in ADAPTERS:
        if f'from {library}' in PROGRAMS[at]:
            pytest.importorskip(library)
    ran = run(['-W', 'error', '-c', PROGRAMS[at]], environment, tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert re.search(PRINTS[at], ran.stdout), ran.stdout


def test_the_auditor_keeps_checkpoints_and_finds_what_contradicts_them(environment: dict[str, str], tmp_path: Path) -> None:
    with Tallystick(api_key=environment['TALLYSTICK_API_KEY']) as client:
        kid = client.key_document().keys[0].kid
        record = client.records.notarize(payload={'n': 1})
        client.records.proof(record.id)
        program = [str(PACKAGE / 'examples' / 'auditor.py'), '--kid', kid, '--folder', 'audit']
        first = run(program, environment, tmp_path)
        assert first.returncode == 0, first.stderr
        assert '1 records in ' in first.stdout and len(list((tmp_path / 'audit').glob('*.note'))) == 1
        assert '4 entries are under a kept checkpoint' in run(program, environment, tmp_path).stdout
    with TallystickOperator(operator_key=os.environ['TALLYSTICK_OPERATOR_KEY']) as operator:
        other = operator.ledgers.create(name='another').key.key
    swapped = run(program, {**environment, 'TALLYSTICK_API_KEY': other}, tmp_path)
    assert swapped.returncode == 1 and 'CONTRADICTION' in swapped.stderr
    gone = run(program, {**environment, 'TALLYSTICK_URL': 'http://127.0.0.1:1'}, tmp_path)
    assert gone.returncode == 2 and 'not checked' in gone.stderr


def test_the_payer_settles_once(environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    pytest.importorskip('fastapi')
    from test_webhooks import Endpoint

    monkeypatch.syspath_prepend(PACKAGE / 'examples')
    endpoint = Endpoint()
    settings = {
        'TALLYSTICK_API_KEY': environment['TALLYSTICK_API_KEY'],
        'WEBHOOK_SECRET': endpoint.secret,
        'WEBHOOK_PUBLIC_KEY': endpoint.public_key,
        'SETTLEMENT_FOLDER': str(tmp_path),
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    events = settled_events()
    import settlement

    async def deliver() -> list[int]:
        from datetime import UTC, datetime

        statuses = []
        transport = httpx2.ASGITransport(app=settlement.app)
        async with (
            settlement.lifespan(settlement.app),
            httpx2.AsyncClient(transport=transport, base_url='http://payer') as http,
        ):
            for event in [*events, events[0]]:
                body, headers = endpoint.send(event, at=datetime.now(UTC))
                statuses.append((await http.post('/', content=body, headers=headers)).status_code)
                statuses.append((await http.post('/', content=body + b' ', headers=headers)).status_code)
        return statuses

    assert asyncio.run(deliver()) == [204, 400] * 3
    said = capsys.readouterr().out
    assert said.count(': paid') == 1 and said.count(': held') == 1 and said.count(': known, or overtaken') == 1


def settled_events() -> list[dict[str, Any]]:
    """Returns the signals of an accepted and of a rejected record, as webhooks deliver them."""
    with Tallystick() as client:
        key = client.keys.create(name='worker', scopes=['records:write', 'records:read'])
        with Tallystick(api_key=key.key) as worker:
            for verdict in ('accept', 'reject'):
                order = client.records.create(payload={}, performer=key.agent)
                worker.records.activate(order.id)
                worker.records.complete(order.id, evidence={})
                client.records.until(order.id, ['VERIFIED'])
                client.records.verdict(order.id, 'accept' if verdict == 'accept' else 'reject', reason='because')
        found = []
        for tailed in client.events.tail(from_='beginning', events=['signal.emitted']):
            event = tailed.event.to_dict()
            del event['id']
            found.append(event)
            if len(found) == 2:
                return found
    raise AssertionError
