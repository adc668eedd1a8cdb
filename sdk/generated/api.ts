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
       * the same however often it is asked for
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
       * the same however often it is asked for
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
       * the same however often it is asked for
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
       * the same however often it is asked for
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
       * the same however often it is asked for
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
       * the same however often it is asked for
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
       * the same however often it is asked for
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
   * why it fails
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
   * place in the chain, from 0
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
   * how many to answer at most: 1 to 200; absent: 50
   */
  limit?: number | undefined
  /**
   * `nextCursor` of the page before; absent: from the beginning
   */
  cursor?: string | undefined
}
export interface NewKey {
  id: string
  /**
   * the secret: shown here, and never again
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
   * of the entry that digests what was erased
   */
  documentSeq: number
  /**
   * whose evidence or compared values
   */
  completion: string | null
  /**
   * why, as a word for programs
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
   * its home
   */
  ledger: string
  /**
   * name/version of a type
   */
  type: string
  state: RecordState
  version: number
  /**
   * kinds of entries that may come next
   */
  nextEvents: EntryKind[]
  /**
   * null once erased, and where its home shares digests alone
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
   * `agt_…`, or of another ledger `led_…/agt_…`
   */
  actor: string
  key: string
  onBehalfOf: string | null
  parent: string | null
  /**
   * null without, and once erased
   */
  references: string[] | null
  occurredAt: string | null
  /**
   * RFC 3339, UTC, milliseconds
   */
  recordedAt: string
  /**
   * its newest entry; of a record of another ledger, the one that received that
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
   * what was erased is null from this entry on
   */
  erasure: RecordErasure | null
  /**
   * null of what was notarized
   */
  gated: GatedRecord | null
}
export interface RecordEntry {
  /**
   * place in the chain, from 0
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
   * null where nobody signed the entry
   */
  code: string | null
  by: string | 'system'
  /**
   * RFC 3339, UTC, milliseconds
   */
  recordedAt: string
  /**
   * place in the chain, from 0
   */
  seq: number
}
export interface GatedRecord {
  /**
   * `agt_…`, or of another ledger `led_…/agt_…`
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
   * by peer; null: with nobody
   */
  share: SharedWith[] | null
  /**
   * of a record of another ledger: the newest step that was offered here
   */
  offer: Offer | null
}
export interface Completion {
  id: string
  /**
   * null once erased
   */
  evidence: {
    [k: string]: unknown
  } | null
  /**
   * for whom: onBehalfOf, or the actor
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
   * of the salted document; null without one
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
   * what the rules compared; null once erased
   */
  values:
    | {
        [k: string]: unknown
      }[]
    | null
  /**
   * for whom: onBehalfOf, or the actor
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
   * of the salted document; null without one
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
   * null without one, and once erased
   */
  reason: string | null
  /**
   * for whom: onBehalfOf, or the actor
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
   * of the salted document; null without one
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
   * null without one, and once erased
   */
  reason: string | null
  /**
   * for whom: onBehalfOf, or the actor
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
   * of the salted document; null without one
   */
  digest: string | null
  /**
   * the entry that erased the document
   */
  erasedBy: number | null
}
export interface Revision {
  /**
   * null without one, and once erased
   */
  reason: string | null
  /**
   * for whom: onBehalfOf, or the actor
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
   * of the salted document; null without one
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
   * with payload, evidence, values and reasons; or the signed entries alone
   */
  documents: 'whole' | 'digests'
}
export interface Offer {
  state: 'pending' | 'taken' | 'refused'
  step: 'record-activated' | 'completion-submitted'
  /**
   * that the step would have
   */
  version: number
  /**
   * null of another step
   */
  completion: string | null
  /**
   * for whom: onBehalfOf, or the actor
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
   * why it was refused
   */
  code: string | null
  /**
   * the entry of this ledger that received the decision of its home
   */
  decidedBy: number | null
}
export interface Problem {
  /**
   * names the code; documentation, nothing to fetch
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
   * JSON Pointer to the fault
   */
  path?: string | undefined
  /**
   * which item of a batch
   */
  index?: number | undefined
  /**
   * the scope that the key lacks
   */
  scope?: Scope | undefined
  /**
   * the scopes that the key does not hold
   */
  scopes?: Scope[] | undefined
  /**
   * the end of the secret that was sent
   */
  expiresAt?: string | undefined
  /**
   * name/version of a type
   */
  recordType?: string | undefined
  /**
   * the entry that has ended it, or the offer that is to be decided first
   */
  seq?: number | undefined
  /**
   * what else of the record lies beside the chain, oldest first
   */
  remaining?: ErasableDocument[] | undefined
  /**
   * holds that are in the way, oldest first
   */
  holds?: {
    /**
     * place in the chain, from 0
     */
    seq: number
    case: string
  }[] | undefined
  /**
   * the record’s, which is in the way
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
   * the endpoint that is just like it
   */
  webhook?: string | undefined
  /**
   * whose step it is
   */
  role?: 'principal' | 'performer' | 'worker' | 'other than the performer' | undefined
  /**
   * the home of the record
   */
  ledger?: string | undefined
  /**
   * when the day of the peering’s budget is over
   */
  resetsAt?: string | undefined
}
export interface ErasableDocument {
  document: 'payload' | 'evidence' | 'values' | 'reason'
  /**
   * of the entry that digests it
   */
  seq: number
  /**
   * whose evidence or compared values
   */
  completion: string | null
  /**
   * where it is erased
   */
  address: string
}
export interface RpcStatus {
  /**
   * of google.rpc.Code
   */
  code: number
  /**
   * `code: detail`, as a problem document has them (docs/reference/errors.md)
   */
  message: string
}
export interface Ledger {
  id: string
  name: string
  issuer: string
  origin: string
  /**
   * the key of its checkpoints, as signed notes name keys
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
   * of the entry that the statement is; the next one registers it
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
   * who had it registered
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
   * of the entry that set it; statements that it takes name it
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
   * null: it is in every ledger
   */
  registeredAt: string | null
  definition: {
    [k: string]: unknown
  }
  /**
   * null: the ledger’s first entry has its digest
   */
  entry: EntryPlace | null
}
export interface EntryPlace {
  /**
   * place in the chain, from 0
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
   * from this entry on nothing is taken in the agent’s name but what it has signed; for good
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
   * of the entry that revokes it
   */
  revokedSeq: number | null
}
export interface OtlpSettings {
  /**
   * spans and logs that tell what an agent did, or all
   */
  take: 'agents' | 'all'
  /**
   * attributes with content by their digest, or as they are
   */
  content: 'digest' | 'keep'
  /**
   * whether the exporter is told how many were not taken
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
   * the key that made it; null: the operator did
   */
  madeBy: string | null
  expiresAt: string | null
  revokedAt: string | null
  rateLimit: RateLimit | null
  /**
   * null: as by default (docs/integrations/otlp.md)
   */
  otlp: OtlpSettings | null
  /**
   * one, or more while the key is rotated; none once it is revoked
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
   * as signed: `GET /predicates/{kind}/v1` says what it holds
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
   * what lies beside the entry; none of a batch
   */
  documents?: {
    subject: string
    /**
     * SHA-256, lower-case hex
     */
    digest: string
    /**
     * null when the document is erased or withheld
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
     * the entry that says so
     */
    erasedBy: number | null
    /**
     * where the record has some
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
   * as signed: `GET /predicates/{kind}/v1` says what it holds
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
   * what lies beside the entry; none of a batch
   */
  documents?: {
    subject: string
    /**
     * SHA-256, lower-case hex
     */
    digest: string
    /**
     * null when the document is erased or withheld
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
     * the entry that says so
     */
    erasedBy: number | null
    /**
     * where the record has some
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
   * as signed: `GET /predicates/{kind}/v1` says what it holds
   */
  predicate: {
    [k: string]: unknown
  }
  record: null
  batch: {
    id: string
    count: number
    /**
     * how many records of each type
     */
    types: {
      [k: string]: number
    }
    /**
     * where they are read (scope audit:read)
     */
    records: string
  }
  /**
   * COSE_Sign1 of the entry
   */
  envelope?: string | undefined
  /**
   * what lies beside the entry; none of a batch
   */
  documents?: {
    subject: string
    /**
     * SHA-256, lower-case hex
     */
    digest: string
    /**
     * null when the document is erased or withheld
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
     * the entry that says so
     */
    erasedBy: number | null
    /**
     * where the record has some
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
   * as signed: `GET /predicates/{kind}/v1` says what it holds
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
     * an erasure is no step of it
     */
    state: null
    version: null
  }
  /**
   * COSE_Sign1 of the entry
   */
  envelope?: string | undefined
  /**
   * what lies beside the entry; none of a batch
   */
  documents?: {
    subject: string
    /**
     * SHA-256, lower-case hex
     */
    digest: string
    /**
     * null when the document is erased or withheld
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
     * the entry that says so
     */
    erasedBy: number | null
    /**
     * where the record has some
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
   * as signed: `GET /predicates/{kind}/v1` says what it holds
   */
  predicate: {
    [k: string]: unknown
  }
  /**
   * that the received entry is about, at its home; null: the peering
   */
  record: {
    id: string
    /**
     * name/version of a type
     */
    type: string
    /**
     * after what was received; null: that is no step of it
     */
    state: RecordState | null
    version: number | null
  } | null
  /**
   * who sent it
   */
  peer: string
  /**
   * which entry of the other ledger
   */
  received: {
    ledger: string
    /**
     * place in the chain, from 0
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
   * what lies beside the entry; none of a batch
   */
  documents?: {
    subject: string
    /**
     * SHA-256, lower-case hex
     */
    digest: string
    /**
     * null when the document is erased or withheld
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
     * the entry that says so
     */
    erasedBy: number | null
    /**
     * where the record has some
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
   * as signed: `GET /predicates/{kind}/v1` says what it holds
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
   * what lies beside the entry; none of a batch
   */
  documents?: {
    subject: string
    /**
     * SHA-256, lower-case hex
     */
    digest: string
    /**
     * null when the document is erased or withheld
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
     * the entry that says so
     */
    erasedBy: number | null
    /**
     * where the record has some
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
     * so many entries are under it
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
   * newest first: one, or more while it is rotated. Deliveries are signed with each
   */
  secrets: {
    /**
     * Ed25519: what the `v1a` signatures of deliveries verify with
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
     * the first entry that it has not come to
     */
    nextSeq: number
    /**
     * entries that it has not come to
     */
    behind: number
    /**
     * in a row
     */
    failures: number
    failingSince: string | null
    /**
     * nothing is sent before: the endpoint asked for it, or fails
     */
    resumeAt: string | null
    lastSuccessAt: string | null
    lastFailureAt: string | null
    /**
     * how far the recovery is that was asked for; null: none is under way
     */
    recovery: {
      /**
       * place in the chain, from 0
       */
      nextSeq: number
      /**
       * place in the chain, from 0
       */
      endSeq: number
      delivered: boolean
    } | null
    /**
     * counted to 1000
     */
    pending: number
    /**
     * wait for an earlier event of their record; counted to 1000
     */
    held: number
    /**
     * were given up; counted to 1000
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
   * of the entry; of a checkpoint, that of its last entry; null: it is about an endpoint
   */
  seq: number | null
  /**
   * held: an earlier event of the record is pending; dead: it was given up
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
   * of the entry; of a checkpoint, that of its last entry; null: it is about an endpoint
   */
  seq: number | null
  /**
   * held: an earlier event of the record is pending; dead: it was given up
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
   * the newest ones, oldest first
   */
  attemptLog: {
    /**
     * RFC 3339, UTC, milliseconds
     */
    at: string
    durationMs: number
    /**
     * null: there was no answer
     */
    status: number | null
    /**
     * why, as a word for programs
     */
    error: string | null
    /**
     * of `tls_failed`: why, as a code of Node or OpenSSL
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
     * of the answer; null also where an answer of that address is not kept
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
   * of the next rule about the same records; it may only lengthen what was there before
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
   * the case, as your files name it; it is signed, so it must name no person
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
   * of the entry that lifted it; null: it stands
   */
  liftedBy: number | null
}
export interface SubjectRecord {
  record: string
  documents: ErasableDocument[]
}
export interface SubjectReceipt {
  /**
   * says what was erased: `subject-erased`
   */
  entry: {
    /**
     * place in the chain, from 0
     */
    seq: number
  }
  /**
   * entries that have erased a document each
   *
   * Items: place in the chain, from 0
   */
  erased: number[]
  /**
   * documents that stay
   */
  held: {
    document: 'payload' | 'evidence' | 'values' | 'reason'
    /**
     * of the entry that digests it
     */
    seq: number
    /**
     * whose evidence or compared values
     */
    completion: string | null
    /**
     * where it is erased
     */
    address: string
    record: string
    /**
     * for which it is held; or why a peer needs it
     */
    case: string
  }[]
  /**
   * there are more: send the request again with it; null: this was the last
   */
  nextCursor: string | null
}
export interface EntryLine {
  /**
   * place in the chain, from 0
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
     * null when the document is erased or withheld
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
     * the entry that says so
     */
    erasedBy: number | null
    /**
     * where the record has some
     */
    references?: string[] | undefined
  }[]
  /**
   * of a batch: the objects that were hashed
   */
  items: HashedItem[] | null
  /**
   * the envelope of another ledger’s entry that this one receives
   */
  received?: string | undefined
  /**
   * the key of the agent that signed the entry itself; absent: the server did
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
   * whether the whole ledger verifies; null: not known yet
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
   * how many were verified
   */
  entries: number
  records: number
  /**
   * whose word it is that the keys are the ledger’s
   */
  keys: 'self-asserted' | 'pinned' | 'given'
  firstKid: string | null
  /**
   * given: one that the worker keeps outside the database; own: the ledger’s
   */
  checkpoint: 'given' | 'own' | 'none'
  /**
   * size of the largest such checkpoint that the ledger was found to extend
   */
  covered: number
  failure: {
    /**
     * of the first bad entry; null: of the ledger as a whole
     */
    seq: number | null
    code: string
    reason: string
  } | null
  /**
   * what could not be looked at
   */
  notices: string[]
}
export interface SharedRecord {
  id: string
  /**
   * home: a record of this ledger; guest: one of the peer’s
   */
  role: 'home' | 'guest'
  documents: 'whole' | 'digests'
  /**
   * name/version of a type
   */
  type: string
  state: RecordState
  /**
   * of a record of the peer’s, as far as its entries came
   */
  version: number
  /**
   * of a record of the peer’s: the newest step that was offered here
   */
  offer: Offer | null
}
export interface SharedRecordWithType {
  id: string
  /**
   * home: a record of this ledger; guest: one of the peer’s
   */
  role: 'home' | 'guest'
  documents: 'whole' | 'digests'
  /**
   * name/version of a type
   */
  type: string
  state: RecordState
  /**
   * of a record of the peer’s, as far as its entries came
   */
  version: number
  /**
   * of a record of the peer’s: the newest step that was offered here
   */
  offer: Offer | null
  /**
   * that came with a record of the peer’s, held to the digest that was signed; null of a type that is built in
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
   * who this ledger was in the handshake
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
   * who the other side is; null before the handshake
   */
  remote: PeerIdentity | null
  /**
   * of our peer-added
   */
  addedSeq: number | null
  /**
   * null before there is anything to send
   */
  drain: {
    /**
     * entries of our chain that were not looked at yet: most are none of the peer’s
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
     * nothing is sent before
     */
    resumeAt: string | null
    deadLetters: number
    /**
     * that the peer has signed; counted to 100
     */
    forks: number
  } | null
  /**
   * of what the peer sends: how much of it is stored here in a day
   */
  budget: {
    entries: {
      /**
       * entries of this day; the last request may go beyond
       */
      used: number
      perDay: number
    }
    bytes: {
      /**
       * bytes of this day; the last request may go beyond
       */
      used: number
      perDay: number
    }
    /**
     * when the day is over; null: nothing is used
     */
    resetsAt: string | null
  }
  /**
   * how each side witnesses the other; null before the handshake
   */
  witness: {
    /**
     * by which this ledger cosigns the peer’s; null: it does not
     */
    ownKey: string | null
    /**
     * by which the peer cosigns this ledger; null: it has not said
     */
    key: string | null
    /**
     * of this ledger, by the peer
     */
    cosignedSize: number
    /**
     * of the peer’s ledger, by this one
     */
    seenSize: number
    /**
     * two checkpoints of one size that the peer’s ledger has signed
     */
    fork: {
      held: string
      note: string
    } | null
  } | null
  /**
   * for the other side’s administrator, once, and secret: anybody who has it can become the peer. null: one was accepted
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
   * who this ledger was in the handshake
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
   * who the other side is; null before the handshake
   */
  remote: PeerIdentity | null
  /**
   * of our peer-added
   */
  addedSeq: number | null
  /**
   * null before there is anything to send
   */
  drain: {
    /**
     * entries of our chain that were not looked at yet: most are none of the peer’s
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
     * nothing is sent before
     */
    resumeAt: string | null
    deadLetters: number
    /**
     * that the peer has signed; counted to 100
     */
    forks: number
  } | null
  /**
   * of what the peer sends: how much of it is stored here in a day
   */
  budget: {
    entries: {
      /**
       * entries of this day; the last request may go beyond
       */
      used: number
      perDay: number
    }
    bytes: {
      /**
       * bytes of this day; the last request may go beyond
       */
      used: number
      perDay: number
    }
    /**
     * when the day is over; null: nothing is used
     */
    resetsAt: string | null
  }
  /**
   * how each side witnesses the other; null before the handshake
   */
  witness: {
    /**
     * by which this ledger cosigns the peer’s; null: it does not
     */
    ownKey: string | null
    /**
     * by which the peer cosigns this ledger; null: it has not said
     */
    key: string | null
    /**
     * of this ledger, by the peer
     */
    cosignedSize: number
    /**
     * of the peer’s ledger, by this one
     */
    seenSize: number
    /**
     * two checkpoints of one size that the peer’s ledger has signed
     */
    fork: {
      held: string
      note: string
    } | null
  } | null
}
export interface PeerDeadLetter {
  /**
   * place in the chain, from 0
   */
  seq: number
  record: string | null
  /**
   * for which the other side refused it
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
   * of the entry that was refused
   */
  leaf: string
  /**
   * that the other side said it has in its chain
   */
  seq: number
  record: string | null
  version: number | null
  /**
   * the leaf that is held in its place
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
   * what both hold is the same, by what the other side last said; what is on its way is no fault
   */
  reconciled: boolean
  /**
   * why it is not; none where it is
   */
  reasons: ('not_asked' | 'summary_incomplete' | 'records_differ' | 'dead_letters' | 'forks')[]
  /**
   * from here to there
   */
  sent: {
    /**
     * of this ledger, shared with the peer
     */
    records: number
    /**
     * about them, about offers of ours and answers to theirs, and about the peering; not about keys
     */
    entries: number
    /**
     * of these, those with a signed receipt that is kept here
     */
    acknowledged: number
    /**
     * without a receipt; of a revoked peering: will not come any more
     */
    inFlight: number
    /**
     * of these, refused by the other side for good
     */
    deadLetters: number
  }
  /**
   * from there to here
   */
  received: {
    /**
     * of the other ledger
     */
    records: number
    entries: number
    /**
     * entries that contradict what is held, and were refused
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
   * what the other side said that it holds, against what is here now; null: it was not asked yet
   */
  summary: {
    /**
     * when the other side was asked
     */
    at: string
    /**
     * false: it holds more records than are asked for; the others are not compared
     */
    whole: boolean
    /**
     * that it named
     */
    records: number
    /**
     * records that differ as they never should
     */
    faults: number
    /**
     * records of which one side holds less
     */
    behind: number
    /**
     * faults first
     */
    differences: {
      record: string
      /**
       * leaf: the same version is another entry; unknown: of our record it holds what our chain does not; theirs_behind, ours_behind: one side holds less
       */
      difference: 'leaf' | 'unknown' | 'theirs_behind' | 'ours_behind'
      /**
       * null: nothing of the record is here
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
   * the other side is being asked anew
   */
  asking: boolean
}
export interface LedgerSummary {
  id: string
  name: string
  issuer: string
  origin: string
  /**
   * how many entries it has
   */
  size: number
  /**
   * why it takes no entries: frozen by the operator, an older backup of itself, being moved to another deployment, or moved there; null: it does
   */
  closed: ('frozen' | 'restored' | 'moving' | 'moved') | null
  rateLimit: RateLimit | null
  /**
   * who may read its tiles: keys of the ledger with audit:read, or anybody
   */
  tiles: 'key' | 'public'
  /**
   * what verification found wrong with it: it gets no checkpoints until the operator has looked
   */
  fault: {
    /**
     * of the first bad entry; null: of the ledger as a whole
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
   * the newest checkpoint kept outside the database
   */
  known: {
    /**
     * how many entries
     */
    size: number
    /**
     * SHA-256, lower-case hex
     */
    chain: string
  }
  /**
   * what the database holds, or held when it was reopened
   */
  found: {
    /**
     * how many entries
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
   * the entry that reopened it; null while it is closed
   */
  entry: {
    /**
     * place in the chain, from 0
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
   * any JSON object, kept beside the chain and signed by salted digest
   */
  payload: {
    [k: string]: unknown
  }
  /**
   * free, unsigned
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
   * the person that it is about, by a label of yours; kept as a keyed hash, unsigned, and erased with the payload
   */
  subject?: string | undefined
  /**
   * 16 bytes, base64url without padding
   */
  salt?: string | undefined
  /**
   * COSE_Sign1 of the entry, signed by the agent itself; the server signs without one. Salts then come with the documents
   */
  envelope?: string | undefined
  /**
   * `agt_…`, or `led_…/agt_…` of a ledger that `share` names; absent: the agent that activates it
   */
  performer?: string | undefined
  /**
   * who judges: the principal, or the rules alone; absent: principal
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
   * by rule: another tolerance than the type’s, as far as the type allows
   */
  tolerances?: {
    [k: string]: unknown
  } | undefined
  /**
   * with which peers, each once
   */
  share?: SharedWith[] | undefined
  /**
   * a record of this ledger
   */
  parent?: string | undefined
  /**
   * what it is about in outside systems; signed by salted digest, erased with the payload
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
   * of a gated record: who delivers
   */
  performer?: string | undefined
  /**
   * of a gated record: who judges
   */
  principal?: string | undefined
  parent?: string | undefined
  /**
   * exactly one of its references
   */
  reference?: string | undefined
  /**
   * of its traceparent
   */
  traceId?: string | undefined
  /**
   * occurredAt, inclusive; records without one are left out
   */
  occurredAfter?: string | undefined
  /**
   * occurredAt, exclusive; records without one are left out
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
   * of the chain; absent: desc, newest first
   */
  order?: 'asc' | 'desc' | undefined
  /**
   * how many to answer at most: 1 to 200; absent: 50
   */
  limit?: number | undefined
  /**
   * `nextCursor` of the page before; absent: from the beginning
   */
  cursor?: string | undefined
}
export interface GetRecordsAnswer {
  data: LedgerRecord[]
  nextCursor: string | null
}
export interface GetRecordsByIdQuery {
  /**
   * the peer that sent the record; absent: the ledger’s own, or of the peer that sent one of this id first
   */
  peer?: string | undefined
  /**
   * seconds, 20 at most: until the record leaves the version of If-None-Match, or without it the states in which it waits for the worker alone
   */
  wait?: number | undefined
}
export interface GetRecordsByIdEntriesQuery {
  /**
   * the peer that sent the record; absent: the ledger’s own, or of the peer that sent one of this id first
   */
  peer?: string | undefined
  /**
   * how many to answer at most: 1 to 200; absent: 50
   */
  limit?: number | undefined
  /**
   * `nextCursor` of the page before; absent: from the beginning
   */
  cursor?: string | undefined
}
export interface GetRecordsByIdEntriesAnswer {
  data: {
    /**
     * place in the chain, from 0
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
     * absent of a record of another ledger
     */
    signedBy?: 'agent' | 'server' | undefined
    /**
     * the step's own; null without one. The payload lies in the record
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
       * null once erased
       */
      salt: string | null
      /**
       * an object, the list of values, or the text of a reason; null once erased
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
       * the entry that says so
       */
      erasedBy: number | null
    } | null
    /**
     * of a record of another ledger: its envelope, which the entry received; `document` is of that
     */
    received?: string | undefined
  }[]
  nextCursor: string | null
}
export interface GetRecordsByIdTreeAnswer {
  record: LedgerRecord
  /**
   * from the first one, without a parent, to its parent
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
     * any JSON object, kept beside the chain and signed by salted digest
     */
    payload: {
      [k: string]: unknown
    }
    /**
     * free, unsigned
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
     * the person that it is about, by a label of yours; kept as a keyed hash, unsigned, and erased with the payload
     */
    subject?: string | undefined
    /**
     * a record of this ledger, or the place of an earlier record of this batch, from 0 on
     */
    parent?: string | number | undefined
    /**
     * what it is about in outside systems; signed by salted digest, erased with the payload
     *
     * Items: a URI, or `system:id`
     */
    references?: string[] | undefined
    /**
     * with an envelope, and not without one
     */
    salt?: string | undefined
    /**
     * W3C Trace Context, version 00; without one, that of the request
     */
    traceparent?: string | undefined
  }[]
  /**
   * COSE_Sign1 of the entry, signed by the agent itself; the server signs without one. Salts then come with the documents
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
   * absent: everything was taken
   */
  partialSuccess?: {
    rejectedSpans?: string | undefined
    rejectedLogRecords?: string | undefined
    errorMessage: string
  } | undefined
}
export interface PostRecordsByIdActivateBody {
  /**
   * the peer that sent the record; absent: the ledger’s own, or of the peer that sent one of this id first
   */
  peer?: string | undefined
  onBehalfOf?: string | undefined
  /**
   * RFC 3339, UTC, at most milliseconds
   */
  occurredAt?: string | undefined
  /**
   * COSE_Sign1 of the entry, signed by the agent itself; the server signs without one. Salts then come with the documents
   */
  envelope?: string | undefined
}
export interface PostRecordsByIdCompletionsBody {
  /**
   * any JSON object that the type’s evidence schema takes
   */
  evidence: {
    [k: string]: unknown
  }
  /**
   * 16 bytes, base64url without padding
   */
  salt?: string | undefined
  /**
   * the peer that sent the record; absent: the ledger’s own, or of the peer that sent one of this id first
   */
  peer?: string | undefined
  onBehalfOf?: string | undefined
  /**
   * RFC 3339, UTC, at most milliseconds
   */
  occurredAt?: string | undefined
  /**
   * COSE_Sign1 of the entry, signed by the agent itself; the server signs without one. Salts then come with the documents
   */
  envelope?: string | undefined
}
export interface PostRecordsByIdVerdictBody {
  verdict: 'accept' | 'reject'
  /**
   * free text, kept beside the chain and signed by salted digest
   */
  reason?: string | undefined
  /**
   * 16 bytes, base64url without padding
   */
  salt?: string | undefined
  /**
   * until when the signal may be acted upon; absent: without end
   */
  validUntil?: string | undefined
  onBehalfOf?: string | undefined
  /**
   * RFC 3339, UTC, at most milliseconds
   */
  occurredAt?: string | undefined
  /**
   * COSE_Sign1 of the entry, signed by the agent itself; the server signs without one. Salts then come with the documents
   */
  envelope?: string | undefined
}
export interface PostRecordsByIdRevisionBody {
  /**
   * free text, kept beside the chain and signed by salted digest
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
   * COSE_Sign1 of the entry, signed by the agent itself; the server signs without one. Salts then come with the documents
   */
  envelope?: string | undefined
}
export interface PostRecordsByIdOverturnBody {
  /**
   * free text, kept beside the chain and signed by salted digest
   */
  reason: string
  /**
   * 16 bytes, base64url without padding
   */
  salt?: string | undefined
  /**
   * until when the signal may be acted upon; absent: without end
   */
  validUntil?: string | undefined
  onBehalfOf?: string | undefined
  /**
   * RFC 3339, UTC, at most milliseconds
   */
  occurredAt?: string | undefined
  /**
   * COSE_Sign1 of the entry, signed by the agent itself; the server signs without one. Salts then come with the documents
   */
  envelope?: string | undefined
}
export interface PostRecordsByIdShareBody {
  /**
   * with which peers, each once
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
   * the larger one: at most that of the newest checkpoint
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
   * prove it in the checkpoint of just that size; absent: in the newest
   */
  size?: number | undefined
  /**
   * in the newest checkpoint that so many witnesses have cosigned, instead of the newest
   */
  cosignatures?: number | undefined
  /**
   * another entry of the record than its first
   */
  seq?: number | undefined
}
export interface GetRecordsByIdProofAnswer {
  ledger: Ledger
  /**
   * the key that signed the envelope, or the registration
   */
  keys: PublishedKey[]
  /**
   * where the agent signed the entry itself: the envelope by which the server registered its key
   */
  registration?: string | undefined
  entry: SignedEntry
  /**
   * place in the chain, from 0
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
   * the record's place in its batch
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
   * prove it in the checkpoint of just that size; absent: in the newest
   */
  size?: number | undefined
  /**
   * in the newest checkpoint that so many witnesses have cosigned, instead of the newest
   */
  cosignatures?: number | undefined
}
export interface GetRecordsByIdReceiptQuery {
  /**
   * prove it in the checkpoint of just that size; absent: in the newest
   */
  size?: number | undefined
  /**
   * in the newest checkpoint that so many witnesses have cosigned, instead of the newest
   */
  cosignatures?: number | undefined
  /**
   * another entry of the record than its first
   */
  seq?: number | undefined
  /**
   * seconds to wait for a checkpoint that covers it, at most 10; absent: 0
   */
  wait?: number | undefined
  /**
   * `true`: the entry’s envelope with the receipt in its header, which verifies alone; absent: the receipt
   */
  statement?: 'true' | 'false' | undefined
}
export interface GetEntriesBySeqReceiptQuery {
  /**
   * prove it in the checkpoint of just that size; absent: in the newest
   */
  size?: number | undefined
  /**
   * in the newest checkpoint that so many witnesses have cosigned, instead of the newest
   */
  cosignatures?: number | undefined
  /**
   * seconds to wait for a checkpoint that covers it, at most 10; absent: 0
   */
  wait?: number | undefined
  /**
   * `true`: the entry’s envelope with the receipt in its header, which verifies alone; absent: the receipt
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
   * `true`: the Transparent Statement, with the receipt in its header; absent: the receipt
   */
  statement?: 'true' | 'false' | undefined
}
export interface GetStatementsQuery {
  /**
   * how many to answer at most: 1 to 200; absent: 50
   */
  limit?: number | undefined
  /**
   * `nextCursor` of the page before; absent: from the beginning
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
       * as its statements have it (label 4), in hex; absent: the thumbprint of RFC 9679
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
   * a JSON Schema, 2020-12, of the keywords that docs/guides/types.md lists
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
   * with an evidenceSchema only
   */
  rules?: Rule[] | undefined
  /**
   * agents sign its records, and all that they do with them, by keys of their own
   */
  agentSigned?: true | undefined
}
export interface GetTypesQuery {
  /**
   * how many to answer at most: 1 to 200; absent: 50
   */
  limit?: number | undefined
  /**
   * `nextCursor` of the page before; absent: from the beginning
   */
  cursor?: string | undefined
  /**
   * all versions of the type of this name
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
     * null: it is in every ledger
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
   * the first of each document
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
   * of all rules; null without two valid documents, and where the type is not gated
   */
  outcome: ('pass' | 'fail') | null
  /**
   * what each rule says, in their order; null as outcome
   */
  rules: RuleOutcome[] | null
}
export interface PostTypesPreviewBody {
  name: string
  version: number
  /**
   * a JSON Schema, 2020-12, of the keywords that docs/guides/types.md lists
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
   * with an evidenceSchema only
   */
  rules?: Rule[] | undefined
  /**
   * agents sign its records, and all that they do with them, by keys of their own
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
   * how many to answer at most: 1 to 200; absent: 50
   */
  limit?: number | undefined
  /**
   * `nextCursor` of the page before; absent: from the beginning
   */
  cursor?: string | undefined
  /**
   * the one of just this name
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
   * by the new key
   */
  proof: string
  /**
   * by a current key of the agent; absent: it is its first key
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
   * from this entry on nothing is taken in the agent’s name but what it has signed; for good
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
   * absent: the agent that has the key's name, registered if there is none
   */
  agent?: string | undefined
  /**
   * only such as your own key holds
   */
  scopes: Scope[]
  /**
   * not after the end of the secret that you send; absent: that end, or none if it has none
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
   * the key that made it; null: the operator did
   */
  madeBy: string | null
  expiresAt: string | null
  revokedAt: string | null
  rateLimit: RateLimit | null
  /**
   * null: as by default (docs/integrations/otlp.md)
   */
  otlp: OtlpSettings | null
  /**
   * one, or more while the key is rotated; none once it is revoked
   */
  secrets: {
    expiresAt: string | null
  }[]
  /**
   * the secret: shown once, and never again; null in the answer to a repeated request
   */
  key: string | null
}
export interface GetKeysQuery {
  /**
   * how many to answer at most: 1 to 200; absent: 50
   */
  limit?: number | undefined
  /**
   * `nextCursor` of the page before; absent: from the beginning
   */
  cursor?: string | undefined
  /**
   * those of just this agent
   */
  agent?: string | undefined
}
export interface GetKeysAnswer {
  data: ApiKey[]
  nextCursor: string | null
}
export interface PostKeysByIdRotateBody {
  /**
   * for how long the secrets before stay valid; absent: 3600
   */
  overlapSeconds?: number | undefined
}
export interface PostKeysByIdRevokeBody {
  /**
   * also revoke the keys that it has made, and those that they have, up to 100 a request; then it may be revoked already
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
   * the key that made it; null: the operator did
   */
  madeBy: string | null
  expiresAt: string | null
  revokedAt: string | null
  rateLimit: RateLimit | null
  /**
   * null: as by default (docs/integrations/otlp.md)
   */
  otlp: OtlpSettings | null
  /**
   * one, or more while the key is rotated; none once it is revoked
   */
  secrets: {
    expiresAt: string | null
  }[]
  /**
   * keys that this request revoked besides, with `alsoMade`
   */
  alsoRevoked: string[]
  /**
   * some that it has made are still valid: send the request again
   */
  hasMore: boolean
}
export interface PutKeysByIdRateLimitBody {
  /**
   * null: no limit any more
   */
  rateLimit: RateLimit | null
}
export interface PutKeysByIdRateLimitAnswer {
  rateLimit: RateLimit | null
}
export interface PutKeysByIdOtlpBody {
  /**
   * null: as by default
   */
  otlp: OtlpSettings | null
}
export interface PutKeysByIdOtlpAnswer {
  otlp: OtlpSettings | null
}
export interface GetEventsQuery {
  /**
   * which events, with commas between; absent: all
   */
  events?: string | undefined
  /**
   * of records of which types, `name` or `name/version`, with commas between; what is of no record comes in any case
   */
  types?: string | undefined
  /**
   * instead of a cursor; absent: a page is from the beginning, a stream from the end
   */
  from?: 'beginning' | 'end' | undefined
  /**
   * how many to answer at most: 1 to 200; absent: 50
   */
  limit?: number | undefined
  /**
   * `nextCursor` of the page before; absent: from the beginning
   */
  cursor?: string | undefined
}
export interface GetEventsAnswer {
  data: LedgerEvent[]
  /**
   * behind all that was looked at: where to go on, now or later
   */
  nextCursor: string
  /**
   * whether there is more to look at now, also where `data` is empty
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
   * names of events, or `*` alone: all, also those that there will be
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
   * of the records that events are about: `name/version`, or `name` for all versions; none: all types
   */
  types?: string[] | undefined
  /**
   * what events hold beyond what was signed; `documents` needs the scope `records:read`
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
   * newest first: one, or more while it is rotated. Deliveries are signed with each
   */
  secrets: {
    /**
     * Ed25519: what the `v1a` signatures of deliveries verify with
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
     * the first entry that it has not come to
     */
    nextSeq: number
    /**
     * entries that it has not come to
     */
    behind: number
    /**
     * in a row
     */
    failures: number
    failingSince: string | null
    /**
     * nothing is sent before: the endpoint asked for it, or fails
     */
    resumeAt: string | null
    lastSuccessAt: string | null
    lastFailureAt: string | null
    /**
     * how far the recovery is that was asked for; null: none is under way
     */
    recovery: {
      /**
       * place in the chain, from 0
       */
      nextSeq: number
      /**
       * place in the chain, from 0
       */
      endSeq: number
      delivered: boolean
    } | null
    /**
     * counted to 1000
     */
    pending: number
    /**
     * wait for an earlier event of their record; counted to 1000
     */
    held: number
    /**
     * were given up; counted to 1000
     */
    dead: number
  }
  /**
   * what the `v1` signatures of deliveries verify with: shown once, and never again
   */
  secret: string
  /**
   * Ed25519: what the `v1a` signatures of deliveries verify with
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
   * names of events, or `*` alone: all, also those that there will be
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
   * of the records that events are about: `name/version`, or `name` for all versions; none: all types
   */
  types?: string[] | undefined
  /**
   * what events hold beyond what was signed; `documents` needs the scope `records:read`
   */
  include?: ('documents' | 'envelope')[] | undefined
}
export interface PostWebhooksByIdResumeBody {
  /**
   * here: what was missed is delivered; now: it is left out. Absent: here
   */
  from?: 'here' | 'now' | undefined
}
export interface PostWebhooksByIdRotateSecretBody {
  /**
   * for how long deliveries are signed with those before as well; absent: 86400
   */
  overlapSeconds?: number | undefined
}
export interface GetWebhooksByIdDeliveriesQuery {
  /**
   * how many to answer at most: 1 to 200; absent: 50
   */
  limit?: number | undefined
  /**
   * `nextCursor` of the page before; absent: from the beginning
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
   * whether there are more: ask again
   */
  more: boolean
}
export interface PostWebhooksByIdRecoverBody {
  /**
   * recordedAt, inclusive
   */
  since: string
  /**
   * recordedAt, exclusive; absent: as far as the endpoint has come
   */
  until?: string | undefined
  /**
   * whether also what was delivered is delivered again; absent: false
   */
  delivered?: boolean | undefined
}
export interface DeleteRecordsByIdPayloadBody {
  /**
   * why, as a word for programs
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
   * what else of the record lies beside the chain, oldest first
   */
  remaining: ErasableDocument[]
}
export interface PostRetentionRulesBody {
  /**
   * only records of this type
   */
  type?: string | undefined
  /**
   * only records that this agent made, performs, or that were made for it
   */
  agent?: string | undefined
  /**
   * after the end of a record; null: for ever
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
   * only records that this agent made, performs, or that were made for it
   */
  agent?: string | undefined
  days: number
  /**
   * `nextSeq` of the page before
   */
  from?: number | undefined
}
export interface PostRetentionPreviewAnswer {
  /**
   * whose payload would be erased now, if the rule were set
   */
  records: number
  /**
   * that would be, and are held
   */
  held: number
  oldest: string | null
  byType: {
    [k: string]: number
  }
  /**
   * where the next page goes on: add the pages up; null: this was the last
   */
  nextSeq: number | null
}
export interface PostHoldsBody {
  /**
   * the case, as your files name it; it is signed, so it must name no person
   */
  case: string
  /**
   * only records of this type
   */
  type?: string | undefined
  /**
   * only records that this agent made, performs, or that were made for it
   */
  agent?: string | undefined
  /**
   * only these, each once
   */
  records?: string[] | undefined
}
export interface GetHoldsQuery {
  /**
   * how many to answer at most: 1 to 200; absent: 50
   */
  limit?: number | undefined
  /**
   * `nextCursor` of the page before; absent: from the beginning
   */
  cursor?: string | undefined
  /**
   * `true`: only those that were not lifted
   */
  standing?: 'true' | 'false' | undefined
}
export interface GetHoldsAnswer {
  data: Hold[]
  nextCursor: string | null
}
export interface PostSubjectsFindBody {
  /**
   * the person that it is about, by a label of yours; kept as a keyed hash, unsigned, and erased with the payload
   */
  subject: string
  /**
   * `nextCursor` of the answer before
   */
  cursor?: string | undefined
}
export interface PostSubjectsFindAnswer {
  data: SubjectRecord[]
  nextCursor: string | null
}
export interface PostSubjectsEraseBody {
  /**
   * the person that it is about, by a label of yours; kept as a keyed hash, unsigned, and erased with the payload
   */
  subject: string
  /**
   * why, as a word for programs
   */
  code: string
  /**
   * free text, for people; not signed
   */
  reason?: string | undefined
  /**
   * `nextCursor` of the answer before
   */
  cursor?: string | undefined
}
export interface GetEntriesQuery {
  /**
   * exclusive; absent: from the first entry
   */
  after?: number | undefined
  /**
   * at most so many entries; absent: to the head
   */
  limit?: number | undefined
}
export interface PostExportsBody {
  /**
   * the filter; empty: all of the range
   */
  of: {
    record?: string | undefined
    /**
     * a record with those below it
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
   * says who took what: `export-made`
   */
  entry: {
    /**
     * place in the chain, from 0
     */
    seq: number
  }
  /**
   * place in the chain, from 0
   */
  from: number
  /**
   * place in the chain, from 0
   */
  to: number
}
export interface GetCheckpointsLatestQuery {
  /**
   * in the newest checkpoint that so many witnesses have cosigned, instead of the newest
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
   * of the other side, as this ledger calls it
   */
  name: string
  /**
   * of the other side: it is accepted. Absent: one is made, for the other side
   */
  invitation?: string | undefined
}
export interface GetPeersAnswer {
  data: Peer[]
  nextCursor: string | null
}
export interface PostPeersByIdSuspendBody {
  /**
   * why, as a word for programs; absent: requested
   */
  code?: string | undefined
}
export interface PutPeersByIdBudgetBody {
  /**
   * null: 1000000 entries and 4294967296 bytes, as every peer
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
   * absent: all of them
   *
   * Items: place in the chain, from 0
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
   * the key of its checkpoints, as signed notes name keys
   */
  noteVerifierKey: string
  /**
   * how many entries it has
   */
  size: number
  /**
   * why it takes no entries: frozen by the operator, an older backup of itself, being moved to another deployment, or moved there; null: it does
   */
  closed: ('frozen' | 'restored' | 'moving' | 'moved') | null
  /**
   * the one that asks
   */
  key: {
    id: string
    name: string
    agent: string
    scopes: Scope[]
    /**
     * when the secret that was sent ends; of one that was rotated, that is before its key
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
   * name of the agent that gets it, registered if there is none; absent: administrator
   */
  agent?: string | undefined
}
export interface PostLedgersByIdRestoreBody {
  /**
   * what GET answers as known: an acknowledgement that whatever is not found of it is lost
   */
  known: {
    /**
     * how many entries
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
   * who may read its tiles: keys of the ledger with audit:read, or anybody
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
