"""Verifies a whole ledger by its export (docs/formats/export.md)."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import cache
from multiprocessing import get_context
from typing import Any, Protocol

from . import formats as f
from .envelope import parse_envelope
from .errors import NotAnExport, Refused, Unreadable
from .hints import is_hint, named_keys
from .ledger import Definition, Erasure, Expected, Head, Ledger, Place, head_of
from .limits import END_LINE_BYTES_MAX, LINE_DEPTH_MAX, RANGES_PER_PROCESS, SMALL_FILE_BYTES
from .line import Context, Entry, documents_of, verify_line
from .note import Checkpoint, NoteKey, parse_checkpoint, witnessed_sizes
from .peerings import Peering
from .receipt import kept_receipt
from .source import Lines
from .statement import Statement, parse_statement
from .strict_json import parse

EXPORT_START = b'{"export"'


@dataclass
class Trust:
    """Facts that the user knows from outside the file."""

    kids: list[bytes] = field(default_factory=list)
    checkpoints: list[str] = field(default_factory=list)
    """Checkpoints as notes."""
    receipts: list[bytes] = field(default_factory=list)
    """Statements with their receipts."""
    compromised: dict[bytes, int | None] = field(default_factory=dict)
    agent_keys: dict[str, frozenset[bytes]] = field(default_factory=dict)
    witnesses: list[NoteKey] = field(default_factory=list)
    witnesses_min: int = 0
    strict: bool = False
    processes: int = 0
    """Number of processes. 0: one for each core."""
    observe: Callable[[Entry, dict[str, Peering]], None] | None = None
    """Called for each verified entry, with the peerings after it."""


@dataclass
class Report:
    ledger: str
    entries: int
    records: int
    keys: str
    kids: list[bytes]
    """The ledger's own keys, in the order of the chain. The last one signs."""
    checkpoint: str
    covered: int
    own: int
    agent_signed: int
    statements: int
    erasures: list[Erasure]
    withheld: bool
    witnessed: int | None
    state: Ledger


@dataclass
class Header:
    ledger: str
    withheld: bool
    hints: list[dict[str, Any]]


class Beside(Protocol):
    """Data of an archive that the lines of an export do not have. It is compared with the entries when
    they are verified.
    """

    notes: list[str]
    """The ledger's own checkpoints."""
    damage: Refused | Unreadable | None
    """Reason why the lines end before the last entry."""

    def taken(self, entry: Entry) -> None: ...

    def end(self, erasures: list[Erasure]) -> None: ...


def verify_export(lines: Lines, trust: Trust, beside: Beside | None = None) -> Report:
    first = lines.first()
    if not lines.first_is_whole:
        raise NotAnExport
    header = parse_header(first)
    note = _parse_last(lines.last())
    keys, compromised = named_keys(header.hints)
    notes = beside.notes if beside is not None else [] if note is None else [note]
    # Without a first entry, the checkpoint's ledger is unknown. The checkpoint is then ignored.
    own = notes if lines.body_start < lines.body_end else []
    given = _Given(trust)
    witnessed: list[int] = []

    def begun(definition: Definition) -> None:
        """Verifies checkpoints and receipts. This is possible only now, because the first entry names
        the key that signs them.
        """
        key = definition.note_key
        witnessed.extend(witnessed_sizes([*trust.checkpoints, *own], key, trust.witnesses, trust.witnesses_min))
        for receipt in given.receipts:
            receipt.check(key)

    state = Ledger(_expected(trust, compromised, given, _parsed(own)), _digests(lines), begun)
    entries = _entries(lines, Context(keys, header.withheld), trust, lines.size)
    try:
        for entry in entries:
            try:
                state.take(entry)
            except Refused as refused:
                raise refused.at(entry.seq) from None
            if trust.observe is not None:
                trust.observe(entry, state.peerings.peerings)
            if beside is not None:
                beside.taken(entry)
        given.check_read(state.size)
        if beside is not None and beside.damage is not None:
            raise beside.damage
        state.end()
        if beside is not None:
            beside.end(state.erasures)
        _check_named(state, trust, header)
    except RecursionError:
        raise Refused('json_depth', 'a line is nested too deep') from None
    finally:
        # Closing waits for the processes. So it is done here and not by the garbage collector.
        entries.close()
    report = _report(state, trust, witnessed, header)
    if trust.strict:
        _check_strict(report, trust, state)
    return report


