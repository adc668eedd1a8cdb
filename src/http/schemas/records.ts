import { z } from 'zod'
import { BATCH_ITEMS_MAX } from '../../db/limits.ts'
import { REFERENCES_MAX } from '../../proof/limits.ts'
import { REFERENCE_CHARS_MAX } from '../../proof/request-limits.ts'
import { RECORD_STATES } from '../../proof/statement/kinds.ts'
import { type OtherName, SHOWN_OTHERS } from '../../proof/statement/record-members.ts'
import { TRACEPARENT } from '../../proof/statement/traceparent.ts'
import { SUBJECT_CHARS_MAX } from '../../records/limits.ts'
import {
  anyAgent,
  entryKind,
  erasureCode,
  hash,
  idOf,
  instant,
  others,
  ownEnvelope,
  recordEntry,
  salt,
  seq,
  typeName,
} from './common.ts'
import { gatedView, terms } from './gated.ts'
import { WITHOUT_CONTROLS } from './names.ts'
import { time } from './times.ts'

const document = z
  .looseObject({})
  .describe('any JSON object, stored beside the chain; its salted digest is signed')

/** Label of a person. No answer contains it, because only a keyed hash of the label is stored. */
export const subjectLabel = z
  .string()
  .min(1)
  .max(SUBJECT_CHARS_MAX)
  .regex(WITHOUT_CONTROLS)
  .describe(
    'your label of the person that the record is about; stored as a keyed hash, not signed, erased with the payload',
  )

/** Optional members of records in answers. null if the record has no such member. */
const shownOthers = Object.fromEntries(SHOWN_OTHERS.map((name) => [name, z.string().nullable()])) as {
  [Name in OtherName]: z.ZodNullable<z.ZodString>
}

const item = {
  type: typeName,
  payload: document,
  metadata: z.looseObject({}).describe('any JSON object, not signed').optional(),
  occurredAt: time.optional(),
  onBehalfOf: idOf('agt').optional(),
  subject: subjectLabel.optional(),
  ...others,
}

export const reference = z
  .string()
  .min(1)
  .max(REFERENCE_CHARS_MAX)
  .regex(WITHOUT_CONTROLS)
  .describe('a URI, or `system:id`')

const referenceList = z
  .array(reference)
  .max(REFERENCES_MAX)
  .describe('what the record is about in other systems; a salted digest is signed; erased with the payload')

const EXAMPLE = { type: 'generic/1', payload: { tool: 'search', query: 'price of copper' } }

export const notarizeBody = z
  .strictObject({
    ...item,
    salt: salt.optional(),
    envelope: ownEnvelope.optional(),
    ...terms,
    parent: idOf('rec').describe('the record that led to this one, of this ledger').optional(),
    references: referenceList.optional(),
  })
  .meta({ examples: [EXAMPLE, { ...EXAMPLE, occurredAt: '2026-11-20T12:00:00Z', metadata: { run: 7 } }] })
const batchItem = z.strictObject({
  ...item,
  parent: z
    .union([
      idOf('rec'),
      z
        .int()
        .min(0)
        .max(BATCH_ITEMS_MAX - 1),
    ])
    .describe('a record of this ledger, or the index, from 0, of an earlier record of this batch')
    .optional(),
  references: referenceList.optional(),
  salt: salt.describe('required with an envelope, refused without one').optional(),
  traceparent: z
    .string()
    .regex(TRACEPARENT)
    .describe('W3C Trace Context, version 00; absent: the `traceparent` of the request')
    .optional(),
})
export const batchBody = z
  .strictObject({
    records: z.array(batchItem).min(1).max(BATCH_ITEMS_MAX),
    envelope: ownEnvelope.optional(),
  })
  .meta({ examples: [{ records: [EXAMPLE, { ...EXAMPLE, parent: 0 }] }] })

const erasureView = z
  .strictObject({
    code: erasureCode
      .nullable()
      .describe('reason of the erasure; null: the entry that signs the reason cannot be read'),
    by: z.union([anyAgent, z.literal('system')]),
    recordedAt: instant,
    seq,
  })
  .meta({ id: 'RecordErasure' })

/** Output of `renderRecord` (src/records/read/render.ts). */
export const recordView = z
  .strictObject({
    id: idOf('rec'),
    ledger: idOf('led').describe('its home ledger'),
    type: typeName,
    state: z.enum(RECORD_STATES),
    version: z.int().min(1),
    nextEvents: z.array(entryKind).describe('kinds of entries that can come next'),
    payload: z
      .looseObject({})
      .nullable()
      .describe('null: the payload is erased, or the home ledger shares only digests'),
    salt: salt.nullable(),
    digest: hash.describe('digest of the salted payload (docs/formats/documents.md)'),
    actor: anyAgent,
    key: idOf('key'),
    onBehalfOf: anyAgent.nullable(),
    parent: idOf('rec').nullable(),
    references: z.array(reference).nullable().describe('null: none, or erased'),
    occurredAt: instant.nullable(),
    ...shownOthers,
    recordedAt: instant,
    entry: recordEntry.describe(
      'the newest entry of the record; for a record of another ledger, the entry that received it',
    ),
    batch: idOf('bat').nullable(),
    metadata: z.looseObject({}).nullable().describe('not signed'),
    erasure: erasureView.nullable().describe('the erasure of the payload; null: not erased'),
    gated: gatedView.nullable().describe('null for a notarized record'),
  })
  .meta({ id: 'Record' })

export const batchView = z.strictObject({
  batch: idOf('bat'),
  entry: recordEntry,
  records: z.array(z.strictObject({ id: idOf('rec'), digest: hash, salt: salt.nullable() })),
})
