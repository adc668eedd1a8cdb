# Made by `npm run python -- generate`; not to be edited.
"""API keys of the ledger's agents."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Unpack

from ..._core import operations as ops
from ..._core.answers import Asked, parse_model
from ..._core.options import Call, CallOptions, WriteOptions, members
from ...errors import SecretLostError
from ...types import ApiKey, KeyOtlp, KeyRevocation, KeyWithSecret, RateLimitAnswer
from ..listing import Listing, listing
from ..transport import Transport

if TYPE_CHECKING:
    from ...types import OtlpSettingsParam, RateLimitParam, Scope


class Keys:
    """API keys of the ledger's agents."""

    def __init__(self, http: Transport) -> None:
        self._http = http

    def create(
        self,
        *,
        name: str,
        scopes: Sequence[Scope],
        agent: str | None = None,
        expires_at: str | datetime | None = None,
        **options: Unpack[WriteOptions],
    ) -> KeyWithSecret:
        """`POST /v1/keys`: `key` of the answer is the secret. Without `agent` a new agent of that name is registered. Raises
        SecretLostError where the first answer was lost, and the call repeated: `rotate` makes another.
        """
        body = members(name=name, scopes=scopes, agent=agent, expires_at=expires_at)
        made = self._http.plain(ops.POST_KEYS, Call(body=body, options=options))
        if 'key' in made and made['key'] is None:
            raise SecretLostError(str(made.get('id')))
        return parse_model(KeyWithSecret, made, Asked('POST /v1/keys', None, False))

    def list(self, *, agent: str | None = None, limit: int | None = None, **options: Unpack[CallOptions]) -> Listing[ApiKey]:
        """`GET /v1/keys`: in the order in which they were made, without their secrets."""
        return listing(self._http, ApiKey, ops.GET_KEYS, members(agent=agent, limit=limit), options)

    def get(self, id: str, **options: Unpack[CallOptions]) -> ApiKey:
        """`GET /v1/keys/{id}`."""
        return self._http.json(ApiKey, ops.GET_KEYS_BY_ID, Call(params={'id': id}, options=options))

    def rotate(self, id: str, *, overlap_seconds: int | None = None, **options: Unpack[CallOptions]) -> KeyWithSecret:
        """`POST /v1/keys/{id}/rotate`: a new secret; those before stay valid for `overlap_seconds`, by default an hour. Not repeated
        where the answer is lost, because each time makes a secret.
        """
        call = Call(params={'id': id}, body=members(overlap_seconds=overlap_seconds), options=options)
        return self._http.json(KeyWithSecret, ops.POST_KEYS_BY_ID_ROTATE, call)

    def revoke(self, id: str, *, also_made: bool | None = None, **options: Unpack[WriteOptions]) -> KeyRevocation:
        """`POST /v1/keys/{id}/revoke`: every server refuses it within 5 s; not to be undone. With `also_made` the keys that it has made,
        and those that they have, go with it: up to 100 a call, so call again while `has_more`.
        """
        call = Call(params={'id': id}, body=members(also_made=also_made), options=options)
        return self._http.json(KeyRevocation, ops.POST_KEYS_BY_ID_REVOKE, call)

    def set_rate_limit(self, id: str, rate_limit: RateLimitParam | None, **options: Unpack[CallOptions]) -> RateLimitAnswer:
        """`PUT /v1/keys/{id}/rate-limit`: None takes the limit away."""
        call = Call(params={'id': id}, body={'rateLimit': rate_limit}, options=options)
        return self._http.json(RateLimitAnswer, ops.PUT_KEYS_BY_ID_RATE_LIMIT, call)

    def set_otlp(self, id: str, otlp: OtlpSettingsParam | None, **options: Unpack[CallOptions]) -> KeyOtlp:
        """`PUT /v1/keys/{id}/otlp`: which spans and logs it takes, and whether their content is kept; None: as by default."""
        call = Call(params={'id': id}, body={'otlp': otlp}, options=options)
        return self._http.json(KeyOtlp, ops.PUT_KEYS_BY_ID_OTLP, call)
