import { z } from 'zod'
import {
  base64,
  entryKind,
  hash,
  idOf,
  instant,
  ledgerDescription,
  publishedKey,
  salt,
  seq,
  typeName,
} from './common.ts'

const seqText = z.string().regex(/^(0|[1-9][0-9]{0,14})$/)

export const entriesQuery = z.strictObject({
  after: seqText.describe('exclusive; absent: from the first entry').optional(),
  limit: seqText.describe('at most so many entries; absent: to the head').optional(),
})

const documentLine = z.strictObject({
  subject: z.string(),
  digest: hash,
  salt: salt.nullable().describe('null when the document is erased or withheld'),
  document: z.looseObject({}).nullable(),
  erasedBy: seq.nullable().describe('the entry that says so'),
  references: z.array(z.string()).describe('where the record has some').optional(),
})

const batchItem = z.strictObject({
  record: idOf('rec'),
  type: typeName,
  digest: hash,
  onBehalfOf: idOf('agt').optional(),
  occurredAt: instant.optional(),
  traceparent: z.string().optional(),
})

/** docs/formats/export.md. */
export const entryLine = z
  .strictObject({
    seq,
    kind: entryKind,
    recordedAt: instant,
    leaf: hash,
    chain: hash,
    envelope: base64.describe('COSE_Sign1'),
    documents: z.array(documentLine),
    items: z.array(batchItem).nullable().describe('of a batch: the objects that were hashed'),
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
