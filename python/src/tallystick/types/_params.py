# Made by `npm run python -- generate`; not to be edited.

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

BatchItemParamPayload: TypeAlias = dict[str, Any]
"""
any JSON object, stored beside the chain; its salted digest is signed
"""


BatchItemParamMetadata: TypeAlias = dict[str, Any]
"""
any JSON object, not signed
"""


class BatchItemParam(TypedDict):
    type: str
    """
    name/version of a type
    """
    payload: BatchItemParamPayload
    """
    any JSON object, stored beside the chain; its salted digest is signed
    """
    metadata: NotRequired[BatchItemParamMetadata]
    """
    any JSON object, not signed
    """
    occurredAt: NotRequired[str]
    """
    RFC 3339, UTC, at most milliseconds
    """
    onBehalfOf: NotRequired[str]
    subject: NotRequired[str]
    """
    your label of the person that the record is about; stored as a keyed hash, not signed, erased with the payload
    """
    parent: NotRequired[str | int]
    """
    a record of this ledger, or the index, from 0, of an earlier record of this batch
    """
    references: NotRequired[list[str]]
    """
    what the record is about in other systems; a salted digest is signed; erased with the payload
    """
    salt: NotRequired[str]
    """
    required with an envelope, refused without one
    """
    traceparent: NotRequired[str]
    """
    W3C Trace Context, version 00; absent: the `traceparent` of the request
    """


class BudgetParam(TypedDict):
    entriesPerDay: int
    bytesPerDay: int


class EndorsementParam(TypedDict):
    """
    signature by a current key of the agent; absent for its first key
    """

    kid: str
    """
    SHA-256, lower-case hex
    """
    signature: str
    """
    signature of 64 bytes over the text in docs/formats/statements.md, "Keys of agents"
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
    the issuer’s name for the key: label 4 of its statements, in hex; absent: the RFC 9679 thumbprint
    """
    alg: Literal['EdDSA', 'ES256']
    spki: str
    """
    DER SubjectPublicKeyInfo
    """


class IssuerParam(TypedDict):
    issuer: str
    """
    the issuer: claim 1 of its statements
    """
    keys: list[IssuerParamKeys]


class KnownCheckpointParam(TypedDict):
    """
    `known` of the GET answer. Sending it acknowledges that the entries missing from `found` are lost
    """

    size: int
    """
    number of entries
    """
    chain: str
    """
    SHA-256, lower-case hex
    """


class OtlpSettingsParam(TypedDict):
    take: Literal['agents', 'all']
    """
    agents: accept only spans and logs about actions of agents; all: accept all
    """
    content: Literal['digest', 'keep']
    """
    attributes with content. digest: store their digests; keep: store the values
    """
    rest: Literal['reject', 'drop']
    """
    spans and logs that are not accepted. reject: the answer reports their number; drop: it does not
    """


class RateLimitParam(TypedDict):
    requestsPerSecond: float
    burst: int
    """
    number of requests that are accepted at once after a pause
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
    whole: with payload, evidence, values and reasons; digests: only the signed entries
    """


TypeDefinitionParamPayloadSchema: TypeAlias = dict[str, Any]
"""
a JSON Schema 2020-12 with keywords of docs/guides/types.md
"""


TypeDefinitionParamEvidenceSchema: TypeAlias = dict[str, Any]
"""
JSON Schema of the evidence; a type with this member is gated
"""


class TypeDefinitionParam(TypedDict):
    name: str
    """
    a lower-case letter, then up to 62 lower-case letters, digits, dots and hyphens
    """
    version: int
    payloadSchema: TypeDefinitionParamPayloadSchema | bool
    """
    a JSON Schema 2020-12 with keywords of docs/guides/types.md
    """
    evidenceSchema: NotRequired[TypeDefinitionParamEvidenceSchema | bool]
    """
    JSON Schema of the evidence; a type with this member is gated
    """
    rules: NotRequired[list[RuleParam]]
    """
    comparisons of evidence and payload; allowed only with an evidenceSchema
    """
    agentSigned: NotRequired[Literal[True]]
    """
    true: agents must sign records of this type, and each step, with their own keys
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
