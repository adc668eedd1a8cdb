import { z } from 'zod'
import { pageOf, pageQuery } from '../answers/page.ts'
import {
  base64,
  batchItem,
  hash,
  instant,
  ledgerDescription,
  note,
  plainText,
  publishedKey,
  seq,
  seqText,
  signedEntry,
  sizeText,
} from './common.ts'

const path = z.array(hash).describe('RFC 9162 audit path, from the leaf up')
const size = z.int().min(1)
const ofSize = sizeText
  .describe('prove the entry in the checkpoint of this size; absent: in the newest')
  .optional()

const cosignatures = z
  .string()
  .regex(/^([1-9]|1[0-6])$/)
  .describe('use the newest checkpoint that has at least this number of cosignatures of witnesses')
  .optional()

export const latestCheckpointQuery = z.strictObject({ cosignatures })
export const entryProofParams = z.strictObject({ seq: z.string() })
export const checkpointParams = z.strictObject({ size: z.string() })

export const recordProofQuery = z.strictObject({
  size: ofSize,
  cosignatures,
  seq: seqText.describe('seq of the record’s entry to prove; absent: its first entry').optional(),
})
export const entryProofQuery = z.strictObject({ size: ofSize, cosignatures })
export const consistencyQuery = z.strictObject({
  from: sizeText.describe('the smaller size'),
  to: sizeText.describe('the larger size, at most that of the newest checkpoint'),
})
export const checkpointsQuery = z.strictObject(pageQuery)
export const checkpointsCursor = z.tuple([size])

/** The proof of an entry, which docs/formats/proofs.md describes. */
export const entryProof = z.strictObject({
  ledger: ledgerDescription,
  keys: z
    .array(publishedKey)
    .describe('the server key that signed `registration` if it is present, otherwise the envelope'),
  registration: base64
    .describe('the envelope that registered the agent’s key, if the entry is signed by that key')
    .optional(),
  entry: signedEntry,
  index: seq,
  treeSize: size,
  path,
  checkpoint: note,
  item: z
    .strictObject({
      item: batchItem.describe('exactly the object that was hashed'),
      index: z.int().min(0),
      count: size,
      path,
    })
    .describe('proof of the record’s position in its batch')
    .optional(),
})

export const checkpointNote = plainText(note)
export const checkpointPage = pageOf(z.strictObject({ size, publishedAt: instant }))
export const consistencyProof = z.strictObject({
  from: size,
  to: size,
  path: path.describe('RFC 9162 consistency proof'),
})
