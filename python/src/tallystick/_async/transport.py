"""Sends every request of the client: adds the key and a deadline, retries, and parses the answer."""

from __future__ import annotations

import builtins
import codecs
import functools
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
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


class AsyncTransport:
    """Connections of a client. `aclose` closes the connections that this class made. It leaves the
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

    async def aclose(self) -> None:
        """Closes the connections, unless the caller supplied the client. Later calls raise UsageError."""
        self._is_closed = True
        await self._clients.aclose()

    async def open(self) -> None:
        """Makes the HTTP client before the first request needs it.

        Making a client acquires locks of OpenSSL. If the process forks while another thread has
        these locks, the child process waits for ever.
        """
        await self._client()

    async def json(self, model: type[M], operation: Operation, call: Call) -> M:
        """Returns the JSON answer of an operation as its model."""
        value, asked = await self._signed(operation, call) if self._signer else await self._json(operation, call)
        return parse_model(model, value, asked)

    async def plain(self, operation: Operation, call: Call) -> dict[str, Any]:
        """Returns the JSON answer of an operation as a dict."""
        return (await self._signed(operation, call) if self._signer else await self._json(operation, call))[0]

    async def json_if_moved(self, model: type[M], operation: Operation, call: Call) -> M | None:
        """Returns the JSON answer as its model. Returns None if the record still has the version that
        the call names.
        """

        async def read(response: httpx2.Response, asked: Asked, check: Callable[[], None]) -> M | None:
            if response.status_code == 304:
                return None
            return parse_model(model, await _read_object(response, asked, check), asked)

        return await self._call(operation, call, JSON, read)

    async def bytes(self, operation: Operation, media_type: str, call: Call) -> builtins.bytes:
        """Returns an answer of bytes or text, such as a receipt or a checkpoint."""

        async def read(response: httpx2.Response, asked: Asked, check: Callable[[], None]) -> builtins.bytes:
            refuse_media_type(response.status_code, response.headers, media_type, asked)
            return await _read_all(response, asked, ANSWER_BYTES_MAX, check)

        return await self._call(operation, call, media_type, read)

    async def done(self, operation: Operation, call: Call) -> None:
        """Waits until an operation without an answer is done. Raises UnexpectedAnswerError for a
        status other than 204.
        """

        async def read(response: httpx2.Response, asked: Asked, _: Callable[[], None]) -> None:
            status = response.status_code
            if status != 204:
                raise wrong_server(f'{asked.name} answered {status}, not 204', asked, status)

        await self._call(operation, call, JSON, read)

    async def stream(self, operation: Operation, media_type: str, call: Call) -> AsyncByteStream:
        """Returns a streamed answer as soon as it begins."""
        request = make_request(self.settings, operation, call, media_type)
        retries = Retries(request.policy)
        while True:
            try:
                return await self._open(request, media_type)
            except TallystickError as error:
                await sleep(retries.delay_before(error))

    def retries_of(self, options: CallOptions) -> Retries:
        """Returns a counter of failures for a call with these options."""
        return Retries(self.settings.policy_of(options))

    async def _json(self, operation: Operation, call: Call, doubt: Doubt | None = None) -> tuple[dict[str, Any], Asked]:
        async def read(response: httpx2.Response, asked: Asked, check: Callable[[], None]) -> tuple[dict[str, Any], Asked]:
            return await _read_object(response, asked, check), asked

        return await self._call(operation, call, JSON, read, doubt)

    async def _signed(self, operation: Operation, call: Call) -> tuple[dict[str, Any], Asked]:
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
            body = await self._ask_signer(self._signer, operation, call)
            if body is None:
                break
            try:
                return await self._json(operation, call.with_body(body, options), doubt)
            except ApiError as error:
                if error.code == 'statement_mismatch':
                    self._signer.forget(self)
                if error.code != 'signed_time_refused' or signatures == SIGNATURES_MAX:
                    raise
        return await self._json(operation, call)

    async def _ask_signer(self, signer: RequestSigner, operation: Operation, call: Call) -> dict[str, Any] | None:
        given = call if call.body is None else call.with_body(to_plain(call.body), call.options)
        asking = signer.sign(self, operation, given)
        try:
            needed = next(asking)
            while True:
                answer, _ = await self._json(*needed)
                needed = asking.send(answer)
        except StopIteration as end:
            body: dict[str, Any] | None = end.value
            return body
        finally:
            asking.close()

    async def _call(
        self,
        operation: Operation,
        call: Call,
        accept: str,
        read: Callable[[httpx2.Response, Asked, Callable[[], None]], Coroutine[Any, Any, T]],
        doubt: Doubt | None = None,
    ) -> T:
        request = make_request(self.settings, operation, call, accept)
        retries = Retries(request.policy)
        doubt = doubt or Doubt()
        while True:
            try:
                return await self._attempt(request, read)
            except Exception as error:
                doubt.note(error)
                ending = doubt.ending(error, request.asked.idempotency_key)
                # An error of another class comes from the caller's `api_key` function, and is not
                # retried.
                if not isinstance(ending, TallystickError) or not isinstance(error, TallystickError) or request.is_final(error):
                    raise ending from ending.__cause__
                await sleep(retries.delay_before(ending))

    async def _attempt(self, request: Request, read: Callable[[httpx2.Response, Asked, Callable[[], None]], Coroutine[Any, Any, T]]) -> T:
        api_key = require_key(await ask(self._api_key))
        headers = request.headers_with(api_key, self._known_sizes.of(api_key))
        try:
            with deadline(request.timeout) as check:
                response = await self._send(request, headers)
                self._known_sizes.note(api_key, response.headers)
                try:
                    await self._raise_refusal(response, request, check, api_key)
                    return await read(response, request.asked, check)
                finally:
                    await response.aclose()
        except builtins.TimeoutError:
            raise timed_out(request.asked, request.timeout) from None
        except httpx2.HTTPError as error:
            raise disconnected(request.asked, error, request.timeout) from error

    async def _open(self, request: Request, media_type: str) -> AsyncByteStream:
        api_key = require_key(await ask(self._api_key))
        headers = request.headers_with(api_key, self._known_sizes.of(api_key))
        try:
            with deadline(request.timeout) as check:
                response = await self._send(request, headers)
                self._known_sizes.note(api_key, response.headers)
                try:
                    await self._raise_refusal(response, request, check, api_key)
                    refuse_media_type(response.status_code, response.headers, media_type, request.asked)
                except BaseException:
                    await response.aclose()
                    raise
        except builtins.TimeoutError:
            raise timed_out(request.asked, request.timeout) from None
        except httpx2.HTTPError as error:
            raise disconnected(request.asked, error, request.timeout) from error
        return AsyncByteStream(response, request.asked, request.timeout)

    async def _raise_refusal(self, response: httpx2.Response, request: Request, check: Callable[[], None], api_key: str) -> None:
        try:
            await _raise_refusal(response, request, check)
        except ApiError as error:
            if error.code == 'ledger_smaller':
                self._known_sizes.forget(api_key)
            raise

    async def _send(self, request: Request, headers: httpx2.Headers) -> httpx2.Response:
        http = await self._client()
        built = http.build_request(
            request.method,
            request.url,
            headers=headers,
            content=request.content,
            timeout=request.timeout,
        )
        # Redirects are not followed: the API key is sent to the configured server only.
        with of_loop(self._given_loop or here(), 'the `http_client`'):
            return await http.send(built, stream=True, follow_redirects=False, auth=None)

    async def _client(self) -> HttpClient:
        if self._is_closed or (self._given is not None and self._given.is_closed):
            raise UsageError('the client is closed')
        if self._given is None:
            return await self._clients.get()
        self._given_loop = self._given_loop or here()
        return self._given


class AsyncByteStream:
    """An answer in chunks, as it arrives: `async with`, then `async for`.

    Each chunk must arrive within the timeout, counted only while the reader waits for it. Raises TallystickError if the
    answer breaks off.
    """

    def __init__(self, response: httpx2.Response, asked: Asked, timeout: float) -> None:
        self._response = response
        self._pieces = response.aiter_bytes()
        self._asked = asked
        self._timeout = timeout
        self._loop = here()

    async def __aenter__(self) -> AsyncByteStream:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connection without reading the rest."""
        with of_loop(self._loop, 'the stream'):
            await self._response.aclose()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            with of_loop(self._loop, 'the stream'), deadline(self._timeout):
                return await anext(self._pieces)
        except StopAsyncIteration:
            await self.aclose()
            raise
        except builtins.TimeoutError:
            await self.aclose()
            raise timed_out(self._asked, self._timeout) from None
        except httpx2.StreamError:
            raise UsageError('the stream is closed, or was read before') from None
        except httpx2.HTTPError as error:
            await self.aclose()
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


async def _raise_refusal(response: httpx2.Response, request: Request, check: Callable[[], None]) -> None:
    status = response.status_code
    if 200 <= status < 300 or (status == 304 and 'if-none-match' in request.headers):
        return
    content = await _read_all(response, request.asked, PROBLEM_BYTES_MAX, check)
    raise refusal(status, response.headers, content, request.asked)


async def _read_object(response: httpx2.Response, asked: Asked, check: Callable[[], None]) -> dict[str, Any]:
    refuse_media_type(response.status_code, response.headers, JSON, asked)
    return parse_object(await _read_all(response, asked, ANSWER_BYTES_MAX, check), asked)


async def _read_all(response: httpx2.Response, asked: Asked, bytes_max: int, check: Callable[[], None]) -> bytes:
    """Returns the whole body. Raises UnexpectedAnswerError if the body is longer than `bytes_max`, so
    that an endless answer cannot fill the memory.
    """
    content = bytearray()
    async for piece in response.aiter_bytes():
        check()
        content += piece
        if len(content) > bytes_max:
            raise wrong_server(f'{asked.name} answered with more than {bytes_max} bytes', asked, response.status_code)
    return bytes(content)
