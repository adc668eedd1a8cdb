# Made by `npm run python -- generate`; not to be edited.
"""Sends every request of the client: adds the key and a deadline, retries, and parses the answer."""

from __future__ import annotations

import builtins
import codecs
import functools
import ssl
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import httpx2
from pydantic import BaseModel

from .._core.answers import (
    Asked,
    disconnected,
    parse_model,
    parse_object,
    refusal,
    refuse_media_type,
    timed_out,
    wrong_server,
)
from .._core.doubt import Doubt
from .._core.json import to_plain
from .._core.known_sizes import KnownSizes
from .._core.limits import ANSWER_BYTES_MAX, PROBLEM_BYTES_MAX, SIGNATURES_MAX
from .._core.operations import Operation
from .._core.options import Call, CallOptions, RequestSigner, StepOptions
from .._core.requests import Request, Settings, make_idempotency_key, make_request, require_key
from .._core.retries import Retries
from ..errors import ApiError, TallystickError, UsageError
from .io import ApiKey, Clients, HttpClient, ask, deadline, here, of_loop, sleep

T = TypeVar('T')
M = TypeVar('M', bound=BaseModel)

JSON = 'application/json'
# Loads the codec before a fork is possible. If a process forks while a thread loads the codec, the
# child process cannot use it.
codecs.lookup('idna')


