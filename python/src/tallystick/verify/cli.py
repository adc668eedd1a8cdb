"""The command `tallystick-verify`, with the result lines, codes and exit codes of `tallystick verify` (docs/reference/cli.md)."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key

from .._text import plain
from . import report
from .archive import Archive, Keys
from .bundle import verify_bundle
from .errors import NotAnExport, Refused, Unavailable, Unreadable
from .export import Beside, Trust, kept_notes, verify_export
from .formats import is_hex64, is_id_of, milliseconds
from .hints import is_hint, named_keys
from .keys import EDDSA, ES256, Key, parse_key
from .limits import LINE_DEPTH_MAX
from .note import NoteKey, parse_verifier_key, parse_witnesses
from .proof import OfflineTrust, verify_proof
from .receipt import verify_receipt, verify_transparent
from .reconcile import Differs, read_history, reconcile, weaker_keys
from .report import Result
from .source import KIND_BYTES, Lines, kind_of, open_lines
from .strict_json import parse

EXIT_OK, EXIT_REFUSED, EXIT_USAGE, EXIT_DATA, EXIT_UNAVAILABLE, EXIT_BUG, EXIT_FILE = 0, 1, 64, 65, 69, 70, 74
KINDS = ('export', 'archive', 'bundle', 'proof', 'receipt', 'statement')
_P256_SPKI_BYTES = 91
_COUNT = re.compile(r'[0-9]{1,16}\Z')
_WHOLE_SECOND = re.compile(r'(.*:[0-9]{2})Z\Z')


class UsageError(Exception):
    """The arguments are invalid or incomplete."""


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        return _run(options)
    except UsageError as error:
        return _complain(str(error), EXIT_USAGE)
    except Unavailable as unavailable:
        return _complain(str(unavailable), EXIT_UNAVAILABLE)
    except Unreadable as unreadable:
        return _complain(str(unreadable), EXIT_DATA)
    except OSError as error:
        return _complain(str(error), EXIT_FILE)
    except Exception as error:
        # A bug gives no verdict. If a file triggers a bug in this program, the file must be reported neither as
        # intact nor as damaged.
        return _complain(f'an error in this program, which says nothing about the file: {error!r}', EXIT_BUG)


def _complain(message: str, code: int) -> int:
    print(f'tallystick-verify: {plain(message)}', file=sys.stderr)
    return code


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        sys.exit(_complain(message, EXIT_USAGE))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog='tallystick-verify',
        description='Verifies an export, archive, bundle, proof, receipt or Transparent Statement, without the server that made it.',
        epilog='Exit codes: 0 intact; 1 not intact; 64 wrong arguments; 65 not a file of this kind; '
        '69 the archive cannot be read; 70 an error in this program; 74 a file cannot be read.',
    )
    parser.add_argument('file', metavar='FILE', help='what to verify. A directory is read as an archive; - is standard input')
    parser.add_argument('--as', dest='kind', choices=KINDS, help='the kind of FILE. Default: recognized by its first bytes; export for -')
    parser.add_argument('--reconcile', metavar='FILE', help='compare FILE with this export, of a ledger that shares records with it')
    _add_trust(parser)
    parser.add_argument(
        '--keys', metavar='FILE', help='an answer of /.well-known/tallystick-keys.json, to verify the signature in a receipt'
    )
    parser.add_argument('--issuer-key', metavar='FILE', help='the issuer’s public key (PEM), to verify the signature of a statement')
    parser.add_argument('--archive-key', metavar='FILE', help='the keys of an archive’s documents; without them documents are not checked')
    parser.add_argument(
        '--record', metavar='FILE', help='an answer of GET /v1/records/{id}: the proof or receipt must belong to this record'
    )
    parser.add_argument('--strict', action='store_true', help='fail unless keys and a checkpoint are given, and documents are shown')
    parser.add_argument('--erasures', action='store_true', help='list what was erased')
    parser.add_argument('--json', action='store_true', help='print the report as one JSON object')
    parser.add_argument('--processes', type=_count, default=0, metavar='N', help='number of processes (default: one for each core)')
    return parser


def _add_trust(parser: argparse.ArgumentParser) -> None:
    def add(name: str, metavar: str, help: str) -> None:
        parser.add_argument(name, action='append', default=[], metavar=metavar, help=f'{help}. Repeatable')

    add(
        '--key',
        'KID',
        'the kid of the ledger’s first envelope key, known from elsewhere; for a proof, the kid of the key that signed the entry',
    )
    parser.add_argument('--note-key', metavar='VKEY', help='the note verifier key of the ledger, known from elsewhere')
    add('--checkpoint', 'FILE', 'a checkpoint that you stored: the ledger must extend it')
    add('--consistency', 'FILE', 'a proof that joins two checkpoints: an answer of GET /v1/checkpoints/consistency?from=…&to=…')
    add('--receipt', 'FILE', 'a receipt that you stored: the ledger must have its entry')
    add('--compromised', 'KID[=TIME]', 'a stolen key: its signatures count only before TIME and where a stored checkpoint covers them')
    add(
        '--agent-key',
        'AGENT=KID',
        'a key of an agent, known from elsewhere: the agent’s entries must be signed by it or by a key that it endorsed',
    )
    add('--witness', 'VKEY', 'the verifier key of a witness')
    parser.add_argument('--witnesses-min', type=_count, metavar='K', help='how many of the witnesses must have cosigned (default: all)')


def _count(text: str) -> int:
    """Parses ASCII digits only, like the verifier in TypeScript. `int` also accepts signs, spaces and digits of every script."""
    if _COUNT.match(text) is None:
        raise argparse.ArgumentTypeError(f'{text!r} is not a number of at most 16 digits')
    return int(text)


def _run(options: argparse.Namespace) -> int:
    try:
        asked = _Asked(options)
    except Refused as refused:
        return _complain(refused.reason, EXIT_USAGE)
    kind = 'reconcile' if options.reconcile is not None else options.kind or _kind_of(options.file)
    _check_taken(options, kind)
    ok, failed, verify = _VERIFIERS[kind]
    try:
        result = verify(asked)
    except Differs as differs:
        return _print_difference(differs, options.json)
    except Refused as refused:
        return _print_refusal(failed, refused, options.json)
    for notice in result.notices:
        print(f'tallystick-verify: {notice}', file=sys.stderr)
    if options.json:
        print(json.dumps(result.report))
    else:
        print('\n'.join([*result.before, f'{ok} {result.line}']))
    return EXIT_OK


def _kind_of(path: str) -> str:
    """Returns the kind of a file, by its first bytes. Standard input always counts as an export."""
    if path == '-':
        return 'export'
    if Path(path).is_dir():
        return 'archive'
    with Path(path).open('rb') as file:
        return kind_of(file.read(KIND_BYTES))


_TAKEN_BY = {
    'archive_key': ('archive',),
    'key': ('export', 'archive', 'bundle', 'proof'),
    'note_key': ('bundle', 'proof', 'receipt', 'statement'),
    'checkpoint': ('export', 'archive', 'bundle', 'proof'),
    'consistency': ('bundle', 'proof'),
    'receipt': ('export', 'archive'),
    'compromised': ('export', 'archive', 'bundle', 'proof', 'reconcile'),
    'agent_key': ('export', 'archive', 'bundle'),
    'witness': ('export', 'archive', 'bundle', 'proof'),
    'witnesses_min': ('export', 'archive', 'bundle', 'proof'),
    'keys': ('receipt',),
    'issuer_key': ('statement',),
    'record': ('proof', 'receipt'),
    'strict': ('export', 'archive', 'bundle', 'proof'),
    'erasures': ('export', 'archive'),
}


def _check_taken(options: argparse.Namespace, kind: str) -> None:
    """Raises an error for options without effect. Otherwise a user would believe that they were
    applied.
    """
    for name, kinds in _TAKEN_BY.items():
        if getattr(options, name) not in (None, False, []) and kind not in kinds:
            raise UsageError(f'--{name.replace("_", "-")} cannot be used with {kind}')


class _Asked:
    def __init__(self, options: argparse.Namespace) -> None:
        self.file: str = options.file
        self.kind: str | None = options.kind
        self.other: str | None = options.reconcile
        self.erasures: bool = options.erasures
        self.kids = [_kid(kid) for kid in options.key]
        self.compromised = dict(_compromised(one) for one in options.compromised)
        self.agent_keys = _agent_keys(options.agent_key)
        self.witnesses, self.witnesses_min = parse_witnesses(options.witness, options.witnesses_min)
        self.note_key = parse_verifier_key(options.note_key) if options.note_key is not None else None
        self.notes = [one for path in options.checkpoint for one in kept_notes(_read(path))]
        self.receipts = [_read(path) for path in options.receipt]
        self.consistency = [_read(path) for path in options.consistency]
        self.strict: bool = options.strict
        self.processes: int = options.processes
        self.archive_keys = Keys(_read(options.archive_key)) if options.archive_key is not None else None
        self.keys = _read(options.keys) if options.keys is not None else None
        self.issuer_key = _read_pem(_read(options.issuer_key)) if options.issuer_key is not None else None
        self.record = _read(options.record) if options.record is not None else None

    def trust(self) -> Trust:
        return Trust(
            kids=self.kids,
            checkpoints=self.notes,
            receipts=self.receipts,
            compromised=self.compromised,
            agent_keys=self.agent_keys,
            witnesses=self.witnesses,
            witnesses_min=self.witnesses_min,
            strict=self.strict,
            processes=self.processes,
        )

    def offline(self) -> OfflineTrust:
        return OfflineTrust(
            kids=self.kids,
            note_key=self.note_key,
            checkpoints=self.notes,
            consistency=self.consistency,
            compromised=self.compromised,
            agent_keys=self.agent_keys,
            witnesses=self.witnesses,
            witnesses_min=self.witnesses_min,
            strict=self.strict,
        )

    def need_note_key(self) -> NoteKey:
        if self.note_key is None:
            raise UsageError('a receipt needs --note-key: only this key shows that it belongs to the ledger')
        return self.note_key


def _read(path: str) -> bytes:
    return sys.stdin.buffer.read() if path == '-' else Path(path).read_bytes()


def _read_pem(data: bytes) -> Key:
    try:
        spki = load_pem_public_key(data).public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    except ValueError:
        raise Unreadable('the file of --issuer-key is not a public key in PEM') from None
    return parse_key(EDDSA if len(spki) < _P256_SPKI_BYTES else ES256, spki)


def _kid(text: str) -> bytes:
    text = text.lower()
    if not is_hex64(text):
        raise Refused('usage', f'{text!r} is not a kid: 64 hex digits, as in /.well-known/tallystick-keys.json')
    return bytes.fromhex(text)


def _compromised(text: str) -> tuple[bytes, int | None]:
    kid, equals, time = text.partition('=')
    if not equals:
        return _kid(kid), None
    whole = _WHOLE_SECOND.match(time)
    since = milliseconds(f'{whole[1]}.000Z' if whole else time)
    if since is None:
        raise Refused('usage', f'{time!r} is not a time like 2026-11-20T12:00:00Z')
    return _kid(kid), since


def _agent_keys(texts: list[str]) -> dict[str, frozenset[bytes]]:
    keys: dict[str, frozenset[bytes]] = {}
    for text in texts:
        agent, _, kid = text.partition('=')
        if not is_id_of(agent, 'agt'):
            raise Refused('usage', f'--agent-key needs an agent and the kid of its key, agt_…=<64 hex digits>, not {text!r}')
        keys[agent] = keys.get(agent, frozenset()) | {_kid(kid)}
    return keys


def _verify_export(asked: _Asked) -> Result:
    # Verifies an export. If the user gave no kind, the error for another file also says that the
    # file is no bundle, proof or receipt.
    is_other = asked.kind is None and asked.file != '-'
    with _naming(asked.file, '. The file is no bundle, proof or receipt either' if is_other else ''):
        return _verify_lines(asked, open_lines(asked.file))


@contextmanager
def _naming(path: str, more: str = '') -> Iterator[None]:
    """If the `with` block raises NotAnExport, raises an error that also has the file's name."""
    try:
        yield
    except NotAnExport as other:
        raise Unreadable(f'{"standard input" if path == "-" else path} is {other}{more}') from other


