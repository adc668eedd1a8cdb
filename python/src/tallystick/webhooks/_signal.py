"""Verifies settlement signals. The ledger's server must have signed everything on which a payer acts.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, cast

from ..errors import TallystickError, UsageError
from ..types import DeliveredSignalEvent, KeyDocument, PublishedKey, SignalEvent, SignalEventData
from ._verify import VerifiedWebhook


@dataclass(frozen=True, slots=True)
class VerifiedSignal:
    """A verified signal that a payer may act upon. All members are signed."""

    ledger: str
    record: str
    version: int
    """Version of the record after the verdict or its overturning. Of two signals, the higher version counts."""
    completion: str
    """Completion that was judged."""
    decision: Literal['SETTLE', 'HOLD', 'RELEASE']
    code: str
    """Reason: `accepted`, `accepted_anyway`, `rejected`, `rules_passed`, `rules_failed`, `overturned`."""
    failing_rules: tuple[str, ...]
    valid_until: str | None
    """End of validity. None: no end. If you act later, check it again."""
    actor: str
    """Author of the verdict: an agent, or `system` if the rules alone decided."""
    on_behalf_of: str | None
    recorded_at: str
    leaf: str
    """Hash of the envelope in hex, which names the entry in the chain."""

    @property
    def once(self) -> str:
        """`<record>/<version>`, which identifies the signal. Act at most once for each value."""
        return f'{self.record}/{self.version}'


class SignalError(TallystickError):
    """The event is not a valid settlement signal. `code` is the reason.

    It is `event_syntax`, `event_contradicts_envelope`, `signal_absent`, `signal_expired`, `ledger_foreign`, `key_unknown`,
    `key_compromised`, or a code of envelopes and statements (docs/formats).
    """

    code: str

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f'{code}: {detail}')
        self.code = code


class SignalExpiredError(SignalError):
    """`signal_expired`: the signal is genuine, but too late. It is an error, so that no caller settles
    because it ignores the expiry.

    Another delivery would not help. Answer 2xx and store the signal. If you had not acted upon it
    before it expired, a person must decide.
    """

    signal: VerifiedSignal

    def __init__(self, signal: VerifiedSignal) -> None:
        super().__init__('signal_expired', f'{signal.decision} of {signal.once} was valid until {signal.valid_until}')
        self.signal = signal


def verify_signal(
    event: VerifiedWebhook | DeliveredSignalEvent | SignalEvent | SignalEventData | Mapping[str, Any],
    *,
    keys: KeyDocument | Iterable[PublishedKey | Mapping[str, Any]],
    ledger: str,
    now: datetime | None = None,
) -> VerifiedSignal:
    """Returns the verified settlement signal of a `signal.emitted` event, or of its data.

    Verifies that one of `keys` signed the signal for this ledger, and that the members beside the
    envelope agree with the envelope. Needs `tallystick[verify]`, but no server. Raises SignalError,
    or its subclass SignalExpiredError, and UsageError for invalid arguments.

    `keys`: from `key_document()`, stored before. Keys in the event are not trusted. `ledger`:
    `led_…`. Required, because a server signs for all of its ledgers with one key.

    Not signed, and therefore not returned: the record's type, the entry's position (which needs a
    proof), and documents.
    """
    if not isinstance(ledger, str) or not ledger:
        raise UsageError('give the id of your ledger as ledger, because a server signs for all of its ledgers')
    if now is not None and now.tzinfo is None:
        raise UsageError('now needs a time zone: datetime.now(UTC)')
    data, timestamp = _parts_of(event)
    if not isinstance(data.get('envelope'), str):
        raise SignalError('event_syntax', 'it has no envelope')
    found = _verify_envelope(data['envelope'], _plain_keys(keys), ledger)
    if found.predicate.get('signal') is None or found.predicate.get('version') is None:
        raise SignalError('signal_absent', f'an entry of kind {found.kind} has no settlement signal')
    _refuse_contradictions(data, found)
    if timestamp is not None:
        _refuse_other('timestamp', timestamp, found.predicate['recordedAt'])
    signal = _signal_of(found)
    moment = time.time() if now is None else now.timestamp()
    if signal.valid_until is not None and moment > datetime.fromisoformat(signal.valid_until).timestamp():
        raise SignalExpiredError(signal)
    return signal


@dataclass(frozen=True, slots=True)
class _Found:
    """A verified envelope."""

    kind: str
    leaf: str
    predicate: dict[str, Any]
    subjects: list[dict[str, str]]


def _parts_of(event: object) -> tuple[Mapping[str, Any], object]:
    """Returns the data of an event and its timestamp. The timestamp is None if only the data were
    given.

    The sender of the event controls everything in the data and the timestamp.
    """
    value = event.event if isinstance(event, VerifiedWebhook) else event
    told = value.to_dict() if isinstance(value, DeliveredSignalEvent | SignalEvent | SignalEventData) else value
    if not isinstance(told, Mapping):
        raise UsageError('an event must be what webhooks.verify returns, or its data')
    if 'data' not in told:
        return told, None
    if told.get('type') != 'signal.emitted':
        raise UsageError('only the event signal.emitted has a signal')
    if not isinstance(told['data'], Mapping):
        raise SignalError('event_syntax', 'its data is not an object')
    return told['data'], told.get('timestamp', '')


def _plain_keys(keys: object) -> list[Mapping[str, Any]]:
    listed = keys.keys if isinstance(keys, KeyDocument) else keys
    if isinstance(listed, str | bytes | Mapping) or not isinstance(listed, Iterable):
        raise UsageError('keys must be the list of /.well-known/tallystick-keys.json')
    return [key.to_dict() if isinstance(key, PublishedKey) else cast(Mapping[str, Any], key) for key in listed]


def _verify_envelope(text: str, keys: list[Mapping[str, Any]], ledger: str) -> _Found:
    try:
        from ..verify import formats
        from ..verify.envelope import check_signature, parse_envelope
        from ..verify.errors import Refused
        from ..verify.keys import parse_key
        from ..verify.merkle import leaf_hash
        from ..verify.statement import check_claims, parse_statement
    except ImportError:
        raise UsageError("verify_signal needs cryptography: pip install 'tallystick[verify]'") from None
    try:
        data = formats.from_base64(text, 'the envelope')
        envelope = parse_envelope(data)
        key = _find_key(keys, envelope.kid.hex())
        check_signature(envelope, parse_key(key.get('alg'), formats.from_base64(key.get('spki'), 'a key')))
        statement = parse_statement(envelope.payload)
        check_claims(envelope, statement)
    except Refused as refused:
        raise SignalError(refused.code, refused.reason) from None
    if statement.ledger != ledger:
        raise SignalError('ledger_foreign', f'an entry of {statement.ledger}, not of {ledger}')
    subjects = [{'name': subject.name, 'sha256': subject.digest} for subject in statement.subjects]
    return _Found(statement.kind, leaf_hash(data).hex(), statement.predicate, subjects)


def _find_key(keys: list[Mapping[str, Any]], kid: str) -> Mapping[str, Any]:
    """Returns the key of this kid. Raises `key_compromised` for a compromised key, because others can
    sign envelopes with it too.
    """
    named = [key for key in keys if key.get('use') == 'envelope' and key.get('kid') == kid]
    if any(key.get('compromisedAt') is not None for key in named):
        raise SignalError('key_compromised', f'{kid} is compromised: only a proof can show that the entry was signed before that')
    if not named:
        raise SignalError('key_unknown', f'the key {kid} is not among the given keys')
    return named[0]


def _refuse_contradictions(data: Mapping[str, Any], found: _Found) -> None:
    """Raises if a member beside the envelope differs from the envelope. The check is needed because
    programs read these members.
    """
    record, entry = data.get('record'), data.get('entry')
    told_record: Mapping[str, Any] = record if isinstance(record, Mapping) else {}
    told_entry: Mapping[str, Any] = entry if isinstance(entry, Mapping) else {}
    said = found.predicate
    _refuse_other('ledger', data.get('ledger'), said['ledger'])
    _refuse_other('record.id', told_record.get('id'), found.subjects[0]['name'])
    _refuse_other('record.version', told_record.get('version'), said['version'])
    _refuse_other('record.state', told_record.get('state'), said.get('to'))
    _refuse_other('entry.kind', told_entry.get('kind'), found.kind)
    _refuse_other('entry.leaf', told_entry.get('leaf'), found.leaf)
    _refuse_other('signal', data.get('signal'), said['signal'])
    _refuse_other('subjects', data.get('subjects'), found.subjects)
    _refuse_other('predicate', data.get('predicate'), said)


def _refuse_other(name: str, told: object, signed: object) -> None:
    from ..verify.errors import Refused
    from ..verify.strict_json import canonical

    try:
        is_same = canonical(told) == canonical(signed)
    except (Refused, TypeError, ValueError, RecursionError):
        # The value is missing, is not JSON, or is nested too deeply.
        is_same = False
    if not is_same:
        raise SignalError('event_contradicts_envelope', f'{name} differs from the signed value')


def _signal_of(found: _Found) -> VerifiedSignal:
    said, signal = found.predicate, found.predicate['signal']
    # Each entry with a signal has these subjects in this order.
    record, completion = (subject['name'] for subject in found.subjects[:2])
    return VerifiedSignal(
        ledger=said['ledger'],
        record=record,
        version=said['version'],
        completion=completion,
        decision=signal['decision'],
        code=signal['code'],
        failing_rules=tuple(signal['failingRules']),
        valid_until=signal['validUntil'],
        actor=said['actor'],
        on_behalf_of=said.get('onBehalfOf'),
        recorded_at=said['recordedAt'],
        leaf=found.leaf,
    )
