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
  .describe('prove it in the checkpoint of just that size; absent: in the newest')
  .optional()

const cosignatures = z
  .string()
  .regex(/^([1-9]|1[0-6])$/)
  .describe('in the newest checkpoint that so many witnesses have cosigned, instead of the newest')
  .optional()

export const latestCheckpointQuery = z.strictObject({ cosignatures })
export const entryProofParams = z.strictObject({ seq: z.string() })
export const checkpointParams = z.strictObject({ size: z.string() })

export const recordProofQuery = z.strictObject({
  size: ofSize,
  cosignatures,
  seq: seqText.describe('another entry of the record than its first').optional(),
})
export const entryProofQuery = z.strictObject({ size: ofSize, cosignatures })
export const consistencyQuery = z.strictObject({
  from: sizeText.describe('the smaller size'),
  to: sizeText.describe('the larger one: at most that of the newest checkpoint'),
})
export const checkpointsQuery = z.strictObject(pageQuery)
export const checkpointsCursor = z.tuple([size])

/** docs/formats/proofs.md */
export const entryProof = z.strictObject({
  ledger: ledgerDescription,
  keys: z.array(publishedKey).describe('the key that signed the envelope, or the registration'),
  registration: base64
    .describe('where the agent signed the entry itself: the envelope by which the server registered its key')
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
    .describe("the record's place in its batch")
    .optional(),
})

export const checkpointNote = plainText(note)
export const checkpointPage = pageOf(z.strictObject({ size, publishedAt: instant }))
export const consistencyProof = z.strictObject({
  from: size,
  to: size,
  path: path.describe('RFC 9162 consistency proof'),
})
