import { formatId, type Uuid } from '../ids.ts'

/*
 * Ids of a batch's records: consecutive, and the first one's low 12 bits are zero (docs/formats/chain-and-checkpoints.md). So an id
 * says its own place in the batch, and which is the first. Places are below 2,048: a server sets the bit above them in the ids of
 * records that have an entry of their own, and knows by an id where to look.
 */

/** Hexadecimal digits of a uuid that say the place: 12 bits. */
const INDEX_DIGITS = 3
const INDEX_ENDS = Array.from({ length: 4_096 }, (_, i) => i.toString(16).padStart(INDEX_DIGITS, '0'))
const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz'

/**
 * The id of a record with an entry of its own that is made of a fresh one. Completions have such ids too, and batches whose ids the
 * server makes: an agent that signs a batch gives it the id of its first record, which no other thing has.
 */
export function ownRecordId(id: Uuid): Uuid {
  const at = id.length - INDEX_DIGITS
  return `${id.slice(0, at)}${(Number.parseInt(id[at]!, 16) | 8).toString(16)}${id.slice(at + 1)}` as Uuid
}

/** Whether a record of that id, if there is one, is of a batch. */
export function isOfBatch(id: Uuid): boolean {
  return indexOfRecordId(id) < 2_048
}

/** The first id of a batch that is made of a fresh one. */
export function firstRecordId(id: Uuid): Uuid {
  return `${id.slice(0, -INDEX_DIGITS)}000` as Uuid
}

/** `index`: less than 4,096. */
export function recordIdAt(first: Uuid, index: number): Uuid {
  return `${first.slice(0, -INDEX_DIGITS)}${INDEX_ENDS[index]!}` as Uuid
}

/** Place of a record in its batch, if it is of one. */
export function indexOfRecordId(id: Uuid): number {
  return Number.parseInt(id.slice(-INDEX_DIGITS), 16)
}

/** The ids as `rec_…`. The first 23 of 26 digits are the same for all, and the last 12 bits are the place. */
export function formatRecordIds(first: Uuid, count: number): string[] {
  const id = formatId('rec', first)
  const same = id.slice(0, -3)
  // Three digits hold 15 bits: three of the id before the 12 of the place.
  const high = DIGITS.indexOf(id.at(-3)!) & ~3
  return Array.from(
    { length: count },
    (_, i) => `${same}${DIGITS[high | (i >> 10)]!}${DIGITS[(i >> 5) & 31]!}${DIGITS[i & 31]!}`,
  )
}
