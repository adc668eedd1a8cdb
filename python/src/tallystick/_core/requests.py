"""Builds the requests that every attempt of a call sends."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import httpx2

from ..errors import ApiError, TallystickError, UsageError
from .address import address_of
from .answers import Asked
from .json import to_json
from .limits import ENDLESS_SECONDS
from .operations import API_VERSION, Operation
from .options import Call, CallOptions
from .request_limits import IDEMPOTENCY_KEY_CHARS_MAX
from .retries import RetryPolicy

_OPERATORS: Final = frozenset({'ledger_closed'})
"""Errors that last until an operator acts. They are raised at once instead of being retried for minutes."""
_VISIBLE: Final = re.compile(r'[\x21-\x7e]+')


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a client."""

    base_url: str
    timeout: float
    policy: RetryPolicy

    def policy_of(self, options: CallOptions) -> RetryPolicy:
        """Returns the retry policy of a call with these options."""
        return replace(self.policy, max_retries=options.get('max_retries', self.policy.max_retries))


@dataclass(frozen=True, slots=True)
class Request:
    """A request without its API key. Each attempt adds the key."""

    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes | None
    asked: Asked
    timeout: float
    policy: RetryPolicy
    unretried: tuple[str, ...]
    known_size: int
    """Minimum ledger size that a read must reflect, in entries. 0: no minimum."""

    def headers_with(self, api_key: str, known_size: int) -> httpx2.Headers:
        """Returns the headers of one attempt. `api_key` must be a result of `require_key`. The `repr`
        of the headers hides the key.
        """
        size = max(known_size, self.known_size) if self.method == 'GET' else 0
        demanded = {'if-known-size': str(size)} if size > 0 else {}
        return httpx2.Headers({**self.headers, **demanded, 'authorization': f'Bearer {api_key}'})

    def is_final(self, error: TallystickError) -> bool:
        return isinstance(error, ApiError) and (error.code in _OPERATORS or error.code in self.unretried)


def make_request(settings: Settings, operation: Operation, call: Call, accept: str) -> Request:
    """Returns the request of a call. Raises UsageError for invalid arguments, before anything is sent."""
    options = call.said
    key = None
    if operation.repeat == 'with-key':
        key = options.get('idempotency_key') or make_idempotency_key()
    content = call.content if call.body is None else to_json(call.body)
    return Request(
        method=operation.method,
        url=address_of(settings.base_url, operation.path, call.params, call.query),
        headers=_headers(call, accept, key, content is not None),
        content=content,
        asked=Asked(
            name=f'{operation.method} {address_of(settings.base_url, operation.path, call.params, {})}',
            idempotency_key=key,
            repeatable=operation.repeat != 'never',
        ),
        timeout=call.held_seconds + parse_timeout(options.get('timeout', settings.timeout)),
        policy=settings.policy_of(options),
        unretried=call.unretried,
        known_size=_known_size(options.get('if_known_size', 0)),
    )


def _headers(call: Call, accept: str, key: str | None, has_body: bool) -> dict[str, str]:
    headers = {'accept': accept, 'user-agent': f'tallystick-python/{API_VERSION}'}
    if has_body:
        headers['content-type'] = call.media_type
    if key is not None:
        if not _VISIBLE.fullmatch(key) or len(key) > IDEMPOTENCY_KEY_CHARS_MAX:
            raise UsageError('an idempotency key must have 1 to 255 visible ASCII characters')
        headers['idempotency-key'] = key
    version = call.said.get('if_version')
    if version is not None:
        if type(version) is not int or version < 1:
            raise UsageError('if_version must be the `version` of a record')
        headers['if-match'] = f'"{version}"'
    if call.known_version is not None:
        headers['if-none-match'] = f'"{call.known_version}"'
    traceparent = call.said.get('traceparent')
    if traceparent is not None:
        if not _VISIBLE.fullmatch(traceparent):
            raise UsageError('a traceparent must have only visible ASCII characters')
        headers['traceparent'] = traceparent
    return headers


def _known_size(size: int) -> int:
    if type(size) is int and size >= 0:
        return size
    raise UsageError('if_known_size must be a number of entries')


def make_idempotency_key() -> str:
    """Returns 128 random bits as hex."""
    return secrets.token_hex(16)


def require_key(api_key: object) -> str:
    """Returns the API key without surrounding white space, which files and variables often have.

    Raises UsageError if the key is missing or has invalid characters. The message does not show the key.
    """
    # Files from Windows may begin with U+FEFF, which Python does not count as white space.
    key = api_key.strip().strip('\ufeff').strip() if isinstance(api_key, str) else ''
    if not key:
        raise UsageError('no API key: give `api_key`, or set the variable TALLYSTICK_API_KEY')
    visible = _VISIBLE.match(key)
    if visible is not None and visible.end() == len(key):
        return key
    raise UsageError(
        'the API key has a space, a control character or a non-ASCII letter after its first '
        f'{visible.end() if visible else 0} characters: is it one complete key?'
    )


def parse_timeout(timeout: float) -> float:
    if timeout > 0:
        return min(timeout, ENDLESS_SECONDS)
    raise UsageError('timeout must be a number of seconds above 0')
