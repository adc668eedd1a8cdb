export { Tallystick, type TallystickOptions } from './client.ts'
export * from './errors.ts'
export type * from './generated/api.ts'
export { ADVICE, type ErrorCode } from './generated/errors.ts'
export { Listing, type Page } from './http/listing.ts'
export type { CallOptions, StepOptions, WriteOptions } from './http/transport.ts'
export type { Batch, BatchItem } from './resources/batches.ts'
export type {
  CompletionRequest,
  CreateRequest,
  NotarizeRequest,
  RecordEntry,
  RecordState,
  RecordsQuery,
} from './resources/records.ts'
export type { AnyTypes, TypeMap } from './typed.ts'