class Transport:
    """Connections of a client. `close` closes the connections that this class made. It leaves the
    caller's `http_client` open.
    """

    def __init__(self, settings: Settings, api_key: ApiKey, http_client: HttpClient | None, signer: RequestSigner | None) -> None:
        if http_client is not None and not isinstance(http_client, HttpClient):
            raise UsageError(f'http_client must be an httpx2.{HttpClient.__name__}, not a {type(http_client).__name__}')
        self.settings = settings
        self._api_key = api_key
        self._given = http_client
        self._given_loop: object = None
        self._clients = Clients(_make_client)
        self._is_closed = False
        self._signer = signer
        self._known_sizes = KnownSizes()

    def __repr__(self) -> str:
        return f'{type(self).__name__}({self.settings.base_url!r})'

    def close(self) -> None:
        """Closes the connections, unless the caller supplied the client. Later calls raise UsageError."""
        self._is_closed = True
        self._clients.close()

    def open(self) -> None:
        """Makes the HTTP client before the first request needs it.

        Making a client acquires locks of OpenSSL. If the process forks while another thread has
        these locks, the child process waits for ever.
        """
        self._client()

    def json(self, model: type[M], operation: Operation, call: Call) -> M:
        """Returns the JSON answer of an operation as its model."""
        value, asked = self._signed(operation, call) if self._signer else self._json(operation, call)
        return parse_model(model, value, asked)

    def plain(self, operation: Operation, call: Call) -> dict[str, Any]:
        """Returns the JSON answer of an operation as a dict."""
        return (self._signed(operation, call) if self._signer else self._json(operation, call))[0]

    def json_if_moved(self, model: type[M], operation: Operation, call: Call) -> M | None:
        """Returns the JSON answer as its model. Returns None if the record still has the version that
        the call names.
        """

        def read(response: httpx2.Response, asked: Asked, check: Callable[[], None]) -> M | None:
            if response.status_code == 304:
                return None
            return parse_model(model, _read_object(response, asked, check), asked)

        return self._call(operation, call, JSON, read)

    def bytes(self, operation: Operation, media_type: str, call: Call) -> builtins.bytes:
        """Returns an answer of bytes or text, such as a receipt or a checkpoint."""

        def read(response: httpx2.Response, asked: Asked, check: Callable[[], None]) -> builtins.bytes:
            refuse_media_type(response.status_code, response.headers, media_type, asked)
            return _read_all(response, asked, ANSWER_BYTES_MAX, check)

        return self._call(operation, call, media_type, read)

    def done(self, operation: Operation, call: Call) -> None:
        """Waits until an operation without an answer is done. Raises UnexpectedAnswerError for a
        status other than 204.
        """

        def read(response: httpx2.Response, asked: Asked, _: Callable[[], None]) -> None:
            status = response.status_code
            if status != 204:
                raise wrong_server(f'{asked.name} answered {status}, not 204', asked, status)

        self._call(operation, call, JSON, read)

    def stream(self, operation: Operation, media_type: str, call: Call) -> ByteStream:
        """Returns a streamed answer as soon as it begins."""
        request = make_request(self.settings, operation, call, media_type)
        retries = Retries(request.policy)
        while True:
            try:
                return self._open(request, media_type)
            except TallystickError as error:
                sleep(retries.delay_before(error))

    def retries_of(self, options: CallOptions) -> Retries:
        """Returns a counter of failures for a call with these options."""
        return Retries(self.settings.policy_of(options))

    def _json(self, operation: Operation, call: Call, doubt: Doubt | None = None) -> tuple[dict[str, Any], Asked]:
        def read(response: httpx2.Response, asked: Asked, check: Callable[[], None]) -> tuple[dict[str, Any], Asked]:
            return _read_object(response, asked, check), asked

        return self._call(operation, call, JSON, read, doubt)

    def _signed(self, operation: Operation, call: Call) -> tuple[dict[str, Any], Asked]:
        """Sends a call that the agent signed. Every attempt sends the same bytes.

        If the server refuses the signature because it is too old, the server has written nothing.
        The call is then signed again and sent under the same Idempotency-Key. The server still
        treats it as the same request.
        """
        assert self._signer is not None
        key = call.said.get('idempotency_key') or make_idempotency_key()
        options: StepOptions = {**call.said, 'idempotency_key': key}
        doubt = Doubt()
        for signatures in range(1, SIGNATURES_MAX + 1):
            body = self._ask_signer(self._signer, operation, call)
            if body is None:
                break
            try:
                return self._json(operation, call.with_body(body, options), doubt)
            except ApiError as error:
                if error.code == 'statement_mismatch':
                    self._signer.forget(self)
                if error.code != 'signed_time_refused' or signatures == SIGNATURES_MAX:
                    raise
        return self._json(operation, call)

    def _ask_signer(self, signer: RequestSigner, operation: Operation, call: Call) -> dict[str, Any] | None:
        given = call if call.body is None else call.with_body(to_plain(call.body), call.options)
        asking = signer.sign(self, operation, given)
        try:
            needed = next(asking)
            while True:
                answer, _ = self._json(*needed)
                needed = asking.send(answer)
        except StopIteration as end:
            body: dict[str, Any] | None = end.value
            return body
        finally:
            asking.close()

    def _call(
        self,
        operation: Operation,
        call: Call,
        accept: str,
        read: Callable[[httpx2.Response, Asked, Callable[[], None]], T],
        doubt: Doubt | None = None,
    ) -> T:
        request = make_request(self.settings, operation, call, accept)
        retries = Retries(request.policy)
        doubt = doubt or Doubt()
        while True:
            try:
                return self._attempt(request, read)
            except Exception as error:
                doubt.note(error)
                ending = doubt.ending(error, request.asked.idempotency_key)
                # An error of another class comes from the caller's `api_key` function, and is not
                # retried.
                if not isinstance(ending, TallystickError) or not isinstance(error, TallystickError) or request.is_final(error):
                    raise ending from ending.__cause__
                sleep(retries.delay_before(ending))

    def _attempt(self, request: Request, read: Callable[[httpx2.Response, Asked, Callable[[], None]], T]) -> T:
        api_key = require_key(ask(self._api_key))
        headers = request.headers_with(api_key, self._known_sizes.of(api_key))
        try:
            with deadline(request.timeout) as check:
                response = self._send(request, headers)
                self._known_sizes.note(api_key, response.headers)
                try:
                    self._raise_refusal(response, request, check, api_key)
                    return read(response, request.asked, check)
                finally:
                    response.close()
        except builtins.TimeoutError:
            raise timed_out(request.asked, request.timeout) from None
        except httpx2.HTTPError as error:
            raise disconnected(request.asked, error, request.timeout) from error

    def _open(self, request: Request, media_type: str) -> ByteStream:
        api_key = require_key(ask(self._api_key))
        headers = request.headers_with(api_key, self._known_sizes.of(api_key))
        try:
            with deadline(request.timeout) as check:
                response = self._send(request, headers)
                self._known_sizes.note(api_key, response.headers)
                try:
                    self._raise_refusal(response, request, check, api_key)
                    refuse_media_type(response.status_code, response.headers, media_type, request.asked)
                except BaseException:
                    response.close()
                    raise
        except builtins.TimeoutError:
            raise timed_out(request.asked, request.timeout) from None
        except httpx2.HTTPError as error:
            raise disconnected(request.asked, error, request.timeout) from error
        return ByteStream(response, request.asked, request.timeout)

    def _raise_refusal(self, response: httpx2.Response, request: Request, check: Callable[[], None], api_key: str) -> None:
        try:
            _raise_refusal(response, request, check)
        except ApiError as error:
            if error.code == 'ledger_smaller':
                self._known_sizes.forget(api_key)
            raise

    def _send(self, request: Request, headers: httpx2.Headers) -> httpx2.Response:
        http = self._client()
        built = http.build_request(
            request.method,
            request.url,
            headers=headers,
            content=request.content,
            timeout=request.timeout,
        )
        # Redirects are not followed: the API key is sent to the configured server only.
        with of_loop(self._given_loop or here(), 'the `http_client`'):
            return http.send(built, stream=True, follow_redirects=False, auth=None)

    def _client(self) -> HttpClient:
        if self._is_closed or (self._given is not None and self._given.is_closed):
            raise UsageError('the client is closed')
        if self._given is None:
            return self._clients.get()
        self._given_loop = self._given_loop or here()
        return self._given


