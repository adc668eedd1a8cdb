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
  title: 'Write down what was done',
  description:
    'Writes a record into the ledger: signed, linked into its hash chain, committed before this answers, and never changed. Use it for what an ' +
    'agent did, decided or was told. With a gated type (such as task/1) it commissions work instead: a performer delivers, a principal judges.',
  scopes: WRITE,
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  input: z.object({
    payload: json.describe('any JSON object: what happened, as exactly as it will be asked for'),
    type: z
      .string()
      .max(100)
      .describe('name/version of a type; absent: generic/1, which takes any object')
      .optional(),
    parent: recordId.describe('the record (rec_…) that this one follows from').optional(),
    references: z
      .array(z.string().max(256))
      .max(16)
      .describe('what it is about elsewhere: a URI, or system:id such as order:4711; records are found by it')
      .optional(),
    metadata: json.describe('free, and not signed').optional(),
    subject: z
      .string()
      .max(256)
      .describe(
        'the person that it is about, by a label of yours, to find and erase their records by; shown by no answer',
      )
      .optional(),
    ...others,
    performer: z
      .string()
      .max(100)
      .describe('gated types only: the agent (agt_…) that is to deliver')
      .optional(),
    gate: z
      .enum(['principal', 'auto'])
      .describe('gated types only: who judges, you (principal, the default) or the rules of the type alone')
      .optional(),
    deadline: z.string().max(40).describe('gated types only: for the delivery, RFC 3339 in UTC').optional(),
    maxRevisions: z.int().min(0).max(100).describe('gated types only').optional(),
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
    'Finds records by exact filters, newest first. It does not search in payloads: name a type, an agent, a reference, a trace, a parent or a time. ' +
    'A page may hold fewer than `limit`; the list ends where nextCursor is null.',
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
    'Shows one record as it stands now. `waitSeconds`: holds the answer back while only the server can take the record’s next step, as after a ' +
    'delivery, which it verifies.',
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
    'Shows what a record came from (its ancestors), what came of it (its children, newest first), and its own entries in the chain, oldest first, ' +
    'with who signed each and its document. Further children: search_records with `parent`. Further entries: `cursor`.',
  scopes: READ,
  hints: READS,
  input: z.object({ record: recordId, ...page }),
  output: z.looseObject({
    record,
    ancestors: z.array(record).describe('from the first one to the parent'),
    children: recordPage,
    entries: z
      .array(json)
      .describe(
        'seq, kind, recordedAt, leaf, chain, signedBy and document of each; verify_record proves them',
      ),
    nextCursor: z.string().nullable().describe('of the entries'),
  }),
  async run({ client }, { record: id, limit = MCP_PAGE_ITEMS_DEFAULT, cursor }, { signal }) {
    const { record, ancestors, children } = await client.records.tree(id, { limit }, { signal })
    const entries = await client.records.entries(id, { limit, signal }).page(cursor)
    return {
      record,
      ancestors,
      children: { records: children.data, nextCursor: children.nextCursor },
      // Envelopes are for verifiers, not for models.
      entries: entries.data.map(({ envelope: _envelope, received: _received, ...entry }) => entry),
      nextCursor: entries.nextCursor,
    }
  },
})
