"""Genuine webhooks are parsed. All other requests are refused, and the errors contain no part of them."""

from __future__ import annotations

import base64
import hmac
import json
import os
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tallystick import UsageError
from tallystick.types import DeliveredUnknownEvent, DeliveredWebhookTestEvent
from tallystick.webhooks import WebhookVerificationError, verify

NOW = datetime(2026, 11, 20, 12, 0, 10, 900_000, tzinfo=UTC)
EVENT = {
    'type': 'webhook.test',
    'timestamp': '2026-11-20T12:00:00.000Z',
    'data': {'ledger': 'led_1', 'record': None, 'entry': None, 'webhook': {'id': 'whk_1'}, 'name': 'Grüße 🎉'},
}


class Endpoint:
    def __init__(self) -> None:
        self.hmac_key = os.urandom(32)
        self.private = Ed25519PrivateKey.generate()
        self.secret = 'whsec_' + base64.b64encode(self.hmac_key).decode()
        self.public_key = 'whpk_' + base64.b64encode(self.private.public_key().public_bytes_raw()).decode()

    def v1(self, content: bytes) -> str:
        return 'v1,' + base64.b64encode(hmac.digest(self.hmac_key, content, 'sha256')).decode()

    def v1a(self, content: bytes) -> str:
        return 'v1a,' + base64.b64encode(self.private.sign(content)).decode()

    def send(self, event: Any = EVENT, at: datetime = NOW, by: Any = None, id: str = 'evt_1') -> tuple[bytes, dict[str, str]]:
        body = event if isinstance(event, bytes) else json.dumps(event, ensure_ascii=False).encode()
        seconds = str(int(at.timestamp()))
        content = f'{id}.{seconds}.'.encode() + body
        signatures = ' '.join(sign(content) for sign in (by or [self.v1, self.v1a]))
        return body, {'webhook-id': id, 'webhook-timestamp': seconds, 'Webhook-Signature': signatures}


ours, other = Endpoint(), Endpoint()
KEYS: dict[str, Any] = {'secret': ours.secret, 'public_key': ours.public_key, 'now': NOW}


def refuses(code: str, sent: tuple[Any, Any], **keys: Any) -> None:
    with pytest.raises(WebhookVerificationError) as caught:
        verify(*sent, **{**KEYS, **keys})
    assert caught.value.code == code
    shown = str(caught.value)
    assert code != 'header_missing' or re.search(r': the header webhook-(id|timestamp|signature) is missing$', shown)
    assert ours.secret[6:] not in shown and 'Grüße' not in shown and not caught.value.retryable


