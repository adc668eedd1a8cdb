import { z } from 'zod'
import { MCP_PAGE_ITEMS_DEFAULT, MCP_WAIT_SECONDS_MAX } from './limits.ts'
import {
  filters,
  json,
  OWN_SIGNATURE,
  others,
  page,
  peer,
  record,
  recordId,
  recordPage,
  writeArguments,
} from './schemas.ts'
import { defineTool, READS } from './tool.ts'

const READ = ['records:read', 'records:read:own']
const WRITE = ['records:write']

export const notarize = defineTool({
  name: 'notarize',
  title: 'Record what was done',
  description:
    'Writes a record into the ledger: signed, linked into its hash chain, committed before the answer, and never changed. Use it for what an ' +
    'agent did, decided or was asked to do. With a gated type (such as task/1) it commissions work instead: a performer delivers, a principal judges.',
  scopes: WRITE,
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  input: z.object({
    payload: json.describe('any JSON object: what happened, in as much detail as a later reader needs'),
    type: z
      .string()
      .max(100)
      .describe('name/version of a type; absent: generic/1, which takes any object')
      .optional(),
    parent: recordId.describe('the record (rec_…) that led to this one').optional(),
    references: z
      .array(z.string().max(256))
      .max(16)
      .describe(
        'what the record is about in other systems, by which it can be found: URIs, or system:id such as order:4711',
      )
      .optional(),
    metadata: json.describe('any JSON object, not signed').optional(),
    subject: z
      .string()
      .max(256)
      .describe(
        'your label of the person that the record is about, by which the person’s records can be found and erased; never shown in an answer',
      )
      .optional(),
    ...others,
    performer: z
      .string()
      .max(100)
      .describe('gated types only: the agent (agt_…) that must deliver')
      .optional(),
    gate: z
      .enum(['principal', 'auto'])
      .describe(
        'gated types only: who judges: you (principal, the default) or only the rules of the type (auto)',
      )
      .optional(),
    deadline: z
      .string()
      .max(40)
      .describe('gated types only: deadline of the delivery, RFC 3339 in UTC')
      .optional(),
    maxRevisions: z
      .int()
      .min(0)
      .max(100)
      .describe('gated types only: how many revisions can be requested')
      .optional(),
    ...writeArguments,
  }),
  unsupported: [...OWN_SIGNATURE, 'share', 'tolerances'],
  output: record,
  run({ client }, { payload, type, ...members }, options) {
    return client.records.notarize(
      { payload, ...(type && { type: type as `${string}/${number}` }), ...members },
      options,
    )
  },
})

export const searchRecords = defineTool({
  name: 'search_records',
  title: 'Search records',
  description:
    'Finds records by exact filters, newest first. It does not search payloads: give a type, an agent, a reference, a trace, a parent or a time. ' +
    'A page may have fewer records than `limit`; the list ends when nextCursor is null.',
  scopes: READ,
  hints: READS,
  input: z.object({ ...filters, ...page }),
  output: recordPage,
  async run({ client }, { cursor, limit = MCP_PAGE_ITEMS_DEFAULT, ...query }, options) {
    const { data, nextCursor } = await client.records.list({ ...query, limit }, options).page(cursor)
    return { records: data, nextCursor }
  },
})

export const getRecord = defineTool({
  name: 'get_record',
  title: 'Get a record',
  description:
    'Shows the current state of one record. With `waitSeconds` it waits while only the server can take the next step, such as the verification ' +
    'of a delivery.',
  scopes: READ,
  hints: READS,
  input: z.object({
    record: recordId,
    peer,
    waitSeconds: z.int().min(1).max(MCP_WAIT_SECONDS_MAX).optional(),
  }),
  output: record,
  run({ client }, { record, peer, waitSeconds }, { signal }) {
    return client.records.get(record, { peer, wait: waitSeconds, signal })
  },
})

export const getHistory = defineTool({
  name: 'get_history',
  title: 'Get the history of a record',
  description:
    'Shows what led to a record (its ancestors), what followed from it (its children, newest first), and its own entries in the chain, oldest first, ' +
    'with signer and document of each. More children: search_records with `parent`. More entries: `cursor`.',
  scopes: READ,
  hints: READS,
  input: z.object({ record: recordId, ...page }),
  output: z.looseObject({
    record,
    ancestors: z.array(record).describe('the record’s ancestors, from the root to its parent'),
    children: recordPage,
    entries: z
      .array(json)
      .describe(
        'seq, kind, recordedAt, leaf, chain, signedBy and document of each; verify_record proves them',
      ),
    nextCursor: z.string().nullable().describe('cursor of the next entries; null: there are no more'),
  }),
  async run({ client }, { record: id, limit = MCP_PAGE_ITEMS_DEFAULT, cursor }, { signal }) {
    const { record, ancestors, children } = await client.records.tree(id, { limit }, { signal })
    const entries = await client.records.entries(id, { limit, signal }).page(cursor)
    return {
      record,
      ancestors,
      children: { records: children.data, nextCursor: children.nextCursor },
      // Envelopes are left out, because models cannot use them.
      entries: entries.data.map(({ envelope: _envelope, received: _received, ...entry }) => entry),
      nextCursor: entries.nextCursor,
    }
  },
})