def parse_header(data: bytes) -> Header:
    """Parses the first line. Ignores unknown members, because nothing in this line is evidence."""
    try:
        value = parse(data, LINE_DEPTH_MAX).value if len(data) <= END_LINE_BYTES_MAX else None
    except Refused:
        if data.startswith(EXPORT_START):
            raise
        value = None
    if not isinstance(value, dict) or not f.is_integer(value.get('export'), 1, 1):
        raise NotAnExport
    ledger, keys = value.get('ledger'), value.get('keys')
    if not isinstance(ledger, dict) or not isinstance(ledger.get('id'), str) or not isinstance(keys, list):
        raise NotAnExport
    if not all(map(is_hint, keys)):
        raise Refused('line_syntax', 'a key in the first line does not have the required form')
    return Header(ledger['id'], value.get('documents') == 'withheld', keys)


def _parse_last(data: bytes) -> str | None:
    """Parses the last line. Any damage gives the same code, because a truncated file may end in the
    middle of a character.
    """
    try:
        value = parse(data, LINE_DEPTH_MAX).value if len(data) <= END_LINE_BYTES_MAX else None
    except Refused:
        value = None
    if not isinstance(value, dict) or value.keys() != {'checkpoint'}:
        raise Refused('export_incomplete', 'the export was cut off, because its last line is not {"checkpoint":…}: export the ledger again')
    note = value['checkpoint']
    if note is not None and not isinstance(note, str):
        raise Refused('export_incomplete', 'the checkpoint in the last line is neither null nor a text')
    return note


def _parsed(notes: list[str]) -> list[Checkpoint]:
    """Parses checkpoints. Malformed checkpoints are refused later, when the first entry has named the
    ledger's key.
    """
    found: list[Checkpoint] = []
    for note in notes:
        with suppress(Refused):
            found.append(parse_checkpoint(note))
    return found


class _Given:
    """Checkpoints and receipts that the user stored earlier."""

    def __init__(self, trust: Trust) -> None:
        self.checkpoints = _parsed(trust.checkpoints)
        self.count = len(trust.checkpoints) + len(trust.receipts)
        self.receipts = [kept_receipt(data) for data in trust.receipts]

    def check_read(self, size: int) -> None:
        if size == 0 and self.count > 0:
            raise Refused('checkpoint_beyond_chain', 'a checkpoint or a receipt was given, but the chain is empty')


def _expected(trust: Trust, said: set[bytes], given: _Given, own: list[Checkpoint]) -> Expected:
    kept = given.checkpoints
    heads = [head_of(checkpoint) for checkpoint in (*kept, *own)]
    heads += [Head(receipt.size, receipt.root, None, 'receipt_mismatch') for receipt in given.receipts]
    outside = max((*(one.size for one in kept), *(one.size for one in given.receipts)), default=0)
    own_size = max((one.size for one in own), default=0)
    compromised: dict[bytes, int | None] = dict.fromkeys(said)
    compromised |= trust.compromised
    return Expected(
        heads=tuple(heads),
        places=tuple(Place(receipt.seq, receipt.leaf) for receipt in given.receipts),
        covered_outside=outside,
        covered=max(outside, own_size),
        own=own_size,
        compromised=compromised,
        pinned=trust.agent_keys,
    )


def _digests(lines: Lines) -> Callable[[int], dict[str, str]]:
    @cache
    def digests_of(seq: int) -> dict[str, str]:
        """The result is cached, so that each line is read once. Reading a line for each erased item of
        a large batch would take quadratic time.
        """
        value = parse(lines.entry(seq), LINE_DEPTH_MAX).value
        if value['kind'] == 'statement':
            return {}
        envelope = parse_envelope(f.from_base64(value['envelope'], 'the envelope'))
        statement: Statement = parse_statement(envelope.payload)
        return {name: digest for name, digest, _ in documents_of(statement, value.get('items'))}

    return digests_of


def _check_named(state: Ledger, trust: Trust, header: Header) -> None:
    if state.definition is not None and state.definition.ledger != header.ledger:
        raise Refused(
            'ledger_foreign', f'the first line names the ledger {header.ledger[:64]!r}, but the chain belongs to {state.definition.ledger}'
        )
    for kid in trust.kids:
        if kid not in state.server_kids:
            raise Refused('trusted_key_absent', f'no entry introduces the key {kid.hex()}, which was given')
    state.actors.check_all_pinned()


