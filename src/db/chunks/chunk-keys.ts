import { bytesOfUuid, type Uuid } from '../../proof/ids.ts'
import type { ChunkRecord } from './chunk-content.ts'

/*
 * Keys of table batch_keys, by which a search finds chunks: a letter for the property, and its value. A chunk has one for each distinct
 * value among its records; of a person one for each record.
 */

const MS_PER_DAY = 86_400_000
/** Days before 1970 sort before those after it. */
const DAY_OFFSET = 2 ** 31

export const chunkKey = {
  type: (type: string) => key('T', Buffer.from(type)),
  actor: (agent: Uuid) => key('A', bytesOfUuid(agent)),
  onBehalfOf: (agent: Uuid) => key('B', bytesOfUuid(agent)),
  /** 32 hex digits. */
  traceId: (traceId: string) => key('C', Buffer.from(traceId, 'hex')),
  parent: (record: Uuid) => key('P', bytesOfUuid(record)),
  reference: (reference: string) => key('R', Buffer.from(reference)),
  /** Person, by the hash of the label, and the one record in the chunk that is about it: 18 bytes. `place`: 0 to 63. */
  subject: (hash: Uint8Array, place: number) => key('S', Buffer.concat([hash, Buffer.of(place)])),
  /** Day of `occurredAt` in UTC: days since the epoch. */
  day: (day: number) => {
    const bytes = Buffer.allocUnsafe(4)
    bytes.writeUInt32BE(day + DAY_OFFSET)
    return key('D', bytes)
  },
} as const

function key(letter: string, value: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(letter), value])
}

/** 32 hex digits. */
export function traceIdOf(traceparent: string): string {
  return traceparent.slice(3, 35)
}

export function dayOf(ms: number): number {
  return Math.floor(ms / MS_PER_DAY)
}

/** `actor`: the agent that notarized the batch. */
export function keysOfChunk(actor: Uuid, records: readonly ChunkRecord[]): Buffer[] {
  const types = new Set<string>()
  const agents = new Set<Uuid>()
  const traces = new Set<string>()
  const parents = new Set<Uuid>()
  const days = new Set<number>()
  for (const { type, onBehalfOf, traceparent, parentId, occurredAtMs } of records) {
    types.add(type)
    if (onBehalfOf !== null) agents.add(onBehalfOf)
    if (traceparent !== null) traces.add(traceIdOf(traceparent))
    if (parentId !== null) parents.add(parentId)
    if (occurredAtMs !== null) days.add(dayOf(occurredAtMs))
  }
  return [
    chunkKey.actor(actor),
    ...Array.from(types, chunkKey.type),
    ...Array.from(agents, chunkKey.onBehalfOf),
    ...Array.from(traces, chunkKey.traceId),
    ...Array.from(parents, chunkKey.parent),
    ...Array.from(days, chunkKey.day),
    ...Array.from(referencesOf(records), chunkKey.reference),
  ]
}

/** Each reference of the records once. */
export function referencesOf(records: readonly ChunkRecord[]): Set<string> {
  const references = new Set<string>()
  for (const { document } of records) {
    const list = document.erasedSeq === undefined ? document.references : null
    if (list === null) continue
    for (const reference of JSON.parse(Buffer.from(list).toString()) as string[]) references.add(reference)
  }
  return references
}
