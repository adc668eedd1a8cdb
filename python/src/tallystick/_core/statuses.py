"""Statuses without a problem document: something between answered, or another server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_NOTHING_DONE: Final = frozenset({407, 411, 413, 414, 415, 417, 421, 425, 426, 428, 429, 431, 505, 511})
"""By these a sender refuses to take the request (RFC 9110 §15.5 and §15.6, 6585, 8470), whoever it is. 400, 401, 403, 404 and 406
prove nothing: firewalls put them in the place of an answer, too. Nor does 503.
"""
_PASSING_4XX: Final = frozenset({408, 425, 429, 499})
"""499 is nginx's: its client closed the connection."""
_LASTING_5XX: Final = frozenset({501, 505, 510, 511})
"""Statuses of 5xx that the same request would get again."""

_CHECK_ADDRESS: Final = 'check that the address is that of a Tallystick server'
_LIMIT_OF_HEADERS: Final = 'raise the limit of the proxy for addresses and headers'
_FIREWALL: Final = f'a firewall or a login page in front of the server may have refused it; otherwise {_CHECK_ADDRESS}'
_ADVICE: Final = {
    401: _FIREWALL,
    403: _FIREWALL,
    406: _FIREWALL,
    407: 'the proxy requires authentication: configure it in the client that connects to the proxy',
    413: 'a proxy limits the size of requests: raise its limit for bodies (client_max_body_size of nginx), or send less at once',
    414: _LIMIT_OF_HEADERS,
    431: _LIMIT_OF_HEADERS,
    511: 'the network requires a login first',
}


@dataclass(frozen=True, slots=True)
class StatusMeaning:
    passing: bool
    """The state passes: worth another attempt with the same key."""
    nothing_done: bool
    """The status proves that the server never got the whole request."""
    advice: str
    """Advice for people."""


def meaning_of(status: int) -> StatusMeaning:
    """RFC 9110 §15: an unknown status is treated as the first of its class, and one that is in no class as 500."""
    is_server_error = status >= 500 or status < 100
    passing = status in _PASSING_4XX or (is_server_error and status not in _LASTING_5XX)
    fallback = 'check whether the server runs, and check the proxy' if passing else _CHECK_ADDRESS
    return StatusMeaning(passing, status in _NOTHING_DONE, _ADVICE.get(status, fallback))
