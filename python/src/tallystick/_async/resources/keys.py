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
from ..listing import AsyncListing, listing
from ..transport import AsyncTransport

if TYPE_CHECKING:
    from ...types import OtlpSettingsParam, RateLimitParam, Scope


class AsyncKeys:
    """API keys of the ledger's agents."""

    def __init__(self, http: AsyncTransport) -> None:
        self._http = http

    async def create(
        self,
        *,
        name: str,
        scopes: Sequence[Scope],
        agent: str | None = None,
        expires_at: str | datetime | None = None,
        **options: Unpack[WriteOptions],
    ) -> KeyWithSecret:
        """`POST /v1/keys`: creates an API key. `key` of the answer is its secret.

        Without `agent`, registers a new agent of that name. Raises SecretLostError if the first
        answer was lost and the call was repeated. Then call `rotate` to get a new secret.
        """
        body = members(name=name, scopes=scopes, agent=agent, expires_at=expires_at)
        made = await self._http.plain(ops.POST_KEYS, Call(body=body, options=options))
        if 'key' in made and made['key'] is None:
            raise SecretLostError(str(made.get('id')))
        return parse_model(KeyWithSecret, made, Asked('POST /v1/keys', None, False))

    def list(self, *, agent: str | None = None, limit: int | None = None, **options: Unpack[CallOptions]) -> AsyncListing[ApiKey]:
        """`GET /v1/keys`: lists the API keys in order of creation, without their secrets."""
        return listing(self._http, ApiKey, ops.GET_KEYS, members(agent=agent, limit=limit), options)

    async def get(self, id: str, **options: Unpack[CallOptions]) -> ApiKey:
        """`GET /v1/keys/{id}`: returns an API key without its secret."""
        return await self._http.json(ApiKey, ops.GET_KEYS_BY_ID, Call(params={'id': id}, options=options))

    async def rotate(self, id: str, *, overlap_seconds: int | None = None, **options: Unpack[CallOptions]) -> KeyWithSecret:
        """`POST /v1/keys/{id}/rotate`: makes a new secret. Earlier secrets stay valid for
        `overlap_seconds`, by default one hour.

        Not retried after a lost answer, because each call makes a secret.
        """
        call = Call(params={'id': id}, body=members(overlap_seconds=overlap_seconds), options=options)
        return await self._http.json(KeyWithSecret, ops.POST_KEYS_BY_ID_ROTATE, call)

    async def revoke(self, id: str, *, also_made: bool | None = None, **options: Unpack[WriteOptions]) -> KeyRevocation:
        """`POST /v1/keys/{id}/revoke`: revokes an API key for good. Every server refuses it within 5 s.

        `also_made`: also revokes the keys that were created with this key, directly or through another key, at most 100 per call.
        Repeat the call while `has_more` is true.
        """
        call = Call(params={'id': id}, body=members(also_made=also_made), options=options)
        return await self._http.json(KeyRevocation, ops.POST_KEYS_BY_ID_REVOKE, call)

    async def set_rate_limit(self, id: str, rate_limit: RateLimitParam | None, **options: Unpack[CallOptions]) -> RateLimitAnswer:
        """`PUT /v1/keys/{id}/rate-limit`: sets the rate limit of an API key. None removes the limit."""
        call = Call(params={'id': id}, body={'rateLimit': rate_limit}, options=options)
        return await self._http.json(RateLimitAnswer, ops.PUT_KEYS_BY_ID_RATE_LIMIT, call)

    async def set_otlp(self, id: str, otlp: OtlpSettingsParam | None, **options: Unpack[CallOptions]) -> KeyOtlp:
        """`PUT /v1/keys/{id}/otlp`: sets which spans and logs the key accepts, and whether their
        content is stored. None restores the default.
        """
        call = Call(params={'id': id}, body={'otlp': otlp}, options=options)
        return await self._http.json(KeyOtlp, ops.PUT_KEYS_BY_ID_OTLP, call)
