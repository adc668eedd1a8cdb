"""Broken, slow, false and lost answers: a call ends as done, refused or unknown, and a retry never writes twice."""

from __future__ import annotations

import gzip
import json
import logging
import time
import traceback
from typing import Any

import pytest
from hostile import AGENT, API_KEY, FLAVOURS, Broken, ask, hostile, send, send_json, send_problem

from tallystick import (
    ApiError,
    AuthenticationError,
    ConflictError,
    ConnectionError,
    InvalidRequestError,
    NotFoundError,
    OutcomeUnknownError,
    PermissionError,
    RateLimitError,
    ServerError,
    TallystickError,
    TimeoutError,
    UnavailableError,
    UnexpectedAnswerError,
    UnknownOutcomeError,
    UsageError,
)
from tallystick._async import transport as async_transport
from tallystick._core import limits
from tallystick._core.retries import RetryPolicy, retry_delay
from tallystick._sync import transport as sync_transport

pytestmark = pytest.mark.parametrize('flavour', FLAVOURS)


def register(client: Any) -> Any:
    return client.agents.register(name='a')


def test_a_lost_answer_is_asked_for_again_under_the_same_key_and_nothing_is_doubled(flavour: str) -> None:
    made: dict[str, dict[str, Any]] = {}

    def answer(connection: Any, number: int, request: Any) -> None:
        made.setdefault(request.headers['idempotency-key'], request.json)
        if number < 3:
            raise Broken
        send_json(connection, AGENT, 201)

    with hostile(answer) as server:
        assert ask(flavour, server.base_url, register).id == 'agt_1'
        assert len(server.requests) == 3
        assert len(made) == 1 and None not in made
        assert len({request.body for request in server.requests}) == 1


def test_an_answer_that_is_cut_off_is_retried_and_in_the_end_unknown(flavour: str) -> None:
    def answer(connection: Any, _number: int, _request: Any) -> None:
        connection.sendall(b'HTTP/1.1 201 Created\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{"id":')
        raise Broken

    with hostile(answer) as server, pytest.raises(ConnectionError) as caught:
        ask(flavour, server.base_url, register, max_retries=2)
    assert len(server.requests) == 3
    assert caught.value.idempotency_key == server.keys[0]
    assert str(server.keys[0]) in str(caught.value)


def test_a_call_that_makes_something_each_time_is_not_repeated(flavour: str) -> None:
    def answer(_connection: Any, _number: int, _request: Any) -> None:
        raise Broken

    with hostile(answer) as server, pytest.raises(UnknownOutcomeError, match='check before you repeat it') as caught:
        ask(flavour, server.base_url, lambda client: client.keys.rotate('key_1'))
    assert len(server.requests) == 1
    assert not caught.value.retryable and caught.value.idempotency_key is None


def test_a_key_of_the_caller_is_sent_with_every_attempt(flavour: str) -> None:
    def answer(connection: Any, number: int, _request: Any) -> None:
        if number == 1:
            send_problem(connection, 503, 'overloaded', {'retry_after': '0'})
        else:
            send_json(connection, AGENT, 201)

    with hostile(answer) as server:
        ask(flavour, server.base_url, lambda client: client.agents.register(name='a', idempotency_key='mine'))
    assert server.keys == ['mine', 'mine']


def test_a_server_that_does_not_answer_is_given_up_in_time(flavour: str) -> None:
    with hostile(lambda *_: time.sleep(3)) as server:
        began = time.monotonic()
        with pytest.raises(TimeoutError, match=r'within 0\.3 s') as caught:
            ask(flavour, server.base_url, register, timeout=0.3, max_retries=1)
        assert 0.5 < time.monotonic() - began < 2
    assert len(server.requests) == 2
    assert caught.value.retryable


def test_an_answer_that_drips_is_given_up_in_time(flavour: str) -> None:
    def answer(connection: Any, _number: int, _request: Any) -> None:
        connection.sendall(b'HTTP/1.1 201 Created\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n')
        for _ in range(60):
            connection.sendall(b' ')
            time.sleep(0.05)

    with hostile(answer) as server:
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            ask(flavour, server.base_url, register, timeout=0.4, max_retries=0)
        assert time.monotonic() - began < 1.5


