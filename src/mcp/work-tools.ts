import { z } from 'zod'
import type { LedgerRecord } from '../../sdk/generated/api.ts'
import type { RecordsQuery } from '../../sdk/resources/records.ts'
import type { McpDeps } from './deps.ts'
import { MCP_PAGE_ITEMS_DEFAULT, MCP_WORK_ITEMS_MAX } from './limits.ts'
import { json, OWN_SIGNATURE, peer, reason, record, stepArguments } from './schemas.ts'
import { defineTool, READS } from './tool.ts'

const WRITE = ['records:write']
/**
 * Hints of tools that make a step. These tools are idempotent, because the lifecycle refuses the second call of the
 * same step.
 */
const STEP = { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false }
/** Hints of tools whose step is final. */
const FINAL = { ...STEP, destructiveHint: true }

/** Lists of work. They use the searches described in docs/guides/search-and-reports.md. */
const LISTS = {
  offered: (agent) => [{ performer: agent, state: 'CREATED' }],
  active: (agent) => [{ performer: agent, state: 'ACTIVE' }],
  toJudge: (agent) => [
    { principal: agent, state: 'VERIFIED' },
    { principal: agent, state: 'DISCREPANT' },
  ],
  unclaimed: (agent) => [{ principal: agent, state: 'CREATED' }],
} as const satisfies Record<string, (agent: string) => RecordsQuery[]>
type List = keyof typeof LISTS
const NAMES = Object.keys(LISTS) as [List, ...List[]]

const workList = z
  .looseObject({
    records: z.array(record),
    hasMore: z.boolean().describe('true: there are more records; work on these first, or search'),
  })
  .optional()

export const listWork = defineTool({
  name: 'list_work',
  title: 'List my open work',
  description:
    'Shows gated records that wait for your next step, oldest first: offered (activate them), active (complete them), toJudge (give a verdict, or ' +
    'request a revision; DISCREPANT: a rule failed), unclaimed (created by you, not yet taken on).',
  scopes: ['records:read', 'records:read:own'],
  hints: READS,
  input: z.object({
    list: z.enum(NAMES).describe('only this list; absent: all').optional(),
    agent: z
      .string()
      .max(100)
      .describe('another agent (agt_…), whose work to list; absent: the agent of the API key')
      .optional(),
    limit: z.int().min(1).max(MCP_WORK_ITEMS_MAX).describe('highest number of records per list').optional(),
  }),
  output: z.looseObject({
    agent: z.string(),
    offered: workList,
    active: workList,
    toJudge: workList,
    unclaimed: workList,
  }),
  async run(deps, { list, limit = MCP_PAGE_ITEMS_DEFAULT, agent: named }, { signal }) {
    const agent = named ?? (await ownAgent(deps, signal))
    const found: Record<string, unknown> = { agent }
    for (const name of list === undefined ? NAMES : [list]) {
      const records: LedgerRecord[] = []
      let hasMore = false
      for (const query of LISTS[name](agent)) {
        const { data, nextCursor } = await deps.client.records
          .list({ ...query, order: 'asc', limit }, { signal })
          .page()
        records.push(...data)
        hasMore ||= nextCursor !== null
      }
      found[name] = { records, hasMore }
    }
    return found
  },
})

async function ownAgent({ key, client }: McpDeps, signal: AbortSignal | undefined): Promise<string> {
  return key?.agent ?? (await client.ledger.get({ signal })).key.agent
}

export const activate = defineTool({
  name: 'activate',
  title: 'Take work on',
  description: 'Takes on work that is offered to you: CREATED becomes ACTIVE. The performer’s step.',
  scopes: WRITE,
  hints: STEP,
  input: z.object({ ...stepArguments, peer }),
  unsupported: ['envelope'],
  output: record,
  run: ({ client }, { record, ...body }, options) => client.records.activate(record, body, options),
})

export const complete = defineTool({
  name: 'complete',
  title: 'Deliver work',
  description:
    'Delivers the work with evidence, which the rules of the type compare with the payload: ACTIVE becomes SUBMITTED, and within seconds ' +
    'VERIFIED or DISCREPANT (get_record with waitSeconds shows it). The performer’s step.',
  scopes: WRITE,
  hints: STEP,
  input: z.object({
    ...stepArguments,
    peer,
    evidence: json.describe('a JSON object that matches the type’s evidence schema; for task/1 any object'),
  }),
  unsupported: OWN_SIGNATURE,
  output: record,
  run: ({ client }, { record, ...body }, options) => client.records.complete(record, body, options),
})

export const verdict = defineTool({
  name: 'verdict',
  title: 'Judge a delivery',
  description:
    'Accepts or rejects what was delivered: the record ends ACCEPTED or REJECTED, and a signed signal tells whoever pays to SETTLE or HOLD. ' +
    'Final: read the evidence and `gated.verification` first. The principal’s step.',
  scopes: WRITE,
  hints: FINAL,
  input: z.object({
    ...stepArguments,
    verdict: z.enum(['accept', 'reject']),
    reason: reason.optional(),
    validUntil: z
      .string()
      .max(40)
      .describe('when the settlement signal expires, RFC 3339 in UTC; absent: never')
      .optional(),
  }),
  unsupported: OWN_SIGNATURE,
  output: record,
  run: ({ client }, { record, ...body }, options) => client.records.verdict(record, body, options),
})

export const requestRevision = defineTool({
  name: 'request_revision',
  title: 'Request a new delivery',
  description:
    'Asks the performer to deliver again: VERIFIED or DISCREPANT becomes ACTIVE. At most maxRevisions times. The principal’s step.',
  scopes: WRITE,
  hints: STEP,
  input: z.object({ ...stepArguments, reason }),
  unsupported: OWN_SIGNATURE,
  output: record,
  run: ({ client }, { record, ...body }, options) => client.records.requestRevision(record, body, options),
})

export const cancel = defineTool({
  name: 'cancel',
  title: 'Cancel work',
  description: 'Cancels work that is not delivered: the record ends CANCELLED. The principal’s step.',
  scopes: WRITE,
  hints: FINAL,
  input: z.object({ ...stepArguments, reason }),
  unsupported: OWN_SIGNATURE,
  output: record,
  run: ({ client }, { record, ...body }, options) => client.records.cancel(record, body, options),
})
