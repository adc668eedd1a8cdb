import type { ChunkRecord } from '../../db/chunks/chunk-content.ts'
import { canonicalize } from '../../proof/json/jcs.ts'
import type { JsonValue } from '../../proof/json/json-value.ts'
import { nativeProviders } from '../../signing/native.ts'
import { toHex } from '../../signing/text-of-bytes.ts'

/*
 * How a span or a log that was sent before is known again (docs/decisions/0030-a-span-is-one-record.md). Records of the same group have a
 * key of batch_keys in common: the trace, or, of a log without one, a reference.
 */

export const SPAN_TYPE = 'otel-span/1'
export const LOG_TYPE = 'otel-log/1'

const MS_PER_HOUR = 3_600_000
/** Half of a hash: within a group it tells logs apart. */
const DIGITS = 32

/** In its trace. */
export function spanIdentity(spanId: string): string {
  return spanId
}

/** A log has no id: two that are equal, time and all, are one. `payload`: canonical JSON. */
export function logIdentity(payload: Uint8Array): string {
  return toHex(nativeProviders.sha256(payload)).slice(0, DIGITS)
}

/** Reference of logs without a trace: of one process, one conversation and one hour. */
export function logGroup(
  resource: Record<string, unknown>,
  references: readonly string[],
  nanoseconds: string | undefined,
): string {
  const origin = Buffer.from(canonicalize([resource, references] as JsonValue))
  const hour = Math.floor(Number(nanoseconds?.slice(0, -6) ?? 0) / MS_PER_HOUR)
  return `${LOG_GROUP_PREFIX}${toHex(nativeProviders.sha256(origin)).slice(0, DIGITS)}.${hour}`
}

const LOG_GROUP_PREFIX = 'otel.logs:'

/** The identity of a stored record; null: it is none of OTLP, or an erased log, which nothing tells any more. */
export function identityOf({ type, traceparent, document }: ChunkRecord): string | null {
  if (type === SPAN_TYPE) return traceparent === null ? null : spanIdentity(traceparent.slice(36, 52))
  if (type !== LOG_TYPE || document.erasedSeq !== undefined) return null
  return logIdentity(document.payload)
}
