# Made by `npm run python -- generate`; not to be edited.
"""Audits: verifications of the whole ledger by the server's worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Unpack

from ..._core import operations as ops
from ..._core.limits import POLL_GROWTH, POLL_SECONDS_MAX, POLL_SECONDS_MIN
from ..._core.options import Call, CallOptions, members
from ...types import Audit
from ..io import sleep
from ..listing import Listing, listing
from ..transport import Transport


class Audits:
    """Audits: verifications of the whole ledger by the server's worker.

    An audit is the server's report about itself. `tallystick.verify` verifies a ledger without trusting its server.
    """

    def __init__(self, http: Transport) -> None:
        self._http = http

    def start(self, **options: Unpack[CallOptions]) -> Audit:
        """`POST /v1/audits`: starts an audit in the background. If an audit is already queued or
        running, returns that audit.
        """
        return self._http.json(Audit, ops.POST_AUDITS, Call(body={}, options=options))

    def list(self, *, limit: int | None = None, **options: Unpack[CallOptions]) -> Listing[Audit]:
        """`GET /v1/audits`: lists the audits, newest first."""
        return listing(self._http, Audit, ops.GET_AUDITS, members(limit=limit), options)

    def get(self, id: str, **options: Unpack[CallOptions]) -> Audit:
        """`GET /v1/audits/{id}`: returns an audit."""
        return self._http.json(Audit, ops.GET_AUDITS_BY_ID, Call(params={'id': id}, options=options))

    def run(self, *, on_progress: Callable[[Audit], object] | None = None, **options: Unpack[CallOptions]) -> Audit:
        """Starts an audit, waits until it ends, and returns it. The wait has no time limit.

        `ok` of the audit is True if the ledger verifies, and False if not. `ok` is None if the
        ledger could not be read; then `state` is `failed`. `on_progress` is called with the audit
        after each poll.
        """
        audit = self.start(**options)
        poll = POLL_SECONDS_MIN
        while audit.state in ('queued', 'running'):
            if on_progress is not None:
                on_progress(audit)
            sleep(poll)
            poll = min(POLL_SECONDS_MAX, poll * POLL_GROWTH)
            audit = self.get(audit.id, **options)
        if on_progress is not None:
            on_progress(audit)
        return audit
