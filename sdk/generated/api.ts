// Made by `npm run docs` from /openapi.json; not to be edited.
import type {ErrorCode} from './errors.ts'

export type Scope =
  | 'agents:act'
  | 'agents:manage'
  | 'audit:read'
  | 'keys:manage'
  | 'payloads:erase'
  | 'peers:manage'
  | 'policies:write'
  | 'records:read'
  | 'records:read:own'
  | 'records:write'
  | 'retention:manage'
  | 'statements:write'
  | 'types:write'
  | 'verdicts:overturn'
  | 'webhooks:manage'
export type EntryKind =
  | 'ledger-created'
  | 'server-key-rotated'
  | 'agent-registered'
  | 'agent-disabled'
  | 'agent-key-registered'
  | 'agent-key-revoked'
  | 'key-created'
  | 'key-revoked'
  | 'type-registered'
  | 'record-notarized'
  | 'batch-notarized'
  | 'record-created'
  | 'record-activated'
  | 'completion-submitted'
  | 'completion-verified'
  | 'verdict-rendered'
  | 'verdict-overturned'
  | 'revision-requested'
  | 'record-cancelled'
  | 'record-expired'
  | 'payload-erased'
  | 'ledger-restored'
  | 'peer-added'
  | 'peer-suspended'
  | 'peer-resumed'
  | 'peer-revoked'
  | 'peer-key-rotated'
  | 'record-shared'
  | 'entry-received'
  | 'step-offered'
  | 'offer-refused'
  | 'registration-policy-set'
  | 'statement-registered'
  | 'retention-set'
  | 'hold-set'
  | 'hold-lifted'
  | 'subject-erased'
  | 'export-made'
export type RecordState =
  | 'RECORDED'
  | 'CREATED'
  | 'ACTIVE'
  | 'SUBMITTED'
  | 'VERIFIED'
  | 'DISCREPANT'
  | 'ACCEPTED'
  | 'REJECTED'
  | 'CANCELLED'
  | 'EXPIRED'
export type Cancellation = Revision
export type LedgerEvent =
  | {
      /**
       * the same in every answer
       */
      id: string
      type:
        | 'record.recorded'
        | 'record.created'
        | 'record.activated'
        | 'completion.submitted'
        | 'completion.verified'
        | 'verdict.rendered'
        | 'verdict.overturned'
        | 'revision.requested'
        | 'record.cancelled'
        | 'record.expired'
      /**
       * when it was recorded
       */
      timestamp: string
      data: RecordEventData
    }
  | {
      /**
       * the same in every answer
       */
      id: string
      type: 'signal.emitted'
      /**
       * when it was recorded
       */
      timestamp: string
      data: SignalEventData
    }
  | {
      /**
       * the same in every answer
       */
      id: string
      type: 'batch.recorded'
      /**
       * when it was recorded
       */
      timestamp: string
      data: BatchEventData
    }
  | {
      /**
       * the same in every answer
       */
      id: string
      type: 'payload.erased'
      /**
       * when it was recorded
       */
      timestamp: string
      data: ErasureEventData
    }
  | {
      /**
       * the same in every answer
       */
      id: string
      type: 'entry.received'
      /**
       * when it was recorded
       */
      timestamp: string
      data: ReceivedEventData
    }
  | {
      /**
       * the same in every answer
       */
      id: string
      type: 'statement.registered'
      /**
       * when it was recorded
       */
      timestamp: string
      data: StatementEventData
    }
  | {
      /**
       * the same in every answer
       */
      id: string
      type: 'checkpoint.published'
      /**
       * when it was recorded
       */
      timestamp: string
      data: CheckpointEventData
    }
export type WebhookEvent =
  | {
      type:
        | 'record.recorded'
        | 'record.created'
        | 'record.activated'
        | 'completion.submitted'
        | 'completion.verified'
        | 'verdict.rendered'
        | 'verdict.overturned'
        | 'revision.requested'
        | 'record.cancelled'
        | 'record.expired'
      /**
       * when it was recorded
       */
      timestamp: string
      data: RecordEventData
    }
  | {
      type: 'signal.emitted'
      /**
       * when it was recorded
       */
      timestamp: string
      data: SignalEventData
    }
  | {
      type: 'batch.recorded'
      /**
       * when it was recorded
       */
      timestamp: string
      data: BatchEventData
    }
  | {
      type: 'payload.erased'
      /**
       * when it was recorded
       */
      timestamp: string
      data: ErasureEventData
    }
  | {
      type: 'entry.received'
      /**
       * when it was recorded
       */
      timestamp: string
      data: ReceivedEventData
    }
  | {
      type: 'statement.registered'
      /**
       * when it was recorded
       */
      timestamp: string
      data: StatementEventData
    }
  | {
      type: 'checkpoint.published'
      /**
       * when it was recorded
       */
      timestamp: string
      data: CheckpointEventData
    }
  | {
      type: 'webhook.paused'
      /**
       * when it happened
       */
      timestamp: string
      data: WebhookPausedEventData
    }
  | {
      type: 'webhook.test'
      /**
       * when it happened
       */
      timestamp: string
      data: WebhookTestEventData
    }
export type PostRecordsAnswer = LedgerRecord
export type GetRecordsByIdAnswer = LedgerRecord
export type GetRecordsByIdTreeQuery = PageQuery
export type PostLogsAnswer = PostTracesAnswer
export type PostRecordsByIdActivateAnswer = LedgerRecord
export type PostRecordsByIdCompletionsAnswer = LedgerRecord
export type PostRecordsByIdVerdictAnswer = LedgerRecord
export type PostRecordsByIdRevisionAnswer = LedgerRecord
export type PostRecordsByIdCancelBody = PostRecordsByIdRevisionBody
export type PostRecordsByIdCancelAnswer = LedgerRecord
export type PostRecordsByIdOverturnAnswer = LedgerRecord
export type PostRecordsByIdShareAnswer = LedgerRecord
export type GetEntriesBySeqProofAnswer = GetRecordsByIdProofAnswer
export type PostEntriesAnswer = Statement
export type GetStatementsByIdAnswer = Statement
export type PutRegistrationPolicyAnswer = RegistrationPolicy
export type GetRegistrationPolicyAnswer = RegistrationPolicy
export type PostTypesAnswer = RecordType
export type GetTypesByNameByVersionAnswer = RecordType
export type PostTypesPreviewAnswer = PostTypesByNameByVersionPreviewAnswer
export type PostAgentsAnswer = Agent
export type GetAgentsByIdAnswer = Agent
export type PostAgentsByIdDisableAnswer = Agent
export type PostAgentsByIdSigningKeysAnswer = SigningKey
export type GetAgentsByIdSigningKeysQuery = PageQuery
export type PostAgentsByIdSigningKeysByKidRevokeAnswer = SigningKey
export type GetKeysByIdAnswer = ApiKey
export type PostKeysByIdRotateAnswer = PostKeysAnswer
export type GetWebhooksQuery = PageQuery
export type GetWebhooksByIdAnswer = Webhook
export type PatchWebhooksByIdAnswer = Webhook
export type PostWebhooksByIdPauseAnswer = Webhook
export type PostWebhooksByIdResumeAnswer = Webhook
export type PostWebhooksByIdRotateSecretAnswer = PostWebhooksAnswer
export type GetWebhooksByIdDeliveriesByEventAnswer = Delivery
export type PostWebhooksByIdDeliveriesByEventRedeliverAnswer = Delivery
export type PostWebhooksByIdRecoverAnswer = Webhook
export type PostWebhooksByIdTestAnswer = Delivery
export type DeleteRecordsByIdCompletionsByCompletionEvidenceBody = DeleteRecordsByIdPayloadBody
export type DeleteRecordsByIdCompletionsByCompletionEvidenceAnswer = DeleteRecordsByIdPayloadAnswer
export type DeleteRecordsByIdCompletionsByCompletionValuesBody = DeleteRecordsByIdPayloadBody
export type DeleteRecordsByIdCompletionsByCompletionValuesAnswer = DeleteRecordsByIdPayloadAnswer
export type DeleteRecordsByIdEntriesBySeqReasonBody = DeleteRecordsByIdPayloadBody
export type DeleteRecordsByIdEntriesBySeqReasonAnswer = DeleteRecordsByIdPayloadAnswer
export type PostRetentionRulesAnswer = RetentionRule
export type PostHoldsAnswer = Hold
export type PostHoldsBySeqLiftAnswer = Hold
export type PostSubjectsEraseAnswer = SubjectReceipt
export type GetCheckpointsQuery = PageQuery
export type PostAuditsAnswer = Audit
export type GetAuditsQuery = PageQuery
export type GetAuditsByIdAnswer = Audit
export type GetPeersByIdRecordsQuery = PageQuery
export type GetPeersByIdRecordsByRecordAnswer = SharedRecordWithType
export type PostPeersAnswer = NewPeer
export type GetPeersQuery = PageQuery
export type GetPeersByIdAnswer = Peer
export type PostPeersByIdSuspendAnswer = Peer
export type PostPeersByIdResumeBody = PostPeersByIdSuspendBody
export type PostPeersByIdResumeAnswer = Peer
export type PostPeersByIdRevokeBody = PostPeersByIdSuspendBody
export type PostPeersByIdRevokeAnswer = Peer
export type PutPeersByIdBudgetAnswer = Peer
export type GetPeersByIdDeadLettersQuery = PageQuery
export type PostPeersByIdReplayAnswer = PeerReplay
export type GetPeersByIdForksQuery = PageQuery
export type GetPeersByIdReconciliationAnswer = PeerReconciliation
export type PostPeersByIdReconciliationAnswer = PeerReconciliation
export type GetLedgersQuery = PageQuery
export type GetLedgersByIdAnswer = LedgerSummary
export type PostLedgersByIdFreezeAnswer = LedgerSummary
export type PostLedgersByIdUnfreezeAnswer = LedgerSummary
export type PostLedgersByIdKeysAnswer = NewKey
export type GetLedgersByIdRestoreAnswer = LedgerRestore
export type PostLedgersByIdRestoreAnswer = LedgerRestore
export type PutLedgersByIdRateLimitBody = PutKeysByIdRateLimitBody
export type PutLedgersByIdRateLimitAnswer = PutKeysByIdRateLimitAnswer
export type PutLedgersByIdTilesAnswer = PutLedgersByIdTilesBody

