"""Prints verdicts on cases from standard input: the Python half of the differential fuzzer
(CONTRIBUTING.md).

A case has three parts: 4 bytes with the length of a header, the header, and the parts of the file.
The header is JSON with `kind`, `trust` and the `lengths` of the parts. Before the first case there
is one header with the known keys. An answer is a line of JSON: outcome, code, seq, facts, cpuMs.
"""

from __future__ import annotations

import io
import json
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tallystick.verify import report
from tallystick.verify.archive import Archive, Keys
from tallystick.verify.bundle import verify_bundle
from tallystick.verify.envelope import check_signature, parse_envelope
from tallystick.verify.errors import Refused, Unavailable, Unreadable
from tallystick.verify.export import Beside, Trust, verify_export
from tallystick.verify.formats import from_base64, milliseconds
from tallystick.verify.keys import is_signed, parse_key
from tallystick.verify.line import check_definition
from tallystick.verify.note import check_note, count_cosignatures, parse_checkpoint, parse_verifier_key, parse_witnesses
from tallystick.verify.proof import OfflineTrust, verify_proof
from tallystick.verify.receipt import verify_consistency, verify_receipt, verify_transparent
from tallystick.verify.reconcile import Differs, read_history, reconcile
from tallystick.verify.registered import check_issuer_signature, parse_foreign
from tallystick.verify.source import Lines
from tallystick.verify.statement import check_claims, parse_statement
from tallystick.verify.strict_json import canonical, parse

Facts = dict[str, Any]
Parts = list[bytes]


class Verifier:
    def __init__(self, known: dict[str, Any]) -> None:
        self.keys = {bytes.fromhex(one['kid']): parse_key(one['alg'], from_base64(one['spki'], 'a key')) for one in known['keys']}
        self.issuers = {bytes.fromhex(one['kid']): parse_key(one['alg'], from_base64(one['spki'], 'a key')) for one in known['issuers']}

    def judge(self, kind: str, trust: dict[str, Any], parts: Parts) -> dict[str, Any]:
        started = time.thread_time()
        outcome, code, seq, facts = self._outcome(kind, trust, parts)
        cpu = (time.thread_time() - started) * 1000
        return {'outcome': outcome, 'code': code, 'seq': seq, 'facts': facts, 'cpuMs': cpu}

    def _outcome(self, kind: str, trust: dict[str, Any], parts: Parts) -> tuple[str, str, int | None, Facts | None]:
        try:
            return 'ok', '', None, _JUDGES[kind](self, trust, parts)
        except Refused as refused:
            return 'refused', refused.code, refused.seq, None
        except Differs as differs:
            return 'refused', differs.code, differs.seq, None
        except (Unavailable, Unreadable):
            return 'unreadable', '', None, None
        except Exception:
            return 'crash', traceback.format_exc(), None, None

    def json(self, trust: dict[str, Any], parts: Parts) -> Facts:
        return {'canonical': canonical(parse(parts[0], trust['depth']).value).decode()}

    def statement(self, _trust: dict[str, Any], parts: Parts) -> Facts:
        found = parse_statement(parts[0])
        return {'kind': found.kind, 'ledger': found.ledger, 'subjects': [[name, digest] for name, digest, *_ in found.subjects]}

    def envelope(self, _trust: dict[str, Any], parts: Parts) -> Facts:
        envelope = parse_envelope(parts[0])
        key = self.keys.get(envelope.kid)
        if key is None:
            raise Refused('key_unknown', 'unknown')
        check_signature(envelope, key)
        statement = parse_statement(envelope.payload)
        check_claims(envelope, statement)
        check_definition(statement)
        return {'kid': envelope.kid.hex(), 'issuer': envelope.issuer, 'kind': statement.kind}

    def registered(self, _trust: dict[str, Any], parts: Parts) -> Facts:
        found = parse_foreign(parts[0])
        key = self.issuers.get(found.kid)
        if key is not None:
            check_issuer_signature(found, key)
        return {
            'alg': found.alg,
            'kid': found.kid.hex(),
            'issuer': found.issuer,
            'subject': found.subject,
            'contentType': found.content_type,
            'leaf': found.leaf.hex(),
        }

    def note(self, trust: dict[str, Any], parts: Parts) -> Facts:
        checkpoint = parse_checkpoint(json.loads(parts[0]))
        check_note(checkpoint, parse_verifier_key(trust['noteKey']))
        witnesses, _ = parse_witnesses(trust['witnesses'], 1)
        found = count_cosignatures(checkpoint, witnesses)
        tree = {'size': checkpoint.size, 'root': checkpoint.root.hex(), 'chain': checkpoint.chain.hex()}
        return {**tree, 'cosigned': found.cosigned, 'unknown': found.unknown}

    def verifier_key(self, trust: dict[str, Any], parts: Parts) -> Facts:
        return {'name': parse_verifier_key(json.loads(parts[0]), int(trust['alg'])).name}

    def signature(self, trust: dict[str, Any], parts: Parts) -> Facts:
        spki, message, signature = parts
        return {'isSigned': is_signed(parse_key(trust['alg'], spki), signature, message)}

    def receipt(self, trust: dict[str, Any], parts: Parts) -> Facts:
        keys = self.keys if trust.get('alg') == 'keys' else None
        return _some(report.of_receipt(verify_receipt(parts[0], parse_verifier_key(trust['noteKey']), keys)), _RECEIPT)

    def transparent(self, trust: dict[str, Any], parts: Parts) -> Facts:
        given = trust.get('issuerKey')
        issuer = None if given is None else parse_key(given['alg'], from_base64(given['spki'], 'a key'))
        return _some(report.of_statement(verify_transparent(parts[0], parse_verifier_key(trust['noteKey']), issuer)), _STATEMENT)

    def consistency_receipt(self, trust: dict[str, Any], parts: Parts) -> Facts:
        key = parse_verifier_key(trust['noteKey'])
        kept = parse_checkpoint(trust['checkpoints'][0])
        size, root = verify_consistency(parts[0], key, kept.size, kept.root)
        return {'size': size, 'root': root.hex()}

    def proof(self, trust: dict[str, Any], parts: Parts) -> Facts:
        proof, record, consistency = parts
        offline = _offline(trust)
        offline.consistency = [consistency] if consistency else []
        return _some(report.of_proof(verify_proof(proof, offline, record or None)), _PROOF)

    def bundle(self, trust: dict[str, Any], parts: Parts) -> Facts:
        with Lines(io.BytesIO(parts[0]), len(parts[0])) as lines:
            return _some(report.of_bundle(verify_bundle(lines, _offline({**trust, 'strict': False}))), _BUNDLE)

    def export(self, trust: dict[str, Any], parts: Parts) -> Facts:
        return _ledger(Lines(io.BytesIO(parts[0]), len(parts[0])), trust, parts[1:])

    def archive(self, trust: dict[str, Any], parts: Parts) -> Facts:
        keys = Keys(parts[0]) if parts else None
        archive = Archive(Path(trust['directory']), keys)
        if keys is not None and keys.ledger != archive.ledger:
            raise Unreadable('keys of another ledger')
        return _ledger(archive.lines(), {}, [], archive)

    def reconcile(self, _trust: dict[str, Any], parts: Parts) -> Facts:
        histories = [read_history(str(i), Lines(io.BytesIO(part), len(part)), Trust(processes=1)) for i, part in enumerate(parts)]
        one, other = histories
        if one.report.ledger == other.report.ledger:
            raise Unreadable('twice the same ledger')
        reconcile(one, other)
        return {}


