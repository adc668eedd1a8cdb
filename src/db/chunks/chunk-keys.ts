import { bytesOfUuid, type Uuid } from '../../proof/ids.ts'
import {
  OTHER_MEMBERS,
  type OtherName,
  STORED_MEMBERS,
  type StoredName,
} from '../../proof/statement/record-members.ts'
import type { ChunkRecord } from './chunk-content.ts'

/*
 * Makes the keys of the table batch_keys, by which a search finds chunks. A key is a letter for the property, followed
 * by the value.
 *
 * If several records of a chunk have the same value, the chunk has one key for the value. Data subjects are the
 * exception: each record has its own key for its data subject.
 */

const MS_PER_DAY = 86_400_000
/**
 * Offset that is added to the number of a day. It makes the numbers of days before 1970 positive too, so that all days
 * sort by their bytes.
 */
const DAY_OFFSET = 2 ** 31

export const chunkKey = {
  type: (type: string) => key('T', Buffer.from(type)),
  actor: (agent: Uuid) => key('A', bytesOfUuid(agent)),
  reference: (reference: string) => key('R', Buffer.from(reference)),
  /**
   * Key of a data subject. It has 18 bytes and contains the hash of the subject's label and the record's position in
   * the chunk (0 to 63).
   */
  subject: (hash: Uint8Array, index: number) => key('S', Buffer.concat([hash, Buffer.of(index)])),
  /** Key of a member. `value` is the result of the member's `keyedBy`. */
  member: (name: StoredName, value: string | number) => KEYED.get(name)!.keyOf(value as never),
  other: (name: OtherName, text: string) => key('M', Buffer.from(`${name}=${text}`)),
} as const

function key(letter: string, value: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(letter), value])
}

/** Returns the trace id as 32 hex digits. */
export function traceIdOf(traceparent: string): string {
  return traceparent.slice(3, 35)
}

export function dayOf(ms: number): number {
  return Math.floor(ms / MS_PER_DAY)
}

const ofId = { keyedBy: (id: Uuid) => id, bytesOf: bytesOfUuid }

/**
 * Maps the type of a stored member to functions that make keys. `keyedBy` returns the part of the value that is
 * searched for. `bytesOf` encodes that part.
 */
const VALUES = {
  agent: ofId,
  record: ofId,
  trace: { keyedBy: traceIdOf, bytesOf: (traceId: string) => Buffer.from(traceId, 'hex') },
  /** The key contains the day in UTC, as the number of days since 1970. */
  time: {
    keyedBy: dayOf,
    bytesOf(day: number) {
      const bytes = Buffer.allocUnsafe(4)
      bytes.writeUInt32BE(day + DAY_OFFSET)
      return bytes
    },
  },
}

const KEYED = new Map(
  STORED_MEMBERS.map(({ name, row, as, key: letter }) => {
    const { keyedBy, bytesOf } = VALUES[as]
    return [name, { row, keyedBy, keyOf: (value: never) => key(letter, bytesOf(value)) }]
  }),
)

/** Returns all keys of a chunk except those of data subjects. `actor` is the agent that notarized the batch. */
export function keysOfChunk(actor: Uuid, records: readonly ChunkRecord[]): Buffer[] {
  const keys = [chunkKey.actor(actor)]
  for (const type of new Set(records.map(({ type }) => type))) keys.push(chunkKey.type(type))
  for (const { row, keyedBy, keyOf } of KEYED.values()) {
    const values = new Set<string | number>()
    for (const { [row]: value } of records) if (value !== null) values.add(keyedBy(value as never))
    for (const value of values) keys.push(keyOf(value as never))
  }
  for (const [name, { filter }] of OTHER_MEMBERS) {
    const values = new Set(records.map(({ otherMembers }) => otherMembers?.[name]))
    for (const text of values) if (filter && text !== undefined) keys.push(chunkKey.other(name, text))
  }
  for (const reference of referencesOf(records)) keys.push(chunkKey.reference(reference))
  return keys
}

export function referencesOf(records: readonly ChunkRecord[]): Set<string> {
  const references = new Set<string>()
  for (const { document } of records) {
    const list = document.erasedSeq === undefined ? document.references : null
    if (list === null) continue
    for (const reference of JSON.parse(Buffer.from(list).toString()) as string[]) references.add(reference)
  }
  return references
}
