import { z } from 'zod'
import {
  base64,
  batchItem,
  hash,
  ledgerDescription,
  publishedKey,
  salt,
  seq,
  seqText,
  signedEntry,
} from './common.ts'

export const entriesQuery = z.strictObject({
  after: seqText.describe('only entries after this seq; absent: from the first entry on').optional(),
  limit: seqText.describe('highest number of entries; absent: all').optional(),
})

export const documentLine = z.strictObject({
  subject: z.string(),
  digest: hash,
  salt: salt.nullable().describe('null if the document is erased or withheld'),
  document: z
    .union([z.looseObject({}), z.array(z.looseObject({})), z.string()])
    .nullable()
    .describe('payload and evidence: an object; compared values: an array; a reason: text'),
  erasedBy: seq.nullable().describe('seq of the entry that erased the document'),
  references: z.array(z.string()).describe('only if the record has references').optional(),
})

/** A line of the export, which docs/formats/export.md describes. */
export const entryLine = signedEntry
  .extend({
    documents: z.array(documentLine),
    items: z
      .array(batchItem)
      .nullable()
      .describe('for a batch: exactly the objects that were hashed; null: no batch'),
    received: base64
      .describe('the envelope of another ledger’s entry, if this entry receives one')
      .optional(),
    signer: z
      .strictObject({ alg: z.enum(['EdDSA', 'ES256']), spki: base64 })
      .describe('the key of the agent that signed the entry; absent: the server signed it')
      .optional(),
  })
  .meta({ id: 'EntryLine' })

const firstLine = z.strictObject({
  export: z.literal(1),
  ledger: ledgerDescription,
  keys: z.array(publishedKey),
  documents: z.literal('withheld').optional(),
})

const lastLine = z.strictObject({ checkpoint: z.string().nullable() })

export const exportLine = z.union([firstLine, entryLine, lastLine])
