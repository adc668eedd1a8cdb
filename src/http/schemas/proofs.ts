import { z } from 'zod'
import { pageOf, pageQuery } from '../page.ts'
import { plainText } from './common.ts'

const hash = z.string().regex(/^[0-9a-f]{64}$/)
const path = z.array(hash).describe('RFC 9162 audit path, from the leaf up')
const seq = z.string().regex(/^(0|[1-9][0-9]{0,14})$/)
const size = z.string().regex(/^[1-9][0-9]{0,14}$/)
const time = z.string().regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
const note = z.string().describe('a signed note: C2SP tlog-checkpoint')

const ofSize = size.describe('prove it in the checkpoint of just that size; absent: in the newest').optional()

export const proofParams = z.strictObject({ id: z.string() })
export const entryProofParams = z.strictObject({ seq: z.string() })
export const checkpointParams = z.strictObject({ size: z.string() })

export const recordProofQuery = z.strictObject({
  size: ofSize,
  seq: seq.describe('another entry of the record than its first').optional(),
})
export const entryProofQuery = z.strictObject({ size: ofSize })
export const consistencyQuery = z.strictObject({
  from: size.describe('the smaller size'),
  to: size.describe('the larger one: at most that of the newest checkpoint'),
})
export const checkpointsQuery = z.strictObject(pageQuery)
export const checkpointsCursor = z.tuple([z.int().positive()])

const envelopeKey = z.strictObject({
  kid: hash,
  use: z.literal('envelope'),
  alg: z.enum(['EdDSA', 'ES256']),
  spki: z.base64(),
  activatedAt: time,
  retiredAt: time.nullable(),
  compromisedAt: time.nullable(),
})

const item = z.strictObject({
  record: z.string(),
  type: z.string(),
  digest: hash,
  onBehalfOf: z.string().optional(),
  occurredAt: time.optional(),
  traceparent: z.string().optional(),
})

/** docs/formats/proofs.md */
export const entryProof = z.strictObject({
  ledger: z.strictObject({
    id: z.string(),
    name: z.string(),
    issuer: z.string(),
    origin: z.string(),
    noteVerifierKey: z.string(),
  }),
  keys: z.array(envelopeKey).describe('the key that signed the envelope'),
  entry: z.strictObject({
    seq: z.int().nonnegative(),
    kind: z.string(),
    recordedAt: time,
    leaf: hash,
    chain: hash,
    envelope: z.base64().describe('COSE_Sign1'),
  }),
  index: z.int().nonnegative(),
  treeSize: z.int().positive(),
  path,
  checkpoint: note,
  item: z
    .strictObject({
      item: item.describe('exactly the object that was hashed'),
      index: z.int().nonnegative(),
      count: z.int().positive(),
      path,
    })
    .describe("the record's place in its batch")
    .optional(),
})

export const checkpointNote = plainText(note)
export const checkpointPage = pageOf(z.strictObject({ size: z.int().positive(), publishedAt: time }))
export const consistencyProof = z.strictObject({
  from: z.int().positive(),
  to: z.int().positive(),
  path: path.describe('RFC 9162 consistency proof'),
})
