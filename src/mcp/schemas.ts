import { z } from 'zod'
import { RECORD_STATES } from '../proof/statement/kinds.ts'
import { FILTER_ENTRIES, type FilterName } from '../proof/statement/record-filters.ts'
import { mapOthers } from '../proof/statement/record-members.ts'
import { MCP_PAGE_ITEMS_DEFAULT, MCP_PAGE_ITEMS_MAX } from './limits.ts'

/*
 * Schemas of the arguments and answers of tools, as models see them. arguments.ts accepts more, because clients make
 * mistakes. The schemas check only the form of arguments. The server checks the values, and its errors say what to do.
 * Answers may contain more members than the schemas describe, so that a newer server does not break older clients.
 */

export const recordId = z.string().max(100).describe('id of the record (rec_…)')
export const peer = z
  .string()
  .max(100)
  .describe('the peer (peer_…) that sent the record; needed if two peers sent the same id')
  .optional()
const agent = z.string().max(100)
const time = z.string().max(40).describe('RFC 3339 in UTC, such as 2026-11-20T12:00:00Z')
export const json = z.looseObject({})

export const writeArguments = {
  occurredAt: time.describe('when it happened, if not now: RFC 3339, UTC').optional(),
  onBehalfOf: agent.describe('another agent (agt_…) on whose behalf you act').optional(),
  idempotencyKey: z
    .string()
    .max(255)
    .describe('any text that is unique for this action: calls with the same text are carried out only once')
    .optional(),
}

/**
 * Members of the REST API for agents that sign for themselves. No tool has these members, because tools do not sign.
 */
export const OWN_SIGNATURE = ['envelope', 'salt'] as const

export const stepArguments = {
  record: recordId,
  ...writeArguments,
  ifVersion: z.int().min(1).describe('only take the step if the record still has this `version`').optional(),
}

export const reason = z.string().max(1_000).describe('the reason, for people; it can be erased later')

export const page = {
  limit: z
    .int()
    .min(1)
    .max(MCP_PAGE_ITEMS_MAX)
    .describe(`highest number of items; absent: ${MCP_PAGE_ITEMS_DEFAULT}`)
    .optional(),
  cursor: z.string().max(1_000).describe('`nextCursor` of the previous page').optional(),
}

const state = z.enum(RECORD_STATES)
const FORMS = {
  type: z.string().max(100),
  state,
  agent,
  anyAgent: agent,
  record: recordId,
  reference: z.string().max(256),
  trace: z.string().max(32),
  time,
}

/** Filters of a search. A record must match all given filters. */
export const filters = {
  ...(Object.fromEntries(
    FILTER_ENTRIES.map(([name, { form, mcp }]) => {
      const schema = form instanceof RegExp ? z.string().max(256) : FORMS[form]
      return [name, (mcp ? schema.describe(mcp) : schema).optional()]
    }),
  ) as { [Name in FilterName]: z.ZodOptional<z.ZodString> } & { state: z.ZodOptional<typeof state> }),
  order: z.enum(['asc', 'desc']).describe('order of the chain; absent: desc, newest first').optional(),
}

/** Optional members of a new record (src/proof/statement/record-members.ts). */
export const others = mapOthers(({ description }) => z.string().max(256).describe(description).optional())

export const record = z
  .looseObject({
    id: z.string(),
    type: z.string(),
    state: z.string(),
    version: z.number().describe('1, plus 1 for each step of a gated record'),
    nextEvents: z.array(z.string()).describe('the steps that can come next'),
    payload: json.nullable().describe('null: erased'),
    actor: z.string().describe('the agent that wrote it'),
    parent: z.string().nullable(),
    references: z.array(z.string()).nullable(),
    occurredAt: z.string().nullable(),
    recordedAt: z.string(),
    gated: json
      .nullable()
      .describe('parties, terms, completion, verification, verdict; null for a notarized record'),
  })
  .describe('the current state of a record')

export const recordPage = z.looseObject({
  records: z.array(record),
  nextCursor: z.string().nullable().describe('null on the last page, and only there'),
})