def _verify_archive(asked: _Asked) -> Result:
    archive = Archive(Path(asked.file), asked.archive_keys)
    if asked.archive_keys is not None and asked.archive_keys.ledger != archive.ledger:
        raise UsageError(f'the file of --archive-key belongs to {asked.archive_keys.ledger[:64]}, the archive to {archive.ledger}')
    return _verify_lines(asked, archive.lines(), archive)


def _verify_lines(asked: _Asked, opened: Lines, beside: Beside | None = None) -> Result:
    with opened as lines:
        return report.of_export(asked.file, verify_export(lines, asked.trust(), beside), asked.erasures)


def _verify_bundle(asked: _Asked) -> Result:
    with open_lines(asked.file) as lines:
        return report.of_bundle(verify_bundle(lines, asked.offline()))


def _verify_proof(asked: _Asked) -> Result:
    return report.of_proof(verify_proof(_read(asked.file), asked.offline(), asked.record))


def _verify_receipt(asked: _Asked) -> Result:
    keys = None if asked.keys is None else _read_keys(asked.keys)
    return report.of_receipt(verify_receipt(_read(asked.file), asked.need_note_key(), keys, asked.record))


def _read_keys(data: bytes) -> dict[bytes, Key | None]:
    """Returns the keys of a keys document, by kid. The value is None if the key is marked as
    compromised.
    """
    try:
        value = parse(data, LINE_DEPTH_MAX).value
        hints = value.get('keys') if isinstance(value, dict) else None
        if not isinstance(hints, list) or not all(map(is_hint, hints)):
            raise Refused('usage', 'it is not an answer of /.well-known/tallystick-keys.json')
        keys, compromised = named_keys([hint for hint in hints if hint.get('use') == 'envelope'])
    except Refused as refused:
        raise UsageError(f'the file of --keys cannot be used: {refused.reason}') from None
    return {kid: None if kid in compromised else key for kid, key in keys.items()}


