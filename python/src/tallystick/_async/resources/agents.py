"""Agents of the ledger, and their signing keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Unpack

from ..._core import operations as ops
from ..._core.options import Call, CallOptions, WriteOptions, members
from ...types import Agent, SigningKey
from ..listing import AsyncListing, listing
from ..transport import AsyncTransport

if TYPE_CHECKING:
    from ...types import EndorsementParam


class AsyncAgents:
    """Agents of the ledger, and their signing keys. Every record names an agent as its actor."""

    def __init__(self, http: AsyncTransport) -> None:
        self._http = http

    async def register(self, *, name: str, **options: Unpack[WriteOptions]) -> Agent:
        """`POST /v1/agents`: registers an agent."""
        return await self._http.json(Agent, ops.POST_AGENTS, Call(body={'name': name}, options=options))

    def list(self, *, name: str | None = None, limit: int | None = None, **options: Unpack[CallOptions]) -> AsyncListing[Agent]:
        """`GET /v1/agents`: lists the agents in order of registration.

        `name`: returns only the agent of this name. `limit`: maximum number of agents per page.
        """
        return listing(self._http, Agent, ops.GET_AGENTS, members(name=name, limit=limit), options)

    async def get(self, id: str, **options: Unpack[CallOptions]) -> Agent:
        """`GET /v1/agents/{id}`: returns an agent. Raises NotFoundError if it does not exist."""
        return await self._http.json(Agent, ops.GET_AGENTS_BY_ID, Call(params={'id': id}, options=options))

    async def register_signing_key(
        self,
        id: str,
        *,
        alg: Literal['EdDSA', 'ES256'],
        spki: str,
        proof: str,
        endorsement: EndorsementParam | None = None,
        required: bool | None = None,
        **options: Unpack[WriteOptions],
    ) -> SigningKey:
        """`POST /v1/agents/{id}/signing-keys`: registers a key with which the agent signs its entries
        itself.

        - `spki`: the public key, DER in base64.
        - `proof`: signature that proves possession of the key.
        - `endorsement`: signature of a current key of the agent, needed for every key after the
          first.
        - `required`: if True, the server from now on accepts an entry in the agent's name only with
          the agent's signature. This cannot be undone.
        """
        body = members(alg=alg, spki=spki, proof=proof, endorsement=endorsement, required=required)
        call = Call(params={'id': id}, body=body, options=options)
        return await self._http.json(SigningKey, ops.POST_AGENTS_BY_ID_SIGNING_KEYS, call)

    def list_signing_keys(self, id: str, *, limit: int | None = None, **options: Unpack[CallOptions]) -> AsyncListing[SigningKey]:
        """`GET /v1/agents/{id}/signing-keys`: lists the signing keys in order of registration,
        including revoked keys.
        """
        operation = ops.GET_AGENTS_BY_ID_SIGNING_KEYS
        return listing(self._http, SigningKey, operation, members(limit=limit), options, {'id': id})

    async def revoke_signing_key(self, id: str, kid: str, **options: Unpack[WriteOptions]) -> SigningKey:
        """`POST /v1/agents/{id}/signing-keys/{kid}/revoke`: revokes a signing key for good. Later
        signatures of the key are refused.
        """
        call = Call(params={'id': id, 'kid': kid}, body={}, options=options)
        return await self._http.json(SigningKey, ops.POST_AGENTS_BY_ID_SIGNING_KEYS_BY_KID_REVOKE, call)

    async def disable(self, id: str, **options: Unpack[WriteOptions]) -> Agent:
        """`POST /v1/agents/{id}/disable`: disables an agent for good. Its API keys are refused from now on."""
        call = Call(params={'id': id}, body={}, options=options)
        return await self._http.json(Agent, ops.POST_AGENTS_BY_ID_DISABLE, call)
