"""Classifies statuses of answers without a problem document. A proxy or another server sent them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_NOTHING_DONE: Final = frozenset({407, 411, 413, 414, 415, 417, 421, 425, 426, 428, 429, 431, 505, 511})
"""Statuses by which any sender declines the request (RFC 9110 §15.5 and §15.6, 6585, 8470).

400, 401, 403, 404 and 406 prove nothing, because firewalls send them in place of the server's answer. 503 proves nothing
either.
"""
_PASSING_4XX: Final = frozenset({408, 425, 429, 499})
"""499 is a status of nginx: its client closed the connection."""
_LASTING_5XX: Final = frozenset({501, 505, 510, 511})
"""5xx statuses that the same request would get again. It is therefore not retried."""

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
    """True for a temporary state: another attempt with the same key may succeed."""
    nothing_done: bool
    """True if the status proves that the server never received the whole request."""
    advice: str


def meaning_of(status: int) -> StatusMeaning:
    """Returns the meaning of a status.

    An unknown status is treated as the first status of its class: 4xx as 400, for example. A status
    outside all classes is treated as 500 (RFC 9110 §15).
    """
    is_server_error = status >= 500 or status < 100
    passing = status in _PASSING_4XX or (is_server_error and status not in _LASTING_5XX)
    fallback = 'check whether the server runs, and check the proxy' if passing else _CHECK_ADDRESS
    return StatusMeaning(passing, status in _NOTHING_DONE, _ADVICE.get(status, fallback))
