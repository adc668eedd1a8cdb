import { z } from 'zod'
import { TYPE_RULES_MAX } from '../../ledgers/types/limits.ts'
import { RULE_CODES } from '../../ledgers/types/rules/judge.ts'
import { pageOf, pageQuery } from '../answers/page.ts'
import { entryView, hash, instant, typeName } from './common.ts'

const shortName = z
  .string()
  .regex(/^[a-z][a-z0-9.-]{0,62}$/)
  .describe('a lower-case letter, then up to 62 lower-case letters, digits, dots and hyphens')
const schema = z
  .union([z.looseObject({}), z.boolean()])
  .describe('a JSON Schema 2020-12 with keywords of docs/guides/types.md')
const document = z.looseObject({})

/**
 * A rule. The schema checks only its form. src/ledgers/types/rules/rules.ts checks the rest and reports faults more
 * precisely.
 */
const rule = z.looseObject({
  id: z.string(),
  op: z.enum(['equals', 'atMost', 'atLeast', 'within', 'oneOf', 'before', 'after']),
  actual: z.string().describe('a JSON Pointer into the evidence'),
})

const definition = {
  name: shortName,
  version: z.int().min(1).max(999_999_999),
  payloadSchema: schema,
  evidenceSchema: schema.describe('JSON Schema of the evidence; a type with this member is gated').optional(),
  rules: z
    .array(rule)
    .max(TYPE_RULES_MAX)
    .describe('comparisons of evidence and payload; allowed only with an evidenceSchema')
    .optional(),
  agentSigned: z
    .literal(true)
    .describe('true: agents must sign records of this type, and each step, with their own keys')
    .optional(),
}

const EXAMPLE = {
  name: 'purchase',
  version: 1,
  payloadSchema: {
    type: 'object',
    properties: { sku: { type: 'string', pattern: '^[A-Z]{3}-[0-9]{4}$' }, quantity: { type: 'integer' } },
    required: ['sku', 'quantity'],
    additionalProperties: false,
  },
}

const documents = { payload: document.optional(), evidence: document.optional() }

export const registerTypeBody = z.strictObject(definition).meta({ examples: [EXAMPLE] })
export const previewBody = z
  .strictObject(documents)
  .meta({ examples: [{ payload: { sku: 'ABC-1234', quantity: 2 } }] })
export const previewDefinitionBody = z
  .strictObject({ ...definition, ...documents })
  .meta({ examples: [{ ...EXAMPLE, payload: { sku: 'ABC-1234', quantity: 2 } }] })

export const typeParams = z.strictObject({ name: z.string(), version: z.string() })

export const typesQuery = z.strictObject({
  ...pageQuery,
  name: shortName.describe('only versions of the type with this name').optional(),
})

export const typesCursor = z.tuple([typeName])

const summary = {
  type: typeName,
  gated: z.boolean(),
  digest: hash.describe('digest of the definition in canonical form'),
  registeredAt: instant.nullable().describe('null: a built-in type'),
}

export const typePage = pageOf(z.strictObject(summary))

/** Output of `renderType` (src/ledgers/types/read-types.ts). */
export const typeView = z
  .strictObject({
    ...summary,
    definition: z.looseObject({}),
    entry: entryView
      .nullable()
      .describe(
        'the entry that registers the type; null: a built-in type, whose digest is in the ledger’s first entry',
      ),
  })
  .meta({ id: 'Type' })

const outcome = z.enum(['pass', 'fail'])

export const ruleOutcome = z.strictObject({
  id: z.string(),
  outcome,
  code: z.enum(RULE_CODES).describe('why the rule failed').optional(),
})

export const previewView = z.strictObject({
  valid: z.boolean(),
  errors: z
    .array(
      z.strictObject({
        path: z.string().describe('a JSON Pointer into the request'),
        keyword: z.string(),
        message: z.string(),
      }),
    )
    .describe('the first error of each document'),
  outcome: outcome
    .nullable()
    .describe('outcome of all rules; null: a document is absent or invalid, or the type is not gated'),
  rules: z
    .array(ruleOutcome)
    .nullable()
    .describe('outcome of each rule, in order; null if `outcome` is null'),
})
