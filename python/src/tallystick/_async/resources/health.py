"""Health of the server."""

from __future__ import annotations

from typing import Unpack

from ..._core import operations as ops
from ..._core.options import Call, CallOptions
from ...types import Liveness, Readiness
from ..transport import AsyncTransport


class AsyncHealth:
    """Health of the server. By default these calls are not retried, so that a failure is reported at
    once.
    """

    def __init__(self, http: AsyncTransport) -> None:
        self._http = http

    async def live(self, **options: Unpack[CallOptions]) -> Liveness:
        """`GET /livez`: succeeds if the process answers."""
        return await self._http.json(Liveness, ops.GET_LIVEZ, Call(options={'max_retries': 0, **options}))

    async def ready(self, **options: Unpack[CallOptions]) -> Readiness:
        """`GET /readyz`: succeeds if the server reaches its database and knows its schema. Raises UnavailableError otherwise."""
        return await self._http.json(Readiness, ops.GET_READYZ, Call(options={'max_retries': 0, **options}))
