"""Verifies a whole ledger by its export (docs/formats/export.md)."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

from . import formats as f
from .envelope import parse_envelope
from .errors import Refused, Unreadable
from .keys import Key, parse_key
from .ledger import Erasure, Expected, Head, Ledger, Place, head_of
from .limits import LINE_DEPTH_MAX, PORTIONS_PER_PROCESS, SMALL_FILE_BYTES
from .line import Context, Entry, documents_of, verify_line
from .note import Checkpoint, NoteKey, check_note, count_cosignatures, parse_checkpoint
from .peerings import Peering
from .source import Lines
from .statement import Statement, parse_statement
from .strict_json import parse


@dataclass
class Trust:
    """Facts that the verifier has from elsewhere."""

    kids: list[bytes] = field(default_factory=list)
    checkpoints: list[str] = field(default_factory=list)
    """Notes."""
    receipts: list[ReceiptHead] = field(default_factory=list)
    compromised: dict[bytes, int | None] = field(default_factory=dict)
    agent_keys: dict[str, frozenset[bytes]] = field(default_factory=dict)
    witnesses: list[NoteKey] = field(default_factory=list)
    witnesses_min: int = 0
    strict: bool = False
    processes: int = 0
    """Processes that verify; 0: one for each core."""
    observe: Callable[[Entry, dict[str, Peering]], None] | None = None
    """Called for each entry that was verified, with the peerings as they stand behind it."""


@dataclass
class ReceiptHead:
    """Facts of a ledger by a receipt that was kept."""

    size: int
    root: bytes
    seq: int
    leaf: bytes
    check_key: Callable[[NoteKey], None]


@dataclass
class Report:
    ledger: str
    entries: int
    records: int
    keys: str
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
    context: Context
    compromised: set[bytes]


def verify_export(lines: Lines, trust: Trust) -> Report:
    header = parse_header(lines.first())
    last = lines.last()
    if lines.body_start == lines.size:
        raise Unreadable('there is but one line')
    note = _parse_last(last)
    kept, damage = _parse_notes(trust.checkpoints)
    own, own_damage = _parse_notes([note] if note is not None else [])
    damage = damage or own_damage
    if lines.body_start == lines.body_end:
        # The first entry says whose checkpoint it is, so without one it is nobody's.
        own, damage = [], None
    state = Ledger(_expected(trust, header, kept, own), _digests(lines))
    entries = _entries(lines, header.context, trust, lines.size)
    try:
        for entry in entries:
            try:
                state.take(entry)
            except Refused as refused:
                raise refused.at(entry.seq) from None
            if trust.observe is not None:
                trust.observe(entry, state.peerings.peerings)
            if state.size == 1:
                try:
                    if damage is not None:
                        raise damage
                    _check_trust(state, trust, [*kept, *own])
                except Refused as refused:
                    raise refused.at(0) from None
        state.end()
        _check_named(state, trust, header)
    except RecursionError:
        raise Refused('json_depth', 'nested beyond any sense') from None
    finally:
        # Here, and not where the garbage happens to be collected: processes are joined.
        entries.close()
    report = _report(state, trust, [*kept, *own], header)
    if trust.strict:
        _check_strict(report, trust, state)
    return report


def parse_header(data: bytes) -> Header:
    """Nothing in the first line is evidence, so what it has beside what is needed is passed over."""
    value = _loose(data)
    if not isinstance(value, dict) or value.get('export') != 1 or isinstance(value['export'], bool):
        raise Unreadable('the first line is not that of an export')
    ledger, keys = value.get('ledger'), value.get('keys')
    if not isinstance(ledger, dict) or not isinstance(ledger.get('id'), str) or not isinstance(keys, list):
        raise Unreadable('the first line lacks the ledger or its keys')
    found, compromised = hinted_keys(keys)
    return Header(ledger['id'], Context(found, value.get('documents') == 'withheld'), compromised)


def _loose(data: bytes) -> Any:
    """JSON of a line that is no evidence: the last of two equal members counts."""
    try:
        return json.loads(data.decode('utf-8', 'replace'), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return None


def _no_constant(literal: str) -> None:
    raise ValueError(literal)


def hinted_keys(values: list[Any]) -> tuple[dict[bytes, Key], set[bytes]]:
    """The keys of a keys document, by their thumbprints, and those that are said to be compromised."""
    keys: dict[bytes, Key] = {}
    compromised: set[bytes] = set()
    for value in values:
        key = hinted_key(value) if isinstance(value, dict) else None
        if key is not None:
            keys[key.kid] = key
            if isinstance(value.get('compromisedAt'), str):
                compromised.add(key.kid)
    return keys, compromised


def hinted_key(value: dict[str, Any]) -> Key | None:
    """A key that a file brings along, by its own thumbprint. It is a hint, so one that is no key is as if it were not there."""
    try:
        return parse_key(value.get('alg'), f.from_base64(value.get('spki'), 'a key'))
    except Refused:
        return None


def _parse_last(data: bytes) -> str | None:
    value = _loose(data)
    if not isinstance(value, dict) or value.keys() != {'checkpoint'}:
        raise Refused('export_incomplete', 'the last line is not that of an export: it was cut off')
    note = value['checkpoint']
    if note is not None and not isinstance(note, str):
        raise Refused('export_incomplete', 'the checkpoint of the last line is no text')
    return note


def _parse_notes(notes: list[str]) -> tuple[list[Checkpoint], Refused | None]:
    """Checkpoints are judged when the first entry has said whose they must be."""
    try:
        return [parse_checkpoint(note) for note in notes], None
    except Refused as refused:
        return [], refused


def _expected(trust: Trust, header: Header, kept: list[Checkpoint], own: list[Checkpoint]) -> Expected:
    heads = [head_of(checkpoint) for checkpoint in (*kept, *own)]
    heads += [Head(receipt.size, receipt.root, None, 'receipt_mismatch') for receipt in trust.receipts]
    outside = max((*(one.size for one in kept), *(one.size for one in trust.receipts)), default=0)
    own_size = max((one.size for one in own), default=0)
    compromised: dict[bytes, int | None] = dict.fromkeys(header.compromised)
    compromised |= trust.compromised
    return Expected(
        heads=tuple(heads),
        places=tuple(Place(receipt.seq, receipt.leaf) for receipt in trust.receipts),
        covered_outside=outside,
        covered=max(outside, own_size),
        own=own_size,
        compromised=compromised,
        pinned=trust.agent_keys,
    )


def _digests(lines: Lines) -> Callable[[int], dict[str, str]]:
    def digests_of(seq: int) -> dict[str, str]:
        value = parse(lines.entry(seq), LINE_DEPTH_MAX).value
        if value['kind'] == 'statement':
            return {}
        envelope = parse_envelope(f.from_base64(value['envelope'], 'the envelope'))
        statement: Statement = parse_statement(envelope.payload)
        return {name: digest for name, digest, _ in documents_of(statement, value['items'])}

    return digests_of


def _check_trust(state: Ledger, trust: Trust, checkpoints: list[Checkpoint]) -> None:
    """The checkpoints, as soon as the first entry has said by whom they are signed."""
    assert state.definition is not None
    key = state.definition.note_key
    for checkpoint in checkpoints:
        check_note(checkpoint, key)
    for receipt in trust.receipts:
        receipt.check_key(key)


def _check_named(state: Ledger, trust: Trust, header: Header) -> None:
    if state.definition is not None and state.definition.ledger != header.ledger:
        raise Refused('ledger_foreign', f'the first line says {header.ledger[:64]!r}, the chain is of {state.definition.ledger}')
    for kid in trust.kids:
        if kid not in state.server_kids:
            raise Refused('trusted_key_absent', f'no entry names the key {kid.hex()}, which was given')
    state.actors.check_all_pinned()


def _report(state: Ledger, trust: Trust, checkpoints: list[Checkpoint], header: Header) -> Report:
    expected, definition = state.expected, state.definition
    given = expected.covered_outside > 0
    witnessed = None
    if trust.witnesses:
        enough = [one.size for one in checkpoints if count_cosignatures(one, trust.witnesses) >= trust.witnesses_min]
        witnessed = max(enough, default=0)
    return Report(
        ledger=definition.ledger if definition is not None else header.ledger,
        entries=state.size,
        records=state.record_count,
        keys='given' if definition is not None and definition.first_kid in trust.kids else 'self-asserted',
        checkpoint='given' if given else 'own' if expected.own else 'none',
        covered=expected.covered_outside if given else expected.own,
        own=expected.own,
        agent_signed=state.agent_signed,
        statements=state.statements,
        erasures=state.erasures,
        withheld=header.context.withheld,
        witnessed=witnessed,
        state=state,
    )


def _check_strict(report: Report, trust: Trust, state: Ledger) -> None:
    if report.keys == 'self-asserted':
        raise Refused('keys_not_given', 'whose keys these are is the ledger’s own word')
    if trust.witnesses:
        if not report.witnessed:
            raise Refused('witnesses_too_few', 'no checkpoint is cosigned by enough witnesses')
    elif report.checkpoint != 'given':
        raise Refused('checkpoint_not_given', 'no checkpoint that was kept covers the ledger')
    if state.is_own_tail_long():
        raise Refused('checkpoint_missing_tail', 'the ledger’s own checkpoint is more than a minute behind')
    if report.withheld:
        raise Refused('documents_withheld', 'documents are withheld')


# Each line by itself, on all cores

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
    for portion in lines.portions():
        for line in portion:
            yield _verify(line, context, seq)
            seq += 1


def _in_processes(lines: Lines, context: Context, count: int) -> Generator[Entry | Refused, None, None]:
    """Portions go out in order and come back in order, a few at a time: memory does not grow with the file."""
    with ProcessPoolExecutor(count, get_context('spawn'), _begin, (context,)) as pool:
        running: deque[Future[list[Entry | Refused]]] = deque()
        seq = 0
        try:
            for portion in lines.portions():
                running.append(pool.submit(_verify_portion, portion, seq))
                seq += len(portion)
                if len(running) >= count * PORTIONS_PER_PROCESS:
                    yield from running.popleft().result()
            while running:
                yield from running.popleft().result()
        finally:
            for future in running:
                future.cancel()


def _begin(context: Context) -> None:
    global _context
    _context = context


def _verify_portion(portion: list[bytes], seq: int) -> list[Entry | Refused]:
    assert _context is not None
    found: list[Entry | Refused] = []
    for index, line in enumerate(portion):
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
    """A note; or lines with a checkpoint: those of `checkpoints watch`, the last of an export, the first of a bundle."""
    text = data.decode('utf-8', 'replace')
    if not text.startswith('{') and '\n\n\u2014 ' in text:
        return [text]
    notes: list[str] = []
    for line in data.split(b'\n'):
        if line.startswith((b'{"checkpoint":', b'{"bundle":')):
            value = _loose(line)
            if isinstance(value, dict) and isinstance(value.get('checkpoint'), str):
                notes.append(value['checkpoint'])
    if not notes:
        raise Unreadable('there is no checkpoint in it')
    return notes