def _report(state: Ledger, trust: Trust, witnessed: list[int], header: Header) -> Report:
    expected, definition = state.expected, state.definition
    given = expected.covered_outside > 0
    return Report(
        ledger=definition.ledger if definition is not None else header.ledger,
        entries=state.size,
        records=state.record_count,
        keys='given' if definition is not None and definition.first_kid in trust.kids else 'self-asserted',
        kids=list(state.server_kids),
        checkpoint='given' if given else 'own' if expected.own else 'none',
        covered=expected.covered_outside if given else expected.own,
        own=expected.own,
        agent_signed=state.agent_signed,
        statements=state.statements,
        erasures=state.erasures,
        withheld=header.withheld,
        witnessed=max(witnessed, default=0) if trust.witnesses else None,
        state=state,
    )


def _check_strict(report: Report, trust: Trust, state: Ledger) -> None:
    if report.keys == 'self-asserted':
        raise Refused('keys_not_given', 'the keys are self-asserted: name the trusted first key with --key')
    if trust.witnesses:
        if not report.witnessed:
            raise Refused(
                'witnesses_too_few', 'no checkpoint has enough cosignatures of the witnesses: name one that has with --checkpoint'
            )
    elif report.checkpoint != 'given':
        raise Refused('checkpoint_not_given', 'no checkpoint was given: store one, and name it with --checkpoint')
    if state.is_own_tail_long():
        found = f'the ledger’s own checkpoint covers {report.own} of {report.entries} entries, and later ones are more than a minute old'
        raise Refused('checkpoint_missing_tail', f'{found}: verify again when the ledger has a newer checkpoint')
    if report.withheld:
        raise Refused('documents_withheld', 'documents were not checked: use an API key with the scope records:read')


# The functions below verify each line by itself, on all cores.

_context: Context | None = None


def _entries(lines: Lines, context: Context, trust: Trust, size: int) -> Generator[Entry, None, None]:
    count = trust.processes or (_cores() if size > SMALL_FILE_BYTES else 1)
    found = _in_this_process(lines, context) if count < 2 else _in_processes(lines, context, count)
    with closing(found):
        for entry in found:
            if isinstance(entry, Refused):
                raise entry
            yield entry


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count() or 1


def _in_this_process(lines: Lines, context: Context) -> Generator[Entry | Refused, None, None]:
    seq = 0
    for entry_range in lines.ranges():
        for line in entry_range:
            yield _verify(line, context, seq)
            seq += 1


def _in_processes(lines: Lines, context: Context, count: int) -> Generator[Entry | Refused, None, None]:
    """Verifies ranges of lines in order. Only a few ranges are in memory at a time, so that memory
    does not grow with the file.
    """
    with ProcessPoolExecutor(count, get_context('spawn'), _begin, (context,)) as pool:
        running: deque[Future[list[Entry | Refused]]] = deque()
        seq = 0
        try:
            for entry_range in lines.ranges():
                running.append(pool.submit(_verify_range, entry_range, seq))
                seq += len(entry_range)
                if len(running) >= count * RANGES_PER_PROCESS:
                    yield from running.popleft().result()
            while running:
                yield from running.popleft().result()
        finally:
            for future in running:
                future.cancel()


def _begin(context: Context) -> None:
    global _context
    _context = context


def _verify_range(entry_range: list[bytes], seq: int) -> list[Entry | Refused]:
    assert _context is not None
    found: list[Entry | Refused] = []
    for index, line in enumerate(entry_range):
        found.append(_verify(line, _context, seq + index))
        if isinstance(found[-1], Refused):
            break
    return found


def _verify(line: bytes, context: Context, seq: int) -> Entry | Refused:
    try:
        return verify_line(line, context)
    except Refused as refused:
        return refused.at(seq)


def kept_notes(data: bytes) -> list[str]:
    """Returns the checkpoints of a file that the user stored. Raises Unreadable if it has no
    checkpoint.

    The file is a note, or has lines with a checkpoint: lines of `checkpoints watch`, the last line
    of an export, or the first line of a bundle.
    """
    text = data.decode('utf-8', 'replace')
    if not text.startswith('{') and '\n\n\u2014 ' in text:
        return [text]
    notes: list[str] = []
    for line in data.split(b'\n'):
        if line.startswith((b'{"checkpoint":', b'{"bundle":')):
            with suppress(Refused):
                value = parse(line, LINE_DEPTH_MAX).value
                if isinstance(value, dict) and isinstance(value.get('checkpoint'), str):
                    notes.append(value['checkpoint'])
    if not notes:
        raise Unreadable('a file of --checkpoint has no checkpoint note')
    return notes
