"""Record types: schemas of records, and rules by which deliveries are judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from ..._core import operations as ops
from ..._core.options import Call, CallOptions, WriteOptions, members
from ...errors import UsageError
from ...types import Preview, RecordType, TypeSummary
from ..listing import AsyncListing, listing
from ..transport import AsyncTransport

if TYPE_CHECKING:
    from ...types import RuleParam, TypeDefinitionParam

JsonSchema = Mapping[str, Any] | bool


class AsyncRecordTypes:
    """Record types: schemas of records, and rules by which deliveries are judged."""

    def __init__(self, http: AsyncTransport) -> None:
        self._http = http

    async def register(
        self,
        *,
        name: str,
        version: int,
        payload_schema: JsonSchema,
        evidence_schema: JsonSchema | None = None,
        rules: Sequence[RuleParam] | None = None,
        agent_signed: bool | None = None,
        **options: Unpack[WriteOptions],
    ) -> RecordType:
        """`POST /v1/types`: registers a type for good. Records of a type with `evidence_schema` are gated.

        Registering the same definition again returns the registered type.
        """
        body = members(
            name=name,
            version=version,
            payload_schema=payload_schema,
            evidence_schema=evidence_schema,
            rules=rules,
            agent_signed=agent_signed,
        )
        return await self._http.json(RecordType, ops.POST_TYPES, Call(body=body, options=options))

    def list(self, *, name: str | None = None, limit: int | None = None, **options: Unpack[CallOptions]) -> AsyncListing[TypeSummary]:
        """`GET /v1/types`: lists the types in order of name, with the built-in ones."""
        return listing(self._http, TypeSummary, ops.GET_TYPES, members(name=name, limit=limit), options)

    async def get(self, type: str, **options: Unpack[CallOptions]) -> RecordType:
        """`GET /v1/types/{name}/{version}`: returns a type, for example with `get('order/1')`."""
        call = Call(params=split_type(type), options=options)
        return await self._http.json(RecordType, ops.GET_TYPES_BY_NAME_BY_VERSION, call)

    async def preview(
        self,
        type: str,
        *,
        payload: Mapping[str, Any] | None = None,
        evidence: Mapping[str, Any] | None = None,
        **options: Unpack[CallOptions],
    ) -> Preview:
        """`POST /v1/types/{name}/{version}/preview`: checks a payload or evidence against the type. Writes nothing."""
        call = Call(params=split_type(type), body=members(payload=payload, evidence=evidence), options=options)
        return await self._http.json(Preview, ops.POST_TYPES_BY_NAME_BY_VERSION_PREVIEW, call)

    async def preview_definition(
        self,
        definition: TypeDefinitionParam,
        *,
        payload: Mapping[str, Any] | None = None,
        evidence: Mapping[str, Any] | None = None,
        **options: Unpack[CallOptions],
    ) -> Preview:
        """`POST /v1/types/preview`: checks a payload or evidence against a definition that is not registered. Writes nothing."""
        body: dict[str, Any] = {**definition, **members(payload=payload, evidence=evidence)}
        return await self._http.json(Preview, ops.POST_TYPES_PREVIEW, Call(body=body, options=options))


def split_type(type: str) -> dict[str, str | int]:
    """Returns name and version of a type as path parameters. Raises UsageError unless it has both."""
    name, _, version = type.partition('/')
    if not name or not version or '/' in version:
        raise UsageError(f'{type!r} is not a type: give a name and a version, such as order/1')
    return {'name': name, 'version': version}
