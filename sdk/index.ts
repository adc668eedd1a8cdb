export type { Bytes } from './bytes.ts'
export { Tallystick, type TallystickOptions } from './client.ts'
export * from './errors.ts'
export type * from './generated/api.ts'
export { ADVICE, type ErrorCode } from './generated/errors.ts'
export { Listing, type Page } from './http/listing.ts'
export type { RetryPolicy } from './http/retries.ts'
export type {
  CallOptions,
  RequestSigner,
  StepOptions,
  TransportOptions,
  WriteOptions,
} from './http/transport.ts'
export type { RecordOptions } from './notarizer/items.ts'
export type { Notarizer } from './notarizer/notarizer.ts'
export type {
  NotarizerOptions,
  NotarizerStats,
  RecordedBatch,
  RefusedRecord,
} from './notarizer/options.ts'
export type { Refused, Segment, Spool, SpooledBatch, SpoolOwner } from './notarizer/spool.ts'
export type { WaitOptions } from './notarizer/wait.ts'
export { TallystickOperator, type TallystickOperatorOptions } from './operator.ts'
export type { AgentsQuery, SigningKeyRequest } from './resources/agents.ts'
export type { AuditRunOptions, AuditsQuery } from './resources/audits.ts'
export type { Batch, BatchItem } from './resources/batches.ts'
export type { BundleRequest } from './resources/bundle-lines.ts'
export type { CheckpointPlace, CheckpointsQuery, ConsistencyProof } from './resources/checkpoints.ts'
export type { EntryProof, EntryStreamOptions, ExportRequest } from './resources/entries.ts'
export type {
  EventFilter,
  EventPage,
  EventPageQuery,
  EventsQuery,
  LedgerEventType,
  TailedEvent,
  TailOptions,
} from './resources/events.ts'
export type { KeysQuery, KeyWithSecret } from './resources/keys.ts'
export type { LedgersQuery, NewLedger } from './resources/ledgers.ts'
export type { PeerChange, PeerInvitation, PeersQuery } from './resources/peers.ts'
export type {
  CompletionRequest,
  CreateRequest,
  NotarizeRequest,
  RecordEntry,
  RecordsQuery,
} from './resources/records.ts'
export type {
  HoldRequest,
  HoldsQuery,
  RulePreview,
  RulePreviewRequest,
  RuleRequest,
} from './resources/retention.ts'
export type { RegistrationPolicy, StatementsQuery } from './resources/statements.ts'
export type { SubjectErasure } from './resources/subjects.ts'
export type { Documents, Preview, TypeDefinition, TypeSummary, TypesQuery } from './resources/types.ts'
export type {
  DeliveriesQuery,
  DeliveryAttempt,
  WebhooksQuery,
  WebhookWithSecret,
} from './resources/webhooks.ts'
export type { AnyTypes, TypeMap } from './typed.ts'
export * as verify from './verify/index.ts'
export * as webhooks from './webhooks/index.ts'
