import type { ChunkRecord } from '../../db/chunks/chunk-content.ts'
import { chunkKey, traceIdOf } from '../../db/chunks/chunk-keys.ts'
import { canonicalize } from '../../proof/json/jcs.ts'
import type { JsonValue } from '../../proof/json/json-value.ts'
import { sha256Hex } from '../../signing/sha256.ts'
import { toHex } from '../../signing/text-of-bytes.ts'

/*
 * Recognises spans and logs that were sent before (docs/decisions/0025-storage-of-batches.md#opentelemetry-spans).
 * Spans are grouped by their trace, and logs by their trace or, without a trace, by a reference. All records of a group
 * have the same search key in batch_keys.
 */

export const SPAN_TYPE = 'otel-span/1'
export const LOG_TYPE = 'otel-log/1'

const MS_PER_HOUR = 3_600_000
/** Number of hex digits of a hash that are used. Half of a hash is enough to distinguish logs within a group. */
const DIGITS = 32

/**
 * Returns the name of a span within its trace. The name is made from the span's id, content and person. `payload`:
 * canonical JSON. `person`: keyed hash of the label, or null.
 *
 * If the same bytes are sent again, they are the same span. If other content is sent with the same ids, it is another
 * record. Otherwise a sender could prevent another sender's span from being stored.
 */
export function spanIdentity(spanId: string, payload: Uint8Array, person: Uint8Array | null): string {
  return spanId + logIdentity(payload, person)
}

/**
 * Returns the name of a log within its group. Logs have no id. Two logs with equal members, including time and person,
 * count as the same log.
 */
export function logIdentity(payload: Uint8Array, person: Uint8Array | null): string {
  const content = sha256Hex(payload).slice(0, DIGITS)
  return `.${content}${person === null ? '' : toHex(person)}`
}

/** Returns the name of an item after its erasure. For a span the name is only the span's id. For a log it is empty. */
export function erasedIdentity(identity: string): string {
  return identity.slice(0, identity.indexOf('.'))
}

/**
 * Returns the reference by which logs without a trace are grouped. The reference is the same for all logs of one
 * process, scope, conversation and hour.
 */
export function logGroup(
  origin: readonly { readonly text: string }[],
  references: readonly string[],
  nanoseconds: string | undefined,
): string {
  const texts = origin.map(({ text }) => text)
  const group = Buffer.from(canonicalize([texts, references] as JsonValue))
  const hour = Math.floor(Number(nanoseconds?.slice(0, -6) ?? 0) / MS_PER_HOUR)
  return `${LOG_GROUP_PREFIX}${sha256Hex(group).slice(0, DIGITS)}.${hour}`
}

const LOG_GROUP_PREFIX = 'otel.logs:'

/**
 * Returns the groups and the identity of a stored OTLP record. Returns null for other records, and for an erased log.
 * `person`: keyed hash of the label that is stored with the record, or null.
 */
export function identityOf(
  { type, traceparent, document }: ChunkRecord,
  person: Uint8Array | null,
): { readonly groups: readonly string[]; readonly identity: string } | null {
  const trace = traceparent === null ? null : traceGroup(traceIdOf(traceparent))
  if (type === SPAN_TYPE) {
    if (trace === null) return null
    const spanId = traceparent!.slice(36, 52)
    const identity =
      document.erasedSeq === undefined ? spanIdentity(spanId, document.payload, person) : spanId
    return { groups: [trace], identity }
  }
  if (type !== LOG_TYPE || document.erasedSeq !== undefined) return null
  const groups = trace === null ? groupsOfReferences(document.references) : [trace]
  return { groups, identity: logIdentity(document.payload, person) }
}

/** Returns the search key of a trace (table batch_keys), in hex. */
export function traceGroup(traceId: string): string {
  return toHex(chunkKey.member('traceparent', traceId))
}

/** Returns the search key of a reference (table batch_keys), in hex. */
export function referenceGroup(reference: string): string {
  return toHex(chunkKey.reference(reference))
}

function groupsOfReferences(references: Uint8Array | null): string[] {
  if (references === null) return []
  const texts = JSON.parse(Buffer.from(references).toString()) as string[]
  return texts.filter((text) => text.startsWith(LOG_GROUP_PREFIX)).map(referenceGroup)
}
