# Made by `npm run python -- generate`; not to be edited.
"""Whether the server works."""

from __future__ import annotations

from typing import Unpack

from ..._core import operations as ops
from ..._core.options import Call, CallOptions
from ...types import Liveness, Readiness
from ..transport import Transport


class Health:
    """Whether the server works. Asked once, without retries, because a failure should be seen at once."""

    def __init__(self, http: Transport) -> None:
        self._http = http

    def live(self, **options: Unpack[CallOptions]) -> Liveness:
        """`GET /livez`: the process answers."""
        return self._http.json(Liveness, ops.GET_LIVEZ, Call(options={'max_retries': 0, **options}))

    def ready(self, **options: Unpack[CallOptions]) -> Readiness:
        """`GET /readyz`: it reaches a database that it understands; otherwise UnavailableError."""
        return self._http.json(Readiness, ops.GET_READYZ, Call(options={'max_retries': 0, **options}))