_JUDGES: dict[str, Callable[[Verifier, dict[str, Any], Parts], Facts]] = {
    'json': Verifier.json,
    'statement': Verifier.statement,
    'envelope': Verifier.envelope,
    'registered': Verifier.registered,
    'note': Verifier.note,
    'verifier key': Verifier.verifier_key,
    'signature': Verifier.signature,
    'receipt': Verifier.receipt,
    'transparent': Verifier.transparent,
    'consistency receipt': Verifier.consistency_receipt,
    'proof': Verifier.proof,
    'bundle': Verifier.bundle,
    'export': Verifier.export,
    'kept': Verifier.export,
    'archive': Verifier.archive,
    'reconcile': Verifier.reconcile,
}


_RECEIPT = ('seq', 'size', 'root', 'subject')
_STATEMENT = ('seq', 'size', 'root', 'issuer', 'subject', 'contentType', 'kid')
_PROOF = ('seq', 'kind', 'subject', 'keys', 'noteKey', 'checkpoint', 'covered', 'cosigned', 'version')
_BUNDLE = ('ledger', 'entries', 'keys', 'noteKey', 'checkpoint', 'covered', 'cosigned', 'erased', 'statements')


def _some(result: report.Result, names: tuple[str, ...]) -> Facts:
    return {name: result.report[name] for name in names}


def _compromised(trust: dict[str, Any]) -> dict[bytes, int | None]:
    given = trust.get('compromised', {})
    return {bytes.fromhex(kid): None if since is None else milliseconds(since) for kid, since in given.items()}


def _common(trust: dict[str, Any]) -> dict[str, Any]:
    witnesses, least = parse_witnesses(trust.get('witnesses', []), 1 if trust.get('witnesses') else None)
    return {
        'kids': [bytes.fromhex(kid) for kid in trust.get('kids', [])],
        'checkpoints': trust.get('checkpoints', []),
        'compromised': _compromised(trust),
        'agent_keys': {agent: frozenset(map(bytes.fromhex, kids)) for agent, kids in trust.get('agentKeys', {}).items()},
        'witnesses': witnesses,
        'witnesses_min': least,
        'strict': trust.get('strict', False),
    }


def _offline(trust: dict[str, Any]) -> OfflineTrust:
    key = trust.get('noteKey')
    return OfflineTrust(note_key=None if key is None else parse_verifier_key(key), **_common(trust))


def _ledger(lines: Lines, trust: dict[str, Any], receipts: Parts, beside: Beside | None = None) -> Facts:
    with lines:
        given = Trust(receipts=receipts, processes=1, **_common(trust))
        found = verify_export(lines, given, beside)
    return {
        'entries': found.entries,
        'records': found.records,
        'agentSigned': found.agent_signed,
        'statements': found.statements,
        'documents': 'withheld' if found.withheld else 'all',
        'keys': found.keys,
        'checkpoint': found.checkpoint,
        'covered': found.covered,
        'own': found.own,
        'witnessed': found.witnessed,
        'erased': len(found.erasures),
    }


def main() -> None:
    source = sys.stdin.buffer
    verifier: Verifier | None = None
    while length := source.read(4):
        header = json.loads(source.read(int.from_bytes(length, 'big')))
        if verifier is None:
            verifier = Verifier(header)
            continue
        parts = [source.read(length) for length in header['lengths']]
        verdict = verifier.judge(header['kind'], header['trust'], parts)
        sys.stdout.write(json.dumps(verdict) + '\n')
        sys.stdout.flush()


if __name__ == '__main__':
    main()