@pytest.mark.parametrize(
    'headers_of',
    [
        dict,
        lambda headers: list(headers.items()),
        lambda headers: [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        lambda headers: {name: [value] for name, value in headers.items()},
    ],
)
def test_a_genuine_webhook_is_read(headers_of: Any) -> None:
    body, headers = ours.send()
    for given in (body, body.decode(), bytearray(body)):
        found = verify(given, headers_of(headers), **KEYS)  # type: ignore[arg-type]
        assert (found.id, found.type, found.sent_at) == ('evt_1', 'webhook.test', NOW.replace(microsecond=0))
        assert isinstance(found.event, DeliveredWebhookTestEvent)
        assert found.event.to_dict() == EVENT


def test_headers_of_frameworks_are_read_and_one_that_came_twice_is_refused() -> None:
    from starlette.datastructures import Headers

    body, headers = ours.send()
    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    assert verify(body, Headers(raw=raw), **KEYS).id == 'evt_1'
    refuses('header_invalid', (body, Headers(raw=[*raw, raw[0]])))


def test_a_newer_event_is_read() -> None:
    sent = ours.send({'type': 'brand.new', 'timestamp': 't', 'data': {'a': 1}})
    found = verify(*sent, **KEYS)
    assert isinstance(found.event, DeliveredUnknownEvent) and found.event.data == {'a': 1}


def test_one_key_of_a_kind_is_enough_and_keys_of_both_kinds_must_both_verify() -> None:
    assert verify(*ours.send(by=[ours.v1]), secret=ours.secret, now=NOW).id
    assert verify(*ours.send(by=[ours.v1a]), public_key=ours.public_key, now=NOW).id
    refuses('signature_missing', ours.send(by=[ours.v1]))
    refuses('signature_missing', ours.send(by=[ours.v1a]))
    refuses('signature_mismatch', ours.send(by=[ours.v1, other.v1a]))
    refuses('signature_mismatch', ours.send(by=[other.v1, ours.v1a]))


def test_while_a_key_is_rotated_each_is_tried() -> None:
    sent = ours.send(by=[other.v1, ours.v1, other.v1a, ours.v1a, lambda _: 'v9,x'])
    assert verify(*sent, **{**KEYS, 'secret': [other.secret, ours.secret], 'public_key': (other.public_key, ours.public_key)}).id
    refuses('signature_mismatch', ours.send(), secret=[other.secret])


def test_a_changed_webhook_is_refused() -> None:
    body, headers = ours.send()
    refuses('signature_mismatch', (body + b' ', headers))
    refuses('signature_mismatch', (body, {**headers, 'webhook-id': 'evt_2'}))
    for name in headers:
        refuses('header_missing', (body, {key: value for key, value in headers.items() if key != name}))
        for bad in ('', 'a,b', 'é', '1.5'):
            refuses('header_invalid', (body, {**headers, name: bad if name != 'Webhook-Signature' else bad + ',,'}))
    many = ' '.join([headers['Webhook-Signature']] * 17)
    refuses('header_invalid', (body, {**headers, 'Webhook-Signature': many}))


def test_a_signature_has_one_spelling() -> None:
    body, headers = ours.send(by=[ours.v1])
    value = headers['Webhook-Signature']
    # Changes only the unused bits of the last base64 character.
    last = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
    other_spelling = value[:-2] + last[last.index(value[-2]) + 1] + '='
    refuses('signature_mismatch', (body, {**headers, 'Webhook-Signature': other_spelling}), public_key=None)


def test_time_is_held_to_the_tolerance_both_ways() -> None:
    for offset, code in ((-301, 'timestamp_too_old'), (302, 'timestamp_in_future')):
        sent = ours.send(at=NOW + timedelta(seconds=offset))
        refuses(code, sent)
        assert verify(*sent, **KEYS, tolerance=400)
    assert verify(*ours.send(at=NOW - timedelta(seconds=300)), **KEYS)


@pytest.mark.parametrize(
    'body', [b'[]', b'{', b'\xff', b'{}', b'{"type":"x","timestamp":1,"data":{}}', '{}'.encode('utf-16'), b'[' * 100_000]
)
def test_what_is_signed_and_no_event_is_refused(body: bytes) -> None:
    refuses('body_invalid', ours.send(body))


def test_keys_that_mean_nothing_are_refused_and_not_shown() -> None:
    sent = ours.send()
    small_order = 'whpk_' + base64.b64encode(bytes(32)).decode()
    for keys in (
        {},
        {'secret': []},
        {'secret': [ours.secret] * 17},
        {'secret': ours.secret[:-1]},
        {'secret': ours.secret[6:]},
        {'secret': ours.public_key},
        {'secret': 'whsec_AAAA'},
        {'public_key': ours.secret},
        {'public_key': small_order},
        {'secret': ours.secret, 'tolerance': -1},
        {'secret': ours.secret, 'now': datetime(2026, 1, 1)},
    ):
        with pytest.raises(UsageError) as caught:
            verify(*sent, **keys)  # type: ignore[arg-type]
        assert ours.secret[6:] not in str(caught.value)
    with pytest.raises(UsageError, match='before the parser'):
        verify(json.loads(sent[0]), sent[1], **KEYS)