export interface RateLimit {
  requestsPerSecond: number
  /**
   * requests at once after a pause
   */
  burst: number
}
export interface Rule {
  id: string
  op: 'equals' | 'atMost' | 'atLeast' | 'within' | 'oneOf' | 'before' | 'after'
  /**
   * a JSON Pointer into the evidence
   */
  actual: string
  [k: string]: unknown
}
export interface RuleOutcome {
  id: string
  outcome: 'pass' | 'fail'
  /**
   * why the rule failed
   */
  code?:
    | 'expected_erased'
    | 'actual_erased'
    | 'expected_missing'
    | 'actual_missing'
    | 'expected_type'
    | 'actual_type'
    | 'currency_differs'
    | 'not_equal'
    | 'above_maximum'
    | 'below_minimum'
    | 'outside_tolerance'
    | 'not_one_of'
    | 'not_before'
    | 'not_after' | undefined
}
export interface SignedEntry {
  /**
   * position in the chain, from 0
   */
  seq: number
  kind: 'statement' | EntryKind
  /**
   * RFC 3339, UTC, milliseconds
   */
  recordedAt: string
  /**
   * SHA-256, lower-case hex
   */
  leaf: string
  /**
   * SHA-256, lower-case hex
   */
  chain: string
  /**
   * COSE_Sign1
   */
  envelope: string
}
export interface HashedItem {
  record: string
  /**
   * name/version of a type
   */
  type: string
  /**
   * SHA-256, lower-case hex
   */
  digest: string
  onBehalfOf?: string | undefined
  /**
   * RFC 3339, UTC, milliseconds
   */
  occurredAt?: string | undefined
  parent?: string | undefined
  /**
   * of the salted references
   */
  references?: string | undefined
  traceparent?: string | undefined
}
export interface PageQuery {
  /**
   * most items in the answer: 1 to 200; absent: 50
   */
  limit?: number | undefined
  /**
   * `nextCursor` of the previous page; absent: start at the beginning
   */
  cursor?: string | undefined
}
export interface NewKey {
  id: string
  /**
   * the secret, shown only here
   */
  key: string
  agent: string
  name: string
  scopes: Scope[]
  expiresAt: string | null
}
export interface Erasure {
  document: 'payload' | 'evidence' | 'values' | 'reason'
  /**
   * of the entry that has the digest of the erased document
   */
  documentSeq: number
  /**
   * the completion that has the evidence or the compared values
   */
  completion: string | null
  /**
   * the reason, as a word for programs
   */
  code: string
  /**
   * not signed
   */
  reason: string | null
  by: string
  key: string
  /**
   * RFC 3339, UTC, milliseconds
   */
  recordedAt: string
  entry: EntryPlace
}
export interface LedgerRecord {
  id: string
  /**
   * its home ledger
   */
  ledger: string
  /**
   * name/version of a type
   */
  type: string
  state: RecordState
  version: number
  /**
   * kinds of entries that can come next
   */
  nextEvents: EntryKind[]
  /**
   * null: erased, or its home shares only digests
   */
  payload: {
    [k: string]: unknown
  } | null
  salt: string | null
  /**
   * of the salted payload (docs/formats/documents.md)
   */
  digest: string
  /**
   * `agt_…`; in another ledger `led_…/agt_…`
   */
  actor: string
  key: string
  onBehalfOf: string | null
  parent: string | null
  /**
   * null: none, or erased
   */
  references: string[] | null
  occurredAt: string | null
  /**
   * RFC 3339, UTC, milliseconds
   */
  recordedAt: string
  /**
   * its newest entry; for a record of another ledger, the entry that received it
   */
  entry: RecordEntry
  batch: string | null
  /**
   * not signed
   */
  metadata: {
    [k: string]: unknown
  } | null
  /**
   * null: not erased. From this entry on, the payload is null
   */
  erasure: RecordErasure | null
  /**
   * null for a notarized record
   */
  gated: GatedRecord | null
}
export interface RecordEntry {
  /**
   * position in the chain, from 0
   */
  seq: number
  kind: EntryKind
  /**
   * SHA-256, lower-case hex
   */
  leaf: string
  /**
   * SHA-256, lower-case hex
   */
  chain: string
  /**
   * who signed the entry: the agent itself with a registered key, or the server
   */
  signedBy: 'agent' | 'server'
}
export interface RecordErasure {
  /**
   * null: the entry cannot be read, so no signed entry says why
   */
  code: string | null
  by: string | 'system'
  /**
   * RFC 3339, UTC, milliseconds
   */
  recordedAt: string
  /**
   * position in the chain, from 0
   */
  seq: number
}
export interface GatedRecord {
  /**
   * `agt_…`; in another ledger `led_…/agt_…`
   */
  principal: string
  performer: string | null
  gate: 'principal' | 'auto'
  deadline: string | null
  maxRevisions: number
  revisions: number
  tolerances: {
    [k: string]: unknown
  } | null
  completion: Completion | null
  verification: Verification | null
  verdict: Verdict | null
  overturn: Overturn | null
  /**
   * the newest
   */
  revision: Revision | null
  cancellation: Cancellation | null
  /**
   * peers that it is shared with; null: none
   */
  share: SharedWith[] | null
  /**
   * for a record of another ledger: the newest step offered in this ledger
   */
  offer: Offer | null
}
export interface Completion {
  id: string
  /**
   * null: erased
   */
  evidence: {
    [k: string]: unknown
  } | null
  /**
   * the party: onBehalfOf, or else the actor
   */
  by: string | 'system'
  /**
   * RFC 3339, UTC, milliseconds
   */
  recordedAt: string
  /**
   * of its entry
   */
  seq: number
  salt: string | null
  /**
   * of the salted document; null: the step has none
   */
  digest: string | null
  /**
   * the entry that erased the document
   */
  erasedBy: number | null
}
export interface Verification {
  outcome: 'pass' | 'fail'
  rules: RuleOutcome[]
  /**
   * the compared values; null: erased
   */
  values:
    | {
        [k: string]: unknown
      }[]
    | null
  /**
   * the party: onBehalfOf, or else the actor
   */
  by: string | 'system'
  /**
   * RFC 3339, UTC, milliseconds
   */
  recordedAt: string
  /**
   * of its entry
   */
  seq: number
  salt: string | null
  /**
   * of the salted document; null: the step has none
   */
  digest: string | null
  /**
   * the entry that erased the document
   */
  erasedBy: number | null
}
export interface Verdict {
  verdict: 'accept' | 'reject'
  signal: SettlementSignal
  /**
   * null: the step has none, or it is erased
   */
  reason: string | null
  /**
   * the party: onBehalfOf, or else the actor
   */
  by: string | 'system'
  /**
   * RFC 3339, UTC, milliseconds
   */
  recordedAt: string
  /**
   * of its entry
   */
  seq: number
  salt: string | null
  /**
   * of the salted document; null: the step has none
   */
  digest: string | null
  /**
   * the entry that erased the document
   */
  erasedBy: number | null
}
export interface SettlementSignal {
  decision: 'SETTLE' | 'HOLD' | 'RELEASE'
  code: 'accepted' | 'accepted_anyway' | 'rejected' | 'rules_passed' | 'rules_failed' | 'overturned'
  failingRules: string[]
  validUntil: string | null
}
export interface Overturn {
  signal: SettlementSignal
  /**
   * null: the step has none, or it is erased
   */
  reason: string | null
  /**
   * the party: onBehalfOf, or else the actor
   */
  by: string | 'system'
  /**
   * RFC 3339, UTC, milliseconds
   */
  recordedAt: string
  /**
   * of its entry
   */
  seq: number
  salt: string | null
  /**
   * of the salted document; null: the step has none
   */
  digest: string | null
  /**
   * the entry that erased the document
   */
  erasedBy: number | null
}
export interface Revision {
  /**
   * null: the step has none, or it is erased
   */
  reason: string | null
  /**
   * the party: onBehalfOf, or else the actor
   */
  by: string | 'system'
  /**
   * RFC 3339, UTC, milliseconds
   */
  recordedAt: string
  /**
   * of its entry
   */
  seq: number
  salt: string | null
  /**
   * of the salted document; null: the step has none
   */
  digest: string | null
  /**
   * the entry that erased the document
   */
  erasedBy: number | null
}
export interface SharedWith {
  peer: string
  /**
   * whole: with payload, evidence, values and reasons; digests: only the signed entries
   */
  documents: 'whole' | 'digests'
}
export interface Offer {
  state: 'pending' | 'taken' | 'refused'
  step: 'record-activated' | 'completion-submitted'
  /**
   * of the record after the step
   */
  version: number
  /**
   * null for other steps
   */
  completion: string | null
  /**
   * the party: onBehalfOf, or else the actor
   */
  by: string
  /**
   * RFC 3339, UTC, milliseconds
   */
  recordedAt: string
  /**
   * of its entry in this ledger
   */
  seq: number
  /**
   * reason of the refusal
   */
  code: string | null
  /**
   * the entry of this ledger that received the home’s decision
   */
  decidedBy: number | null
}
export interface Problem {
  /**
   * names the code; not an address to fetch
   */
  type: string
  title: string
  status: number
  /**
   * for people; may change
   */
  detail: string
  /**
   * for programs; stable
   */
  code: ErrorCode
  requestId: string
  /**
   * whether the same request may succeed later
   */
  retryable: boolean
  /**
   * why an envelope is not accepted: a code of its format
   */
  reason?: string | undefined
  /**
   * JSON Pointer to the faulty member
   */
  path?: string | undefined
  /**
   * index of the item in the batch
   */
  index?: number | undefined
  /**
   * the scope that the key lacks
   */
  scope?: Scope | undefined
  /**
   * the scopes that the key lacks
   */
  scopes?: Scope[] | undefined
  /**
   * when the secret that was sent expires
   */
  expiresAt?: string | undefined
  /**
   * name/version of a type
   */
  recordType?: string | undefined
  /**
   * the entry that ended it, or the offer that must be decided first
   */
  seq?: number | undefined
  /**
   * the record’s other documents, oldest first
   */
  remaining?: ErasableDocument[] | undefined
  /**
   * holds that prevent it, oldest first
   */
  holds?: {
    /**
     * position in the chain, from 0
     */
    seq: number
    case: string
  }[] | undefined
  /**
   * the record’s state, which does not allow this
   */
  state?: RecordState | undefined
  /**
   * the record’s
   */
  version?: number | undefined
  /**
   * kinds of entries that the record’s state allows next
   */
  nextEvents?: EntryKind[] | undefined
  /**
   * the identical webhook that exists
   */
  webhook?: string | undefined
  /**
   * the party that may take the step
   */
  role?: 'principal' | 'performer' | 'worker' | 'other than the performer' | undefined
  /**
   * the home of the record
   */
  ledger?: string | undefined
  /**
   * when the day of the peering’s budget ends
   */
  resetsAt?: string | undefined
}
export interface ErasableDocument {
  document: 'payload' | 'evidence' | 'values' | 'reason'
  /**
   * of the entry that has its digest
   */
  seq: number
  /**
   * the completion that has the evidence or the compared values
   */
  completion: string | null
  /**
   * the address that erases it
   */
  address: string
}
export interface RpcStatus {
  /**
   * of google.rpc.Code
   */
  code: number
  /**
   * `code: detail`, as in a problem document (docs/reference/errors.md)
   */
  message: string
}
export interface Ledger {
  id: string
  name: string
  issuer: string
  origin: string
  /**
   * the key of its checkpoints, as a C2SP verifier key
   */
  noteVerifierKey: string
}
export interface PublishedKey {
  /**
   * SHA-256, lower-case hex
   */
  kid: string
  use: 'envelope'
  alg: 'EdDSA' | 'ES256'
  /**
   * DER SubjectPublicKeyInfo
   */
  spki: string
  /**
   * RFC 3339, UTC, milliseconds
   */
  activatedAt: string
  retiredAt: string | null
  compromisedAt: string | null
}
export interface Statement {
  id: string
  /**
   * of the statement’s own entry; the next entry registers it
   */
  seq: number
  /**
   * SHA-256, lower-case hex
   */
  leaf: string
  issuer: string
  subject: string
  contentType: string
  /**
   * the issuer’s name for its key: label 4 of its statements, 1 to 64 bytes in hex
   */
  kid: string
  /**
   * the agent that registered it
   */
  actor: string
  /**
   * RFC 3339, UTC, milliseconds
   */
  registeredAt: string
}
export interface RegistrationPolicy {
  issuers: {
    /**
     * claim 1 of its statements
     */
    issuer: string
    keys: {
      /**
       * the issuer’s name for its key: label 4 of its statements, 1 to 64 bytes in hex
       */
      kid: string
      alg: 'EdDSA' | 'ES256'
      /**
       * DER SubjectPublicKeyInfo
       */
      spki: string
    }[]
  }[]
  /**
   * media types of payloads, or CoAP content formats in digits; absent: all
   */
  contentTypes?: string[] | undefined
  /**
   * of the entry that set it
   */
  seq: number
  /**
   * of the entry that set it; statements registered under the policy name it
   */
  leaf: string
  /**
   * RFC 3339, UTC, milliseconds
   */
  setAt: string
  actor: string
}
export interface RecordType {
  /**
   * name/version of a type
   */
  type: string
  gated: boolean
  /**
   * of the definition in canonical form
   */
  digest: string
  /**
   * null: built in
   */
  registeredAt: string | null
  definition: {
    [k: string]: unknown
  }
  /**
   * null: built in, with its digest in the ledger’s first entry
   */
  entry: EntryPlace | null
}
export interface EntryPlace {
  /**
   * position in the chain, from 0
   */
  seq: number
  kind: EntryKind
  /**
   * SHA-256, lower-case hex
   */
  leaf: string
  /**
   * SHA-256, lower-case hex
   */
  chain: string
}
export interface Agent {
  id: string
  name: string
  /**
   * RFC 3339, UTC, milliseconds
   */
  registeredAt: string
  disabledAt: string | null
}
export interface SigningKey {
  /**
   * RFC 9679 thumbprint
   */
  kid: string
  alg: 'EdDSA' | 'ES256'
  /**
   * DER SubjectPublicKeyInfo
   */
  spki: string
  /**
   * from this entry on, for good, only what the agent has signed is accepted in its name
   */
  required: boolean
  /**
   * RFC 3339, UTC, milliseconds
   */
  registeredAt: string
  revokedAt: string | null
  /**
   * of the entry that registers it
   */
  seq: number
  /**
   * of the entry that revokes it; null: it is valid
   */
  revokedSeq: number | null
}
export interface OtlpSettings {
  /**
   * agents: only spans and logs about actions of agents
   */
  take: 'agents' | 'all'
  /**
   * how to store attributes with content: their digest, or the value itself
   */
  content: 'digest' | 'keep'
  /**
   * whether the answer reports how many were not accepted
   */
  rest: 'reject' | 'drop'
}
export interface ApiKey {
  id: string
  name: string
  agent: string
  scopes: Scope[]
  /**
   * RFC 3339, UTC, milliseconds
   */
  createdAt: string
  /**
   * the key that it was made with; null: the operator made it
   */
  madeBy: string | null
  expiresAt: string | null
  revokedAt: string | null
  rateLimit: RateLimit | null
  /**
   * null: the defaults of docs/integrations/otlp.md
   */
  otlp: OtlpSettings | null
  /**
   * one, or more during a rotation; none after the key was revoked
   */
  secrets: {
    expiresAt: string | null
  }[]
}
export interface RecordEventData {
  ledger: string
  entry: EntryPlace
  /**
   * as signed
   */
  subjects: {
    name: string
    /**
     * SHA-256, lower-case hex
     */
    sha256: string
  }[]
  /**
   * as signed: `GET /predicates/{kind}/v1` describes it
   */
  predicate: {
    [k: string]: unknown
  }
  record: EventRecord
  /**
   * COSE_Sign1 of the entry
   */
  envelope?: string | undefined
  /**
   * documents of the entry; none for a batch
   */
  documents?: {
    subject: string
    /**
     * SHA-256, lower-case hex
     */
    digest: string
    /**
     * null if the document is erased or withheld
     */
    salt: string | null
    /**
     * payload and evidence: an object; compared values: an array; a reason: text
     */
    document:
      | (
          | {
              [k: string]: unknown
            }
          | {
              [k: string]: unknown
            }[]
          | string
        )
      | null
    /**
     * the entry that erased it
     */
    erasedBy: number | null
    /**
     * only if the record has references
     */
    references?: string[] | undefined
  }[] | undefined
}
export interface EventRecord {
  id: string
  /**
   * name/version of a type
   */
  type: string
  /**
   * after this event
   */
  state: RecordState
  /**
   * after this event
   */
  version: number
}
export interface SignalEventData {
  ledger: string
  entry: EntryPlace
  /**
   * as signed
   */
  subjects: {
    name: string
    /**
     * SHA-256, lower-case hex
     */
    sha256: string
  }[]
  /**
   * as signed: `GET /predicates/{kind}/v1` describes it
   */
  predicate: {
    [k: string]: unknown
  }
  record: EventRecord
  signal: SettlementSignal
  /**
   * the signed verdict
   */
  envelope: string
  /**
   * documents of the entry; none for a batch
   */
  documents?: {
    subject: string
    /**
     * SHA-256, lower-case hex
     */
    digest: string
    /**
     * null if the document is erased or withheld
     */
    salt: string | null
    /**
     * payload and evidence: an object; compared values: an array; a reason: text
     */
    document:
      | (
          | {
              [k: string]: unknown
            }
          | {
              [k: string]: unknown
            }[]
          | string
        )
      | null
    /**
     * the entry that erased it
     */
    erasedBy: number | null
    /**
     * only if the record has references
     */
    references?: string[] | undefined
  }[] | undefined
}
export interface BatchEventData {
  ledger: string
  entry: EntryPlace
  /**
   * as signed
   */
  subjects: {
    name: string
    /**
     * SHA-256, lower-case hex
     */
    sha256: string
  }[]
  /**
   * as signed: `GET /predicates/{kind}/v1` describes it
   */
  predicate: {
    [k: string]: unknown
  }
  record: null
  batch: {
    id: string
    count: number
    /**
     * number of records by type
     */
    types: {
      [k: string]: number
    }
    /**
     * address of the records (scope audit:read)
     */
    records: string
  }
  /**
   * COSE_Sign1 of the entry
   */
  envelope?: string | undefined
  /**
   * documents of the entry; none for a batch
   */
  documents?: {
    subject: string
    /**
     * SHA-256, lower-case hex
     */
    digest: string
    /**
     * null if the document is erased or withheld
     */
    salt: string | null
    /**
     * payload and evidence: an object; compared values: an array; a reason: text
     */
    document:
      | (
          | {
              [k: string]: unknown
            }
          | {
              [k: string]: unknown
            }[]
          | string
        )
      | null
    /**
     * the entry that erased it
     */
    erasedBy: number | null
    /**
     * only if the record has references
     */
    references?: string[] | undefined
  }[] | undefined
}
export interface ErasureEventData {
  ledger: string
  entry: EntryPlace
  /**
   * as signed
   */
  subjects: {
    name: string
    /**
     * SHA-256, lower-case hex
     */
    sha256: string
  }[]
  /**
   * as signed: `GET /predicates/{kind}/v1` describes it
   */
  predicate: {
    [k: string]: unknown
  }
  record: {
    id: string
    /**
     * name/version of a type
     */
    type: string
    /**
     * an erasure is not a step
     */
    state: null
    version: null
  }
  /**
   * COSE_Sign1 of the entry
   */
  envelope?: string | undefined
  /**
   * documents of the entry; none for a batch
   */
  documents?: {
    subject: string
    /**
     * SHA-256, lower-case hex
     */
    digest: string
    /**
     * null if the document is erased or withheld
     */
    salt: string | null
    /**
     * payload and evidence: an object; compared values: an array; a reason: text
     */
    document:
      | (
          | {
              [k: string]: unknown
            }
          | {
              [k: string]: unknown
            }[]
          | string
        )
      | null
    /**
     * the entry that erased it
     */
    erasedBy: number | null
    /**
     * only if the record has references
     */
    references?: string[] | undefined
  }[] | undefined
}
export interface ReceivedEventData {
  ledger: string
  entry: EntryPlace
  /**
   * as signed
   */
  subjects: {
    name: string
    /**
     * SHA-256, lower-case hex
     */
    sha256: string
  }[]
  /**
   * as signed: `GET /predicates/{kind}/v1` describes it
   */
  predicate: {
    [k: string]: unknown
  }
  /**
   * the record of the received entry, as its home knows it; null: the entry is about the peering
   */
  record: {
    id: string
    /**
     * name/version of a type
     */
    type: string
    /**
     * after the received entry; null: that is not a step
     */
    state: RecordState | null
    version: number | null
  } | null
  /**
   * the peer that sent it
   */
  peer: string
  /**
   * the entry of the other ledger
   */
  received: {
    ledger: string
    /**
     * position in the chain, from 0
     */
    seq: number
    /**
     * SHA-256, lower-case hex
     */
    leaf: string
    kind: EntryKind
    record: string | null
    version: number | null
  }
  /**
   * COSE_Sign1 of the entry
   */
  envelope?: string | undefined
  /**
   * documents of the entry; none for a batch
   */
  documents?: {
    subject: string
    /**
     * SHA-256, lower-case hex
     */
    digest: string
    /**
     * null if the document is erased or withheld
     */
    salt: string | null
    /**
     * payload and evidence: an object; compared values: an array; a reason: text
     */
    document:
      | (
          | {
              [k: string]: unknown
            }
          | {
              [k: string]: unknown
            }[]
          | string
        )
      | null
    /**
     * the entry that erased it
     */
    erasedBy: number | null
    /**
     * only if the record has references
     */
    references?: string[] | undefined
  }[] | undefined
  /**
   * COSE_Sign1 of the received entry, beside `envelope`
   */
  receivedEnvelope?: string | undefined
}
export interface StatementEventData {
  ledger: string
  entry: EntryPlace
  /**
   * as signed
   */
  subjects: {
    name: string
    /**
     * SHA-256, lower-case hex
     */
    sha256: string
  }[]
  /**
   * as signed: `GET /predicates/{kind}/v1` describes it
   */
  predicate: {
    [k: string]: unknown
  }
  record: null
  statement: {
    id: string
    issuer: string
    subject: string
    contentType: string
  }
  /**
   * COSE_Sign1 of the entry
   */
  envelope?: string | undefined
  /**
   * documents of the entry; none for a batch
   */
  documents?: {
    subject: string
    /**
     * SHA-256, lower-case hex
     */
    digest: string
    /**
     * null if the document is erased or withheld
     */
    salt: string | null
    /**
     * payload and evidence: an object; compared values: an array; a reason: text
     */
    document:
      | (
          | {
              [k: string]: unknown
            }
          | {
              [k: string]: unknown
            }[]
          | string
        )
      | null
    /**
     * the entry that erased it
     */
    erasedBy: number | null
    /**
     * only if the record has references
     */
    references?: string[] | undefined
  }[] | undefined
}
export interface CheckpointEventData {
  ledger: string
  record: null
  entry: null
  checkpoint: {
    /**
     * number of entries that it covers
     */
    size: number
    /**
     * a signed note: origin, size, Merkle root, chain hash, signatures
     */
    note: string
  }
}
export interface Webhook {
  id: string
  url: string
  description: string | null
  events: string[]
  types: string[]
  include: ('documents' | 'envelope')[]
  state: 'active' | 'paused' | 'disabled'
  /**
   * gone: the endpoint answered 410; null: it is active
   */
  reason: ('requested' | 'failing' | 'gone') | null
  /**
   * RFC 3339, UTC, milliseconds
   */
  stateAt: string
  /**
   * RFC 3339, UTC, milliseconds
   */
  createdAt: string
  createdBy: string
  /**
   * newest first: one, or more during a rotation. Deliveries are signed with each
   */
  secrets: {
    /**
     * Ed25519 key that verifies the `v1a` signatures of deliveries
     */
    publicKey: string
    /**
     * RFC 3339, UTC, milliseconds
     */
    createdAt: string
    expiresAt: string | null
  }[]
  standing: {
    /**
     * the next entry to examine
     */
    nextSeq: number
    /**
     * entries that are still to be examined
     */
    behind: number
    /**
     * in a row
     */
    failures: number
    failingSince: string | null
    /**
     * nothing is sent before this time, because the endpoint failed or asked for a pause
     */
    resumeAt: string | null
    lastSuccessAt: string | null
    lastFailureAt: string | null
    /**
     * progress of the recovery; null: none is running
     */
    recovery: {
      /**
       * position in the chain, from 0
       */
      nextSeq: number
      /**
       * position in the chain, from 0
       */
      endSeq: number
      delivered: boolean
    } | null
    /**
     * counted up to 1000
     */
    pending: number
    /**
     * waiting for an earlier event of their record; counted up to 1000
     */
    held: number
    /**
     * given up; counted up to 1000
     */
    dead: number
  }
}
export interface DeliverySummary {
  /**
   * the `webhook-id`
   */
  id: string
  event: string
  record: string | null
  /**
   * of the entry, or the last entry of the checkpoint; null: the event is about an endpoint
   */
  seq: number | null
  /**
   * held: an earlier event of the record is pending; dead: given up
   */
  state: 'pending' | 'held' | 'delivered' | 'dead'
  attempts: number
  dueAt: string | null
  /**
   * RFC 3339, UTC, milliseconds
   */
  createdAt: string
  finishedAt: string | null
}
export interface Delivery {
  /**
   * the `webhook-id`
   */
  id: string
  event: string
  record: string | null
  /**
   * of the entry, or the last entry of the checkpoint; null: the event is about an endpoint
   */
  seq: number | null
  /**
   * held: an earlier event of the record is pending; dead: given up
   */
  state: 'pending' | 'held' | 'delivered' | 'dead'
  attempts: number
  dueAt: string | null
  /**
   * RFC 3339, UTC, milliseconds
   */
  createdAt: string
  finishedAt: string | null
  /**
   * the newest attempts, oldest first
   */
  attemptLog: {
    /**
     * RFC 3339, UTC, milliseconds
     */
    at: string
    durationMs: number
    /**
     * null: no answer
     */
    status: number | null
    /**
     * why, as a word for programs
     */
    error: string | null
    /**
     * for `tls_failed`: a code of Node or OpenSSL
     */
    reason:
      | (
          | 'CERT_HAS_EXPIRED'
          | 'CERT_NOT_YET_VALID'
          | 'ERR_TLS_CERT_ALTNAME_INVALID'
          | 'DEPTH_ZERO_SELF_SIGNED_CERT'
          | 'SELF_SIGNED_CERT_IN_CHAIN'
          | 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'
          | 'UNABLE_TO_GET_ISSUER_CERT'
          | 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'
          | 'CERT_REVOKED'
          | 'CERT_SIGNATURE_FAILURE'
          | 'CERT_CHAIN_TOO_LONG'
          | 'CERT_UNTRUSTED'
          | 'CERT_REJECTED'
          | 'INVALID_CA'
          | 'INVALID_PURPOSE'
          | 'PATH_LENGTH_EXCEEDED'
          | 'ERR_SSL_WRONG_VERSION_NUMBER'
          | 'ERR_SSL_PACKET_LENGTH_TOO_LONG'
          | 'ERR_SSL_UNSUPPORTED_PROTOCOL'
          | 'ERR_SSL_ALERT_PROTOCOL_VERSION'
          | 'ERR_SSL_ALERT_HANDSHAKE_FAILURE'
          | 'ERR_SSL_ALERT_NO_APPLICATION_PROTOCOL'
          | 'ERR_SSL_ALERT_UNRECOGNIZED_NAME'
          | 'ERR_SSL_ALERT_INTERNAL_ERROR'
          | 'ERR_SSL_ALERT_BAD_CERTIFICATE'
          | 'ECONNRESET'
          | 'OTHER'
        )
      | null
    /**
     * start of the answer; null: no answer, or answers of that address are not stored
     */
    excerpt: string | null
  }[]
}
export interface RetentionRule {
  /**
   * of the entry that set it
   */
  seq: number
  type: string | null
  agent: string | null
  days: number | null
  /**
   * of the next rule for the same records; for records that exist it can only lengthen retention
   */
  replacedBy: number | null
  /**
   * RFC 3339, UTC, milliseconds
   */
  setAt: string
}
export interface Hold {
  /**
   * of the entry that set it
   */
  seq: number
  /**
   * the case, as your files call it; it is signed and stays for ever, so it must not name a person
   */
  case: string
  type: string | null
  agent: string | null
  records: string[] | null
  /**
   * RFC 3339, UTC, milliseconds
   */
  setAt: string
  /**
   * of the entry that lifted it; null: the hold is in force
   */
  liftedBy: number | null
}
export interface SubjectRecord {
  record: string
  documents: ErasableDocument[]
}
export interface SubjectReceipt {
  /**
   * `subject-erased`: what was erased
   */
  entry: {
    /**
     * position in the chain, from 0
     */
    seq: number
  }
  /**
   * entries, each of which erased a document
   *
   * Items: position in the chain, from 0
   */
  erased: number[]
  /**
   * documents that stay
   */
  held: {
    document: 'payload' | 'evidence' | 'values' | 'reason'
    /**
     * of the entry that has its digest
     */
    seq: number
    /**
     * the completion that has the evidence or the compared values
     */
    completion: string | null
    /**
     * the address that erases it
     */
    address: string
    record: string
    /**
     * the case of the hold, or why a peer needs the document
     */
    case: string
  }[]
  /**
   * send it with the next request; null: there are no more documents
   */
  nextCursor: string | null
}
export interface EntryLine {
  /**
   * position in the chain, from 0
   */
  seq: number
  kind: 'statement' | EntryKind
  /**
   * RFC 3339, UTC, milliseconds
   */
  recordedAt: string
  /**
   * SHA-256, lower-case hex
   */
  leaf: string
  /**
   * SHA-256, lower-case hex
   */
  chain: string
  /**
   * COSE_Sign1
   */
  envelope: string
  documents: {
    subject: string
    /**
     * SHA-256, lower-case hex
     */
    digest: string
    /**
     * null if the document is erased or withheld
     */
    salt: string | null
    /**
     * payload and evidence: an object; compared values: an array; a reason: text
     */
    document:
      | (
          | {
              [k: string]: unknown
            }
          | {
              [k: string]: unknown
            }[]
          | string
        )
      | null
    /**
     * the entry that erased it
     */
    erasedBy: number | null
    /**
     * only if the record has references
     */
    references?: string[] | undefined
  }[]
  /**
   * of a batch: exactly the objects that were hashed
   */
  items: HashedItem[] | null
  /**
   * the envelope of another ledger’s entry that this one receives
   */
  received?: string | undefined
  /**
   * the key of the agent that signed the entry; absent: the server signed it
   */
  signer?: {
    alg: 'EdDSA' | 'ES256'
    spki: string
  } | undefined
}
export interface Audit {
  id: string
  /**
   * null: the daily schedule
   */
  requestedBy: string | null
  /**
   * RFC 3339, UTC, milliseconds
   */
  requestedAt: string
  /**
   * done: see `ok`; failed: see `error`, which says nothing about the ledger
   */
  state: 'queued' | 'running' | 'done' | 'failed'
  progress: {
    entriesDone: number
    entriesTotal: number | null
  }
  startedAt: string | null
  finishedAt: string | null
  /**
   * whether the whole ledger verifies; null: unknown yet
   */
  ok: boolean | null
  report: AuditReport | null
  /**
   * why the newest of up to six attempts failed. null: no attempt has failed, or the audit is done
   */
  error: {
    code:
      'unavailable' | 'denied' | 'not_a_ledger' | 'io' | 'archive_unavailable' | 'worker_lost' | 'internal'
    reason: string
  } | null
}
export interface AuditReport {
  /**
   * number of verified entries
   */
  entries: number
  records: number
  /**
   * why the keys are taken for the ledger’s: it says so itself, its first key was pinned, or they were given
   */
  keys: 'self-asserted' | 'pinned' | 'given'
  firstKid: string | null
  /**
   * given: stored by the worker outside the database; own: from the ledger itself
   */
  checkpoint: 'given' | 'own' | 'none'
  /**
   * size of the largest such checkpoint that the ledger continues
   */
  covered: number
  failure: {
    /**
     * of the first bad entry; null: the fault is in no single entry
     */
    seq: number | null
    code: string
    reason: string
  } | null
  /**
   * what could not be checked
   */
  notices: string[]
}
export interface SharedRecord {
  id: string
  /**
   * home: a record of this ledger; guest: a record of the peer
   */
  role: 'home' | 'guest'
  documents: 'whole' | 'digests'
  /**
   * name/version of a type
   */
  type: string
  state: RecordState
  /**
   * for a record of the peer: the newest version received
   */
  version: number
  /**
   * for a record of the peer: the newest step offered in this ledger
   */
  offer: Offer | null
}
export interface SharedRecordWithType {
  id: string
  /**
   * home: a record of this ledger; guest: a record of the peer
   */
  role: 'home' | 'guest'
  documents: 'whole' | 'digests'
  /**
   * name/version of a type
   */
  type: string
  state: RecordState
  /**
   * for a record of the peer: the newest version received
   */
  version: number
  /**
   * for a record of the peer: the newest step offered in this ledger
   */
  offer: Offer | null
  /**
   * the definition that the peer sent, checked against the signed digest; null for a built-in type
   */
  typeDefinition: {
    [k: string]: unknown
  } | null
}
export interface NewPeer {
  /**
   * the same on both sides
   */
  id: string
  name: string
  /**
   * role of this ledger in the handshake
   */
  role: 'inviter' | 'invited'
  state: 'invited' | 'pending' | 'active' | 'suspended' | 'revoked'
  /**
   * RFC 3339, UTC, milliseconds
   */
  createdAt: string
  createdBy: string
  /**
   * of the invitation
   */
  expiresAt: string
  /**
   * the other side; null before the handshake
   */
  remote: PeerIdentity | null
  /**
   * of this ledger’s `peer-added` entry
   */
  addedSeq: number | null
  /**
   * null: nothing to send yet
   */
  drain: {
    /**
     * entries of this ledger that were not examined yet; most do not concern the peer
     */
    behind: number
    /**
     * in a row
     */
    failures: number
    failingSince: string | null
    lastError: string | null
    lastSuccessAt: string | null
    /**
     * nothing is sent before this time
     */
    resumeAt: string | null
    deadLetters: number
    /**
     * contradicting entries that the peer signed; counted up to 100
     */
    forks: number
  } | null
  /**
   * how much of what the peer sends is stored here in a day
   */
  budget: {
    entries: {
      /**
       * entries used today; the last request may exceed the budget
       */
      used: number
      perDay: number
    }
    bytes: {
      /**
       * bytes used today; the last request may exceed the budget
       */
      used: number
      perDay: number
    }
    /**
     * when the day ends; null: nothing is used
     */
    resetsAt: string | null
  }
  /**
   * cosignatures in both directions; null before the handshake
   */
  witness: {
    /**
     * with which this ledger cosigns the peer’s checkpoints; null: it does not
     */
    ownKey: string | null
    /**
     * with which the peer cosigns this ledger’s checkpoints; null: unknown
     */
    key: string | null
    /**
     * size of this ledger that the peer has cosigned
     */
    cosignedSize: number
    /**
     * size of the peer’s ledger that this ledger has cosigned
     */
    seenSize: number
    /**
     * two different checkpoints of one size, both signed by the peer’s ledger
     */
    fork: {
      held: string
      note: string
    } | null
  } | null
  /**
   * for the other side’s administrator, to use once. Keep it secret: whoever has it can become the peer. null: an invitation was accepted
   */
  invitation: string | null
}
export interface PeerIdentity {
  ledger: string
  url: string
  origin: string
  genesis: string
  envelopeKey: {
    kid: string
    alg: 'EdDSA' | 'ES256'
    spki: string
  }
}
export interface Peer {
  /**
   * the same on both sides
   */
  id: string
  name: string
  /**
   * role of this ledger in the handshake
   */
  role: 'inviter' | 'invited'
  state: 'invited' | 'pending' | 'active' | 'suspended' | 'revoked'
  /**
   * RFC 3339, UTC, milliseconds
   */
  createdAt: string
  createdBy: string
  /**
   * of the invitation
   */
  expiresAt: string
  /**
   * the other side; null before the handshake
   */
  remote: PeerIdentity | null
  /**
   * of this ledger’s `peer-added` entry
   */
  addedSeq: number | null
  /**
   * null: nothing to send yet
   */
  drain: {
    /**
     * entries of this ledger that were not examined yet; most do not concern the peer
     */
    behind: number
    /**
     * in a row
     */
    failures: number
    failingSince: string | null
    lastError: string | null
    lastSuccessAt: string | null
    /**
     * nothing is sent before this time
     */
    resumeAt: string | null
    deadLetters: number
    /**
     * contradicting entries that the peer signed; counted up to 100
     */
    forks: number
  } | null
  /**
   * how much of what the peer sends is stored here in a day
   */
  budget: {
    entries: {
      /**
       * entries used today; the last request may exceed the budget
       */
      used: number
      perDay: number
    }
    bytes: {
      /**
       * bytes used today; the last request may exceed the budget
       */
      used: number
      perDay: number
    }
    /**
     * when the day ends; null: nothing is used
     */
    resetsAt: string | null
  }
  /**
   * cosignatures in both directions; null before the handshake
   */
  witness: {
    /**
     * with which this ledger cosigns the peer’s checkpoints; null: it does not
     */
    ownKey: string | null
    /**
     * with which the peer cosigns this ledger’s checkpoints; null: unknown
     */
    key: string | null
    /**
     * size of this ledger that the peer has cosigned
     */
    cosignedSize: number
    /**
     * size of the peer’s ledger that this ledger has cosigned
     */
    seenSize: number
    /**
     * two different checkpoints of one size, both signed by the peer’s ledger
     */
    fork: {
      held: string
      note: string
    } | null
  } | null
}
export interface PeerDeadLetter {
  /**
   * position in the chain, from 0
   */
  seq: number
  record: string | null
  /**
   * reason of the other side’s refusal
   */
  code: string
  detail: string | null
  /**
   * RFC 3339, UTC, milliseconds
   */
  diedAt: string
  entry: SignedEntry
}
export interface PeerReplay {
  replayed: number
}
export interface PeerFork {
  /**
   * of the refused entry
   */
  leaf: string
  /**
   * position in the peer’s chain, as the peer stated it
   */
  seq: number
  record: string | null
  version: number | null
  /**
   * leaf of the stored entry that it contradicts
   */
  held: string
  /**
   * COSE_Sign1 of the refused entry: signed by the peer
   */
  envelope: string
  /**
   * RFC 3339, UTC, milliseconds
   */
  seenAt: string
}
export interface PeerReconciliation {
  peer: string
  state: 'invited' | 'pending' | 'active' | 'suspended' | 'revoked'
  /**
   * both sides have the same entries, by the other side’s last summary; entries under way do not count as a difference
   */
  reconciled: boolean
  /**
   * why not; empty if it is
   */
  reasons: ('not_asked' | 'summary_incomplete' | 'records_differ' | 'dead_letters' | 'forks')[]
  /**
   * from this server to the peer
   */
  sent: {
    /**
     * of this ledger, shared with the peer
     */
    records: number
    /**
     * entries about these records, our offers, answers to theirs, and the peering; none about keys
     */
    entries: number
    /**
     * of these, entries with a signed receipt stored here
     */
    acknowledged: number
    /**
     * of these, entries without a receipt; they will get none after the peering is revoked
     */
    inFlight: number
    /**
     * of these, refused by the other side for good
     */
    deadLetters: number
  }
  /**
   * from the peer to this server
   */
  received: {
    /**
     * of the other ledger
     */
    records: number
    entries: number
    /**
     * refused entries that contradict stored ones
     */
    forks: number
  }
  offers: {
    /**
     * by agents of this ledger
     */
    made: {
      pending: number
      taken: number
      refused: number
    }
    /**
     * of agents of the other ledger
     */
    answered: {
      taken: number
      refused: number
    }
  }
  /**
   * the other side’s summary, compared with what is stored here now; null: not requested yet
   */
  summary: {
    /**
     * when the summary was requested
     */
    at: string
    /**
     * false: it has more records than a summary asks for; the others are not compared
     */
    whole: boolean
    /**
     * in its summary
     */
    records: number
    /**
     * records with a difference that should never occur
     */
    faults: number
    /**
     * records of which one side has fewer versions
     */
    behind: number
    /**
     * faults first
     */
    differences: {
      record: string
      /**
       * leaf: the same version is another entry; unknown: the peer has a version of our record that our chain lacks; theirs_behind, ours_behind: that side has fewer versions
       */
      difference: 'leaf' | 'unknown' | 'theirs_behind' | 'ours_behind'
      /**
       * null: this ledger has nothing of the record
       */
      home: ('ours' | 'theirs') | null
      ours: {
        version: number
        /**
         * SHA-256, lower-case hex
         */
        leaf: string
      } | null
      theirs: {
        version: number
        /**
         * SHA-256, lower-case hex
         */
        leaf: string
      } | null
    }[]
  } | null
  /**
   * whether a new summary is being requested
   */
  asking: boolean
}
export interface LedgerSummary {
  id: string
  name: string
  issuer: string
  origin: string
  /**
   * number of its entries
   */
  size: number
  /**
   * why it accepts no entries: frozen by the operator, restored from an older backup, being moved to another deployment, or moved there; null: it is open
   */
  closed: ('frozen' | 'restored' | 'moving' | 'moved') | null
  rateLimit: RateLimit | null
  /**
   * who may read its tiles: only keys with audit:read, or anybody
   */
  tiles: 'key' | 'public'
  /**
   * why it does not verify: it gets no checkpoints until the operator clears the fault
   */
  fault: {
    /**
     * of the first bad entry; null: the fault is in no single entry
     */
    seq: number | null
    code: string
    /**
     * RFC 3339, UTC, milliseconds
     */
    foundAt: string
  } | null
}
export interface LedgerRestore {
  ledger: string
  /**
   * the newest checkpoint stored outside the database
   */
  known: {
    /**
     * number of entries
     */
    size: number
    /**
     * SHA-256, lower-case hex
     */
    chain: string
  }
  /**
   * what the database has, or had when the ledger was reopened
   */
  found: {
    /**
     * number of entries
     */
    size: number
    /**
     * SHA-256, lower-case hex
     */
    chain: string
  }
  /**
   * RFC 3339, UTC, milliseconds
   */
  closedAt: string
  /**
   * the entry that reopened it; null: it is closed
   */
  entry: {
    /**
     * position in the chain, from 0
     */
    seq: number
    kind: 'ledger-restored'
    /**
     * SHA-256, lower-case hex
     */
    leaf: string
    /**
     * SHA-256, lower-case hex
     */
    chain: string
  } | null
}
export interface WebhookPausedEventData {
  ledger: string
  record: null
  entry: null
  webhook: {
    id: string
    state: 'paused' | 'disabled'
    reason: 'failing' | 'gone'
  }
}
export interface WebhookTestEventData {
  ledger: string
  record: null
  entry: null
  webhook: {
    id: string
  }
}
export interface PostRecordsBody {
  /**
   * name/version of a type
   */
  type: string
  /**
   * any JSON object, stored beside the chain; its salted digest is signed
   */
  payload: {
    [k: string]: unknown
  }
  /**
   * any JSON object, not signed
   */
  metadata?: {
    [k: string]: unknown
  } | undefined
  /**
   * RFC 3339, UTC, at most milliseconds
   */
  occurredAt?: string | undefined
  onBehalfOf?: string | undefined
  /**
   * your label of the person that it is about; stored as a keyed hash, not signed, erased with the payload
   */
  subject?: string | undefined
  /**
   * 16 bytes, base64url without padding
   */
  salt?: string | undefined
  /**
   * COSE_Sign1 of the entry, signed by the agent itself; documents then need their salts. Absent: the server signs
   */
  envelope?: string | undefined
  /**
   * `agt_…`, or `led_…/agt_…` in the ledger of a peer in `share`; absent: the agent that activates it
   */
  performer?: string | undefined
  /**
   * who judges: the principal, or only the rules; absent: principal
   */
  gate?: 'principal' | 'auto' | undefined
  /**
   * for the completion
   */
  deadline?: string | undefined
  /**
   * absent: 3
   */
  maxRevisions?: number | undefined
  /**
   * by id of a rule: a tolerance that replaces the type’s, as far as the type allows
   */
  tolerances?: {
    [k: string]: unknown
  } | undefined
  /**
   * the peers to share with, each once
   */
  share?: SharedWith[] | undefined
  /**
   * a record of this ledger
   */
  parent?: string | undefined
  /**
   * what it is about in other systems; their salted digest is signed; erased with the payload
   *
   * Items: a URI, or `system:id`
   */
  references?: string[] | undefined
}
export interface GetRecordsQuery {
  /**
   * name/version of a type
   */
  type?: string | undefined
  state?: RecordState | undefined
  actor?: string | undefined
  onBehalfOf?: string | undefined
  /**
   * the performer of a gated record
   */
  performer?: string | undefined
  /**
   * the principal of a gated record
   */
  principal?: string | undefined
  parent?: string | undefined
  /**
   * one of its references, exactly
   */
  reference?: string | undefined
  /**
   * trace id of its traceparent
   */
  traceId?: string | undefined
  /**
   * occurredAt, inclusive; records without it are left out
   */
  occurredAfter?: string | undefined
  /**
   * occurredAt, exclusive; records without it are left out
   */
  occurredBefore?: string | undefined
  /**
   * recordedAt, inclusive
   */
  recordedAfter?: string | undefined
  /**
   * recordedAt, exclusive
   */
  recordedBefore?: string | undefined
  /**
   * order of the chain; absent: desc, newest first
   */
  order?: 'asc' | 'desc' | undefined
  /**
   * most items in the answer: 1 to 200; absent: 50
   */
  limit?: number | undefined
  /**
   * `nextCursor` of the previous page; absent: start at the beginning
   */
  cursor?: string | undefined
}
export interface GetRecordsAnswer {
  data: LedgerRecord[]
  nextCursor: string | null
}
export interface GetRecordsByIdQuery {
  /**
   * the peer that sent the record; absent: the ledger’s own record, or else that of the peer that sent this id first
   */
  peer?: string | undefined
  /**
   * seconds to wait, 20 at most, until the record’s version differs from If-None-Match. Without that header: until its next step is not the worker’s
   */
  wait?: number | undefined
}
export interface GetRecordsByIdEntriesQuery {
  /**
   * the peer that sent the record; absent: the ledger’s own record, or else that of the peer that sent this id first
   */
  peer?: string | undefined
  /**
   * most items in the answer: 1 to 200; absent: 50
   */
  limit?: number | undefined
  /**
   * `nextCursor` of the previous page; absent: start at the beginning
   */
  cursor?: string | undefined
}
export interface GetRecordsByIdEntriesAnswer {
  data: {
    /**
     * position in the chain, from 0
     */
    seq: number
    kind: 'statement' | EntryKind
    /**
     * RFC 3339, UTC, milliseconds
     */
    recordedAt: string
    /**
     * SHA-256, lower-case hex
     */
    leaf: string
    /**
     * SHA-256, lower-case hex
     */
    chain: string
    /**
     * COSE_Sign1
     */
    envelope: string
    /**
     * absent for a record of another ledger
     */
    signedBy?: 'agent' | 'server' | undefined
    /**
     * the document of the step; null: it has none. The payload is in the record
     */
    document: {
      /**
       * `cmp_…` (evidence), `cmp_…/values`, or `rec_…/reason`
       */
      subject: string
      /**
       * SHA-256, lower-case hex
       */
      digest: string
      /**
       * null: erased
       */
      salt: string | null
      /**
       * an object, a list of values, or the text of a reason; null: erased
       */
      document:
        | (
            | {
                [k: string]: unknown
              }
            | {
                [k: string]: unknown
              }[]
            | string
          )
        | null
      /**
       * the entry that erased it
       */
      erasedBy: number | null
    } | null
    /**
     * for a record of another ledger: the received envelope, to which `document` belongs
     */
    received?: string | undefined
  }[]
  nextCursor: string | null
}
export interface GetRecordsByIdTreeAnswer {
  record: LedgerRecord
  /**
   * from the root to the record’s parent
   */
  ancestors: LedgerRecord[]
  children: GetRecordsAnswer
}
export interface PostRecordsBatchBody {
  records: {
    /**
     * name/version of a type
     */
    type: string
    /**
     * any JSON object, stored beside the chain; its salted digest is signed
     */
    payload: {
      [k: string]: unknown
    }
    /**
     * any JSON object, not signed
     */
    metadata?: {
      [k: string]: unknown
    } | undefined
    /**
     * RFC 3339, UTC, at most milliseconds
     */
    occurredAt?: string | undefined
    onBehalfOf?: string | undefined
    /**
     * your label of the person that it is about; stored as a keyed hash, not signed, erased with the payload
     */
    subject?: string | undefined
    /**
     * a record of this ledger, or the index, from 0, of an earlier record of this batch
     */
    parent?: string | number | undefined
    /**
     * what it is about in other systems; their salted digest is signed; erased with the payload
     *
     * Items: a URI, or `system:id`
     */
    references?: string[] | undefined
    /**
     * required with an envelope, refused without one
     */
    salt?: string | undefined
    /**
     * W3C Trace Context, version 00; absent: that of the request
     */
    traceparent?: string | undefined
  }[]
  /**
   * COSE_Sign1 of the entry, signed by the agent itself; documents then need their salts. Absent: the server signs
   */
  envelope?: string | undefined
}
export interface PostRecordsBatchAnswer {
  batch: string
  entry: RecordEntry
  records: {
    id: string
    /**
     * SHA-256, lower-case hex
     */
    digest: string
    salt: string | null
  }[]
}
export interface PostTracesAnswer {
  /**
   * absent: everything was accepted
   */
  partialSuccess?: {
    rejectedSpans?: string | undefined
    rejectedLogRecords?: string | undefined
    errorMessage: string
  } | undefined
}
export interface PostRecordsByIdActivateBody {
  /**
   * the peer that sent the record; absent: the ledger’s own record, or else that of the peer that sent this id first
   */
  peer?: string | undefined
  onBehalfOf?: string | undefined
  /**
   * RFC 3339, UTC, at most milliseconds
   */
  occurredAt?: string | undefined
  /**
   * COSE_Sign1 of the entry, signed by the agent itself; documents then need their salts. Absent: the server signs
   */
  envelope?: string | undefined
}
export interface PostRecordsByIdCompletionsBody {
  /**
   * a JSON object that matches the type’s evidence schema
   */
  evidence: {
    [k: string]: unknown
  }
  /**
   * 16 bytes, base64url without padding
   */
  salt?: string | undefined
  /**
   * the peer that sent the record; absent: the ledger’s own record, or else that of the peer that sent this id first
   */
  peer?: string | undefined
  onBehalfOf?: string | undefined
  /**
   * RFC 3339, UTC, at most milliseconds
   */
  occurredAt?: string | undefined
  /**
   * COSE_Sign1 of the entry, signed by the agent itself; documents then need their salts. Absent: the server signs
   */
  envelope?: string | undefined
}
export interface PostRecordsByIdVerdictBody {
  verdict: 'accept' | 'reject'
  /**
   * free text, stored beside the chain; its salted digest is signed
   */
  reason?: string | undefined
  /**
   * 16 bytes, base64url without padding
   */
  salt?: string | undefined
  /**
   * until when the signal is valid; absent: without end
   */
  validUntil?: string | undefined
  onBehalfOf?: string | undefined
  /**
   * RFC 3339, UTC, at most milliseconds
   */
  occurredAt?: string | undefined
  /**
   * COSE_Sign1 of the entry, signed by the agent itself; documents then need their salts. Absent: the server signs
   */
  envelope?: string | undefined
}
export interface PostRecordsByIdRevisionBody {
  /**
   * free text, stored beside the chain; its salted digest is signed
   */
  reason: string
  /**
   * 16 bytes, base64url without padding
   */
  salt?: string | undefined
  onBehalfOf?: string | undefined
  /**
   * RFC 3339, UTC, at most milliseconds
   */
  occurredAt?: string | undefined
  /**
   * COSE_Sign1 of the entry, signed by the agent itself; documents then need their salts. Absent: the server signs
   */
  envelope?: string | undefined
}
export interface PostRecordsByIdOverturnBody {
  /**
   * free text, stored beside the chain; its salted digest is signed
   */
  reason: string
  /**
   * 16 bytes, base64url without padding
   */
  salt?: string | undefined
  /**
   * until when the signal is valid; absent: without end
   */
  validUntil?: string | undefined
  onBehalfOf?: string | undefined
  /**
   * RFC 3339, UTC, at most milliseconds
   */
  occurredAt?: string | undefined
  /**
   * COSE_Sign1 of the entry, signed by the agent itself; documents then need their salts. Absent: the server signs
   */
  envelope?: string | undefined
}
export interface PostRecordsByIdShareBody {
  /**
   * the peers to share with, each once
   */
  share: SharedWith[]
  onBehalfOf?: string | undefined
}
export interface GetCheckpointsConsistencyQuery {
  /**
   * the smaller size
   */
  from: number
  /**
   * the larger size, at most that of the newest checkpoint
   */
  to: number
}
export interface GetCheckpointsConsistencyAnswer {
  from: number
  to: number
  /**
   * RFC 9162 consistency proof
   *
   * Items: SHA-256, lower-case hex
   */
  path: string[]
}
export interface GetRecordsByIdProofQuery {
  /**
   * prove it in the checkpoint of this size; absent: in the newest
   */
  size?: number | undefined
  /**
   * prove it in the newest checkpoint with so many cosignatures of witnesses
   */
  cosignatures?: number | undefined
  /**
   * the record’s entry to prove; absent: its first
   */
  seq?: number | undefined
}
export interface GetRecordsByIdProofAnswer {
  ledger: Ledger
  /**
   * the key that signed the envelope, or `registration` if that is present
   */
  keys: PublishedKey[]
  /**
   * if the agent signed the entry itself: the envelope that registered the agent’s key
   */
  registration?: string | undefined
  entry: SignedEntry
  /**
   * position in the chain, from 0
   */
  index: number
  treeSize: number
  /**
   * RFC 9162 audit path, from the leaf up
   *
   * Items: SHA-256, lower-case hex
   */
  path: string[]
  /**
   * a signed note: origin, size, Merkle root, chain hash, signatures
   */
  checkpoint: string
  /**
   * proof of the record’s position in its batch
   */
  item?: {
    /**
     * exactly the object that was hashed
     */
    item: HashedItem
    index: number
    count: number
    /**
     * RFC 9162 audit path, from the leaf up
     *
     * Items: SHA-256, lower-case hex
     */
    path: string[]
  } | undefined
}
export interface GetEntriesBySeqProofQuery {
  /**
   * prove it in the checkpoint of this size; absent: in the newest
   */
  size?: number | undefined
  /**
   * prove it in the newest checkpoint with so many cosignatures of witnesses
   */
  cosignatures?: number | undefined
}
export interface GetRecordsByIdReceiptQuery {
  /**
   * prove it in the checkpoint of this size; absent: in the newest
   */
  size?: number | undefined
  /**
   * prove it in the newest checkpoint with so many cosignatures of witnesses
   */
  cosignatures?: number | undefined
  /**
   * the record’s entry to prove; absent: its first
   */
  seq?: number | undefined
  /**
   * seconds to wait for a checkpoint that covers it, at most 10; absent: 0
   */
  wait?: number | undefined
  /**
   * `true`: the entry’s envelope with the receipt in its header, which verifies by itself; absent: only the receipt
   */
  statement?: 'true' | 'false' | undefined
}
export interface GetEntriesBySeqReceiptQuery {
  /**
   * prove it in the checkpoint of this size; absent: in the newest
   */
  size?: number | undefined
  /**
   * prove it in the newest checkpoint with so many cosignatures of witnesses
   */
  cosignatures?: number | undefined
  /**
   * seconds to wait for a checkpoint that covers it, at most 10; absent: 0
   */
  wait?: number | undefined
  /**
   * `true`: the entry’s envelope with the receipt in its header, which verifies by itself; absent: only the receipt
   */
  statement?: 'true' | 'false' | undefined
}
export interface GetCheckpointsConsistencyReceiptQuery {
  /**
   * the size of a checkpoint that the reader has
   */
  from: number
  /**
   * the size of a published checkpoint; absent: the newest
   */
  to?: number | undefined
}
export interface PostEntriesQuery {
  /**
   * seconds to wait for a checkpoint that covers it, at most 10; absent: 5
   */
  wait?: number | undefined
}
export interface GetEntriesByIdQuery {
  /**
   * seconds to wait for a checkpoint that covers it, at most 10; absent: 0
   */
  wait?: number | undefined
  /**
   * `true`: the Transparent Statement, with the receipt in its header; absent: only the receipt
   */
  statement?: 'true' | 'false' | undefined
}
export interface GetStatementsQuery {
  /**
   * most items in the answer: 1 to 200; absent: 50
   */
  limit?: number | undefined
  /**
   * `nextCursor` of the previous page; absent: start at the beginning
   */
  cursor?: string | undefined
  /**
   * claim 1 of the statements
   */
  issuer?: string | undefined
  /**
   * claim 2 of the statements
   */
  subject?: string | undefined
}
export interface GetStatementsAnswer {
  data: Statement[]
  nextCursor: string | null
}
export interface PutRegistrationPolicyBody {
  issuers: {
    /**
     * claim 1 of its statements
     */
    issuer: string
    keys: {
      /**
       * label 4 of its statements, in hex; absent: the RFC 9679 thumbprint
       */
      kid?: string | undefined
      alg: 'EdDSA' | 'ES256'
      /**
       * DER SubjectPublicKeyInfo
       */
      spki: string
    }[]
  }[]
  /**
   * media types of payloads, or CoAP content formats in digits; absent: all
   */
  contentTypes?: string[] | undefined
}
export interface PostTypesBody {
  name: string
  version: number
  /**
   * a JSON Schema 2020-12 with keywords of docs/guides/types.md
   */
  payloadSchema:
    | {
        [k: string]: unknown
      }
    | boolean
  /**
   * makes the type gated
   */
  evidenceSchema?:
    | {
        [k: string]: unknown
      }
    | boolean | undefined
  /**
   * only with an evidenceSchema
   */
  rules?: Rule[] | undefined
  /**
   * agents must sign its records, and each of their steps, with their own keys
   */
  agentSigned?: true | undefined
}
export interface GetTypesQuery {
  /**
   * most items in the answer: 1 to 200; absent: 50
   */
  limit?: number | undefined
  /**
   * `nextCursor` of the previous page; absent: start at the beginning
   */
  cursor?: string | undefined
  /**
   * name of a type, for all of its versions
   */
  name?: string | undefined
}
export interface GetTypesAnswer {
  data: {
    /**
     * name/version of a type
     */
    type: string
    gated: boolean
    /**
     * of the definition in canonical form
     */
    digest: string
    /**
     * null: built in
     */
    registeredAt: string | null
  }[]
  nextCursor: string | null
}
export interface PostTypesByNameByVersionPreviewBody {
  payload?: {
    [k: string]: unknown
  } | undefined
  evidence?: {
    [k: string]: unknown
  } | undefined
}
export interface PostTypesByNameByVersionPreviewAnswer {
  valid: boolean
  /**
   * the first error of each document
   */
  errors: {
    /**
     * a JSON Pointer into the request
     */
    path: string
    keyword: string
    message: string
  }[]
  /**
   * of all rules; null: a document is absent or not valid, or the type is not gated
   */
  outcome: ('pass' | 'fail') | null
  /**
   * outcome of each rule, in order; null if `outcome` is null
   */
  rules: RuleOutcome[] | null
}
export interface PostTypesPreviewBody {
  name: string
  version: number
  /**
   * a JSON Schema 2020-12 with keywords of docs/guides/types.md
   */
  payloadSchema:
    | {
        [k: string]: unknown
      }
    | boolean
  /**
   * makes the type gated
   */
  evidenceSchema?:
    | {
        [k: string]: unknown
      }
    | boolean | undefined
  /**
   * only with an evidenceSchema
   */
  rules?: Rule[] | undefined
  /**
   * agents must sign its records, and each of their steps, with their own keys
   */
  agentSigned?: true | undefined
  payload?: {
    [k: string]: unknown
  } | undefined
  evidence?: {
    [k: string]: unknown
  } | undefined
}
export interface PostAgentsBody {
  name: string
}
export interface GetAgentsQuery {
  /**
   * most items in the answer: 1 to 200; absent: 50
   */
  limit?: number | undefined
  /**
   * `nextCursor` of the previous page; absent: start at the beginning
   */
  cursor?: string | undefined
  /**
   * the agent with exactly this name
   */
  name?: string | undefined
}
export interface GetAgentsAnswer {
  data: Agent[]
  nextCursor: string | null
}
export interface PostAgentsByIdSigningKeysBody {
  alg: 'EdDSA' | 'ES256'
  /**
   * DER SubjectPublicKeyInfo
   */
  spki: string
  /**
   * signature by the new key
   */
  proof: string
  /**
   * signature by a current key of the agent; absent for its first key
   */
  endorsement?: {
    /**
     * SHA-256, lower-case hex
     */
    kid: string
    /**
     * 64 bytes, over the text in docs/formats/statements.md, "Keys of agents"
     */
    signature: string
  } | undefined
  /**
   * from this entry on, for good, only what the agent has signed is accepted in its name
   */
  required?: boolean | undefined
}
export interface GetAgentsByIdSigningKeysAnswer {
  data: SigningKey[]
  nextCursor: string | null
}
export interface PostKeysBody {
  name: string
  /**
   * absent: the agent with the key's name, which is registered if it does not exist
   */
  agent?: string | undefined
  /**
   * only scopes that your own key has
   */
  scopes: Scope[]
  /**
   * at most when the secret that you send expires; absent: the same time as that secret
   */
  expiresAt?: string | undefined
}
export interface PostKeysAnswer {
  id: string
  name: string
  agent: string
  scopes: Scope[]
  /**
   * RFC 3339, UTC, milliseconds
   */
  createdAt: string
  /**
   * the key that it was made with; null: the operator made it
   */
  madeBy: string | null
  expiresAt: string | null
  revokedAt: string | null
  rateLimit: RateLimit | null
  /**
   * null: the defaults of docs/integrations/otlp.md
   */
  otlp: OtlpSettings | null
  /**
   * one, or more during a rotation; none after the key was revoked
   */
  secrets: {
    expiresAt: string | null
  }[]
  /**
   * the secret, shown only once; null in the answer to a repeated request
   */
  key: string | null
}
export interface GetKeysQuery {
  /**
   * most items in the answer: 1 to 200; absent: 50
   */
  limit?: number | undefined
  /**
   * `nextCursor` of the previous page; absent: start at the beginning
   */
  cursor?: string | undefined
  /**
   * only keys of this agent
   */
  agent?: string | undefined
}
export interface GetKeysAnswer {
  data: ApiKey[]
  nextCursor: string | null
}
export interface PostKeysByIdRotateBody {
  /**
   * how long the older secrets stay valid; absent: 3600
   */
  overlapSeconds?: number | undefined
}
export interface PostKeysByIdRevokeBody {
  /**
   * also revoke keys made with it, keys made with those, and so on: up to 100 a request. The key itself may then be revoked already
   */
  alsoMade?: boolean | undefined
}
export interface PostKeysByIdRevokeAnswer {
  id: string
  name: string
  agent: string
  scopes: Scope[]
  /**
   * RFC 3339, UTC, milliseconds
   */
  createdAt: string
  /**
   * the key that it was made with; null: the operator made it
   */
  madeBy: string | null
  expiresAt: string | null
  revokedAt: string | null
  rateLimit: RateLimit | null
  /**
   * null: the defaults of docs/integrations/otlp.md
   */
  otlp: OtlpSettings | null
  /**
   * one, or more during a rotation; none after the key was revoked
   */
  secrets: {
    expiresAt: string | null
  }[]
  /**
   * other keys that this request revoked, because of `alsoMade`
   */
  alsoRevoked: string[]
  /**
   * some keys made with it are still valid: send the request again
   */
  hasMore: boolean
}
export interface PutKeysByIdRateLimitBody {
  /**
   * null: no limit
   */
  rateLimit: RateLimit | null
}
export interface PutKeysByIdRateLimitAnswer {
  rateLimit: RateLimit | null
}
export interface PutKeysByIdOtlpBody {
  /**
   * null: the defaults
   */
  otlp: OtlpSettings | null
}
export interface PutKeysByIdOtlpAnswer {
  otlp: OtlpSettings | null
}
export interface GetEventsQuery {
  /**
   * names of events, separated by commas; absent: all
   */
  events?: string | undefined
  /**
   * types of records, `name` or `name/version`, separated by commas; events of no record are always included
   */
  types?: string | undefined
  /**
   * where to start without a cursor; absent: a page starts at the beginning, a stream at the end
   */
  from?: 'beginning' | 'end' | undefined
  /**
   * most items in the answer: 1 to 200; absent: 50
   */
  limit?: number | undefined
  /**
   * `nextCursor` of the previous page; absent: start at the beginning
   */
  cursor?: string | undefined
}
export interface GetEventsAnswer {
  data: LedgerEvent[]
  /**
   * where the next request continues, now or later
   */
  nextCursor: string
  /**
   * whether there may be more events now, even if `data` is empty
   */
  more: boolean
}
export interface PostWebhooksBody {
  /**
   * https:, without a user and without a fragment
   */
  url: string
  description?: string | null | undefined
  /**
   * names of events, or only `*`: all, also future ones
   */
  events: (
    | '*'
    | 'record.recorded'
    | 'batch.recorded'
    | 'record.created'
    | 'record.activated'
    | 'completion.submitted'
    | 'completion.verified'
    | 'verdict.rendered'
    | 'signal.emitted'
    | 'verdict.overturned'
    | 'revision.requested'
    | 'record.cancelled'
    | 'record.expired'
    | 'payload.erased'
    | 'entry.received'
    | 'statement.registered'
    | 'checkpoint.published'
    | 'webhook.paused'
  )[]
  /**
   * types of the records of events: `name/version`, or `name` for all versions; empty: all types
   */
  types?: string[] | undefined
  /**
   * what events contain in addition to the signed statement; `documents` needs the scope `records:read`
   */
  include?: ('documents' | 'envelope')[] | undefined
}
export interface PostWebhooksAnswer {
  id: string
  url: string
  description: string | null
  events: string[]
  types: string[]
  include: ('documents' | 'envelope')[]
  state: 'active' | 'paused' | 'disabled'
  /**
   * gone: the endpoint answered 410; null: it is active
   */
  reason: ('requested' | 'failing' | 'gone') | null
  /**
   * RFC 3339, UTC, milliseconds
   */
  stateAt: string
  /**
   * RFC 3339, UTC, milliseconds
   */
  createdAt: string
  createdBy: string
  /**
   * newest first: one, or more during a rotation. Deliveries are signed with each
   */
  secrets: {
    /**
     * Ed25519 key that verifies the `v1a` signatures of deliveries
     */
    publicKey: string
    /**
     * RFC 3339, UTC, milliseconds
     */
    createdAt: string
    expiresAt: string | null
  }[]
  standing: {
    /**
     * the next entry to examine
     */
    nextSeq: number
    /**
     * entries that are still to be examined
     */
    behind: number
    /**
     * in a row
     */
    failures: number
    failingSince: string | null
    /**
     * nothing is sent before this time, because the endpoint failed or asked for a pause
     */
    resumeAt: string | null
    lastSuccessAt: string | null
    lastFailureAt: string | null
    /**
     * progress of the recovery; null: none is running
     */
    recovery: {
      /**
       * position in the chain, from 0
       */
      nextSeq: number
      /**
       * position in the chain, from 0
       */
      endSeq: number
      delivered: boolean
    } | null
    /**
     * counted up to 1000
     */
    pending: number
    /**
     * waiting for an earlier event of their record; counted up to 1000
     */
    held: number
    /**
     * given up; counted up to 1000
     */
    dead: number
  }
  /**
   * verifies the `v1` signatures of deliveries; shown only once
   */
  secret: string
  /**
   * Ed25519 key that verifies the `v1a` signatures of deliveries
   */
  publicKey: string
}
export interface GetWebhooksAnswer {
  data: Webhook[]
  nextCursor: string | null
}
export interface PatchWebhooksByIdBody {
  /**
   * https:, without a user and without a fragment
   */
  url?: string | undefined
  description?: string | null | undefined
  /**
   * names of events, or only `*`: all, also future ones
   */
  events?: (
    | '*'
    | 'record.recorded'
    | 'batch.recorded'
    | 'record.created'
    | 'record.activated'
    | 'completion.submitted'
    | 'completion.verified'
    | 'verdict.rendered'
    | 'signal.emitted'
    | 'verdict.overturned'
    | 'revision.requested'
    | 'record.cancelled'
    | 'record.expired'
    | 'payload.erased'
    | 'entry.received'
    | 'statement.registered'
    | 'checkpoint.published'
    | 'webhook.paused'
  )[] | undefined
  /**
   * types of the records of events: `name/version`, or `name` for all versions; empty: all types
   */
  types?: string[] | undefined
  /**
   * what events contain in addition to the signed statement; `documents` needs the scope `records:read`
   */
  include?: ('documents' | 'envelope')[] | undefined
}
export interface PostWebhooksByIdResumeBody {
  /**
   * here: missed events are delivered; now: they are skipped. Absent: here
   */
  from?: 'here' | 'now' | undefined
}
export interface PostWebhooksByIdRotateSecretBody {
  /**
   * how long deliveries are also signed with the older secrets; absent: 86400
   */
  overlapSeconds?: number | undefined
}
export interface GetWebhooksByIdDeliveriesQuery {
  /**
   * most items in the answer: 1 to 200; absent: 50
   */
  limit?: number | undefined
  /**
   * `nextCursor` of the previous page; absent: start at the beginning
   */
  cursor?: string | undefined
  state?: 'pending' | 'held' | 'delivered' | 'dead' | undefined
  event?:
    | 'record.recorded'
    | 'batch.recorded'
    | 'record.created'
    | 'record.activated'
    | 'completion.submitted'
    | 'completion.verified'
    | 'verdict.rendered'
    | 'signal.emitted'
    | 'verdict.overturned'
    | 'revision.requested'
    | 'record.cancelled'
    | 'record.expired'
    | 'payload.erased'
    | 'entry.received'
    | 'statement.registered'
    | 'checkpoint.published'
    | 'webhook.paused'
    | 'webhook.test' | undefined
  record?: string | undefined
}
export interface GetWebhooksByIdDeliveriesAnswer {
  data: DeliverySummary[]
  nextCursor: string | null
}
export interface PostWebhooksByIdRedeliverDeadBody {
  /**
   * events of this time or later; absent: all
   */
  since?: string | undefined
}
export interface PostWebhooksByIdRedeliverDeadAnswer {
  /**
   * at most 1000 in one request, oldest first
   */
  redelivered: number
  /**
   * whether there are more: send the request again
   */
  more: boolean
}
export interface PostWebhooksByIdRecoverBody {
  /**
   * recordedAt, inclusive
   */
  since: string
  /**
   * recordedAt, exclusive; absent: up to the endpoint’s position
   */
  until?: string | undefined
  /**
   * whether delivered events are delivered again; absent: false
   */
  delivered?: boolean | undefined
}
export interface DeleteRecordsByIdPayloadBody {
  /**
   * the reason, as a word for programs
   */
  code: string
  /**
   * free text, for people; not signed
   */
  reason?: string | undefined
}
export interface DeleteRecordsByIdPayloadAnswer {
  id: string
  erasure: Erasure
  /**
   * the record’s other documents, oldest first
   */
  remaining: ErasableDocument[]
}
export interface PostRetentionRulesBody {
  /**
   * only records of this type
   */
  type?: string | undefined
  /**
   * only records that this agent created or performs, or that were created on its behalf
   */
  agent?: string | undefined
  /**
   * days after the end of a record; null: for ever
   */
  days: number | null
  /**
   * the law, contract or policy, as a word for programs
   */
  basis: string
}
export interface GetRetentionRulesAnswer {
  data: RetentionRule[]
}
export interface PostRetentionPreviewBody {
  /**
   * only records of this type
   */
  type?: string | undefined
  /**
   * only records that this agent created or performs, or that were created on its behalf
   */
  agent?: string | undefined
  days: number
  /**
   * `nextSeq` of the previous page
   */
  from?: number | undefined
}
export interface PostRetentionPreviewAnswer {
  /**
   * records whose payload the rule would erase now
   */
  records: number
  /**
   * records that the rule would erase, but a hold prevents it
   */
  held: number
  oldest: string | null
  byType: {
    [k: string]: number
  }
  /**
   * `from` of the next page, whose numbers add to these; null: this was the last page
   */
  nextSeq: number | null
}
export interface PostHoldsBody {
  /**
   * the case, as your files call it; it is signed and stays for ever, so it must not name a person
   */
  case: string
  /**
   * only records of this type
   */
  type?: string | undefined
  /**
   * only records that this agent created or performs, or that were created on its behalf
   */
  agent?: string | undefined
  /**
   * only these, each once
   */
  records?: string[] | undefined
}
export interface GetHoldsQuery {
  /**
   * most items in the answer: 1 to 200; absent: 50
   */
  limit?: number | undefined
  /**
   * `nextCursor` of the previous page; absent: start at the beginning
   */
  cursor?: string | undefined
  /**
   * `true`: only holds in force; absent: all
   */
  standing?: 'true' | 'false' | undefined
}
export interface GetHoldsAnswer {
  data: Hold[]
  nextCursor: string | null
}
export interface PostSubjectsFindBody {
  /**
   * your label of the person that it is about; stored as a keyed hash, not signed, erased with the payload
   */
  subject: string
  /**
   * `nextCursor` of the previous answer
   */
  cursor?: string | undefined
}
export interface PostSubjectsFindAnswer {
  data: SubjectRecord[]
  nextCursor: string | null
}
export interface PostSubjectsEraseBody {
  /**
   * your label of the person that it is about; stored as a keyed hash, not signed, erased with the payload
   */
  subject: string
  /**
   * the reason, as a word for programs
   */
  code: string
  /**
   * free text, for people; not signed
   */
  reason?: string | undefined
  /**
   * `nextCursor` of the previous answer
   */
  cursor?: string | undefined
}
export interface GetEntriesQuery {
  /**
   * the entries after this seq; absent: from the first entry
   */
  after?: number | undefined
  /**
   * at most so many entries; absent: all
   */
  limit?: number | undefined
}
export interface PostExportsBody {
  /**
   * the filter; empty: the whole range
   */
  of: {
    record?: string | undefined
    /**
     * a record and all records below it
     */
    run?: string | undefined
    agent?: string | undefined
    /**
     * name/version of a type
     */
    type?: string | undefined
    trace?: string | undefined
  }
  /**
   * first entry
   */
  from: number
  /**
   * last entry; absent: the newest
   */
  to?: number | undefined
  documents: 'all' | 'withheld'
}
export interface PostExportsAnswer {
  /**
   * `export-made`: who exported what
   */
  entry: {
    /**
     * position in the chain, from 0
     */
    seq: number
  }
  /**
   * position in the chain, from 0
   */
  from: number
  /**
   * position in the chain, from 0
   */
  to: number
}
export interface GetCheckpointsLatestQuery {
  /**
   * prove it in the newest checkpoint with so many cosignatures of witnesses
   */
  cosignatures?: number | undefined
}
export interface GetCheckpointsAnswer {
  data: {
    size: number
    /**
     * RFC 3339, UTC, milliseconds
     */
    publishedAt: string
  }[]
  nextCursor: string | null
}
export interface GetAuditsAnswer {
  data: Audit[]
  nextCursor: string | null
}
export interface GetPeersByIdRecordsAnswer {
  data: SharedRecord[]
  nextCursor: string | null
}
export interface PostPeersBody {
  /**
   * this ledger’s name for the other side
   */
  name: string
  /**
   * the other side’s invitation, to accept it. Absent: an invitation for the other side is made
   */
  invitation?: string | undefined
}
export interface GetPeersAnswer {
  data: Peer[]
  nextCursor: string | null
}
export interface PostPeersByIdSuspendBody {
  /**
   * the reason, as a word for programs; absent: requested
   */
  code?: string | undefined
}
export interface PutPeersByIdBudgetBody {
  /**
   * null: 1000000 entries and 4294967296 bytes, the default
   */
  budget: {
    entriesPerDay: number
    bytesPerDay: number
  } | null
}
export interface GetPeersByIdDeadLettersAnswer {
  data: PeerDeadLetter[]
  nextCursor: string | null
}
export interface PostPeersByIdReplayBody {
  /**
   * absent: all
   *
   * Items: position in the chain, from 0
   */
  seqs?: number[] | undefined
}
export interface GetPeersByIdForksAnswer {
  data: PeerFork[]
  nextCursor: string | null
}
export interface GetLedgerAnswer {
  id: string
  name: string
  issuer: string
  origin: string
  /**
   * the key of its checkpoints, as a C2SP verifier key
   */
  noteVerifierKey: string
  /**
   * number of its entries
   */
  size: number
  /**
   * why it accepts no entries: frozen by the operator, restored from an older backup, being moved to another deployment, or moved there; null: it is open
   */
  closed: ('frozen' | 'restored' | 'moving' | 'moved') | null
  /**
   * the key of this request
   */
  key: {
    id: string
    name: string
    agent: string
    scopes: Scope[]
    /**
     * when the secret that was sent expires; an old secret of a rotated key expires before the key
     */
    expiresAt: string | null
  }
}
export interface PostLedgersBody {
  name: string
  /**
   * name of the ledger's first agent
   */
  agent?: string | undefined
}
export interface PostLedgersAnswer {
  ledger: {
    id: string
    name: string
    issuer: string
    origin: string
  }
  agent: {
    id: string
    name: string
  }
  key: NewKey
}
export interface GetLedgersAnswer {
  data: LedgerSummary[]
  nextCursor: string | null
}
export interface PostLedgersByIdKeysBody {
  /**
   * the key's
   */
  name?: string | undefined
  /**
   * name of its agent, which is registered if it does not exist; absent: administrator
   */
  agent?: string | undefined
}
export interface PostLedgersByIdRestoreBody {
  /**
   * `known` of the GET answer: acknowledges that the entries of it that were not found are lost
   */
  known: {
    /**
     * number of entries
     */
    size: number
    /**
     * SHA-256, lower-case hex
     */
    chain: string
  }
}
export interface PutLedgersByIdTilesBody {
  /**
   * who may read its tiles: only keys with audit:read, or anybody
   */
  tiles: 'key' | 'public'
}
export interface GetWellKnownTallystickKeysJsonAnswer {
  keys: PublishedKey[]
}
export interface GetLivezAnswer {
  status: 'ok'
  version: string
}
export interface GetReadyzAnswer {
  status: 'ready'
  version: string
}
export interface GetOpenapiJsonAnswer {
  openapi: string
  [k: string]: unknown
}
