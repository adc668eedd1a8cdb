"""Runs both verifiers as commands: `verdicts` runs the TypeScript verifier as a black box, `ours` runs
the Python verifier.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from tallystick.verify.cli import main

ROOT = Path(__file__).resolve().parents[2]
_VERDICT = re.compile(r'([A-Z_]+)(?: |$)')
_CODE = re.compile(r' code=([a-z0-9_]+)')
_SEQ = re.compile(r' seq=([0-9]+)')
_LEDGER = re.compile(r' ledger=(led_[0-9a-z]+)')

Verdict = tuple[int, str, str, str]


def verdicts(commands: Iterable[list[str]]) -> list[Verdict]:
    """Returns exit code, verdict, code and location for each command. One process runs all commands
    (test/system/python/verdicts.ts).
    """
    asked = ''.join(json.dumps(command) + '\n' for command in commands)
    environment = {**os.environ, 'XDG_CONFIG_HOME': '/nowhere', 'HOME': '/nowhere'}
    command = ['node', 'tools/run.mjs', 'test/system/python/verdicts.ts']
    run = subprocess.run(command, cwd=ROOT, input=asked, capture_output=True, text=True, env=environment, timeout=900)
    if run.returncode != 0:
        raise RuntimeError(run.stderr)
    return [read(answer['exit'], answer['stdout']) for answer in map(json.loads, run.stdout.splitlines())]


def ours(arguments: list[str]) -> Verdict:
    """Returns exit code, verdict, code and location of the Python verifier."""
    stdout = io.StringIO()
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(io.StringIO()):
        try:
            code = main(arguments)
        except SystemExit as ended:
            code = int(ended.code or 0)
    return read(code, stdout.getvalue())


def read(exit_code: int, text: str) -> Verdict:
    line = text.rstrip('\n').rpartition('\n')[2]
    word, code, seq = _VERDICT.match(line), _CODE.search(line), _SEQ.search(line)
    if code is None:
        return exit_code, word[1] if word else '', '', line.partition(' ')[2]
    return exit_code, word[1] if word else '', code[1], seq[1] if seq else ''


def placed(arguments: list[str], path: Path) -> list[str]:
    return [str(path) if argument == 'FILE' else argument for argument in arguments]
