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
       * id of the event, the same in every answer
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
       * when the entry or checkpoint was recorded
       */
      timestamp: string
      data: RecordEventData
    }
  | {
      /**
       * id of the event, the same in every answer
       */
      id: string
      type: 'signal.emitted'
      /**
       * when the entry or checkpoint was recorded
       */
      timestamp: string
      data: SignalEventData
    }
  | {
      /**
       * id of the event, the same in every answer
       */
      id: string
      type: 'batch.recorded'
      /**
       * when the entry or checkpoint was recorded
       */
      timestamp: string
      data: BatchEventData
    }
  | {
      /**
       * id of the event, the same in every answer
       */
      id: string
      type: 'payload.erased'
      /**
       * when the entry or checkpoint was recorded
       */
      timestamp: string
      data: ErasureEventData
    }
  | {
      /**
       * id of the event, the same in every answer
       */
      id: string
      type: 'entry.received'
      /**
       * when the entry or checkpoint was recorded
       */
      timestamp: string
      data: ReceivedEventData
    }
  | {
      /**
       * id of the event, the same in every answer
       */
      id: string
      type: 'statement.registered'
      /**
       * when the entry or checkpoint was recorded
       */
      timestamp: string
      data: StatementEventData
    }
  | {
      /**
       * id of the event, the same in every answer
       */
      id: string
      type: 'checkpoint.published'
      /**
       * when the entry or checkpoint was recorded
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
       * when the entry or checkpoint was recorded
       */
      timestamp: string
      data: RecordEventData
    }
  | {
      type: 'signal.emitted'
      /**
       * when the entry or checkpoint was recorded
       */
      timestamp: string
      data: SignalEventData
    }
  | {
      type: 'batch.recorded'
      /**
       * when the entry or checkpoint was recorded
       */
      timestamp: string
      data: BatchEventData
    }
  | {
      type: 'payload.erased'
      /**
       * when the entry or checkpoint was recorded
       */
      timestamp: string
      data: ErasureEventData
    }
  | {
      type: 'entry.received'
      /**
       * when the entry or checkpoint was recorded
       */
      timestamp: string
      data: ReceivedEventData
    }
  | {
      type: 'statement.registered'
      /**
       * when the entry or checkpoint was recorded
       */
      timestamp: string
      data: StatementEventData
    }
  | {
      type: 'checkpoint.published'
      /**
       * when the entry or checkpoint was recorded
       */
      timestamp: string
      data: CheckpointEventData
    }
  | {
      type: 'webhook.paused'
      /**
       * when the event happened
       */
      timestamp: string
      data: WebhookPausedEventData
    }
  | {
      type: 'webhook.test'
      /**
       * when the event happened
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
   * number of requests that are accepted at once after a pause
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
   * digest of the salted references
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
   * seq of the entry that has the digest of the erased document
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
   * null: the payload is erased, or the home ledger shares only digests
   */
  payload: {
    [k: string]: unknown
  } | null
  salt: string | null
  /**
   * digest of the salted payload (docs/formats/documents.md)
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
   * the newest entry of the record; for a record of another ledger, the entry that received it
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
   * the erasure of the payload; null: not erased
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
   * reason of the erasure; null: the entry that signs the reason cannot be read
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
   * the newest revision request
   */
  revision: Revision | null
  cancellation: Cancellation | null
  /**
   * peers with which the record is shared; null: none
   */
  share: SharedWith[] | null
  /**
   * for a record of another ledger: the newest step that an agent of this ledger offered
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
   * seq of the step’s entry
   */
  seq: number
  salt: string | null
  /**
   * digest of the salted document; null: the step has none
   */
  digest: string | null
  /**
   * seq of the entry that erased the document
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
   * seq of the step’s entry
   */
  seq: number
  salt: string | null
  /**
   * digest of the salted document; null: the step has none
   */
  digest: string | null
  /**
   * seq of the entry that erased the document
   */
  erasedBy: number | null
}
export interface Verdict {
  verdict: 'accept' | 'reject'
  signal: SettlementSignal
  /**
   * null: the step has no reason, or the reason is erased
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
   * seq of the step’s entry
   */
  seq: number
  salt: string | null
  /**
   * digest of the salted document; null: the step has none
   */
  digest: string | null
  /**
   * seq of the entry that erased the document
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
   * null: the step has no reason, or the reason is erased
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
   * seq of the step’s entry
   */
  seq: number
  salt: string | null
  /**
   * digest of the salted document; null: the step has none
   */
  digest: string | null
  /**
   * seq of the entry that erased the document
   */
  erasedBy: number | null
}
export interface Revision {
  /**
   * null: the step has no reason, or the reason is erased
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
   * seq of the step’s entry
   */
  seq: number
  salt: string | null
  /**
   * digest of the salted document; null: the step has none
   */
  digest: string | null
  /**
   * seq of the entry that erased the document
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
   * version of the record after the step
   */
  version: number
  /**
   * the offered completion; null: the step is not a completion
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
   * seq of the offer’s entry in this ledger
   */
  seq: number
  /**
   * reason of the refusal, as a code; null: not refused
   */
  code: string | null
  /**
   * seq of the entry that received the home’s decision
   */
  decidedBy: number | null
}
export interface Problem {
  /**
   * a URI that names the code; not an address to fetch
   */
  type: string
  title: string
  status: number
  /**
   * what is wrong, for people; the text may change
   */
  detail: string
  /**
   * the error, for programs; stable
   */
  code: ErrorCode
  requestId: string
  /**
   * whether the same request may succeed later
   */
  retryable: boolean
  /**
   * why an envelope is not accepted: a code of docs/formats/envelopes.md or docs/formats/statements.md
   */
  reason?: string | undefined
  /**
   * JSON Pointer to the invalid member, or to the object in which a member is missing or unknown
   */
  path?: string | undefined
  /**
   * index of the item in the batch
   */
  index?: number | undefined
  /**
   * the first of the scopes that would do: `detail` names all of them
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
   * seq of the entry that ended the target, or of the offer that must be decided first
   */
  seq?: number | undefined
  /**
   * the record’s other documents, oldest first
   */
  remaining?: ErasableDocument[] | undefined
  /**
   * holds that prevent the erasure, oldest first
   */
  holds?: {
    /**
     * position in the chain, from 0
     */
    seq: number
    case: string
  }[] | undefined
  /**
   * state of the record, which does not allow the request
   */
  state?: RecordState | undefined
  /**
   * version of the record
   */
  version?: number | undefined
  /**
   * kinds of entries that the record’s state allows next
   */
  nextEvents?: EntryKind[] | undefined
  /**
   * the existing webhook that is identical
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
   * seq of the entry that has the document’s digest
   */
  seq: number
  /**
   * the completion that has the evidence or the compared values
   */
  completion: string | null
  /**
   * the address of the request that erases the document
   */
  address: string
}
export interface RpcStatus {
  /**
   * a value of google.rpc.Code
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
   * the key that signs the ledger’s checkpoints, as a C2SP verifier key
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
   * seq of the statement’s own entry; the next entry registers the statement
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
   * the agent that registered the statement
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
     * the issuer: claim 1 of its statements
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
   * accepted media types of payloads, or CoAP content formats in digits; absent: all
   */
  contentTypes?: string[] | undefined
  /**
   * seq of the entry that set the policy
   */
  seq: number
  /**
   * leaf of the entry that set the policy; statements registered under the policy name this leaf
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
   * digest of the definition in canonical form
   */
  digest: string
  /**
   * null: a built-in type
   */
  registeredAt: string | null
  definition: {
    [k: string]: unknown
  }
  /**
   * the entry that registers the type; null: a built-in type, whose digest is in the ledger’s first entry
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
   * true: from this entry on the ledger accepts only entries that the agent has signed. Cannot be undone
   */
  required: boolean
  /**
   * RFC 3339, UTC, milliseconds
   */
  registeredAt: string
  revokedAt: string | null
  /**
   * seq of the entry that registers the key
   */
  seq: number
  /**
   * seq of the entry that revokes the key; null: the key is valid
   */
  revokedSeq: number | null
}
export interface OtlpSettings {
  /**
   * agents: accept only spans and logs about actions of agents; all: accept all
   */
  take: 'agents' | 'all'
  /**
   * attributes with content. digest: store their digests; keep: store the values
   */
  content: 'digest' | 'keep'
  /**
   * spans and logs that are not accepted. reject: the answer reports their number; drop: it does not
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
   * the key with which this key was made; null: the operator made this key
   */
  madeBy: string | null
  expiresAt: string | null
  revokedAt: string | null
  rateLimit: RateLimit | null
  /**
   * settings for OTLP; null: the defaults of docs/integrations/otlp.md
   */
  otlp: OtlpSettings | null
  /**
   * valid secrets: one, or more during a rotation; none after the key was revoked
   */
  secrets: {
    expiresAt: string | null
  }[]
}
export interface RecordEventData {
  ledger: string
  entry: EntryPlace
  /**
   * the signed subjects
   */
  subjects: {
    name: string
    /**
     * SHA-256, lower-case hex
     */
    sha256: string
  }[]
  /**
   * the signed predicate: `GET /predicates/{kind}/v1` describes it
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
   * documents of the entry; a batch has none
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
     * seq of the entry that erased the document
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
   * state of the record after this event
   */
  state: RecordState
  /**
   * version of the record after this event
   */
  version: number
}
export interface SignalEventData {
  ledger: string
  entry: EntryPlace
  /**
   * the signed subjects
   */
  subjects: {
    name: string
    /**
     * SHA-256, lower-case hex
     */
    sha256: string
  }[]
  /**
   * the signed predicate: `GET /predicates/{kind}/v1` describes it
   */
  predicate: {
    [k: string]: unknown
  }
  record: EventRecord
  signal: SettlementSignal
  /**
   * COSE_Sign1 of the verdict’s entry
   */
  envelope: string
  /**
   * documents of the entry; a batch has none
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
     * seq of the entry that erased the document
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
   * the signed subjects
   */
  subjects: {
    name: string
    /**
     * SHA-256, lower-case hex
     */
    sha256: string
  }[]
  /**
   * the signed predicate: `GET /predicates/{kind}/v1` describes it
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
     * address from which to read the records; needs the scope audit:read
     */
    records: string
  }
  /**
   * COSE_Sign1 of the entry
   */
  envelope?: string | undefined
  /**
   * documents of the entry; a batch has none
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
     * seq of the entry that erased the document
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
   * the signed subjects
   */
  subjects: {
    name: string
    /**
     * SHA-256, lower-case hex
     */
    sha256: string
  }[]
  /**
   * the signed predicate: `GET /predicates/{kind}/v1` describes it
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
     * null, because an erasure is not a step
     */
    state: null
    version: null
  }
  /**
   * COSE_Sign1 of the entry
   */
  envelope?: string | undefined
  /**
   * documents of the entry; a batch has none
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
     * seq of the entry that erased the document
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
   * the signed subjects
   */
  subjects: {
    name: string
    /**
     * SHA-256, lower-case hex
     */
    sha256: string
  }[]
  /**
   * the signed predicate: `GET /predicates/{kind}/v1` describes it
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
     * state of the record after the received entry; null: that entry is not a step
     */
    state: RecordState | null
    version: number | null
  } | null
  /**
   * the peer that sent the entry
   */
  peer: string
  /**
   * the received entry of the other ledger
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
   * documents of the entry; a batch has none
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
     * seq of the entry that erased the document
     */
    erasedBy: number | null
    /**
     * only if the record has references
     */
    references?: string[] | undefined
  }[] | undefined
  /**
   * COSE_Sign1 of the received entry; present whenever `envelope` is
   */
  receivedEnvelope?: string | undefined
}
export interface StatementEventData {
  ledger: string
  entry: EntryPlace
  /**
   * the signed subjects
   */
  subjects: {
    name: string
    /**
     * SHA-256, lower-case hex
     */
    sha256: string
  }[]
  /**
   * the signed predicate: `GET /predicates/{kind}/v1` describes it
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
   * documents of the entry; a batch has none
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
     * seq of the entry that erased the document
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
     * number of entries that the checkpoint covers
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
   * why the webhook is not active. gone: the endpoint answered 410; null: it is active
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
   * valid secrets, newest first: one, or more during a rotation. Deliveries are signed with each of them
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
     * seq of the next entry to examine
     */
    nextSeq: number
    /**
     * entries that are still to be examined
     */
    behind: number
    /**
     * failed attempts in a row
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
     * deliveries that will be tried; counted up to 1000
     */
    pending: number
    /**
     * deliveries that wait for an earlier event of their record; counted up to 1000
     */
    held: number
    /**
     * deliveries that were given up; counted up to 1000
     */
    dead: number
  }
}
export interface DeliverySummary {
  /**
   * id of the event: the header `webhook-id`
   */
  id: string
  event: string
  record: string | null
  /**
   * seq of the entry, or of the last entry of the checkpoint; null: the event is about an endpoint
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
   * id of the event: the header `webhook-id`
   */
  id: string
  event: string
  record: string | null
  /**
   * seq of the entry, or of the last entry of the checkpoint; null: the event is about an endpoint
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
     * HTTP status of the answer; null: no answer
     */
    status: number | null
    /**
     * why the attempt failed, as a word for programs
     */
    error: string | null
    /**
     * code of Node or OpenSSL, for the error `tls_failed`
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
     * start of the answer’s body; null: no answer, or answers of this address are not stored
     */
    excerpt: string | null
  }[]
}
export interface RetentionRule {
  /**
   * seq of the entry that set the rule
   */
  seq: number
  type: string | null
  agent: string | null
  days: number | null
  /**
   * seq of the rule that replaced this one; for existing records a new rule can only lengthen retention
   */
  replacedBy: number | null
  /**
   * RFC 3339, UTC, milliseconds
   */
  setAt: string
}
export interface Hold {
  /**
   * seq of the entry that set the hold
   */
  seq: number
  /**
   * name of the case in your files; signed and stored for ever, so it must not name a person
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
   * seq of the entry that lifted the hold; null: the hold is in force
   */
  liftedBy: number | null
}
export interface SubjectRecord {
  record: string
  documents: ErasableDocument[]
}
export interface SubjectReceipt {
  /**
   * the entry `subject-erased`, which lists what was erased
   */
  entry: {
    /**
     * position in the chain, from 0
     */
    seq: number
  }
  /**
   * seqs of the entries that each erased a document
   *
   * Items: position in the chain, from 0
   */
  erased: number[]
  /**
   * documents that were not erased
   */
  held: {
    document: 'payload' | 'evidence' | 'values' | 'reason'
    /**
     * seq of the entry that has the document’s digest
     */
    seq: number
    /**
     * the completion that has the evidence or the compared values
     */
    completion: string | null
    /**
     * the address of the request that erases the document
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
     * seq of the entry that erased the document
     */
    erasedBy: number | null
    /**
     * only if the record has references
     */
    references?: string[] | undefined
  }[]
  /**
   * for a batch: exactly the objects that were hashed; null: no batch
   */
  items: HashedItem[] | null
  /**
   * the envelope of another ledger’s entry, if this entry receives one
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
   * the agent that requested the audit; null: the daily schedule
   */
  requestedBy: string | null
  /**
   * RFC 3339, UTC, milliseconds
   */
  requestedAt: string
  /**
   * done: `ok` has the result; failed: the audit could not be completed (`error`), and the ledger may be intact
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
   * why the keys are trusted. self-asserted: the ledger names them; pinned: its first key was pinned; given: the verifier named them
   */
  keys: 'self-asserted' | 'pinned' | 'given'
  firstKid: string | null
  /**
   * the trusted checkpoint. given: stored by the worker outside the database; own: from the ledger itself
   */
  checkpoint: 'given' | 'own' | 'none'
  /**
   * size of the largest trusted checkpoint that the ledger continues
   */
  covered: number
  failure: {
    /**
     * seq of the first bad entry; null: the fault is in no single entry
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
   * for a record of the peer: the newest step that an agent of this ledger offered
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
   * for a record of the peer: the newest step that an agent of this ledger offered
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
   * id of the peering, the same on both sides
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
   * when the invitation expires
   */
  expiresAt: string
  /**
   * the other side; null before the handshake
   */
  remote: PeerIdentity | null
  /**
   * seq of this ledger’s `peer-added` entry
   */
  addedSeq: number | null
  /**
   * how entries are sent to the peer; null: nothing to send yet
   */
  drain: {
    /**
     * entries of this ledger that were not examined for this peer yet; most do not concern it
     */
    behind: number
    /**
     * failed requests in a row
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
   * how much the peer may store here in a day, and has stored
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
     * when the day of the budget ends; null: nothing is used
     */
    resetsAt: string | null
  }
  /**
   * cosignatures in both directions; null before the handshake
   */
  witness: {
    /**
     * key with which this ledger cosigns the peer’s checkpoints; null: it does not cosign
     */
    ownKey: string | null
    /**
     * key with which the peer cosigns this ledger’s checkpoints; null: unknown
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
   * the invitation, which the other side’s administrator uses once. Keep it secret: whoever has it can become the peer. null: an invitation was accepted
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
   * id of the peering, the same on both sides
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
   * when the invitation expires
   */
  expiresAt: string
  /**
   * the other side; null before the handshake
   */
  remote: PeerIdentity | null
  /**
   * seq of this ledger’s `peer-added` entry
   */
  addedSeq: number | null
  /**
   * how entries are sent to the peer; null: nothing to send yet
   */
  drain: {
    /**
     * entries of this ledger that were not examined for this peer yet; most do not concern it
     */
    behind: number
    /**
     * failed requests in a row
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
   * how much the peer may store here in a day, and has stored
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
     * when the day of the budget ends; null: nothing is used
     */
    resetsAt: string | null
  }
  /**
   * cosignatures in both directions; null before the handshake
   */
  witness: {
    /**
     * key with which this ledger cosigns the peer’s checkpoints; null: it does not cosign
     */
    ownKey: string | null
    /**
     * key with which the peer cosigns this ledger’s checkpoints; null: unknown
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
   * code of the other side’s refusal
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
   * leaf of the refused entry
   */
  leaf: string
  /**
   * position in the peer’s chain, as the peer stated it
   */
  seq: number
  record: string | null
  version: number | null
  /**
   * leaf of the stored entry that the refused entry contradicts
   */
  held: string
  /**
   * COSE_Sign1 of the refused entry, signed by the peer
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
   * whether both sides have the same entries, according to the other side’s last summary; entries under way do not count
   */
  reconciled: boolean
  /**
   * why the ledgers are not reconciled; empty if they are
   */
  reasons: ('not_asked' | 'summary_incomplete' | 'records_differ' | 'dead_letters' | 'forks')[]
  /**
   * from this server to the peer
   */
  sent: {
    /**
     * records of this ledger that are shared with the peer
     */
    records: number
    /**
     * entries about these records, about offers of both sides, and about the peering; none about keys
     */
    entries: number
    /**
     * sent entries with a signed receipt stored here
     */
    acknowledged: number
    /**
     * sent entries without a receipt; after the peering is revoked they get none
     */
    inFlight: number
    /**
     * sent entries that the other side refused for good
     */
    deadLetters: number
  }
  /**
   * from the peer to this server
   */
  received: {
    /**
     * records of the other ledger
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
     * offers by agents of this ledger
     */
    made: {
      pending: number
      taken: number
      refused: number
    }
    /**
     * offers by agents of the other ledger
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
     * false: the peer has more records than a summary covers; the others are not compared
     */
    whole: boolean
    /**
     * records in the summary
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
       * leaf: the same version is a different entry; unknown: the peer has a version of our record that our chain lacks; theirs_behind, ours_behind: that side has fewer versions
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
   * number of entries
   */
  size: number
  /**
   * why the ledger accepts no entries. frozen: by the operator; restored: from an older backup; moving, moved: to another deployment; null: it is open
   */
  closed: ('frozen' | 'restored' | 'moving' | 'moved') | null
  rateLimit: RateLimit | null
  /**
   * who may read the ledger’s tiles. key: only keys with audit:read; public: anybody
   */
  tiles: 'key' | 'public'
  /**
   * why the ledger does not verify. It gets no checkpoints until the operator clears the fault
   */
  fault: {
    /**
     * seq of the first bad entry; null: the fault is in no single entry
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
   * head that the database has, or had when the ledger was reopened
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
   * the entry that reopened the ledger; null: the ledger is closed
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
   * your label of the person that the record is about; stored as a keyed hash, not signed, erased with the payload
   */
  subject?: string | undefined
  /**
   * 16 bytes, base64url without padding
   */
  salt?: string | undefined
  /**
   * COSE_Sign1 of the entry, signed by the agent itself; each document then needs a salt. Absent: the server signs the entry
   */
  envelope?: string | undefined
  /**
   * who delivers: `agt_…`, or `led_…/agt_…` in the ledger of a peer in `share`; absent: the agent that activates the record
   */
  performer?: string | undefined
  /**
   * who judges: the principal, or only the rules; absent: principal
   */
  gate?: 'principal' | 'auto' | undefined
  /**
   * latest time of the completion
   */
  deadline?: string | undefined
  /**
   * how many revisions can be requested; absent: 3
   */
  maxRevisions?: number | undefined
  /**
   * tolerances by rule id; each replaces that of the type, within the limit that the type allows
   */
  tolerances?: {
    [k: string]: unknown
  } | undefined
  /**
   * the peers to share with, each once
   */
  share?: SharedWith[] | undefined
  /**
   * the record that led to this one, of this ledger
   */
  parent?: string | undefined
  /**
   * what the record is about in other systems; a salted digest is signed; erased with the payload
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
   * exact text of one of the record’s references
   */
  reference?: string | undefined
  /**
   * trace id of the record’s traceparent
   */
  traceId?: string | undefined
  /**
   * earliest occurredAt, inclusive; records without occurredAt are left out
   */
  occurredAfter?: string | undefined
  /**
   * latest occurredAt, exclusive; records without occurredAt are left out
   */
  occurredBefore?: string | undefined
  /**
   * earliest recordedAt, inclusive
   */
  recordedAfter?: string | undefined
  /**
   * latest recordedAt, exclusive
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
   * the peer that sent the record; absent: the ledger’s own record, or else the record of the peer that sent this id first
   */
  peer?: string | undefined
  /**
   * seconds to wait, at most 20, until the record’s version differs from If-None-Match. Without that header: while only the worker can take the next step
   */
  wait?: number | undefined
}
export interface GetRecordsByIdEntriesQuery {
  /**
   * the peer that sent the record; absent: the ledger’s own record, or else the record of the peer that sent this id first
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
     * the document of the step; null: the step has none. The payload is in the record
     */
    document: {
      /**
       * what the document is: `cmp_…` (evidence), `cmp_…/values`, or `rec_…/reason`
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
       * seq of the entry that erased the document
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
     * your label of the person that the record is about; stored as a keyed hash, not signed, erased with the payload
     */
    subject?: string | undefined
    /**
     * a record of this ledger, or the index, from 0, of an earlier record of this batch
     */
    parent?: string | number | undefined
    /**
     * what the record is about in other systems; a salted digest is signed; erased with the payload
     *
     * Items: a URI, or `system:id`
     */
    references?: string[] | undefined
    /**
     * required with an envelope, refused without one
     */
    salt?: string | undefined
    /**
     * W3C Trace Context, version 00; absent: the `traceparent` of the request
     */
    traceparent?: string | undefined
  }[]
  /**
   * COSE_Sign1 of the entry, signed by the agent itself; each document then needs a salt. Absent: the server signs the entry
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
   * the peer that sent the record; absent: the ledger’s own record, or else the record of the peer that sent this id first
   */
  peer?: string | undefined
  onBehalfOf?: string | undefined
  /**
   * RFC 3339, UTC, at most milliseconds
   */
  occurredAt?: string | undefined
  /**
   * COSE_Sign1 of the entry, signed by the agent itself; each document then needs a salt. Absent: the server signs the entry
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
   * the peer that sent the record; absent: the ledger’s own record, or else the record of the peer that sent this id first
   */
  peer?: string | undefined
  onBehalfOf?: string | undefined
  /**
   * RFC 3339, UTC, at most milliseconds
   */
  occurredAt?: string | undefined
  /**
   * COSE_Sign1 of the entry, signed by the agent itself; each document then needs a salt. Absent: the server signs the entry
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
   * time at which the settlement signal expires; absent: never
   */
  validUntil?: string | undefined
  onBehalfOf?: string | undefined
  /**
   * RFC 3339, UTC, at most milliseconds
   */
  occurredAt?: string | undefined
  /**
   * COSE_Sign1 of the entry, signed by the agent itself; each document then needs a salt. Absent: the server signs the entry
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
   * COSE_Sign1 of the entry, signed by the agent itself; each document then needs a salt. Absent: the server signs the entry
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
   * time at which the settlement signal expires; absent: never
   */
  validUntil?: string | undefined
  onBehalfOf?: string | undefined
  /**
   * RFC 3339, UTC, at most milliseconds
   */
  occurredAt?: string | undefined
  /**
   * COSE_Sign1 of the entry, signed by the agent itself; each document then needs a salt. Absent: the server signs the entry
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
   * prove the entry in the checkpoint of this size; absent: in the newest
   */
  size?: number | undefined
  /**
   * use the newest checkpoint that has at least this number of cosignatures of witnesses
   */
  cosignatures?: number | undefined
  /**
   * seq of the record’s entry to prove; absent: its first entry
   */
  seq?: number | undefined
}
export interface GetRecordsByIdProofAnswer {
  ledger: Ledger
  /**
   * the server key that signed `registration` if it is present, otherwise the envelope
   */
  keys: PublishedKey[]
  /**
   * the envelope that registered the agent’s key, if the entry is signed by that key
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
   * prove the entry in the checkpoint of this size; absent: in the newest
   */
  size?: number | undefined
  /**
   * use the newest checkpoint that has at least this number of cosignatures of witnesses
   */
  cosignatures?: number | undefined
}
export interface GetRecordsByIdReceiptQuery {
  /**
   * prove the entry in the checkpoint of this size; absent: in the newest
   */
  size?: number | undefined
  /**
   * use the newest checkpoint that has at least this number of cosignatures of witnesses
   */
  cosignatures?: number | undefined
  /**
   * seq of the record’s entry to prove; absent: its first entry
   */
  seq?: number | undefined
  /**
   * seconds to wait for a checkpoint that covers the entry, at most 10; absent: 0
   */
  wait?: number | undefined
  /**
   * `true`: the entry’s envelope with the receipt in its header, in one file; absent: only the receipt
   */
  statement?: 'true' | 'false' | undefined
}
export interface GetEntriesBySeqReceiptQuery {
  /**
   * prove the entry in the checkpoint of this size; absent: in the newest
   */
  size?: number | undefined
  /**
   * use the newest checkpoint that has at least this number of cosignatures of witnesses
   */
  cosignatures?: number | undefined
  /**
   * seconds to wait for a checkpoint that covers the entry, at most 10; absent: 0
   */
  wait?: number | undefined
  /**
   * `true`: the entry’s envelope with the receipt in its header, in one file; absent: only the receipt
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
   * seconds to wait for a checkpoint that covers the statement, at most 10; absent: 5
   */
  wait?: number | undefined
}
export interface GetEntriesByIdQuery {
  /**
   * seconds to wait for a checkpoint that covers the statement, at most 10; absent: 0
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
   * only statements of this issuer (claim 1)
   */
  issuer?: string | undefined
  /**
   * only statements about this subject (claim 2)
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
     * the issuer: claim 1 of its statements
     */
    issuer: string
    keys: {
      /**
       * the issuer’s name for the key: label 4 of its statements, in hex; absent: the RFC 9679 thumbprint
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
   * accepted media types of payloads, or CoAP content formats in digits; absent: all
   */
  contentTypes?: string[] | undefined
}
export interface PostTypesBody {
  /**
   * a lower-case letter, then up to 62 lower-case letters, digits, dots and hyphens
   */
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
   * JSON Schema of the evidence; a type with this member is gated
   */
  evidenceSchema?:
    | {
        [k: string]: unknown
      }
    | boolean | undefined
  /**
   * comparisons of evidence and payload; allowed only with an evidenceSchema
   */
  rules?: Rule[] | undefined
  /**
   * true: agents must sign records of this type, and each step, with their own keys
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
   * only versions of the type with this name
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
     * digest of the definition in canonical form
     */
    digest: string
    /**
     * null: a built-in type
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
   * outcome of all rules; null: a document is absent or invalid, or the type is not gated
   */
  outcome: ('pass' | 'fail') | null
  /**
   * outcome of each rule, in order; null if `outcome` is null
   */
  rules: RuleOutcome[] | null
}
export interface PostTypesPreviewBody {
  /**
   * a lower-case letter, then up to 62 lower-case letters, digits, dots and hyphens
   */
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
   * JSON Schema of the evidence; a type with this member is gated
   */
  evidenceSchema?:
    | {
        [k: string]: unknown
      }
    | boolean | undefined
  /**
   * comparisons of evidence and payload; allowed only with an evidenceSchema
   */
  rules?: Rule[] | undefined
  /**
   * true: agents must sign records of this type, and each step, with their own keys
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
     * signature of 64 bytes over the text in docs/formats/statements.md, "Keys of agents"
     */
    signature: string
  } | undefined
  /**
   * true: from this entry on the ledger accepts only entries that the agent has signed. Cannot be undone
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
   * the agent that owns the key; absent: the agent with the key's name, which is registered if it does not exist
   */
  agent?: string | undefined
  /**
   * only scopes that your own key has
   */
  scopes: Scope[]
  /**
   * when the key expires: not after the secret that you send; absent: at the same time as that secret
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
   * the key with which this key was made; null: the operator made this key
   */
  madeBy: string | null
  expiresAt: string | null
  revokedAt: string | null
  rateLimit: RateLimit | null
  /**
   * settings for OTLP; null: the defaults of docs/integrations/otlp.md
   */
  otlp: OtlpSettings | null
  /**
   * valid secrets: one, or more during a rotation; none after the key was revoked
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
   * seconds for which the older secrets stay valid; absent: 3600
   */
  overlapSeconds?: number | undefined
}
export interface PostKeysByIdRevokeBody {
  /**
   * also revoke the keys that were made with this key, directly or through other keys: up to 100 in a request. This key may be revoked already
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
   * the key with which this key was made; null: the operator made this key
   */
  madeBy: string | null
  expiresAt: string | null
  revokedAt: string | null
  rateLimit: RateLimit | null
  /**
   * settings for OTLP; null: the defaults of docs/integrations/otlp.md
   */
  otlp: OtlpSettings | null
  /**
   * valid secrets: one, or more during a rotation; none after the key was revoked
   */
  secrets: {
    expiresAt: string | null
  }[]
  /**
   * other keys that this request revoked, because of `alsoMade`
   */
  alsoRevoked: string[]
  /**
   * true: some keys that were made with this key are still valid; send the request again
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
   * cursor with which the next request continues, now or later
   */
  nextCursor: string
  /**
   * whether there may be more events now, even if `data` is empty
   */
  more: boolean
}
export interface PostWebhooksBody {
  /**
   * address of the receiver: https:, without a user and without a fragment
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
   * why the webhook is not active. gone: the endpoint answered 410; null: it is active
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
   * valid secrets, newest first: one, or more during a rotation. Deliveries are signed with each of them
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
     * seq of the next entry to examine
     */
    nextSeq: number
    /**
     * entries that are still to be examined
     */
    behind: number
    /**
     * failed attempts in a row
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
     * deliveries that will be tried; counted up to 1000
     */
    pending: number
    /**
     * deliveries that wait for an earlier event of their record; counted up to 1000
     */
    held: number
    /**
     * deliveries that were given up; counted up to 1000
     */
    dead: number
  }
  /**
   * secret that verifies the `v1` signatures of deliveries; shown only once
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
   * address of the receiver: https:, without a user and without a fragment
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
   * seconds for which deliveries are also signed with the older secrets; absent: 86400
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
   * only events of this time or later; absent: all
   */
  since?: string | undefined
}
export interface PostWebhooksByIdRedeliverDeadAnswer {
  /**
   * number of deliveries, at most 1000 in one request, oldest first
   */
  redelivered: number
  /**
   * true: more deliveries were given up; send the request again
   */
  more: boolean
}
export interface PostWebhooksByIdRecoverBody {
  /**
   * earliest `recordedAt` of the events, inclusive
   */
  since: string
  /**
   * latest `recordedAt` of the events, exclusive; absent: up to the endpoint’s position
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
   * days to store documents after the end of a record; null: for ever
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
   * records whose payload the rule would erase if no hold prevented it
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
   * name of the case in your files; signed and stored for ever, so it must not name a person
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
   * only these records, each once
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
   * your label of the person that the record is about; stored as a keyed hash, not signed, erased with the payload
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
   * your label of the person that the record is about; stored as a keyed hash, not signed, erased with the payload
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
   * only entries after this seq; absent: from the first entry on
   */
  after?: number | undefined
  /**
   * highest number of entries; absent: all
   */
  limit?: number | undefined
}
export interface PostExportsBody {
  /**
   * the filter of the export; empty: the whole range
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
   * seq of the first entry
   */
  from: number
  /**
   * seq of the last entry; absent: the newest entry
   */
  to?: number | undefined
  documents: 'all' | 'withheld'
}
export interface PostExportsAnswer {
  /**
   * the entry `export-made`, which names who exported what
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
   * use the newest checkpoint that has at least this number of cosignatures of witnesses
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
   * the other side’s invitation, to accept. Absent: make an invitation for the other side
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
   * daily limits; null: the default, 1000000 entries and 4294967296 bytes
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
   * the key that signs the ledger’s checkpoints, as a C2SP verifier key
   */
  noteVerifierKey: string
  /**
   * number of entries
   */
  size: number
  /**
   * why the ledger accepts no entries. frozen: by the operator; restored: from an older backup; moving, moved: to another deployment; null: it is open
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
   * name of the key
   */
  name?: string | undefined
  /**
   * name of the agent that owns the key; registered if it does not exist; absent: administrator
   */
  agent?: string | undefined
}
export interface PostLedgersByIdRestoreBody {
  /**
   * `known` of the GET answer. Sending it acknowledges that the entries missing from `found` are lost
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
   * who may read the ledger’s tiles. key: only keys with audit:read; public: anybody
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