@pytest.mark.parametrize(
    ('content', 'media_type', 'says'),
    [
        (b'<html>', 'text/html', 'not with application/json'),
        (b'[1]', 'application/json', 'not an object'),
        (b'{"id": NaN}', 'application/json', 'invalid JSON'),
        (b'{"id":"agt_1"', 'application/json', 'invalid JSON'),
        (b'\xff\xfe{', 'application/json', 'invalid JSON'),
        (b'[' * 200_000, 'application/json', 'invalid JSON'),
        (b'{"id":"agt_1","name":7,"registeredAt":"x","disabledAt":null}', 'application/json', 'something else than Agent'),
        (b'{}', 'application/json', 'something else than Agent'),
    ],
)
def test_garbage_is_no_answer(flavour: str, content: bytes, media_type: str, says: str) -> None:
    with (
        hostile(lambda connection, *_: send(connection, 200, content, media_type)) as server,
        pytest.raises(UnexpectedAnswerError, match=says),
    ):
        ask(flavour, server.base_url, register, max_retries=0)
    assert len(server.requests) == 1


def test_an_answer_without_an_end_does_not_fill_the_memory(flavour: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (async_transport, sync_transport):
        monkeypatch.setattr(module, 'ANSWER_BYTES_MAX', 100_000)
    bomb = gzip.compress(b' ' * 10_000_000)
    with (
        hostile(lambda connection, *_: send(connection, 200, bomb, content_encoding='gzip')) as server,
        pytest.raises(UnexpectedAnswerError, match='more than 100000 bytes'),
    ):
        ask(flavour, server.base_url, register)
    assert limits.ANSWER_BYTES_MAX == 64 * 1024 * 1024


def test_an_answer_that_can_not_be_decompressed_is_retried(flavour: str) -> None:
    def answer(connection: Any, number: int, _request: Any) -> None:
        if number == 1:
            send(connection, 200, b'no gzip at all', content_encoding='gzip')
        else:
            send_json(connection, AGENT)

    with hostile(answer) as server:
        assert ask(flavour, server.base_url, register).name == 'a'


def test_the_key_goes_nowhere_else(flavour: str) -> None:
    with (
        hostile(lambda connection, *_: send_json(connection, AGENT)) as other,
        hostile(lambda connection, *_: send(connection, 307, b'', location=other.base_url)) as server,
        pytest.raises(UnexpectedAnswerError, match='redirects'),
    ):
        ask(flavour, server.base_url, register)
    assert other.requests == []


@pytest.mark.parametrize(
    ('status', 'code', 'kind'),
    [
        (400, 'invalid_request', InvalidRequestError),
        (401, 'unauthenticated', AuthenticationError),
        (403, 'forbidden', PermissionError),
        (404, 'not_found', NotFoundError),
        (409, 'state_conflict', ConflictError),
        (412, 'version_mismatch', ConflictError),
        (413, 'payload_too_large', InvalidRequestError),
        (422, 'payload_invalid', InvalidRequestError),
        (500, 'internal', ServerError),
        (418, 'unheard_of', ServerError),
    ],
)
def test_refusals_have_classes_and_are_not_repeated(flavour: str, status: int, code: str, kind: type[Any]) -> None:
    with (
        hostile(lambda connection, *_: send_problem(connection, status, code, state='ACTIVE', version=2, nextEvents=['a'])) as server,
        pytest.raises(kind, match=f'{status} {code}: the detail') as caught,
    ):
        ask(flavour, server.base_url, register)
    assert len(server.requests) == 1
    assert type(caught.value) is kind
    assert caught.value.status == status and caught.value.code == code
    assert caught.value.request_id == 'req_' + '0' * 32
    if kind is ConflictError:
        assert (caught.value.state, caught.value.version, caught.value.next_events) == ('ACTIVE', 2, ['a'])
        # A member that the advice names is in the message.
        named = '(nextEvents: a)' if code == 'state_conflict' else '(version: 2; state: ACTIVE)'
        assert f' {named} [request ' in str(caught.value)


@pytest.mark.parametrize(('status', 'code', 'kind'), [(429, 'rate_limited', RateLimitError), (503, 'overloaded', UnavailableError)])
def test_what_may_succeed_later_is_tried_again_after_the_wait_that_the_server_asks_for(
    flavour: str, status: int, code: str, kind: type[Any]
) -> None:
    def answer(connection: Any, number: int, _request: Any) -> None:
        if number == 1:
            send_problem(connection, status, code, {'retry_after': '1'})
        else:
            send_json(connection, AGENT)

    with hostile(answer) as server:
        began = time.monotonic()
        ask(flavour, server.base_url, register)
        assert time.monotonic() - began >= 1
    with (
        hostile(lambda connection, *_: send_problem(connection, status, code, {'retry_after': '61'})) as server,
        pytest.raises(kind) as caught,
    ):
        ask(flavour, server.base_url, register)
    assert len(server.requests) == 1
    assert caught.value.retry_after == 61


def test_an_unknown_outcome_is_repeated_only_where_that_does_it_once(flavour: str) -> None:
    def refuse(connection: Any, *_: object) -> None:
        send_problem(connection, 503, 'outcome_unknown')

    with hostile(refuse) as server, pytest.raises(OutcomeUnknownError) as caught:
        ask(flavour, server.base_url, register, max_retries=1)
    assert len(server.requests) == 2 and caught.value.idempotency_key == server.keys[1]
    with hostile(refuse) as server, pytest.raises(OutcomeUnknownError, match='check before') as caught:
        ask(flavour, server.base_url, lambda client: client.keys.rotate('key_1'))
    assert len(server.requests) == 1 and not caught.value.retryable


def test_a_proxy_s_page_is_retried(flavour: str) -> None:
    def answer(connection: Any, number: int, _request: Any) -> None:
        if number == 1:
            send(connection, 502, b'<html>', 'text/html')
        else:
            send_json(connection, AGENT)

    with hostile(answer) as server:
        ask(flavour, server.base_url, register)
    assert len(server.requests) == 2


def test_a_server_that_is_not_there_is_said_to_be(flavour: str) -> None:
    with pytest.raises(ConnectionError, match='is the server running') as caught:
        ask(flavour, 'http://127.0.0.1:1', register, max_retries=1)
    assert caught.value.retryable and caught.value.idempotency_key is None


def test_the_api_key_is_shown_nowhere(flavour: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    def answer(connection: Any, number: int, _request: Any) -> None:
        if number % 2:
            send_problem(connection, 500, 'internal')
        else:
            raise Broken

    shown: list[str] = []

    def call(client: Any) -> Any:
        shown.append(repr(client) + repr(vars(client)))
        return register(client)

    with hostile(answer) as server:
        for _ in range(2):
            try:
                ask(flavour, server.base_url, call, max_retries=0)
            except TallystickError as error:
                shown += traceback.TracebackException.from_exception(error).format()
                shown.append(repr(error) + repr(error.__cause__) + repr(vars(error)))
    assert len(server.requests) == 2 and API_KEY in server.requests[0].headers['authorization']
    assert API_KEY not in ''.join(shown) + caplog.text


def test_text_of_the_server_drives_no_terminal(flavour: str) -> None:
    with (
        hostile(lambda connection, *_: send_problem(connection, 404, 'not_found', detail='a\n\x1b[2Jb\u202e')) as server,
        pytest.raises(NotFoundError) as caught,
    ):
        ask(flavour, server.base_url, register)
    assert not any(each in str(caught.value) for each in '\n\x1b\u202e')


def test_a_key_that_a_function_gives_is_asked_for_each_attempt(flavour: str) -> None:
    keys = iter(['tly_one', 'tly_two'])

    def answer(connection: Any, number: int, _request: Any) -> None:
        if number == 1:
            raise Broken
        send_json(connection, AGENT)

    with hostile(answer) as server:
        ask(flavour, server.base_url, register, api_key=lambda: next(keys))
    assert [request.headers['authorization'] for request in server.requests] == ['Bearer tly_one', 'Bearer tly_two']


def test_a_secret_whose_answer_was_lost_is_an_error(flavour: str) -> None:
    made = {'id': 'key_1', 'key': None}
    with (
        hostile(lambda connection, *_: send_json(connection, made)) as server,
        pytest.raises(TallystickError, match='the secret of key_1 was lost'),
    ):
        ask(flavour, server.base_url, lambda client: client.keys.create(name='k', scopes=['records:read']))


def test_a_webhook_whose_answer_was_lost_is_found_again(flavour: str) -> None:
    def answer(connection: Any, number: int, _request: Any) -> None:
        if number == 1:
            raise Broken
        send_problem(connection, 409, 'state_conflict', webhook='whk_1')

    with hostile(answer) as server, pytest.raises(TallystickError, match='the secret of whk_1 was lost'):
        ask(flavour, server.base_url, lambda client: client.webhooks.create(url='https://x.example', events=['*']))
    assert len(server.requests) == 2


def test_arguments_that_mean_nothing_are_refused_before_anything_is_sent(flavour: str) -> None:
    deep: dict[str, Any] = {}
    for _ in range(40):
        deep = {'a': deep}
    itself: list[Any] = []
    itself.append(itself)
    payloads: list[Any] = [{'a': float('nan')}, {'a': {1, 2}}, {1: 2}, {'a': '\ud800'}, {'a\0': 1}, deep, {'a': itself}]
    with hostile(lambda connection, *_: send_json(connection, AGENT)) as server:
        for payload in payloads:
            with pytest.raises(UsageError, match='/payload'):
                ask(flavour, server.base_url, lambda client, given=payload: client.records.notarize(payload=given))
        for call in (
            lambda client: client.records.get(''),
            lambda client: client.records.get('..'),
            lambda client: client.types.get('order'),
            lambda client: client.agents.register(name='a', idempotency_key='ü'),
            lambda client: client.agents.register(name='a', idempotency_key='k' * 256),
            lambda client: client.agents.register(name='a', timeout=0),
            lambda client: client.agents.register(name='a', max_retries=-1),
            lambda client: client.records.activate('rec_1', if_version=0),
        ):
            with pytest.raises(UsageError):
                ask(flavour, server.base_url, call)
        for given in ({'base_url': 'ftp://x'}, {'base_url': f'http://{API_KEY}@x'}, {'api_key': ''}, {'timeout': 0}):
            with pytest.raises(UsageError) as caught:
                ask(flavour, **{'base_url': server.base_url, 'call': register, **given})
            assert API_KEY not in str(caught.value)
    assert server.requests == []


def test_waits_grow_and_are_random_within_bounds(flavour: str) -> None:
    policy = RetryPolicy(5, 0.1, 5.0)
    for retries in range(8):
        whole = min(5.0, 0.1 * 2**retries)
        waits = [retry_delay(policy, retries, None) or 0 for _ in range(50)]
        assert all(whole / 2 <= wait <= whole for wait in waits)
        assert len(set(waits)) > 1
    assert retry_delay(policy, 10**6, 60.0) is not None
    assert retry_delay(policy, 0, 60.1) is None


def test_a_list_is_read_page_by_page_as_far_as_somebody_reads_it(flavour: str) -> None:
    def answer(connection: Any, number: int, request: Any) -> None:
        cursor = f'c{number}' if number < 3 else None
        send_json(connection, {'data': [{**AGENT, 'id': f'agt_{number}'}], 'nextCursor': cursor})

    with hostile(answer) as server:
        assert len(ask(flavour, server.base_url, lambda client: client.agents.list(limit=1).to_list(2))) == 2
        assert [request.target for request in server.requests] == ['/v1/agents?limit=1', '/v1/agents?limit=1&cursor=c1']
    with hostile(answer) as server:
        page = ask(flavour, server.base_url, lambda client: client.agents.list().page('c9'))
        assert page.next_cursor == 'c1' and server.requests[0].target == '/v1/agents?cursor=c9'


def test_a_list_that_goes_in_a_circle_ends(flavour: str) -> None:
    page = {'data': [], 'nextCursor': 'c'}
    with (
        hostile(lambda connection, *_: send_json(connection, page)) as server,
        pytest.raises(UnexpectedAnswerError, match='never end'),
    ):
        ask(flavour, server.base_url, lambda client: client.agents.list().to_list(1))
    assert len(server.requests) == 2


def test_words_and_members_of_a_newer_server_are_taken(flavour: str) -> None:
    key = {'kid': 'k', 'use': 'a new one', 'alg': 'EdDSA', 'spki': 's', 'activatedAt': 't', 'retiredAt': None}
    answer = {'keys': [{**key, 'compromisedAt': None, 'newMember': {'a': 1.5}}]}
    with hostile(lambda connection, *_: send(connection, 200, json.dumps(answer).encode())) as server:
        document = ask(flavour, server.base_url, lambda client: client.key_document())
    assert document.keys[0].use == 'a new one'
    assert document.to_dict() == answer


@pytest.mark.parametrize(('status', 'code'), [(503, 'ledger_closed'), (503, 'ledger_moving'), (403, 'ledger_frozen')])
def test_an_announcement_to_a_ledger_that_takes_no_entries_is_not_repeated(flavour: str, status: int, code: str) -> None:
    with (
        hostile(lambda connection, *_: send_problem(connection, status, code, {'retry_after': '60'})) as server,
        pytest.raises(ApiError, match=code),
    ):
        ask(flavour, server.base_url, lambda client: client.exports.announce(documents='all'))
    assert len(server.requests) == 1


def test_a_closed_ledger_is_told_at_once_to_every_call(flavour: str) -> None:
    with (
        hostile(lambda connection, *_: send_problem(connection, 503, 'ledger_closed', {'retry_after': '60'})) as server,
        pytest.raises(UnavailableError, match='tell the operator') as caught,
    ):
        ask(flavour, server.base_url, register)
    assert caught.value.retryable and len(server.requests) == 1


def test_a_function_of_the_key_that_fails_between_attempts_does_not_lose_the_idempotency_key(flavour: str) -> None:
    keys = [API_KEY]

    def drop(_connection: Any, _number: int, _request: Any) -> None:
        raise Broken

    with hostile(drop) as server:
        with pytest.raises(UnknownOutcomeError, match='an earlier attempt had no answer') as caught:
            ask(flavour, server.base_url, register, api_key=keys.pop)
        assert isinstance(caught.value.__cause__, IndexError)
        assert caught.value.idempotency_key == server.keys[0]
        with pytest.raises(IndexError):
            ask(flavour, server.base_url, register, api_key=keys.pop)
