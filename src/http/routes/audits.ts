import type { FastifyInstance } from 'fastify'
import { type AuditRow, findAudit, listAudits, requestAudit } from '../../db/audit/audits.ts'
import { ApiError } from '../../errors.ts'
import { formatId, parseId } from '../../proof/ids.ts'
import { listTag, pageLimit, parseCursor, toPage } from '../answers/page.ts'
import type { Deps } from '../deps.ts'
import { refuseIdempotencyKey } from '../idempotency.ts'
import { pathId } from '../path-id.ts'
import { auditAnswer, auditPage, auditsCursor, auditsQuery } from '../schemas/audits.ts'
import { idParams, noMembers } from '../schemas/common.ts'
import type { ZodTypes } from '../zod-validation.ts'

export function auditRoutes(app: FastifyInstance, deps: Deps): void {
  const typed = app.withTypeProvider<ZodTypes>()
  const { readPool, entropy, now } = deps
  const access = { scope: 'audit:read' } as const

  typed.post(
    '/v1/audits',
    {
      config: { access, problems: ['invalid_idempotency_key'] },
      schema: {
        summary: 'Request an audit of the whole ledger; answers the open one if there is one',
        body: noMembers,
        response: { 202: auditAnswer },
      },
    },
    async (request, reply) => {
      refuseIdempotencyKey(request)
      const { ledgerId, agentId } = request.caller
      const auditId = await requestAudit(readPool, ledgerId, entropy.uuidv7(now()), agentId)
      const audit = await findAudit(readPool, ledgerId, auditId)
      return reply.code(202).send(render(audit!))
    },
  )

  typed.get(
    '/v1/audits',
    {
      config: { reads: 'primary', access },
      schema: {
        summary: 'List audits, newest first; the last hundred ended ones are kept',
        querystring: auditsQuery,
        response: { 200: auditPage },
      },
    },
    async (request) => {
      const limit = pageLimit(request.query)
      const list = listTag(request)
      const cursor = parseCursor(list, request.query, auditsCursor)
      const after = cursor && parseId('aud', cursor[0])
      const rows = await listAudits(readPool, request.caller.ledgerId, { after, limit: limit + 1 })
      return toPage(list, rows, limit, render, ({ id }) => [id])
    },
  )

  typed.get(
    '/v1/audits/:id',
    {
      config: { reads: 'primary', access },
      schema: { summary: 'Get an audit', params: idParams, response: { 200: auditAnswer } },
    },
    async (request) => {
      const { id } = request.params
      const audit = await findAudit(readPool, request.caller.ledgerId, pathId('aud', id))
      if (!audit) throw new ApiError('not_found', `the ledger has no audit ${id}`)
      return render(audit)
    },
  )
}

function render(audit: AuditRow) {
  return {
    id: formatId('aud', audit.auditId),
    requestedBy: audit.requestedBy && formatId('agt', audit.requestedBy),
    requestedAt: audit.requestedAt.toISOString(),
    state: audit.state,
    progress: { entriesDone: audit.entriesDone, entriesTotal: audit.entriesTotal },
    startedAt: audit.startedAt?.toISOString() ?? null,
    finishedAt: audit.finishedAt?.toISOString() ?? null,
    ok: audit.ok,
    report: audit.report,
    error: audit.error,
  }
}
