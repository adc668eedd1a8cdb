"""Makes verdicts, each as a line of text and as an object. Text from outside is quoted, so that it
cannot imitate a verdict.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from .._text import escape_hidden
from .bundle import BundleReport
from .export import Report
from .proof import ProofReport
from .receipt import ReceiptReport, TransparentReport
from .reconcile import Counts


@dataclass
class Result:
    """A verdict as a line of text and as an object, with lines to print before it and notices for
    people.
    """

    line: str
    report: dict[str, Any]
    before: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)


def quoted(text: str) -> str:
    """Returns text from outside as a JSON string. It cannot imitate the rest of the line or control a terminal."""
    return escape_hidden(json.dumps(text, ensure_ascii=False))


def failure_line(word: str, code: str, reason: str, seq: int | None = None, ledger: str | None = None) -> str:
    parts = [
        *([f'ledger={ledger}'] if ledger is not None else []),
        *([f'seq={seq}'] if seq is not None else []),
        f'code={code} reason={quoted(reason)}',
    ]
    return f'{word} {" ".join(parts)}'


def _object(**members: Any) -> dict[str, Any]:
    return {'ok': True, 'failure': None, **members}


def of_export(source: str, report: Report, with_erasures: bool) -> Result:
    parts = [
        f'entries={report.entries} records={report.records} keys={report.keys} checkpoint={report.checkpoint}',
        f'covered={report.covered} own={report.own} of {report.entries}',
        *([f'witnessed={report.witnessed} of {report.entries}'] if report.witnessed is not None else []),
        *([f'agent-signed={report.agent_signed}'] if report.agent_signed else []),
        *([f'erased={len(report.erasures)}'] if report.erasures else []),
        *(['documents=withheld'] if report.withheld else []),
    ]
    erasures = [
        f'erased seq={one.seq} subject={one.subject} of={one.of} code={one.code} by={one.by} key={one.key} at={one.at}'
        for one in report.erasures
    ]
    found = _object(
        source=source,
        ledger=report.ledger,
        entries=report.entries,
        records=report.records,
        agentSigned=report.agent_signed,
        statements=report.statements,
        documents='withheld' if report.withheld else 'all',
        keys=report.keys,
        firstKid=report.kids[0].hex() if report.kids else None,
        kids=[kid.hex() for kid in report.kids],
        checkpoint=report.checkpoint,
        covered=report.covered,
        own=report.own,
        witnessed=report.witnessed,
        erasures=[one._asdict() for one in report.erasures],
    )
    line = ' '.join(parts) + (' (the ledger is empty)' if report.entries == 0 else '')
    return Result(line, found, erasures if with_erasures else [])


def of_bundle(report: BundleReport) -> Result:
    coverage = report.coverage
    parts = [
        f'ledger={report.ledger} of={report.name} completeness={report.completeness} entries={report.entries}',
        f'keys={_given(report.keys_given)} note-key={_given(report.note_key_given)}',
        f'checkpoint={"given" if coverage.given else "own"} covered={coverage.covered} of {coverage.size}',
        *([f'selected="{report.entries} of {report.of_entries}"'] if report.of_entries is not None else []),
        *([f'records={report.records}'] if report.records is not None else []),
        *([f'agent-signed={report.agent_signed}'] if report.agent_signed else []),
        *([f'statements={report.statements}'] if report.statements else []),
        *([f'erased={report.erased}'] if report.erased else []),
        *coverage.parts(),
        *(['documents=withheld'] if report.withheld else []),
    ]
    found = _object(
        ledger=report.ledger,
        of=report.of,
        completeness=report.completeness,
        entries=report.entries,
        ofEntries=report.of_entries,
        agentSigned=report.agent_signed,
        statements=report.statements,
        issuersJudged=report.issuers_judged,
        records=report.records,
        documents='withheld' if report.withheld else 'all',
        erased=report.erased,
        treeSize=coverage.size,
        keys=_given(report.keys_given),
        firstKid=report.first_kid.hex(),
        noteKey=_given(report.note_key_given),
        checkpoint='given' if coverage.given else 'own',
        covered=coverage.covered,
        **coverage.members(),
        notices=report.notices,
    )
    return Result(' '.join(parts), found, notices=report.notices)


def of_proof(report: ProofReport) -> Result:
    shown, coverage = report.shown, report.coverage
    predicate = shown.statement.predicate
    parts = [
        f'ledger={shown.statement.ledger} entry={shown.seq} kind={shown.statement.kind} subject={shown.subject}',
        f'recorded={predicate["recordedAt"]} keys={_given(report.keys_given)} note-key={_given(report.note_key_given)}',
        f'checkpoint={"given" if coverage.given else "own"} covered={coverage.covered} of {coverage.size}',
        *(['signed-by=agent'] if report.signed_by_agent else []),
        *coverage.parts(),
        *_record_parts(report.record_same, shown.signal, shown.version),
    ]
    found = _object(
        ledger=shown.statement.ledger,
        seq=shown.seq,
        kind=shown.statement.kind,
        recordedAt=predicate['recordedAt'],
        subject=shown.subject,
        version=shown.version,
        signal=shown.signal,
        kid=report.kid.hex(),
        signedBy='agent' if report.signed_by_agent else 'server',
        treeSize=coverage.size,
        record='same' if report.record_same else 'not given',
        keys=_given(report.keys_given),
        noteKey=_given(report.note_key_given),
        checkpoint='given' if coverage.given else 'own',
        covered=coverage.covered,
        **coverage.members(),
    )
    return Result(' '.join(parts), found)


def of_receipt(report: ReceiptReport) -> Result:
    shown = report.shown
    recorded_at = shown.statement.predicate['recordedAt']
    parts = [
        f'ledger={shown.statement.ledger} entry={shown.seq} kind={shown.statement.kind} subject={shown.subject}',
        f'recorded={recorded_at} size={report.size} root={report.root.hex()} keys={"given" if report.keys_given else "not-given"}',
        *_record_parts(report.record_same, shown.signal, shown.version),
    ]
    found = _object(
        ledger=shown.statement.ledger,
        seq=shown.seq,
        kind=shown.statement.kind,
        recordedAt=recorded_at,
        subject=shown.subject,
        version=shown.version,
        signal=shown.signal,
        size=report.size,
        root=report.root.hex(),
        keys='given' if report.keys_given else 'not given',
        record='same' if report.record_same else 'not given',
    )
    return Result(' '.join(parts), found)


def of_statement(report: TransparentReport) -> Result:
    statement, place = report.statement, report.receipt.inclusion.place
    parts = [
        f'entry={place} issuer={quoted(statement.issuer)} subject={quoted(statement.subject)} type={quoted(statement.content_type)}',
        f'kid={statement.kid.hex()} size={report.receipt.size} root={report.root.hex()}',
        f'issuer-key={"given" if report.key_given else "not-given"}',
    ]
    found = _object(
        issuer=statement.issuer,
        subject=statement.subject,
        contentType=statement.content_type,
        kid=statement.kid.hex(),
        leaf=statement.leaf.hex(),
        seq=place,
        size=report.receipt.size,
        root=report.root.hex(),
        issuerKey='given' if report.key_given else 'not given',
    )
    return Result(' '.join(parts), found)


def of_reconciliation(counts: Counts, keys: str) -> Result:
    parts = [
        f'records={len(counts.records)} entries={counts.entries} offers={counts.offers} inFlight={counts.in_flight} keys={keys}',
        *([f'dropped={counts.dropped}'] if counts.dropped else []),
        *([f'beyond={counts.beyond}'] if counts.beyond else []),
    ]
    found = {
        'records': len(counts.records),
        'entries': counts.entries,
        'offers': counts.offers,
        'inFlight': counts.in_flight,
        'dropped': counts.dropped,
        'beyond': counts.beyond,
    }
    return Result(' '.join(parts), _object(counts=found, keys=keys))


def _given(is_given: bool) -> str:
    return 'given' if is_given else 'self-asserted'


def _record_parts(same: bool, signal: dict[str, Any] | None, version: int | None) -> list[str]:
    return [
        *(['record=same'] if same else []),
        *([f'signal={signal["decision"]}'] if signal is not None else []),
        *([f'version={version}'] if version is not None else []),
    ]