class ByteStream:
    """An answer in chunks, as it arrives: `with`, then `for`.

    Each chunk must arrive within the timeout, counted only while the reader waits for it. Raises TallystickError if the
    answer breaks off.
    """

    def __init__(self, response: httpx2.Response, asked: Asked, timeout: float) -> None:
        self._response = response
        self._pieces = response.iter_bytes()
        self._asked = asked
        self._timeout = timeout
        self._loop = here()

    def __enter__(self) -> ByteStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection without reading the rest."""
        with of_loop(self._loop, 'the stream'):
            self._response.close()

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        try:
            with of_loop(self._loop, 'the stream'), deadline(self._timeout):
                return next(self._pieces)
        except StopIteration:
            self.close()
            raise
        except builtins.TimeoutError:
            self.close()
            raise timed_out(self._asked, self._timeout) from None
        except httpx2.StreamError:
            raise UsageError('the stream is closed, or was read before') from None
        except httpx2.HTTPError as error:
            self.close()
            raise disconnected(self._asked, error, self._timeout) from error


def _make_client() -> HttpClient:
    """Returns a client that takes no proxies or certificate authorities from the environment (docs/reference/client-outcomes.md)."""
    try:
        return HttpClient(trust_env=False, verify=_authorities())
    except (OSError, ValueError) as error:
        raise UsageError(f"the system's certificate authorities cannot be read ({error}): give `http_client`") from error


@functools.cache
def _authorities() -> ssl.SSLContext:
    """Returns the certificate authorities, cached: reading them takes 25 ms or more."""
    return httpx2.create_ssl_context(trust_env=False)


def _raise_refusal(response: httpx2.Response, request: Request, check: Callable[[], None]) -> None:
    status = response.status_code
    if 200 <= status < 300 or (status == 304 and 'if-none-match' in request.headers):
        return
    content = _read_all(response, request.asked, PROBLEM_BYTES_MAX, check)
    raise refusal(status, response.headers, content, request.asked)


def _read_object(response: httpx2.Response, asked: Asked, check: Callable[[], None]) -> dict[str, Any]:
    refuse_media_type(response.status_code, response.headers, JSON, asked)
    return parse_object(_read_all(response, asked, ANSWER_BYTES_MAX, check), asked)


def _read_all(response: httpx2.Response, asked: Asked, bytes_max: int, check: Callable[[], None]) -> bytes:
    """Returns the whole body. Raises UnexpectedAnswerError if the body is longer than `bytes_max`, so
    that an endless answer cannot fill the memory.
    """
    content = bytearray()
    for piece in response.iter_bytes():
        check()
        content += piece
        if len(content) > bytes_max:
            raise wrong_server(f'{asked.name} answered with more than {bytes_max} bytes', asked, response.status_code)
    return bytes(content)
