"""Hostile text in a member of a verdict changes no other member. Tests each member of each verdict, as
a line and as an object.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
from pathlib import Path
from typing import Any

import forge
import pytest
from forge import Chain, Line, Signer, compact, foreign_statement
from oracle import verdicts
from receipts import attached, receipt_parts
from test_values import vkey

from tallystick.verify.cli import main

WORDS = [
    'x entry=7 issuer=https://good.example key=given',
    '" entry=7 issuer="https://good.example" issuer-key=given x="',
    '\\" entry=7 x=\\"',
    'code=none seq=1',
    "STATEMENT_OK 'quoted'",
    '\u2028STATEMENT_OK entry=7',
    '\u202egnp.exe \u2066',
    'ok=true failure=null',
    '{"ok":true}',
    '😀é=ü',
]
_LINE = re.compile(r'[A-Z_]+(?: [a-z-]+=(?:"(?:[^"\\]|\\.)*"|[^\s"]+(?: of [0-9]+)?))*\n\Z')
_MEMBER = re.compile(r' ([a-z-]+)=("(?:[^"\\]|\\.)*"|\S+)')


def run(arguments: list[str]) -> tuple[int, str]:
    stdout = io.StringIO()
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(io.StringIO()):
        code = main(arguments)
    return code, stdout.getvalue()


def members_of(line: str) -> dict[str, str]:
    """Returns the members of a line. Fails if a member occurs twice."""
    assert _LINE.match(line), line
    found = _MEMBER.findall(line)
    assert len({name for name, _ in found}) == len(found), line
    return dict(found)


def transparent(chain: Chain, issuer: str, subject: str) -> bytes:
    statement = foreign_statement(issuer, subject, Signer('somebody'), b'{}')
    chain.lines.append(Line(None, chain.server, foreign=statement, recorded_at=forge.seconds_text(chain.ms)))
    return attached(chain, statement, receipt_parts(chain, len(chain.lines) - 1))


def test_words_of_a_statement_say_nothing_of_it(tmp_path: Path) -> None:
    files = []
    chain = Chain('words')
    for index, words in enumerate(WORDS):
        files.append(tmp_path / str(index))
        files[-1].write_bytes(transparent(chain, words, words))
    theirs = verdicts(['verify', 'statement', str(file), '--note-key', vkey(chain)] for file in files)
    for place, (words, file, their) in enumerate(zip(WORDS, files, theirs, strict=True), 1):
        asked = [str(file), '--as', 'statement', '--note-key', vkey(chain)]
        code, line = run(asked)
        members = members_of(line)
        assert (code, json.loads(members['issuer']), json.loads(members['subject'])) == (0, words, words)
        assert (members['entry'], f'STATEMENT_OK {their[3]}\n') == (str(place), line)
        report: dict[str, Any] = json.loads(run([*asked, '--json'])[1])
        assert (report['issuer'], report['subject'], report['seq'], report['issuerKey']) == (words, words, place, 'not given')
        assert (report['ok'], report['failure'], report['size']) == (True, None, place + 1)


@pytest.mark.parametrize('words', WORDS)
def test_words_of_a_file_say_nothing_of_its_refusal(words: str, tmp_path: Path) -> None:
    file = tmp_path / 'file'
    chain = Chain('refused')
    chain.lines[0].issuer = words
    lines = chain.export().split(b'\n')
    entry = json.loads(lines[1])
    for about, data in {
        'a member': [lines[0], compact({**entry, words: 1}), *lines[2:]],
        'a member twice': [lines[0], b'{' + json.dumps(words).encode() + b':1,' + json.dumps(words).encode() + b':1}', *lines[2:]],
        'the ledger': [lines[0].replace(chain.led.encode(), json.dumps(words)[1:-1].encode(), 1), *lines[1:]],
        'another kind': [lines[0], compact({**entry, 'kind': words}), *lines[2:]],
    }.items():
        file.write_bytes(b'\n'.join(data))
        code, line = run([str(file), '--as', 'export'])
        assert code == 1 and set(members_of(line)) <= {'seq', 'code', 'reason'}, (about, line)
        failure = json.loads(run([str(file), '--as', 'export', '--json'])[1])['failure']
        assert set(failure) == {'seq', 'code', 'reason'} and failure['code'] == members_of(line)['code'], about


def test_a_count_is_digits_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / 'file'
    chain = Chain('count')
    file.write_bytes(chain.export())
    witness = forge.f.to_base64(b'\x04' + chain.note.raw)
    key = f'w.example/w+{forge.key_id("w.example/w", 4, chain.note.raw).hex()}+{witness}'
    counts = ['1', ' 1', '1 ', '+1', '-1', '1_0', '1.0', '\uff11', '\u0661', '1e0', '0x1', '', '01', '0', '2']
    asked = [['--witness', key, f'--witnesses-min={count}'] for count in counts]
    theirs = verdicts([['verify', str(file), *more] for more in asked])
    for more, their in zip(asked, theirs, strict=True):
        try:
            code = run([str(file), '--as', 'export', *more])[0]
        except SystemExit as ended:
            code = int(str(ended.code))
        assert code == their[0], more
    assert [their[0] for their in theirs].count(0) == 2
