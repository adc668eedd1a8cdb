# Made by `npm run python -- generate`; not to be edited.
"""Retention rules and legal holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from ..._core import operations as ops
from ..._core.answers import wrong_server
from ..._core.options import Call, CallOptions, members
from ...types import Hold, RetentionPreview, RetentionRule
from ..listing import Listing, listing
from ..transport import Transport


class Retention:
    """Retention rules: after how many days the server erases documents."""

    def __init__(self, http: Transport) -> None:
        self._http = http

    def set_rule(
        self,
        *,
        days: int | None,
        basis: str,
        type: str | None = None,
        agent: str | None = None,
        **options: Unpack[CallOptions],
    ) -> RetentionRule:
        """`POST /v1/retention/rules`: sets a rule. If `days` is None, documents are never erased.

        If the new rule has more days than the old rule, it applies to all records. If it has fewer
        days, it applies only to records created from now on.
        """
        body = {**members(basis=basis, type=type, agent=agent), 'days': days}
        return self._http.json(RetentionRule, ops.POST_RETENTION_RULES, Call(body=body, options=options))

    def rules(self, **options: Unpack[CallOptions]) -> list[RetentionRule]:
        """`GET /v1/retention/rules`: returns the rules, newest first."""
        return listing(self._http, RetentionRule, ops.GET_RETENTION_RULES, {}, options).to_list(RULES_MAX)

    def preview(self, *, days: int, type: str | None = None, agent: str | None = None, **options: Unpack[CallOptions]) -> RetentionPreview:
        """`POST /v1/retention/preview`: counts the records that a rule would erase now. Reads all pages and returns their sums."""
        seq = 0
        total: RetentionPreview | None = None
        while True:
            body = {**members(days=days, type=type, agent=agent), 'from': seq}
            page = self._http.json(RetentionPreview, ops.POST_RETENTION_PREVIEW, Call(body=body, options=options))
            total = page if total is None else _added(total, page)
            if page.next_seq is None:
                return total
            if page.next_seq <= seq:
                raise wrong_server('the server answered with a `nextSeq` that is not after the last page, so the pages would never end')
            seq = page.next_seq


RULES_MAX = 10_000
"""Most rules that are read. A server answers all of its rules in one page."""


def _added(total: RetentionPreview, page: RetentionPreview) -> RetentionPreview:
    by_type = {name: total.by_type.get(name, 0) + page.by_type.get(name, 0) for name in {**total.by_type, **page.by_type}}
    oldest = min((each for each in (total.oldest, page.oldest) if each is not None), default=None)
    sums = {'records': total.records + page.records, 'held': total.held + page.held}
    return page.model_copy(update={**sums, 'oldest': oldest, 'by_type': by_type})


class Holds:
    """Legal holds. While a hold lasts, no document of its records is erased."""

    def __init__(self, http: Transport) -> None:
        self._http = http

    def set(
        self,
        *,
        case: str,
        records: Sequence[str] | None = None,
        type: str | None = None,
        agent: str | None = None,
        **options: Unpack[CallOptions],
    ) -> Hold:
        """`POST /v1/holds`: sets a hold on the named records, on the records of a type or an agent, or on all records."""
        body = members(case=case, records=records, type=type, agent=agent)
        return self._http.json(Hold, ops.POST_HOLDS, Call(body=body, options=options))

    def lift(self, seq: int, **options: Unpack[CallOptions]) -> Hold:
        """`POST /v1/holds/{seq}/lift`: lifts a hold. Other holds on the same records stay."""
        return self._http.json(Hold, ops.POST_HOLDS_BY_SEQ_LIFT, Call(params={'seq': seq}, body={}, options=options))

    def list(self, *, standing: bool | None = None, limit: int | None = None, **options: Unpack[CallOptions]) -> Listing[Hold]:
        """`GET /v1/holds`: lists the holds, newest first. With `standing=True`, lists only holds that
        were not lifted.
        """
        query = members(standing=None if standing is None else str(standing).lower(), limit=limit)
        return listing(self._http, Hold, ops.GET_HOLDS, query, options)
