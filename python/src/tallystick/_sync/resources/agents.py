# Made by `npm run python -- generate`; not to be edited.
"""Agents: every record names one of its ledger's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Unpack

from ..._core import operations as ops
from ..._core.options import Call, CallOptions, WriteOptions, members
from ...types import Agent, SigningKey
from ..listing import Listing, listing
from ..transport import Transport

if TYPE_CHECKING:
    from ...types import EndorsementParam


class Agents:
    """Agents: every record names one of its ledger's."""

    def __init__(self, http: Transport) -> None:
        self._http = http

    def register(self, *, name: str, **options: Unpack[WriteOptions]) -> Agent:
        """`POST /v1/agents`."""
        return self._http.json(Agent, ops.POST_AGENTS, Call(body={'name': name}, options=options))

    def list(self, *, name: str | None = None, limit: int | None = None, **options: Unpack[CallOptions]) -> Listing[Agent]:
        """`GET /v1/agents`: in the order in which they were registered."""
        return listing(self._http, Agent, ops.GET_AGENTS, members(name=name, limit=limit), options)

    def get(self, id: str, **options: Unpack[CallOptions]) -> Agent:
        """`GET /v1/agents/{id}`."""
        return self._http.json(Agent, ops.GET_AGENTS_BY_ID, Call(params={'id': id}, options=options))

    def register_signing_key(
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
        """`POST /v1/agents/{id}/signing-keys`: a key by which the agent signs for itself. `spki`: DER in base64; `proof`: of its
        possession. `required`: from then on nothing is taken in the agent's name but what it has signed, for good.
        """
        body = members(alg=alg, spki=spki, proof=proof, endorsement=endorsement, required=required)
        call = Call(params={'id': id}, body=body, options=options)
        return self._http.json(SigningKey, ops.POST_AGENTS_BY_ID_SIGNING_KEYS, call)

    def list_signing_keys(self, id: str, *, limit: int | None = None, **options: Unpack[CallOptions]) -> Listing[SigningKey]:
        """`GET /v1/agents/{id}/signing-keys`: revoked ones, too, in the order in which they were registered."""
        operation = ops.GET_AGENTS_BY_ID_SIGNING_KEYS
        return listing(self._http, SigningKey, operation, members(limit=limit), options, {'id': id})

    def revoke_signing_key(self, id: str, kid: str, **options: Unpack[WriteOptions]) -> SigningKey:
        """`POST /v1/agents/{id}/signing-keys/{kid}/revoke`: it signs nothing from then on; not to be undone."""
        call = Call(params={'id': id, 'kid': kid}, body={}, options=options)
        return self._http.json(SigningKey, ops.POST_AGENTS_BY_ID_SIGNING_KEYS_BY_KID_REVOKE, call)

    def disable(self, id: str, **options: Unpack[WriteOptions]) -> Agent:
        """`POST /v1/agents/{id}/disable`: its keys are refused from then on; not to be undone."""
        call = Call(params={'id': id}, body={}, options=options)
        return self._http.json(Agent, ops.POST_AGENTS_BY_ID_DISABLE, call)
