import { fromHex, utf8Encode } from '../bytes.ts'
import type { Sha256 } from '../crypto.ts'
import { ProofError } from '../error.ts'
import { parseId } from '../ids.ts'
import { quote } from '../json/jcs.ts'
import type { JsonValue } from '../json/json-value.ts'
import { leafHash, merkleRoot, verifyInclusion } from '../tree/merkle.ts'
import { formatRecordIds, indexOfRecordId } from './batch-ids.ts'
import { refuseFields } from './fields.ts'
import { ITEM_FIELDS } from './predicates.ts'
import { ITEM_NAMES, type SignedMembers } from './record-members.ts'

/**
 * Signed members of a record in a batch. `digest`: digest of its payload. `references`: digest of its references. Both
 * digests are in hex.
 */
export type BatchItem = SignedMembers & {
  readonly record: string
  readonly type: string
  readonly digest: string
}

/**
 * Returns the item's JCS, with members in the order of their names. Every value is quoted, so that no value can imitate
 * a member. The text is concatenated by hand for speed, because one request makes up to 2,000 items.
 */
export function itemBytes(item: BatchItem): string {
  let text = `{"digest":${quote(item.digest)}`
  for (const [name, prefix] of PREFIXES) {
    const value = item[name]
    if (value !== undefined) text += prefix + quote(value)
  }
  return `${text}}`
}

/** Maps each member after `digest`, which is the first member, to the text `,"name":`. */
const PREFIXES = ITEM_NAMES.slice(1).map((name) => [name, `,"${name}":`] as const)

/**
 * Buffer for an item's bytes. A well-formed item has at most 600 bytes. With this buffer a leaf takes 0.65 µs. With a
 * new array for each item it takes 1.1 µs.
 */
const scratch = new Uint8Array(2_048)
const encoder = new TextEncoder()

/** Returns the item's leaf in the batch's own tree: H(0x00 ‖ itemBytes). `bytes`: the result of itemBytes. */
export function itemLeaf(sha256: Sha256, bytes: string): Uint8Array {
  const { read, written } = encoder.encodeInto(bytes, scratch)
  if (read < bytes.length) return leafHash(sha256, utf8Encode(bytes))
  return leafHash(sha256, scratch.subarray(0, written))
}

/** Returns the digest of a `batch-notarized` entry's subject. `leaves`: itemLeaf of each item, in order. */
export function batchRoot(sha256: Sha256, leaves: readonly Uint8Array[]): Uint8Array {
  return merkleRoot(sha256, leaves)
}

/** Parses an item. Throws `batch_item` if a member is unknown, missing or malformed. */
export function parseBatchItem(value: JsonValue): BatchItem {
  refuseFields(value, ITEM_FIELDS, 'batch_item')
  return value as BatchItem
}

/**
 * Verifies that the items' ids are consecutive and that the low 12 bits of the first id are zero. Throws
 * `batch_item`.
 */
export function verifyItemIds(items: readonly BatchItem[]): void {
  const first = items[0]!.record
  verifyItemId(first, 0)
  // Compares the ids as text, because making an id takes 60 ns and parsing an id takes 140 ns.
  for (const [i, id] of formatRecordIds(parseId('rec', first), items.length).entries()) {
    if (items[i]!.record === id) continue
    throw new ProofError(
      'batch_item',
      `item ${i} is ${items[i]!.record}, but the next id of the batch is ${id}`,
    )
  }
}

/** Verifies that the low 12 bits of an item's id are its position. */
function verifyItemId(record: string, index: number): void {
  const ownIndex = indexOfRecordId(parseId('rec', record))
  if (ownIndex === index) return
  throw new ProofError(
    'batch_item',
    `item ${index} is ${record}, which is the id of item ${ownIndex} of a batch`,
  )
}

/**
 * Verifies the proof of one record. `count` and `root` (hex) MUST be the values that the batch's entry signs. `item`:
 * the item that was shown for the record. Throws `batch_item`, `merkle_range` or `merkle_path`.
 */
export function verifyBatchItem(
  sha256: Sha256,
  item: JsonValue,
  index: number,
  count: number,
  path: readonly Uint8Array[],
  root: string,
): BatchItem {
  const parsed = parseBatchItem(item)
  verifyInclusion(sha256, itemLeaf(sha256, itemBytes(parsed)), index, count, path, fromHex(root))
  verifyItemId(parsed.record, index)
  return parsed
}