def _reconcile(asked: _Asked) -> Result:
    if asked.other is None:
        raise UsageError('--reconcile needs the export of the other ledger')
    histories = []
    for path in (asked.file, asked.other):
        with _naming(path), open_lines(path) as lines:
            histories.append(read_history(path, lines, Trust(processes=asked.processes, compromised=asked.compromised)))
    one, other = histories
    if one.report.ledger == other.report.ledger:
        raise UsageError(f'both exports belong to {one.report.ledger}: name an export of a ledger and one of its peer')
    return report.of_reconciliation(reconcile(one, other), weaker_keys(one, other))


def _verify_statement(asked: _Asked) -> Result:
    return report.of_statement(verify_transparent(_read(asked.file), asked.need_note_key(), asked.issuer_key))


_VERIFIERS: dict[str, tuple[str, str, Callable[[_Asked], Result]]] = {
    'export': ('INTEGRITY_OK', 'INTEGRITY_FAILED', _verify_export),
    'archive': ('INTEGRITY_OK', 'INTEGRITY_FAILED', _verify_archive),
    'bundle': ('BUNDLE_OK', 'BUNDLE_FAILED', _verify_bundle),
    'proof': ('PROOF_OK', 'PROOF_FAILED', _verify_proof),
    'receipt': ('RECEIPT_OK', 'RECEIPT_FAILED', _verify_receipt),
    'statement': ('STATEMENT_OK', 'STATEMENT_FAILED', _verify_statement),
    'reconcile': ('RECONCILED', 'NOT_RECONCILED', _reconcile),
}


def _print_refusal(word: str, refused: Refused, as_json: bool) -> int:
    if as_json:
        failure = {'seq': refused.seq, 'code': refused.code, 'reason': refused.reason}
        print(json.dumps({'ok': False, 'failure': failure}))
    else:
        print(report.failure_line(word, refused.code, refused.reason, refused.seq))
    return EXIT_REFUSED


def _print_difference(differs: Differs, as_json: bool) -> int:
    if as_json:
        failure = {'ledger': differs.ledger, 'seq': differs.seq, 'code': differs.code, 'reason': differs.reason}
        print(json.dumps({'ok': False, 'failure': failure}))
    else:
        print(report.failure_line('NOT_RECONCILED', differs.code, differs.reason, differs.seq, differs.ledger))
    return EXIT_REFUSED


if __name__ == '__main__':
    sys.exit(main())
