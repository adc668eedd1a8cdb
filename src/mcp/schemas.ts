import { z } from 'zod'
import { RECORD_STATES } from '../proof/statement/kinds.ts'
import { MCP_PAGE_ITEMS_DEFAULT, MCP_PAGE_ITEMS_MAX } from './limits.ts'

/*
 * Arguments and answers of tools, as models read them. Arguments are refused here for what they lack or have too much; whether a value is
 * right, the server decides, and says what to do. Answers may hold more than is described: a newer server must not break a client.
 */

export const recordId = z.string().max(100).describe('id of the record (rec_…)')
export const peer = z
  .string()
  .max(100)
  .describe('the peer (peer_…) that sent the record, where two have sent one of the same id')
  .optional()
const agent = z.string().max(100)
const time = z.string().max(40).describe('RFC 3339 in UTC, such as 2026-11-20T12:00:00Z')
export const json = z.looseObject({})

/** Arguments of every tool that writes. */
export const writing = {
  occurredAt: time.describe('when it happened, where that is not now: RFC 3339, UTC').optional(),
  onBehalfOf: agent.describe('another agent (agt_…) in whose name it is done').optional(),
  idempotencyKey: z
    .string()
    .max(255)
    .describe('any text of your own for this one deed: repeat a call with the same one, and it is done once')
    .optional(),
}

/** Arguments of every step of a gated record. */
export const stepping = {
  record: recordId,
  ...writing,
  ifVersion: z
    .int()
    .min(1)
    .describe('do it only if the record still has this `version`; otherwise nothing is done')
    .optional(),
}

export const reason = z.string().max(1_000).describe('why, for people; it can be erased later')

export const page = {
  limit: z
    .int()
    .min(1)
    .max(MCP_PAGE_ITEMS_MAX)
    .describe(`how many at most; absent: ${MCP_PAGE_ITEMS_DEFAULT}`)
    .optional(),
  cursor: z.string().max(1_000).describe('`nextCursor` of the page before').optional(),
}

/** Filters of a search; all that are given must hold. */
export const filters = {
  type: z.string().max(100).describe('name/version of a type, such as generic/1').optional(),
  state: z
    .enum(RECORD_STATES)
    .describe('RECORDED: notarized; the others: where a gated record stands now')
    .optional(),
  actor: agent.describe('the agent (agt_…) that wrote it').optional(),
  onBehalfOf: agent.describe('the agent in whose name it was written').optional(),
  performer: agent.describe('of gated records: the agent that delivers').optional(),
  principal: agent.describe('of gated records: the agent that judges').optional(),
  parent: recordId.describe('the record (rec_…) that they follow from').optional(),
  reference: z.string().max(256).describe('exactly one of their references, such as order:4711').optional(),
  traceId: z.string().max(32).describe('trace id of their traceparent, 32 hex digits').optional(),
  occurredAfter: time.optional(),
  occurredBefore: time.optional(),
  recordedAfter: time.optional(),
  recordedBefore: time.optional(),
  order: z.enum(['asc', 'desc']).describe('of the chain; absent: desc, newest first').optional(),
}

export const record = z
  .looseObject({
    id: z.string(),
    type: z.string(),
    state: z.string(),
    version: z.number().describe('counts the steps of a gated record; 1 otherwise'),
    nextEvents: z.array(z.string()).describe('what may come next'),
    payload: json.nullable().describe('null once erased'),
    actor: z.string().describe('the agent that wrote it'),
    parent: z.string().nullable(),
    references: z.array(z.string()).nullable(),
    occurredAt: z.string().nullable(),
    recordedAt: z.string(),
    gated: json
      .nullable()
      .describe('parties, terms, completion, verification, verdict; null of what was notarized'),
  })
  .describe('a record as it stands now')

export const recordPage = z.looseObject({
  records: z.array(record),
  nextCursor: z.string().nullable().describe('null on the last page, and only there'),
})
