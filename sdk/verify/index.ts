/*
 * Offline verification of exports, proofs, envelopes and other files with a trusted key. Each function returns what it
 * verified, and throws VerificationError if the verification fails.
 */
export { type BundleOptions, type BundleReport, bundle } from './bundle.ts'
export { type CheckpointFindings, type ConsistencyFindings, checkpoint, consistency } from './checkpoints.ts'
export { document } from './document.ts'
export { type DsseEnvelope, type DsseSigner, toDsse } from './dsse.ts'
export { type AgentPublicKey, type EnvelopeKeys, envelope, type VerifiedEnvelope } from './envelope.ts'
export { VerificationError, type VerificationErrorCode } from './errors.ts'
export { type ExportOptions, type ExportReport, verifyExport as export } from './export.ts'
export type { ExportSource } from './export-source.ts'
export type { WitnessOptions } from './options.ts'
export { type ProofOptions, type ProofReport, proof } from './proof.ts'
export {
  type ConsistencyReceiptFindings,
  consistencyReceipt,
  type ReceiptOptions,
  type ReceiptReport,
  receipt,
} from './receipt.ts'
export {
  type SignalEvent,
  SignalExpiredError,
  type SignalOptions,
  signal,
  type VerifiedSignal,
} from './signal.ts'
export { type StatementOptions, type StatementReport, statement } from './statement.ts'
