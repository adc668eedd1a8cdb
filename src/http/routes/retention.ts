import type { FastifyInstance } from 'fastify'
import type { Selector } from '../../db/chain/entry-details.ts'
import { type HoldRow, listHolds, listRules, type RuleRow } from '../../db/records/retention-rules.ts'
import { ApiError } from '../../errors.ts'
import { liftHold, setHold, setRule } from '../../ledgers/retention.ts'
import { Slots } from '../../load/slots.ts'
import { scopeOfEntry } from '../../proof/entry/entry-scopes.ts'
import { formatId, parseId } from '../../proof/ids.ts'
import { previewRule } from '../../records/retention/preview.ts'
import { listTag, pageLimit, parseCursor, toPage } from '../answers/page.ts'
import { reservationOf } from '../connections/reservation.ts'
import type { Deps } from '../deps.ts'
import { refuseIdempotencyKey } from '../idempotency.ts'
import { PREVIEWS_MAX, PREVIEWS_PER_LEDGER_MAX } from '../limits.ts'
import { noMembers, SEQ_TEXT } from '../schemas/common.ts'
import {
  holdBody,
  holdPage,
  holdsCursor,
  holdsQuery,
  holdView,
  previewRuleBody,
  previewRuleView,
  ruleBody,
  ruleList,
  ruleView,
  seqParams,
} from '../schemas/retention.ts'
import type { ZodTypes } from '../zod-validation.ts'

const WRITE = { scope: scopeOfEntry('hold-set') } as const
const READ = { scope: ['retention:manage', 'audit:read', 'payloads:erase'] } as const

/** Serves retention rules and legal holds (docs/guides/erasure-and-retention.md). */
export function retentionRoutes(app: FastifyInstance, deps: Deps): void {
  const typed = app.withTypeProvider<ZodTypes>()
  const previews = new Slots(PREVIEWS_PER_LEDGER_MAX, PREVIEWS_MAX)

  typed.post(
    '/v1/retention/rules',
    {
      config: { access: WRITE, problems: ['invalid_idempotency_key', 'too_many'] },
      schema: {
        summary:
          'Set how long documents of records are stored; then the worker erases them, by entries that name the rule',
        body: ruleBody,
        response: { 201: ruleView },
      },
    },
    async (request, reply) => {
      refuseIdempotencyKey(request)
      const { days, basis } = request.body
      const rule = await setRule(deps, request.caller, { days, basis, ...selectorOf(request.body) })
      return reply.code(201).send(renderRule(rule))
    },
  )

  typed.get(
    '/v1/retention/rules',
    {
      config: { reads: 'replica', access: READ },
      schema: { summary: 'List retention rules, newest first', response: { 200: ruleList } },
    },
    (request, reply) =>
      deps.reads.of(request, reply, async ({ readPool }) => ({
        data: (await listRules(readPool, request.caller.ledgerId)).map(renderRule),
      })),
  )

  typed.post(
    '/v1/retention/preview',
    {
      config: { access: READ },
      schema: {
        summary: 'Count what a rule would erase now, one page of the chain at a time',
        body: previewRuleBody,
        response: { 200: previewRuleView },
      },
    },
    async (request, reply) => {
      const { days, from = 0 } = request.body
      const rule = { days, ...selectorOf(request.body) }
      const { ledgerId } = request.caller
      const giveBack = previews.take(ledgerId)
      // A preview releases its slot, because it reads for seconds and writes nothing. A request that writes can then
      // use the slot.
      reservationOf(request, reply).leave()
      try {
        const { oldest, ...preview } = await previewRule(deps, ledgerId, rule, from)
        return { ...preview, oldest: oldest?.toISOString() ?? null }
      } finally {
        giveBack()
      }
    },
  )

  typed.post(
    '/v1/holds',
    {
      config: { access: WRITE, problems: ['invalid_idempotency_key', 'too_many'] },
      schema: {
        summary: 'Hold records: none of their documents is erased until the hold is lifted',
        body: holdBody,
        response: { 201: holdView },
      },
    },
    async (request, reply) => {
      refuseIdempotencyKey(request)
      const { case: caseId, records } = request.body
      const recordIds = records?.map((id) => parseId('rec', id)) ?? null
      const hold = await setHold(deps, request.caller, { caseId, recordIds, ...selectorOf(request.body) })
      return reply.code(201).send(renderHold(hold))
    },
  )

  typed.get(
    '/v1/holds',
    {
      config: { reads: 'replica', access: READ },
      schema: {
        summary: 'List holds, newest first',
        querystring: holdsQuery,
        response: { 200: holdPage },
      },
    },
    async (request, reply) => {
      const limit = pageLimit(request.query)
      const standing = request.query.standing === 'true'
      const list = listTag(request, { standing })
      const before = parseCursor(list, request.query, holdsCursor)?.[0] ?? Number.MAX_SAFE_INTEGER
      const page = { before, standing, limit: limit + 1 }
      const rows = await deps.reads.of(request, reply, ({ readPool }) =>
        listHolds(readPool, request.caller.ledgerId, page),
      )
      return toPage(list, rows, limit, renderHold, ({ seq }) => [seq])
    },
  )

  typed.post(
    '/v1/holds/:seq/lift',
    {
      config: { access: WRITE, problems: ['not_found', 'already_ended', 'invalid_idempotency_key'] },
      schema: {
        summary: 'Lift a hold; other holds on its records stay',
        params: seqParams,
        body: noMembers,
        response: { 200: holdView },
      },
    },
    async (request) => {
      refuseIdempotencyKey(request)
      const { seq } = request.params
      if (!SEQ_TEXT.test(seq)) throw new ApiError('not_found', 'the address has no valid seq')
      return renderHold(await liftHold(deps, request.caller, Number(seq)))
    },
  )
}

type Narrowed = { readonly type?: string | undefined; readonly agent?: string | undefined }

function selectorOf({ type, agent }: Narrowed): Selector {
  return { type: type ?? null, agentId: agent === undefined ? null : parseId('agt', agent) }
}

function renderRule({ seq, type, agentId, days, replacedSeq, setAt }: RuleRow) {
  const agent = agentId && formatId('agt', agentId)
  return { seq, type, agent, days, replacedBy: replacedSeq, setAt: setAt.toISOString() }
}

function renderHold({ seq, caseId, type, agentId, recordIds, liftedSeq, setAt }: HoldRow) {
  return {
    seq,
    case: caseId,
    type,
    agent: agentId && formatId('agt', agentId),
    records: recordIds?.map((id) => formatId('rec', id)) ?? null,
    setAt: setAt.toISOString(),
    liftedBy: liftedSeq,
  }
}
