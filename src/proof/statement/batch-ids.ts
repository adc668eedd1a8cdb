import { formatId, type Uuid } from '../ids.ts'

/*
 * Ids of records in batches. The ids of a batch are consecutive, and the low 12 bits of the first id are zero
 * (docs/formats/chain-and-checkpoints.md). So an id contains its position in the batch, which is below 2,048, and
 * determines the first id. In the id of a record with its own entry, servers set the bit with the value 2,048. So an id
 * shows where its record is stored.
 */

/** Number of hexadecimal digits at the end of a uuid that contain the position. They have 12 bits. */
const INDEX_DIGITS = 3
const INDEX_ENDS = Array.from({ length: 4_096 }, (_, i) => i.toString(16).padStart(INDEX_DIGITS, '0'))
const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz'

/**
 * Turns a fresh id into the id of a record with its own entry. Completions also get such ids, and so do batches if the
 * server makes their ids. If an agent signs a batch, the batch has the same id as its first record, with another
 * prefix.
 */
export function ownRecordId(id: Uuid): Uuid {
  const at = id.length - INDEX_DIGITS
  return `${id.slice(0, at)}${(Number.parseInt(id[at]!, 16) | 8).toString(16)}${id.slice(at + 1)}` as Uuid
}

/** Returns true if a record with this id would belong to a batch. The record need not exist. */
export function isOfBatch(id: Uuid): boolean {
  return indexOfRecordId(id) < 2_048
}

/** Turns a fresh id into the first id of a batch. */
export function firstRecordId(id: Uuid): Uuid {
  return `${id.slice(0, -INDEX_DIGITS)}000` as Uuid
}

/** Returns the id of the record at a position of the batch. `index`: less than 4,096. */
export function recordIdAt(first: Uuid, index: number): Uuid {
  return `${first.slice(0, -INDEX_DIGITS)}${INDEX_ENDS[index]!}` as Uuid
}

/** Returns a record's position in its batch. The id must be that of a record in a batch. */
export function indexOfRecordId(id: Uuid): number {
  return Number.parseInt(id.slice(-INDEX_DIGITS), 16)
}

/**
 * Returns the ids of a batch as `rec_…`. The first 23 of the 26 digits are the same in all ids. The last 12 bits are
 * the position.
 */
export function formatRecordIds(first: Uuid, count: number): string[] {
  const id = formatId('rec', first)
  const same = id.slice(0, -3)
  // The last three digits have 15 bits: three bits that all ids share, then the 12 bits of the position.
  const high = DIGITS.indexOf(id.at(-3)!) & ~3
  return Array.from(
    { length: count },
    (_, i) => `${same}${DIGITS[high | (i >> 10)]!}${DIGITS[(i >> 5) & 31]!}${DIGITS[i & 31]!}`,
  )
}
