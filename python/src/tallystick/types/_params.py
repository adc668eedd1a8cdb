# Made by `npm run python -- generate`; not to be edited.

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

BatchItemParamPayload: TypeAlias = dict[str, Any]
"""
any JSON object, kept beside the chain and signed by salted digest
"""


BatchItemParamMetadata: TypeAlias = dict[str, Any]
"""
free, unsigned
"""


class BatchItemParam(TypedDict):
    type: str
    """
    name/version of a type
    """
    payload: BatchItemParamPayload
    """
    any JSON object, kept beside the chain and signed by salted digest
    """
    metadata: NotRequired[BatchItemParamMetadata]
    """
    free, unsigned
    """
    occurredAt: NotRequired[str]
    """
    RFC 3339, UTC, at most milliseconds
    """
    onBehalfOf: NotRequired[str]
    subject: NotRequired[str]
    """
    the person that it is about, by a label of yours; kept as a keyed hash, unsigned, and erased with the payload
    """
    parent: NotRequired[str | int]
    """
    a record of this ledger, or the place of an earlier record of this batch, from 0 on
    """
    references: NotRequired[list[str]]
    """
    what it is about in outside systems; signed by salted digest, erased with the payload
    """
    salt: NotRequired[str]
    """
    with an envelope, and not without one
    """
    traceparent: NotRequired[str]
    """
    W3C Trace Context, version 00; without one, that of the request
    """


class BudgetParam(TypedDict):
    entriesPerDay: int
    bytesPerDay: int


class EndorsementParam(TypedDict):
    """
    by a current key of the agent; absent: it is its first key
    """

    kid: str
    """
    SHA-256, lower-case hex
    """
    signature: str
    """
    64 bytes, over the text in docs/formats/statements.md, "Keys of agents"
    """


EntryKind: TypeAlias = Literal[
    'ledger-created',
    'server-key-rotated',
    'agent-registered',
    'agent-disabled',
    'agent-key-registered',
    'agent-key-revoked',
    'key-created',
    'key-revoked',
    'type-registered',
    'record-notarized',
    'batch-notarized',
    'record-created',
    'record-activated',
    'completion-submitted',
    'completion-verified',
    'verdict-rendered',
    'verdict-overturned',
    'revision-requested',
    'record-cancelled',
    'record-expired',
    'payload-erased',
    'ledger-restored',
    'peer-added',
    'peer-suspended',
    'peer-resumed',
    'peer-revoked',
    'peer-key-rotated',
    'record-shared',
    'entry-received',
    'step-offered',
    'offer-refused',
    'registration-policy-set',
    'statement-registered',
    'retention-set',
    'hold-set',
    'hold-lifted',
    'subject-erased',
    'export-made',
]


class IssuerParamKeys(TypedDict):
    kid: NotRequired[str]
    """
    as its statements have it (label 4), in hex; absent: the thumbprint of RFC 9679
    """
    alg: Literal['EdDSA', 'ES256']
    spki: str
    """
    DER SubjectPublicKeyInfo
    """


class IssuerParam(TypedDict):
    issuer: str
    """
    claim 1 of its statements
    """
    keys: list[IssuerParamKeys]


class KnownCheckpointParam(TypedDict):
    """
    what GET answers as known: an acknowledgement that whatever is not found of it is lost
    """

    size: int
    """
    how many entries
    """
    chain: str
    """
    SHA-256, lower-case hex
    """


class OtlpSettingsParam(TypedDict):
    take: Literal['agents', 'all']
    """
    spans and logs that tell what an agent did, or all
    """
    content: Literal['digest', 'keep']
    """
    attributes with content by their digest, or as they are
    """
    rest: Literal['reject', 'drop']
    """
    whether the exporter is told how many were not taken
    """


class RateLimitParam(TypedDict):
    requestsPerSecond: float
    burst: int
    """
    requests at once after a pause
    """


RecordState: TypeAlias = Literal[
    'RECORDED', 'CREATED', 'ACTIVE', 'SUBMITTED', 'VERIFIED', 'DISCREPANT', 'ACCEPTED', 'REJECTED', 'CANCELLED', 'EXPIRED'
]


class RuleParam(TypedDict):
    id: str
    op: Literal['equals', 'atMost', 'atLeast', 'within', 'oneOf', 'before', 'after']
    actual: str
    """
    a JSON Pointer into the evidence
    """


Scope: TypeAlias = Literal[
    'agents:act',
    'agents:manage',
    'audit:read',
    'keys:manage',
    'payloads:erase',
    'peers:manage',
    'policies:write',
    'records:read',
    'records:read:own',
    'records:write',
    'retention:manage',
    'statements:write',
    'types:write',
    'verdicts:overturn',
    'webhooks:manage',
]


class SharedWithParam(TypedDict):
    peer: str
    documents: Literal['whole', 'digests']
    """
    with payload, evidence, values and reasons; or the signed entries alone
    """


TypeDefinitionParamPayloadSchema: TypeAlias = dict[str, Any]
"""
a JSON Schema, 2020-12, of the keywords that docs/guides/types.md lists
"""


TypeDefinitionParamEvidenceSchema: TypeAlias = dict[str, Any]
"""
makes the type gated
"""


class TypeDefinitionParam(TypedDict):
    name: str
    version: int
    payloadSchema: TypeDefinitionParamPayloadSchema | bool
    """
    a JSON Schema, 2020-12, of the keywords that docs/guides/types.md lists
    """
    evidenceSchema: NotRequired[TypeDefinitionParamEvidenceSchema | bool]
    """
    makes the type gated
    """
    rules: NotRequired[list[RuleParam]]
    """
    with an evidenceSchema only
    """
    agentSigned: NotRequired[Literal[True]]
    """
    agents sign its records, and all that they do with them, by keys of their own
    """


WebhookEventName: TypeAlias = Literal[
    '*',
    'record.recorded',
    'batch.recorded',
    'record.created',
    'record.activated',
    'completion.submitted',
    'completion.verified',
    'verdict.rendered',
    'signal.emitted',
    'verdict.overturned',
    'revision.requested',
    'record.cancelled',
    'record.expired',
    'payload.erased',
    'entry.received',
    'statement.registered',
    'checkpoint.published',
    'webhook.paused',
]

__all__ = [
    'BatchItemParam',
    'BatchItemParamMetadata',
    'BatchItemParamPayload',
    'BudgetParam',
    'EndorsementParam',
    'EntryKind',
    'IssuerParam',
    'IssuerParamKeys',
    'KnownCheckpointParam',
    'OtlpSettingsParam',
    'RateLimitParam',
    'RecordState',
    'RuleParam',
    'Scope',
    'SharedWithParam',
    'TypeDefinitionParam',
    'TypeDefinitionParamEvidenceSchema',
    'TypeDefinitionParamPayloadSchema',
    'WebhookEventName',
]
