/*
 * Verification without a server: an export, a proof or an envelope, and a trusted key, are all that it needs. Each
 * function returns what it found, and throws VerificationError where something that should have been proved was not.
 */
export { type CheckpointFindings, type ConsistencyFindings, checkpoint, consistency } from './checkpoints.ts'
export { document } from './document.ts'
export { envelope, type VerifiedEnvelope } from './envelope.ts'
export { VerificationError, type VerificationErrorCode } from './errors.ts'
export { type ExportOptions, type ExportReport, verifyExport as export } from './export.ts'
export type { ExportSource } from './export-source.ts'
export { type ProofOptions, type ProofReport, proof } from './proof.ts'
export {
  type SignalEvent,
  SignalExpiredError,
  type SignalOptions,
  signal,
  type VerifiedSignal,
} from './signal.ts'
