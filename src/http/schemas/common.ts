import { z } from 'zod'
import { CODE, TYPE_NAME } from '../../proof/statement/fields.ts'
import { ENTRY_KINDS, type EntryKind, STATEMENT } from '../../proof/statement/kinds.ts'
import { mapOthers } from '../../proof/statement/record-members.ts'

/*
 * The schemas of answers in this folder describe exactly what the server writes. Tests check every answer against them.
 */

const ID_CHARS = '[0-7][0-9a-hjkmnp-tv-z]{25}'

/** Schema of a TypeID in canonical spelling. */
export function idOf(
  prefix: 'rec' | 'bat' | 'led' | 'agt' | 'key' | 'cmp' | 'aud' | 'whk' | 'evt' | 'peer' | 'stm',
) {
  return z.string().regex(new RegExp(`^${prefix}_${ID_CHARS}$`))
}

export const anyAgent = z
  .string()
  .regex(new RegExp(`^(led_${ID_CHARS}/)?agt_${ID_CHARS}$`))
  .describe('`agt_…`; in another ledger `led_…/agt_…`')

export const sentBy = idOf('peer').describe(
  'the peer that sent the record; absent: the ledger’s own record, or else the record of the peer that sent this id first',
)

export const hash = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .describe('SHA-256, lower-case hex')
export const seq = z.int().min(0).describe('position in the chain, from 0')
/** Pattern of a seq or size in a query or path. Every matching value is exact as a JavaScript number. */
export const SEQ_TEXT = /^(0|[1-9][0-9]{0,14})$/
export const SIZE_TEXT = /^[1-9][0-9]{0,14}$/
export const seqText = z.string().regex(SEQ_TEXT).describe('a seq: a whole number from 0')
export const sizeText = z.string().regex(SIZE_TEXT).describe('a size: a whole number from 1')
/**
 * Schema of a number of seconds to wait, with at most one decimal. `max`: a multiple of 10 below 100. The limit is in
 * a pattern, because /openapi.json cannot limit a text in another way.
 */
export function waitText(max: number) {
  const tens = Array.from({ length: max / 10 }, (_, ten) => ten || '')
  return z.string().regex(new RegExp(`^(?:(?:${tens.join('|')})[0-9](?:\\.[0-9])?|${max})$`))
}
export const base64 = z.string().regex(/^[A-Za-z0-9+/]+={0,2}$/)
export const salt = z
  .string()
  .regex(/^[A-Za-z0-9_-]{21}[AQgw]$/)
  .describe('16 bytes, base64url without padding')
export const instant = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
  .describe('RFC 3339, UTC, milliseconds')
export const typeName = z.string().regex(TYPE_NAME).describe('name/version of a type')
export const erasureCode = z.string().regex(CODE).describe('the reason, as a word for programs')
export const entryKind = z.enum(Object.keys(ENTRY_KINDS) as [EntryKind, ...EntryKind[]])
/** Kinds of entries, including the kind of a registered statement, which another issuer signed. */
export const anyEntryKind = z.union([z.literal(STATEMENT), entryKind])

/** Position of an entry in the chain. */
export const entryView = z
  .strictObject({ seq, kind: entryKind, leaf: hash, chain: hash })
  .meta({ id: 'EntryPlace' })

export const signedBy = z
  .enum(['agent', 'server'])
  .describe('who signed the entry: the agent itself with a registered key, or the server')

export const recordEntry = z.strictObject({ ...entryView.shape, signedBy }).meta({ id: 'RecordEntry' })

/** Envelope that an agent has signed itself (docs/reference/api.md). It has at most 32,768 bytes. */
export const ownEnvelope = base64
  .max(43_692)
  .describe(
    'COSE_Sign1 of the entry, signed by the agent itself; each document then needs a salt. Absent: the server signs the entry',
  )

/** An entry with its envelope, so that readers can verify it themselves. */
export const signedEntry = z.strictObject({
  seq,
  kind: anyEntryKind,
  recordedAt: instant,
  leaf: hash,
  chain: hash,
  envelope: base64.describe('COSE_Sign1'),
})

/** Optional members of records (src/proof/statement/record-members.ts). */
export const others = mapOthers(({ pattern, description }) =>
  z.string().regex(pattern).describe(description).optional(),
)

/** A record of a batch, as the object whose hash is a leaf of the batch's Merkle tree. */
export const batchItem = z.strictObject({
  record: idOf('rec'),
  type: typeName,
  digest: hash,
  onBehalfOf: idOf('agt').optional(),
  occurredAt: instant.optional(),
  parent: idOf('rec').optional(),
  references: hash.describe('digest of the salted references').optional(),
  traceparent: z.string().optional(),
  ...others,
})

export function plainText(schema: z.ZodType) {
  return { content: { 'text/plain; charset=utf-8': { schema } } }
}

/** A signed note of the tree (C2SP tlog-checkpoint). */
export const note = z.string().describe('a signed note: origin, size, Merkle root, chain hash, signatures')

export const ledgerDescription = z
  .strictObject({
    id: idOf('led'),
    name: z.string(),
    issuer: z.string(),
    origin: z.string(),
    noteVerifierKey: z
      .string()
      .describe('the key that signs the ledger’s checkpoints, as a C2SP verifier key'),
  })
  .meta({ id: 'Ledger' })

export const publishedKey = z
  .strictObject({
    kid: hash,
    use: z.literal('envelope'),
    alg: z.enum(['EdDSA', 'ES256']),
    spki: base64.describe('DER SubjectPublicKeyInfo'),
    activatedAt: instant,
    retiredAt: instant.nullable(),
    compromisedAt: instant.nullable(),
  })
  .meta({ id: 'PublishedKey' })

/** The schema does not check the id. `pathId` parses it, so that a malformed id is answered with 404. */
export const idParams = z.strictObject({ id: z.string() })

export const noMembers = z.strictObject({})
