"""Whether the server works."""

from __future__ import annotations

from typing import Unpack

from ..._core import operations as ops
from ..._core.options import Call, CallOptions
from ...types import Liveness, Readiness
from ..transport import AsyncTransport


class AsyncHealth:
    """Whether the server works. Asked once, without retries, because a failure should be seen at once."""

    def __init__(self, http: AsyncTransport) -> None:
        self._http = http

    async def live(self, **options: Unpack[CallOptions]) -> Liveness:
        """`GET /livez`: the process answers."""
        return await self._http.json(Liveness, ops.GET_LIVEZ, Call(options={'max_retries': 0, **options}))

    async def ready(self, **options: Unpack[CallOptions]) -> Readiness:
        """`GET /readyz`: it reaches a database that it understands; otherwise UnavailableError."""
        return await self._http.json(Readiness, ops.GET_READYZ, Call(options={'max_retries': 0, **options}))
